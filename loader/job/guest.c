/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox tells of its guest: read while the job runs, counted into its result. */
#include <errno.h>
#include <string.h>

#include "base/wdr_syscall.h"
#include "job/job_priv.h"
#include "seccheck.h"

/* Of a finished job: what its peer left in the socket, and no more. */
#define LAST_ROUNDS 64

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
	int r = wdr_seccheck_new(listen_fd, NULL, NULL, &j->guest);

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

void wdr_job_guest_stop(struct wdr_job *j)
{
	wdr_source_freep(&j->guest_src);
	wdr_seccheck_freep(&j->guest);
}
