/* SPDX-License-Identifier: Apache-2.0 */
/* The role that reads what a sandbox tells of its guest. From seccomp on it gets no memory. */
#include "proc/reader.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/wdr_event.h"
#include "base/wdr_role.h"
#include "feed.h"
#include "proc/confine.h"

/* What the supervisor may be behind before events are dropped, in the kernel's memory. */
#define SEND_BYTES (1 << 20)
/* Batches between an ask and its answer, if the sink is never empty. */
#define MAX_ROUNDS 64
#define EXIT_LOST  1

#define CALLS                                                                        \
	"recvfrom recvmsg sendto sendmsg accept accept4 close poll ppoll epoll_ctl " \
	"epoll_wait epoll_pwait clock_gettime exit exit_group rt_sigreturn restart_syscall "

struct reader {
	struct wdr_seccheck *sink;
	uint64_t unsent; /* events that the supervisor was too slow for */
	bool owes;	 /* an answer, to: */
	uint32_t asked;
	int rounds; /* left before that */
	bool over;
};

static void on_event(const struct wdr_guest_event *ev, void *userdata)
{
	struct reader *rd = userdata;
	struct wdr_feed_event m;

	wdr_feed_put_event(ev, &m);
	if (send(WDR_ROLE_SOCK, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(m))
		return;
	if (errno == EPIPE || errno == ECONNRESET)
		rd->over = true;
	rd->unsent++;
}

static const struct wdr_guest_ops ops = { on_event };

static int take_start(struct wdr_feed_ask *ret)
{
	ssize_t n = recv(WDR_ROLE_SOCK, ret, sizeof(*ret), 0);

	return n == (ssize_t)sizeof(*ret) && ret->type == WDR_FEED_START ? 0 : -EPROTO;
}

/* Everything that needs a right or memory. */
static int prepare(struct reader *rd, struct wdr_err *err)
{
	const int bytes = SEND_BYTES;
	struct wdr_feed_ask start;
	int r = take_start(&start);

	(void)prctl(PR_SET_NAME, "warder-reader");
	if (r < 0)
		return wdr_err_wrap(err, r, "be told what to read");
	if (setsockopt(WDR_ROLE_SOCK, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) < 0)
		return wdr_err_wrap(err, -errno, "size of the socket's buffer");
	r = wdr_seccheck_new(WDR_ROLE_FDS, start.flags & WDR_FEED_EVENTS ? &ops : NULL, rd,
			     &rd->sink);
	if (r < 0)
		return wdr_err_wrap(err, r, "listen to the sandbox");
	return wdr_proc_confine(start.value, CALLS, err);
}

static void fail(int code, const struct wdr_err *err)
{
	struct wdr_feed_failed m = { .type = WDR_FEED_FAILED, .code = code };

	(void)snprintf(m.msg, sizeof(m.msg), "%s", err->msg);
	(void)send(WDR_ROLE_SOCK, &m, sizeof(m), MSG_NOSIGNAL);
}

static void take_ask(struct reader *rd)
{
	struct wdr_feed_ask ask;
	ssize_t n = recv(WDR_ROLE_SOCK, &ask, sizeof(ask), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(ask) || ask.type != WDR_FEED_ASK) {
		rd->over = true;
		return;
	}
	rd->owes = true;
	rd->asked = ask.value;
	rd->rounds = MAX_ROUNDS;
}

/* Behind every event of what had come before it was asked. */
static void answer(struct reader *rd)
{
	struct wdr_guest_stats st = *wdr_seccheck_stats(rd->sink);
	struct wdr_feed_counts m;

	st.suppressed += rd->unsent;
	wdr_feed_put_counts(&st, rd->asked, &m);
	if (send(WDR_ROLE_SOCK, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(m))
		rd->owes = false;
	else if (errno != EAGAIN && errno != EINTR)
		rd->over = true;
}

static void read_sink(struct reader *rd)
{
	struct pollfd p[] = {
		{ .fd = WDR_ROLE_SOCK, .events = POLLIN },
		{ .fd = wdr_seccheck_fd(rd->sink), .events = POLLIN },
	};
	int more = 0;

	while (!rd->over) {
		bool due = rd->owes && (!more || rd->rounds <= 0);

		p[0].events = (short)(due ? POLLIN | POLLOUT : POLLIN);
		if (poll(p, 2, more || (rd->owes && !due) ? 0 : -1) < 0 && errno != EINTR)
			return;
		if (p[0].revents & POLLIN)
			take_ask(rd);
		else if (p[0].revents & (POLLHUP | POLLERR))
			return;
		if (due && rd->owes && p[0].revents & POLLOUT)
			answer(rd);
		more = wdr_seccheck_pump(rd->sink, wdr_now_ns());
		if (rd->rounds > 0)
			rd->rounds--;
	}
}

int wdr_proc_reader(void)
{
	static const struct wdr_feed_ready ready = { WDR_FEED_READY };
	struct wdr_err err = { 0 };
	struct reader rd = { 0 };
	int r = prepare(&rd, &err);

	if (r < 0) {
		fail(r, &err);
		return EXIT_LOST;
	}
	if (send(WDR_ROLE_SOCK, &ready, sizeof(ready), MSG_NOSIGNAL) == (ssize_t)sizeof(ready))
		read_sink(&rd);
	return EXIT_LOST;
}
