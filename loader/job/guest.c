/* SPDX-License-Identifier: Apache-2.0 */
#include "job/guest.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/wdr_log.h"
#include "base/wdr_msg.h"
#include "base/wdr_role.h"
#include "base/wdr_text.h"
#include "feed.h"
#include "job/events.h"
#include "job/guest_flow.h"
#include "job/job_priv.h"

/* Messages in one callback, so that a reader that floods starves nothing. */
#define MAX_MESSAGES 64
/* It is asked this often, and given up if it owes an answer for so long; at the job's end less. */
#define NS_PER_S UINT64_C(1000000000)
#define ASK_NS	 UINT64_C(1000000000)
#define STALL_NS UINT64_C(3000000000)
#define LAST_NS	 UINT64_C(1000000000)
/* Verdicts that wait for what the reader has not told yet; what was allowed leaves room for denials. */
#define MAX_WAITING 64
#define MAX_ALLOWED 32

struct waiting {
	struct wdr_ev_verdict ev;
	uint32_t answer; /* with which all that came before it has been told */
};

struct wdr_job_guest {
	struct wdr_role role;
	struct wdr_feed feed;
	int uid_fd;
	struct wdr_source *sock_src, *clock_src;
	uint32_t asked; /* the last number */
	uint64_t asked_ns;
	bool ending;   /* the job is dead */
	uint32_t last; /* then: the answer that is the last */
	bool over;     /* nothing more will come */
	bool lost;     /* and more would have */
	struct wdr_guest_flows flows;
	struct waiting waiting[MAX_WAITING];
	unsigned int n_waiting;
};

uint64_t wdr_job_guest_lost(const struct wdr_job *j)
{
	const struct wdr_guest_stats *st = &j->guest->feed.stats;

	return st->dropped + st->suppressed + st->malformed + j->guest->lost;
}

static uint64_t wall_ns(struct timespec t)
{
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t wall_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return wall_ns(now);
}

static void note_losses(struct wdr_job *j)
{
	wdr_guest_flows_lose(&j->guest->flows, wdr_job_guest_lost(j), wall_now_ns());
}

static void write_verdict(struct wdr_job *j, const struct wdr_ev_verdict *ev)
{
	uint64_t when = wall_ns(wdr_job_wall_time(ev->hdr.ts_ns));

	wdr_job_event_guest_verdict(j, ev, wdr_guest_flows_find(&j->guest->flows, &ev->key, when));
}

/* Those that the answer @value settles. */
static void settle(struct wdr_job *j, uint32_t value)
{
	struct wdr_job_guest *g = j->guest;
	unsigned int n = 0;

	while (n < g->n_waiting && g->waiting[n].answer <= value)
		write_verdict(j, &g->waiting[n++].ev);
	g->n_waiting -= n;
	memmove(g->waiting, g->waiting + n, g->n_waiting * sizeof(g->waiting[0]));
}

static void end_reader(struct wdr_job_guest *g, int *ret_status)
{
	g->over = true;
	wdr_source_freep(&g->sock_src);
	wdr_source_freep(&g->clock_src);
	wdr_role_end(&g->role, ret_status);
	wdr_closep(&g->uid_fd);
}

static void say_end(int status, char *text, size_t size)
{
	char name[WDR_TEXT_UNIT_MAX];

	if (WIFSIGNALED(status))
		(void)snprintf(text, size, "it was killed by %s",
			       wdr_text_signal(WTERMSIG(status), name));
	else
		(void)snprintf(text, size, "it ended with status %d", WEXITSTATUS(status));
}

/*
 * @why NULL: it went by itself. Before the program runs its telemetry can still be refused, as any
 * other protection that is not to be had; after that the job goes on without.
 */
static void lose(struct wdr_job *j, const char *why)
{
	const uint64_t told =
		WDR_PROT_BIT(WDR_PROT_SYSCALL_COUNT) | WDR_PROT_BIT(WDR_PROT_PROC_EVENTS);
	uint64_t bits = j->result.prot_on & j->o.backend->gives & told;
	struct wdr_job_guest *g = j->guest;
	struct wdr_err err = { 0 };
	char text[128];
	int status = 0;

	if (g->over)
		return;
	end_reader(g, &status);
	g->lost = true;
	note_losses(j);
	say_end(status, text, sizeof(text));
	(void)wdr_err_set(&err, -ECHILD, "the reader of what the sandbox tells is lost: %s",
			  why ? why : text);
	settle(j, UINT32_MAX);
	if (!j->running_ns && !j->dead) {
		wdr_job_decide_error(j, WDR_JOB_EXIT_ERROR, &err);
		wdr_job_kill(j);
		return;
	}
	j->result.prot_on &= ~bits;
	j->result.prot_missing |= bits;
	wdr_warn("job=%s step=guest err=\"%s\"", j->spec.id, err.msg);
	wdr_job_event_guest_lost(j, err.msg);
	if (g->ending)
		wdr_job_maybe_done(j);
}

