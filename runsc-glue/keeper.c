/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's keeper: pid 1 around runsc. It makes the box, runs `runsc run --detach` when the
 * supervisor says so, adopts the sentry that this leaves, and tells what became of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/wdr_event.h"
#include "base/wdr_io.h"
#include "base/wdr_msg.h"
#include "command.h"
#include "sandbox_priv.h"
#include "state.h"

#define EXIT_NOT_STARTED 125
#define NS_PER_S	 1000000000ULL
/* Cold start under load; a start that takes longer hangs. */
#define START_MS 30000
#define LOG_MAX	 (64 * 1024)
/*
 * The job's pipes are read once runsc has said that it runs: by one that stays full for so long it will
 * not say it, whose own words they may be full of. A job that fills them at once has its start in between.
 */
#define FULL_MS 10000
#define LOOK_MS 250
/* A stopped supervisor can't keep its own time: the keeper ends the job this long after. */
#define WALL_GRACE_NS NS_PER_S

void wdr_keep_send(struct wdr_keeper *k, const struct wdr_keep_msg *m)
{
	/* A supervisor that is gone takes this process along in a moment. */
	(void)!wdr_msg_send(k->ctl, m, sizeof(*m), &k->tty, k->tty >= 0, 0);
}

static void send_msg(struct wdr_keeper *k, uint32_t type, int32_t value, const struct wdr_err *err)
{
	struct wdr_keep_msg m = { .type = type, .value = value };

	if (err)
		m.err = *err;
	wdr_keep_send(k, &m);
}

void wdr_keep_start_clock(struct wdr_keeper *k, uint64_t wall_ns)
{
	k->end_ns = wall_ns == WDR_UNLIMITED ? UINT64_MAX : wdr_now_ns() + wall_ns + WALL_GRACE_NS;
}

static _Noreturn void fail(struct wdr_keeper *k, int exit_code, const struct wdr_err *err)
{
	send_msg(k, WDR_KEEP_FAILED, exit_code, err);
	_exit(EXIT_NOT_STARTED);
}

/* No command but this one can come here; end of file is a dead supervisor. */
static void wait_for_go(struct wdr_keeper *k)
{
	struct wdr_keep_cmd cmd;
	ssize_t n;

	do
		n = recv(k->ctl, &cmd, sizeof(cmd), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(cmd) || cmd.type != WDR_KEEP_GO)
		_exit(EXIT_NOT_STARTED);
}

