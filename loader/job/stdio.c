/* SPDX-License-Identifier: Apache-2.0 */
/* The pumps between a job's stdio and the caller's, and what their ends decide. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "job/end.h"
#include "job/job_priv.h"

#define END_OF_TRANSMISSION 4 /* Ctrl-D */

static void on_limit(struct wdr_pump *p, void *userdata)
{
	struct wdr_job *j = userdata;
	const struct wdr_limits *l = &j->o.policy->limits;

	if (l->on_output == WDR_ON_OUTPUT_TRUNCATE)
		return;
	wdr_job_decide(j, WDR_EXIT_OUTPUT_LIMIT, p == j->err ? l->stderr_bytes : l->stdout_bytes, 0,
		       wdr_pump_name(p));
	wdr_job_kill(j);
}

static void on_end(struct wdr_pump *p, void *userdata)
{
	struct wdr_job *j = userdata;
	struct wdr_err err = { 0 };

	/* Less of its input than there was would be another job. Once it has ended, that is its own. */
	if (wdr_pump_error(p) < 0 && (p != j->in || !j->have_status)) {
		(void)wdr_err_wrap(&err, wdr_pump_error(p), "%s %s", p == j->in ? "read" : "write",
				   wdr_pump_name(p));
		wdr_job_decide_error(j, WDR_JOB_EXIT_ERROR, &err);
		wdr_job_kill(j);
	}
	wdr_job_maybe_done(j);
}

static int add_pump(struct wdr_job *j, const char *name, int src, int dst, struct wdr_pump **ret,
		    struct wdr_err *err)
{
	const struct wdr_limits *l = &j->o.policy->limits;
	bool in = ret == &j->in;
	struct wdr_pump_opts o = {
		.name = name,
		.src_fd = src,
		.dst_fd = dst,
		.from_job = !in,
		.capture = !in && j->o.capture,
		.limit = in		? UINT64_MAX :
			 ret == &j->err ? l->stderr_bytes :
					  l->stdout_bytes,
		.end_byte = in && j->o.tty ? END_OF_TRANSMISSION : -1,
		.on_limit = on_limit,
		.on_end = on_end,
		.userdata = j,
	};

	return wdr_pump_new(j->event, &o, ret, err);
}

/* From the job: @src is taken over. */
static int add_output(struct wdr_job *j, const char *name, int *src, int caller_fd,
		      struct wdr_pump **ret, struct wdr_err *err)
{
	int dst = -1;
	int r = wdr_end_open(caller_fd, O_WRONLY, &dst);

	/* What could not be opened must not be taken for what goes nowhere. */
	if (r < 0)
		return wdr_err_wrap(err, r, "relay %s", name);
	return add_pump(j, name, WDR_TAKE_FD(*src), dst, ret, err);
}

static int add_input(struct wdr_job *j, int *dst, struct wdr_err *err)
{
	int src = -1;
	int r = wdr_end_open(j->o.in_fd, O_RDONLY, &src);

	if (r < 0)
		return wdr_err_wrap(err, r, "relay stdin");
	return add_pump(j, "stdin", src, WDR_TAKE_FD(*dst), &j->in, err);
}

static int add_tty_pumps(struct wdr_job *j, struct wdr_err *err)
{
	wdr_close_ int in = -1;
	wdr_close_ int out = -1;
	int r;

	/* recvmsg(2) drops a descriptor for which there is no room. */
	if (j->tty_fd < 0)
		return wdr_err_set(err, -EMFILE, "the job's terminal did not come");
	in = fcntl(j->tty_fd, F_DUPFD_CLOEXEC, 3);
	out = in < 0 ? in : fcntl(j->tty_fd, F_DUPFD_CLOEXEC, 3);
	if (out < 0)
		return wdr_err_set(err, -errno, "relay the terminal: %s", strerror(errno));
	r = add_output(j, "stdout", &out, j->o.out_fd, &j->out, err);
	return r < 0 ? r : add_input(j, &in, err);
}

int wdr_job_add_pumps(struct wdr_job *j, struct wdr_err *err)
{
	int r;

	if (j->o.tty)
		return add_tty_pumps(j, err);
	r = add_output(j, "stdout", &j->our_stdio[1], j->o.out_fd, &j->out, err);
	if (r == 0)
		r = add_output(j, "stderr", &j->our_stdio[2], j->o.err_fd, &j->err, err);
	if (r == 0 && j->our_stdio[0] >= 0)
		r = add_input(j, &j->our_stdio[0], err);
	return r;
}
