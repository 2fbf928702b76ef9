/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox tells of its guest: read while the job runs, counted into its result. */
#include <errno.h>
#include <string.h>

#include "base/wdr_syscall.h"
#include "job/events.h"
#include "job/job_priv.h"
#include "job/kernel.h"
#include "seccheck.h"

/* Of a finished job: what its peer left in the socket, and no more. */
#define LAST_ROUNDS 64
/* Connections that a denial on the wire may belong to, and how long after (a SYN is sent again). */
#define MAX_FLOWS   256
#define FLOW_AGE_NS 10000000000ULL

static void remember_flow(struct wdr_job *j, const struct wdr_guest_event *ev)
{
	struct wdr_job_flow *f = &j->flows[j->n_flows++ % MAX_FLOWS];
	struct wdr_egress_addr addr;

	wdr_job_egress_addr(&ev->connect.to, &addr);
	memset(f, 0, sizeof(*f));
	memcpy(f->addr, addr.addr, sizeof(f->addr));
	f->port = ev->connect.port;
	f->pid = ev->pid;
	memcpy(f->comm, ev->comm, sizeof(f->comm));
	f->seen_ns = wdr_now_ns();
}

static void on_event(const struct wdr_guest_event *ev, void *userdata)
{
	struct wdr_job *j = userdata;

	if (ev->type == WDR_GUEST_CONNECT && ev->connect.to.family)
		remember_flow(j, ev);
	wdr_job_event_guest(j, ev);
}

static const struct wdr_guest_ops ops = { on_event };

const struct wdr_job_flow *wdr_job_guest_who(struct wdr_job *j, const uint8_t addr[16],
					     uint16_t port)
{
	uint64_t now = wdr_now_ns();

	/* The sentry tells of a call before it sends the packet: it is in the socket by now. */
	(void)wdr_seccheck_pump(j->guest, now);
	for (unsigned int i = 0; i < MAX_FLOWS && i < j->n_flows; i++) {
		const struct wdr_job_flow *f = &j->flows[(j->n_flows - 1 - i) % MAX_FLOWS];

		if (now - f->seen_ns > FLOW_AGE_NS)
			return NULL;
		if (f->port == port && !memcmp(f->addr, addr, sizeof(f->addr)))
			return f;
	}
	return NULL;
}

static void on_readable(struct wdr_source *s, int fd, uint32_t revents, void *userdata)
{
	struct wdr_job *j = userdata;

	(void)s;
	(void)fd;
	(void)revents;
	(void)wdr_seccheck_pump(j->guest, wdr_now_ns());
}

int wdr_job_guest_listen(struct wdr_job *j, int fd, struct wdr_err *err)
{
	wdr_close_ int listen_fd = fd;
	bool events = j->spec.tell & ~(unsigned int)WDR_TELL_CALLS;
	int r;

	j->flows = calloc(MAX_FLOWS, sizeof(*j->flows));
	r = j->flows ? wdr_seccheck_new(listen_fd, events ? &ops : NULL, j, &j->guest) : -ENOMEM;
	if (r < 0)
		return wdr_err_wrap(err, r, "listen to the sandbox");
	(void)WDR_TAKE_FD(listen_fd);
	r = wdr_event_add_io(j->event, &j->guest_src, wdr_seccheck_fd(j->guest), EPOLLIN,
			     on_readable, j);
	return r < 0 ? wdr_err_wrap(err, r, "listen to the sandbox") : 0;
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

void wdr_job_guest_finish(struct wdr_job *j)
{
	struct wdr_usage *u = &j->result.usage;
	const struct wdr_guest_stats *st;
	int rounds = LAST_ROUNDS;

	if (!j->guest)
		return;
	while (wdr_seccheck_pump(j->guest, wdr_now_ns()) && --rounds)
		;
	st = wdr_seccheck_stats(j->guest);
	if (!(j->spec.tell & WDR_TELL_CALLS) || !st->connected || take_counts(u, st) < 0)
		return;
	u->syscalls_counted = true;
	u->syscalls_origin = WDR_ORIGIN_GUEST;
	u->syscalls_total = st->calls_total;
	u->syscalls_lost = st->dropped + st->malformed;
}

uint64_t wdr_job_guest_lost(const struct wdr_job *j)
{
	const struct wdr_guest_stats *st = wdr_seccheck_stats(j->guest);

	return st->dropped + st->suppressed + st->malformed;
}

void wdr_job_guest_stop(struct wdr_job *j)
{
	wdr_freep(&j->flows);
	wdr_source_freep(&j->guest_src);
	wdr_seccheck_freep(&j->guest);
}