/* runsc has connected, handed the master over and gone. */
static int take_tty(struct wdr_keeper *k, struct wdr_err *err)
{
	wdr_close_ int conn = accept4(k->console, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	char name[64];
	ssize_t n;

	if (conn < 0)
		return wdr_err_wrap(err, -errno, "take the terminal from runsc");
	n = wdr_msg_recv(conn, name, sizeof(name), &k->tty, 0);
	if (n < 0)
		return wdr_err_wrap(err, (int)n, "take the terminal from runsc");
	return k->tty < 0 ? wdr_err_set(err, -EPROTO, "runsc sent no terminal") : 0;
}

/* Who is who of the two children that runsc left us. */
static int read_state(struct wdr_keeper *k, struct wdr_err *err)
{
	const char *id = k->b->spec->id;
	wdr_free_ char *text = NULL;
	struct wdr_runsc_state s;
	char path[128];
	size_t n = 0;
	int r;

	(void)snprintf(path, sizeof(path), WDR_BOX_STATE "/%s_sandbox:%s.state", id, id);
	r = wdr_read_file(AT_FDCWD, path, WDR_RUNSC_STATE_MAX, &text, &n);
	if (r == 0)
		r = wdr_runsc_state_parse(text, n, &s);
	if (r < 0)
		return wdr_err_wrap(err, r, "read runsc's state");
	if (s.sentry_pid <= 1)
		return wdr_err_set(err, -EPROTO, "no sandbox in runsc's state");
	k->sentry = s.sentry_pid;
	k->gofer = s.gofer_pid;
	if (s.control[0])
		memcpy(k->control_path, s.control, sizeof(s.control));
	else
		(void)snprintf(k->control_path, sizeof(k->control_path), "@runsc-sandbox.%s", id);
	return 0;
}

/*
 * The sentry's exit code can't tell a program that exits with 137 from one that was killed: its
 * control socket can, if it is asked while the program runs. A short program may be faster.
 */
static void ask_for_end(struct wdr_keeper *k)
{
	if (wdr_control_open(k->control_path, &k->control, NULL) == 0 &&
	    wdr_control_wait(k->control, k->b->spec->id, 0) < 0)
		wdr_control_freep(&k->control);
}

static void hear_of_end(struct wdr_keeper *k)
{
	wdr_json_ json_t *result = NULL;
	int r = k->control ? wdr_control_pump(k->control, &result, NULL) : 0;
	int status;

	if (r == 1 && wdr_control_status(result, &status) == 0)
		k->guest_status = status;
	if (r != 0)
		wdr_control_freep(&k->control);
}

/* Put together `runsc FLAGS run --detach ... ID`. */
static int make_command(struct wdr_keeper *k, struct wdr_args *a, struct wdr_command_spec *c)
{
	const char *const run[] = {
		"run",
		"--detach",
		"--bundle=" WDR_BOX_BUNDLE,
		k->b->spec->tty ? "--console-socket=" WDR_BOX_CONSOLE : NULL,
	};
	int r = wdr_bundle_flags(k->b->spec, &k->b->runsc, k->b->session, a);

	for (size_t i = 0; r == 0 && i < sizeof(run) / sizeof(run[0]); i++)
		if (run[i])
			r = wdr_args_add(a, run[i]);
	if (r == 0)
		r = wdr_keep_ahead_args(k, a, c);
	return r < 0 ? r : wdr_args_add(a, k->b->spec->id);
}

static _Noreturn void fail_start(struct wdr_keeper *k)
{
	struct wdr_err err = { 0 };
	wdr_free_ char *log = NULL;
	size_t n = 0;
	int code;

	(void)!wdr_read_file(AT_FDCWD, WDR_BOX_LOG, LOG_MAX, &log, &n);
	code = wdr_start_failure(log ? log : "", n, k->b->spec->argv[0], &err);
	fail(k, code, &err);
}

/* One of the pipes that will be the job's takes nothing any more. */
static bool is_full(const struct wdr_keeper *k)
{
	struct pollfd p[] = { { .fd = k->stdio[1], .events = POLLOUT },
			      { .fd = k->stdio[2], .events = POLLOUT } };

	(void)poll(p, 2, 0);
	return (p[0].fd >= 0 && !p[0].revents) || (p[1].fd >= 0 && !p[1].revents);
}

/* Not at the end of START_MS alone: a runsc that fills a pipe waits for a reader that is not to come. */
static int wait_for_runsc(struct wdr_keeper *k, struct wdr_command *c, struct wdr_err *err)
{
	int full_ms = 0, r = 0;

	for (int ms = 0; ms < START_MS && full_ms < FULL_MS; ms += LOOK_MS) {
		r = wdr_command_look(c, LOOK_MS, err);
		if (r != 0)
			return r < 0 ? r : 0;
		full_ms = is_full(k) ? full_ms + LOOK_MS : 0;
	}
	if (full_ms)
		return wdr_err_set(err, -ENOBUFS,
				   "runsc wrote more than a pipe holds before the job ran");
	return wdr_err_set(err, -ETIMEDOUT, "runsc did not end within %d ms", START_MS);
}

static void start(struct wdr_keeper *k)
{
	wdr_command_ struct wdr_command *c = NULL;
	struct wdr_args a = { 0 };
	struct wdr_command_spec spec = { .argv = a.v };
	struct wdr_err err = { 0 };
	int r = make_command(k, &a, &spec);

	/* A pty's job has no use for them; else the guest's stdio is what runsc's was. */
	memcpy(spec.stdio, k->stdio, sizeof(spec.stdio));
	if (r == 0)
		r = wdr_command_start(&spec, &c, &err);
	if (r == 0)
		r = wait_for_runsc(k, c, &err);
	if (r < 0)
		fail(k, EXIT_NOT_STARTED, &err);
	if (wdr_command_check(c, "runsc run", NULL) < 0)
		fail_start(k);
	r = read_state(k, &err);
	if (r == 0 && k->console >= 0)
		r = take_tty(k, &err);
	if (r < 0)
		fail(k, EXIT_NOT_STARTED, &err);
}

static void take_command(struct wdr_keeper *k)
{
	struct wdr_keep_cmd cmd;
	ssize_t n = recv(k->ctl, &cmd, sizeof(cmd), MSG_DONTWAIT);

	if (n == 0)
		_exit(EXIT_NOT_STARTED);
	if (n != (ssize_t)sizeof(cmd))
		return;
	/* The sentry passes on what it gets (runsc/boot, StartSignalForwarding); KILL ends it. */
	if (cmd.type == WDR_KEEP_SIGNAL)
		(void)kill(k->sentry, cmd.value);
	if (cmd.type == WDR_KEEP_TAKE && !k->taken) {
		k->taken = true;
		wdr_keep_start_clock(k, cmd.wall_ns);
	}
}

/*
 * The guest's end is an exit of the sentry. Whatever else ends it is a fault of the sandbox: a
 * signal, a panic, or the gofer's end before its own.
 */
static void tell_end(struct wdr_keeper *k, int status)
{
	wdr_free_ char *panic = NULL;
	struct wdr_err err = { 0 };
	size_t n = 0;

	(void)!wdr_read_file(AT_FDCWD, WDR_BOX_PANIC, LOG_MAX, &panic, &n);
	if (wdr_sandbox_loss(status, k->gofer_status, panic, n, &err))
		send_msg(k, WDR_KEEP_LOST, 0, &err);
	else
		send_msg(k, WDR_KEEP_EXITED,
			 k->guest_status >= 0 ? k->guest_status : wdr_guest_status(status), NULL);
}

static void reap(struct wdr_keeper *k)
{
	bool ended = false;
	int status, end = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == k->gofer)
			k->gofer_status = status;
		if (pid == k->sentry) {
			ended = true;
			end = status;
		}
	}
	if (!ended)
		return;
	/* What happened before it may not have been read. */
	take_command(k);
	wdr_keep_hear_answer(k);
	hear_of_end(k);
	tell_end(k, end);
	_exit(0); /* and the kernel ends gofer and stubs */
}

