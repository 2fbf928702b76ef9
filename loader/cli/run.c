/* SPDX-License-Identifier: Apache-2.0 */
/* `warder run`: one job, supervised by this process until its result is out. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/wdr_event.h"
#include "base/wdr_io.h"
#include "cli/cli.h"
#include "cli/run_args.h"
#include "cli/tty.h"
#include "job/job.h"
#include "native/native.h"
#include "runsc.h"

#define N_SIGNALS 9

struct run {
	struct wdr_run_args args;
	struct wdr_policy *policy;
	const struct wdr_backend_ops *backend;
	uint64_t disabled;
	uint64_t begun_ns;
	int result_fd, events_fd;
	bool tty;
	struct wdr_event *event;
	struct wdr_source *signal_srcs[N_SIGNALS];
	struct wdr_job *job;
};

static void free_run(struct run *r)
{
	for (size_t i = 0; i < N_SIGNALS; i++)
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

/* Before anything starts: a file that can't be written must not cost a run. */
static int open_output(const char *option, const char *path, int flags, int *ret_fd,
		       struct wdr_err *err)
{
	if (!path)
		return 0;
	*ret_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | flags, 0666);
	if (*ret_fd < 0)
		return wdr_err_set(err, -errno, "--%s %s: %s", option, path, strerror(errno));
	return 0;
}

static int open_outputs(struct run *r, struct wdr_err *err)
{
	int e = open_output("result", r->args.result, O_TRUNC, &r->result_fd, err);

	/* Events come while the job runs: a reader that does not read must not stop it. */
	return e < 0 ? e :
		       open_output("events", r->args.events, O_APPEND | O_NONBLOCK, &r->events_fd,
				   err);
}

static void on_stop(struct wdr_source *s, const struct signalfd_siginfo *si, void *userdata)
{
	(void)s;
	wdr_job_stop(userdata, (int)si->ssi_signo);
}

static void on_passed(struct wdr_source *s, const struct signalfd_siginfo *si, void *userdata)
{
	(void)s;
	wdr_job_signal(userdata, (int)si->ssi_signo);
}

static void on_winch(struct wdr_source *s, const struct signalfd_siginfo *si, void *userdata)
{
	unsigned short rows;
	unsigned short cols;

	(void)s;
	(void)si;
	wdr_tty_size(&rows, &cols);
	wdr_job_resize(userdata, rows, cols);
}

static const struct {
	int signo;
	wdr_signal_fn fn;
} signals[] = {
	{ SIGINT, on_stop },	{ SIGTERM, on_stop },	{ SIGHUP, on_stop },
	{ SIGQUIT, on_passed }, { SIGUSR1, on_passed }, { SIGUSR2, on_passed },
	{ SIGALRM, on_passed }, { SIGCONT, on_passed }, { SIGWINCH, on_winch },
};

_Static_assert(sizeof(signals) / sizeof(signals[0]) == N_SIGNALS, "a source each");

/* Blocked from here on: what comes before the job is there waits in the signalfd. */
static int block_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < N_SIGNALS; i++)
		(void)sigaddset(&set, signals[i].signo);
	(void)signal(SIGPIPE, SIG_IGN);
	return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -errno : 0;
}

static int watch_signals(struct run *r)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < N_SIGNALS; i++)
		e = wdr_event_add_signal(r->event, &r->signal_srcs[i], signals[i].signo,
					 signals[i].fn, r->job);
	return e;
}

/*
 * The job is over and a reader of its result may be slow: from here on a signal ends us. Those that
 * came while it ran, and were not read, are forgotten: they were meant for the job.
 */
static void unblock_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < N_SIGNALS; i++) {
		if (signals[i].fn != on_stop)
			continue;
		(void)signal(signals[i].signo, SIG_IGN);
		(void)signal(signals[i].signo, SIG_DFL);
		(void)sigaddset(&set, signals[i].signo);
	}
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
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

	return fstat(fd, &st) < 0 || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
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
	e = watch_signals(r);
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
static int fill_stdio(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		(void)close(fd);
	return fd < 0 ? -errno : 0;
}

int wdr_cmd_run(const struct wdr_command *c, int argc, char **argv)
{
	run_ struct run r = { .result_fd = -1, .events_fd = -1, .begun_ns = wdr_now_ns() };
	struct wdr_err err = { 0 };
	int e;

	e = fill_stdio();
	if (e == 0)
		e = block_signals();
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
		e = choose_backend(&r, &err);
	if (e == 0)
		e = start_job(&r, argc, argv, &err);
	if (e == 0)
		e = wdr_event_loop(r.event);
	wdr_tty_restore();
	unblock_signals();
	if (e < 0) {
		(void)(err.code ? 0 : wdr_err_wrap(&err, e, "start"));
		return report_failure(&r, &err);
	}
	return report(&r, wdr_job_result(r.job));
}