static int send_ask(struct wdr_job_guest *g, enum wdr_feed_ask_type type, uint32_t value,
		    uint32_t flags)
{
	const struct wdr_feed_ask ask = { type, value, flags };

	g->asked_ns = wdr_now_ns();
	return wdr_msg_send(g->role.sock, &ask, sizeof(ask), NULL, 0, MSG_DONTWAIT);
}

/* A socket that takes no ask has been read by nobody for many: its end will show, or its silence. */
static void ask(struct wdr_job_guest *g)
{
	(void)!send_ask(g, WDR_FEED_ASK, ++g->asked, 0);
	wdr_feed_expect(&g->feed, g->asked);
}

static void on_ready(void *userdata)
{
	(void)userdata;
}

static void remember(struct wdr_guest_flows *flows, const struct wdr_guest_event *ev)
{
	struct wdr_guest_flow f = { .who.pid = ev->pid };
	struct wdr_egress_addr addr;

	/* What a program calls itself is told by what it does next. */
	if (ev->type != WDR_GUEST_EXEC)
		memcpy(f.who.comm, ev->comm, sizeof(f.who.comm));
	if (ev->pid || ev->type != WDR_GUEST_START)
		wdr_guest_flows_see(flows, &f.who);
	if (ev->type == WDR_GUEST_CLONE && ev->clone.pid != ev->pid)
		wdr_guest_flows_see(flows, &(struct wdr_guest_who){ .pid = ev->clone.pid });
	if (ev->type != WDR_GUEST_CONNECT || !ev->connect.to.family)
		return;
	wdr_job_egress_addr(&ev->connect.to, &addr);
	memcpy(f.addr, addr.addr, sizeof(f.addr));
	f.port = ev->connect.port;
	/* The guest's clock is the host's; a message may lack the time. */
	f.time_ns = ev->time_ns ? ev->time_ns : wall_now_ns();
	wdr_guest_flows_add(flows, &f);
}

static void on_event(const struct wdr_guest_event *ev, void *userdata)
{
	struct wdr_job *j = userdata;

	remember(&j->guest->flows, ev);
	wdr_job_event_guest(j, ev);
}

static void on_answer(uint32_t value, void *userdata)
{
	struct wdr_job *j = userdata;
	struct wdr_job_guest *g = j->guest;

	note_losses(j);
	settle(j, value);
	if (g->ending && value == g->last)
		end_reader(g, NULL);
	else if (g->ending || g->n_waiting)
		ask(g);
}

static const struct wdr_feed_ops ops = { on_ready, on_event, on_answer };

static void on_sock(struct wdr_source *s, int fd, uint32_t revents, void *userdata)
{
	unsigned char buf[WDR_FEED_MAX_MSG + 1];
	struct wdr_job *j = userdata;
	struct wdr_job_guest *g = j->guest;
	uint64_t now = wdr_now_ns();

	(void)s;
	(void)revents;
	for (int i = 0; i < MAX_MESSAGES && !g->over; i++) {
		struct wdr_err err = { 0 };
		ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		int r;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			lose(j, NULL);
			return;
		}
		r = wdr_feed_take(&g->feed, buf, (size_t)n, now, &err);
		if (r < 0) {
			lose(j, err.msg);
			return;
		}
	}
	if (g->over)
		wdr_job_maybe_done(j);
}

static void on_clock(struct wdr_source *s, uint64_t now_ns, void *userdata)
{
	struct wdr_job *j = userdata;
	struct wdr_job_guest *g = j->guest;

	if (g->ending) {
		lose(j, "it did not tell the last of it in time");
		return;
	}
	if (g->feed.state == WDR_FEED_RUNNING)
		ask(g);
	else if (now_ns - g->asked_ns > STALL_NS) {
		lose(j, "it does not answer");
		return;
	}
	wdr_source_set_time(s, now_ns + ASK_NS);
}