static _Noreturn void watch(struct wdr_keeper *k, int chld)
{
	struct pollfd p[] = { { .fd = k->ctl, .events = POLLIN },
			      { .fd = chld, .events = POLLIN },
			      { .events = POLLIN },
			      { .events = POLLIN } };
	struct signalfd_siginfo si;

	for (;;) {
		uint64_t now = wdr_now_ns(), left = k->end_ns - now;
		struct timespec wait = { (time_t)(left / NS_PER_S), (long)(left % NS_PER_S) };

		reap(k);
		p[2].fd = k->control ? wdr_control_fd(k->control) : -1;
		p[3].fd = k->b->ahead.answer_in_fd;
		if (now >= k->end_ns)
			_exit(0);
		if (ppoll(p, 4, k->end_ns == UINT64_MAX ? NULL : &wait, NULL) <= 0)
			continue;
		if (p[1].revents)
			(void)!read(chld, &si, sizeof(si));
		if (p[2].revents)
			hear_of_end(k);
		if (p[0].revents)
			take_command(k);
		if (p[3].revents)
			wdr_keep_hear_answer(k);
	}
}

/* Before runsc starts, so that no end of the sentry is missed. Commands open their own mask. */
static int watch_children(struct wdr_err *err)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? wdr_err_wrap(err, -errno, "signalfd") : fd;
}

_Noreturn void wdr_keep(struct wdr_backend_job *b, int ctl_fd)
{
	struct wdr_keeper k = {
		.b = b,
		.ctl = ctl_fd,
		.console = -1,
		.tty = -1,
		.guest_status = -1,
		.taken = !b->spec->ahead,
		.end_ns = UINT64_MAX,
	};
	struct wdr_err err = { 0 };
	int chld;

	memcpy(k.stdio, b->spec->stdio_fds, sizeof(k.stdio));
	if (wdr_keep_prepare(&k, &err) < 0)
		fail(&k, EXIT_NOT_STARTED, &err);
	wait_for_go(&k);
	chld = watch_children(&err);
	if (chld < 0)
		fail(&k, EXIT_NOT_STARTED, &err);
	start(&k);
	if (k.taken)
		wdr_keep_start_clock(&k, b->spec->policy->limits.wall_ns);
	send_msg(&k, k.taken ? WDR_KEEP_RUNNING : WDR_KEEP_HELD, 0, NULL);
	ask_for_end(&k);
	/* The guest has its own copies; an end of file must mean that it closed them. */
	for (int i = 0; i < 3; i++)
		wdr_closep(&k.stdio[i]);
	wdr_keep_close_ahead(&k);
	wdr_closep(&k.tty); /* later messages carry none */
	wdr_closep(&k.console);
	watch(&k, chld);
}
