/* SPDX-License-Identifier: Apache-2.0 */
/* `warder run`: one job, supervised by this process until its result is out. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/wdr_event.h"
#include "base/wdr_io.h"
#include "cli/cli.h"
#include "cli/run_args.h"
#include "cli/run_signals.h"
#include "cli/tty.h"
#include "job/job.h"
#include "native/native.h"
#include "runsc.h"

struct run {
	struct wdr_run_args args;
	struct wdr_policy *policy;
	const struct wdr_backend_ops *backend;
	uint64_t disabled;
	uint64_t begun_ns;
	int result_fd, events_fd;
	bool tty;
	struct wdr_event *event;
	struct wdr_source *signal_srcs[WDR_RUN_N_SIGNALS];
	struct wdr_job *job;
};

static void free_run(struct run *r)
{
	for (size_t i = 0; i < WDR_RUN_N_SIGNALS; i++)
		wdr_source_freep(&r->signal_srcs[i]);
	wdr_job_freep(&r->job);
	wdr_policy_freep(&r->policy);
	wdr_closep(&r->result_fd);
	wdr_closep(&r->events_fd);
	wdr_event_freep(&r->event);
	wdr_run_args_done(&r->args);
}

#define run_ wdr_cleanup(free_run)

static int read_policy(struct run *r, struct wdr_err *err)
{
	int e = wdr_policy_get(r->args.policy, &r->policy, err);

	for (size_t i = 0; e == 0 && i < r->args.overrides.n; i++)
		e = wdr_policy_override(r->policy, r->args.overrides.items[i].option,
					r->args.overrides.items[i].value, err);
	if (e == 0)
		e = wdr_policy_finish(r->policy, err);
	if (e == 0)
		e = wdr_protection_parse(getenv("WARDER_DISABLE"), &r->disabled, err);
	return e < 0 && !err->code ? wdr_err_wrap(err, e, "policy") : e;
}

static int choose_backend(struct run *r, struct wdr_err *err)
{
	enum wdr_backend_kind kind = r->policy->backend;

	r->backend = &wdr_native_ops;
	if (kind == WDR_BACKEND_RUNSC || (kind == WDR_BACKEND_AUTO && !wdr_runsc_ops.probe(NULL)))
		r->backend = &wdr_runsc_ops;
	return kind == WDR_BACKEND_RUNSC ? wdr_runsc_ops.probe(err) : 0;
}

/* Whichever of the caller's stdout and stderr is the regular file @fd, or -1. */
static int find_shared(int fd)
{
	struct stat st;
	struct stat std;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	for (int i = STDOUT_FILENO; i <= STDERR_FILENO; i++) {
		if (fstat(i, &std) == 0 && std.st_dev == st.st_dev && std.st_ino == st.st_ino)
			return i;
	}
	return -1;
}

/*
 * Before anything starts: a file that can't be written must not cost a run. A fifo that nobody reads
 * is an error, not something to wait for. In a file that takes a stream as well, what we write comes
 * behind that: both have one offset.
 */
static int open_output(const char *option, const char *path, bool anew, int *ret_fd,
		       struct wdr_err *err)
{
	wdr_close_ int fd = -1;
	int std;

	if (!path)
		return 0;
	fd = open(path,
		  O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (anew ? 0 : O_APPEND),
		  0666);
	if (fd < 0 && errno == ENXIO)
		return wdr_err_set(err, -errno, "--%s %s: nobody reads from it", option, path);
	if (fd < 0)
		return wdr_err_set(err, -errno, "--%s %s: %s", option, path, strerror(errno));
	std = find_shared(fd);
	if (std >= 0) {
		(void)close(fd);
		fd = fcntl(std, F_DUPFD_CLOEXEC, 3);
	}
	/* EINVAL: a pipe or a device, which has no length to cut. */
	if (fd < 0 || (anew && std < 0 && ftruncate(fd, 0) < 0 && errno != EINVAL))
		return wdr_err_set(err, -errno, "--%s %s: %s", option, path, strerror(errno));
	*ret_fd = WDR_TAKE_FD(fd);
	return 0;
}

/* Events come while the job runs: that a reader does not read must not stop it. */
static int open_outputs(struct run *r, struct wdr_err *err)
{
	int e = open_output("result", r->args.result, true, &r->result_fd, err);

	return e < 0 ? e : open_output("events", r->args.events, false, &r->events_fd, err);
}

static void on_done(struct wdr_job *j, void *userdata)
{
	struct run *r = userdata;

	(void)j;
	wdr_event_exit(r->event, 0);
}