static int start_reader(struct wdr_job *j, int fd, struct wdr_err *err)
{
	bool events = j->spec.tell & ~(unsigned int)WDR_TELL_CALLS;
	struct wdr_job_guest *g = j->guest;
	uint32_t uid = 0;
	int r;

	r = wdr_state_take_uid(j->state, &uid, &g->uid_fd, err);
	if (r == 0)
		r = wdr_role_start(WDR_FEED_ROLE, &fd, 1, &g->role, err);
	if (r == 0)
		r = send_ask(g, WDR_FEED_START, uid, events ? WDR_FEED_EVENTS : 0);
	if (r == 0)
		r = wdr_event_add_io(j->event, &g->sock_src, g->role.sock, EPOLLIN, on_sock, j);
	if (r == 0)
		r = wdr_event_add_time(j->event, &g->clock_src, wdr_now_ns() + ASK_NS, on_clock, j);
	return r;
}

int wdr_job_guest_listen(struct wdr_job *j, int fd, struct wdr_err *err)
{
	static const struct wdr_role no_role = WDR_ROLE_NONE;
	wdr_close_ int listen_fd = fd;
	struct wdr_job_guest *g;
	int r;

	if (fd < 0 || j->guest)
		return wdr_err_set(err, -EPROTO, "a second sink of the sandbox's, or none");
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->uid_fd = -1;
	g->role = no_role;
	wdr_feed_init(&g->feed, &ops, j);
	j->guest = g;
	r = start_reader(j, listen_fd, err);
	return r < 0 ? wdr_err_wrap(err, r, "read what the sandbox tells") : 0;
}

void wdr_job_guest_verdict(struct wdr_job *j, const struct wdr_ev_verdict *ev)
{
	struct wdr_job_guest *g = j->guest;

	if (j->o.events_fd < 0)
		return;
	if (g->over) {
		write_verdict(j, ev);
		return;
	}
	if (g->n_waiting >= (ev->hdr.type == WDR_EV_DENIED ? MAX_WAITING : MAX_ALLOWED)) {
		wdr_job_event_guest_verdict(j, ev, NULL);
		return;
	}
	g->waiting[g->n_waiting].ev = *ev;
	g->waiting[g->n_waiting++].answer = g->asked + 1;
	if (g->feed.state == WDR_FEED_RUNNING)
		ask(g);
}

void wdr_job_guest_finish(struct wdr_job *j)
{
	struct wdr_job_guest *g = j->guest;

	if (!g || g->over)
		return;
	g->ending = true;
	g->last = g->asked + 1;
	if (g->feed.state == WDR_FEED_STARTING) {
		end_reader(g, NULL); /* of what never began there is nothing to tell */
		return;
	}
	if (g->feed.state == WDR_FEED_RUNNING)
		ask(g);
	wdr_source_set_time(g->clock_src, wdr_now_ns() + LAST_NS);
}

bool wdr_job_guest_is_busy(const struct wdr_job *j)
{
	return j->guest && !j->guest->over;
}

static int take_counts(struct wdr_usage *u, const struct wdr_guest_stats *st)
{
	size_t n = 0;

	u->syscalls = calloc(WDR_SYSCALL_MAX, sizeof(*u->syscalls));
	if (!u->syscalls)
		return -ENOMEM;
	for (unsigned int nr = 0; nr < WDR_SYSCALL_MAX; nr++) {
		const char *name = wdr_syscall_name(nr);

		if (!st->calls[nr] || !name)
			continue;
		(void)snprintf(u->syscalls[n].name, sizeof(u->syscalls[n].name), "%s", name);
		u->syscalls[n++].total = st->calls[nr];
	}
	u->n_syscalls = n;
	return 0;
}

void wdr_job_guest_collect(struct wdr_job *j)
{
	struct wdr_usage *u = &j->result.usage;
	const struct wdr_job_guest *g = j->guest;

	if (!g || !(j->spec.tell & WDR_TELL_CALLS) || !(g->feed.stats.connected || g->lost) ||
	    take_counts(u, &g->feed.stats) < 0)
		return;
	u->syscalls_counted = true;
	u->syscalls_origin = WDR_ORIGIN_GUEST;
	u->syscalls_total = g->feed.stats.calls_total;
	u->syscalls_lost = g->feed.stats.dropped + g->feed.stats.malformed + g->lost;
}

void wdr_job_guest_stop(struct wdr_job *j)
{
	struct wdr_job_guest *g = j->guest;

	if (!g)
		return;
	end_reader(g, NULL);
	wdr_freep(&j->guest);
}