/* /dev/null has nothing to relay: the job gets its own. */
static bool is_null(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/* Our own words in memory, which every process of the job could read in /proc/1/cmdline. */
static size_t args_length(int argc, char **argv)
{
	const char *last = argv[argc - 1];

	return (size_t)(last + strlen(last) + 1 - program_invocation_name);
}

static int start_job(struct run *r, int argc, char **argv, struct wdr_err *err)
{
	struct wdr_job_opts o = {
		.policy = r->policy,
		.backend = r->backend,
		.argv = r->args.command,
		.label = r->args.name,
		.disabled = r->disabled,
		.allow_degraded = r->args.allow_degraded,
		.capture = r->args.json || r->args.result,
		.in_fd = is_null(STDIN_FILENO) ? -1 : STDIN_FILENO,
		.out_fd = r->args.json ? -1 : STDOUT_FILENO,
		.err_fd = r->args.json ? -1 : STDERR_FILENO,
		.events_fd = r->events_fd,
		.begun_ns = r->begun_ns,
		.args_area = program_invocation_name,
		.args_area_len = args_length(argc, argv),
		.on_done = on_done,
		.userdata = r,
	};
	unsigned short rows;
	unsigned short cols;
	int e;

	r->tty =
		r->args.pty == WDR_PTY_YES || (r->args.pty == WDR_PTY_AUTO && isatty(STDIN_FILENO));
	o.tty = r->tty;
	e = wdr_job_new(&o, &r->job, err);
	if (e == 0)
		e = wdr_event_new(&r->event, err);
	if (e == 0)
		e = wdr_job_attach(r->job, r->event, err);
	if (e < 0)
		return e;
	if (r->tty) {
		wdr_tty_size(&rows, &cols);
		wdr_job_resize(r->job, rows, cols);
		wdr_tty_raw();
	}
	e = wdr_run_signals_watch(r->event, r->job, r->signal_srcs);
	return e < 0 ? wdr_err_wrap(err, e, "signals") : 0;
}

static int write_results(struct run *r, const struct wdr_result *res)
{
	struct wdr_err err = { 0 };
	int e = 0;

	if (r->result_fd >= 0)
		e = wdr_result_write(res, r->result_fd, &err);
	if (e < 0) {
		(void)wdr_err_wrap(&err, e, "--result %s", r->args.result);
		return wdr_cli_fail(&err, WDR_STATUS_REFUSED);
	}
	if (r->args.json)
		e = wdr_result_write(res, STDOUT_FILENO, &err);
	if (e < 0 && e != -EPIPE) {
		(void)wdr_err_wrap(&err, e, "--json");
		return wdr_cli_fail(&err, WDR_STATUS_REFUSED);
	}
	return 0;
}

static int report(struct run *r, const struct wdr_result *res)
{
	char line[WDR_RESULT_LINE_MAX];
	size_t n = wdr_result_line(res, line);
	int status = write_results(r, res);

	/* A job that Warder could not start says so even with -q: there is nothing else to see. */
	if (n > 0 && (!r->args.quiet || res->exit.reason == WDR_EXIT_ERROR))
		(void)fprintf(stderr, "%s\n", line);
	return status ? status : wdr_result_status(res);
}

/* Nothing ran, and who asked for an object still gets one. */
static int report_failure(struct run *r, const struct wdr_err *err)
{
	wdr_result_ struct wdr_result res = WDR_RESULT_INIT;

	if (!r->args.json && r->result_fd < 0)
		return wdr_cli_fail(err, WDR_STATUS_REFUSED);
	if (wdr_job_id(res.job) < 0)
		return wdr_cli_fail(err, WDR_STATUS_REFUSED);
	(void)clock_gettime(CLOCK_REALTIME, &res.started);
	(void)snprintf(res.name, sizeof(res.name), "%s", r->args.name ? r->args.name : "");
	res.backend = r->backend ? r->backend->name : wdr_native_ops.name;
	res.command_ref = r->args.command;
	res.exit.reason = WDR_EXIT_ERROR;
	res.exit.value = WDR_STATUS_REFUSED;
	(void)snprintf(res.exit.what, sizeof(res.exit.what), "%.120s%s%.130s", err->where,
		       err->where[0] ? ": " : "", err->msg);
	res.out.fd = res.err.fd = -1;
	return report(r, &res);
}

/* A closed 0, 1 or 2 would be given to the next file we open. */
static int fill_stdio(struct wdr_err *err)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		(void)close(fd);
	return fd < 0 ? wdr_err_set(err, -errno, "/dev/null: %s", strerror(errno)) : 0;
}

int wdr_cmd_run(const struct wdr_command *c, int argc, char **argv)
{
	run_ struct run r = { .result_fd = -1, .events_fd = -1, .begun_ns = wdr_now_ns() };
	struct wdr_err err = { 0 };
	int e;

	e = wdr_run_signals_reset(&err);
	if (e == 0)
		e = fill_stdio(&err);
	if (e == 0) {
		e = wdr_run_args_parse(argc, argv, &r.args, &err);
		if (e < 0 && err.code)
			return wdr_cli_misused(c, &err);
	}
	if (e == 0 && r.args.help)
		return wdr_cli_help(c);
	if (e == 0)
		e = open_outputs(&r, &err);
	if (e < 0) {
		(void)(err.code ? 0 : wdr_err_wrap(&err, e, "start"));
		return wdr_cli_fail(&err, WDR_STATUS_REFUSED);
	}
	e = read_policy(&r, &err);
	if (e == 0)
		e = wdr_run_signals_block(&err);
	if (e == 0)
		e = choose_backend(&r, &err);
	if (e == 0)
		e = start_job(&r, argc, argv, &err);
	if (e == 0) {
		e = wdr_event_loop(r.event);
		if (e < 0)
			(void)wdr_err_wrap(&err, e, "event loop");
	}
	wdr_tty_restore();
	wdr_run_signals_unblock();
	if (e < 0) {
		(void)(err.code ? 0 : wdr_err_wrap(&err, e, "start"));
		return report_failure(&r, &err);
	}
	return report(&r, wdr_job_result(r.job));
}
