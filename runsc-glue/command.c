/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/wdr_event.h"
#include "base/wdr_io.h"
#include "base/wdr_pidfd.h"
#include "base/wdr_text.h"

#define FIRST_FREE_FD (3 + WDR_COMMAND_MAX_FDS) /* below: what the command is given */

struct stream {
	int fd;
	size_t len;
	uint64_t lost;
	char bytes[WDR_COMMAND_MAX_OUTPUT + 1];
};

struct wdr_command {
	pid_t pid;
	int pid_fd, fail_fd;
	bool reaped;
	int status;
	char name[32]; /* of the binary, for messages */
	struct stream out, err;
};

/* Both ends of every pipe of one command, ours and the child's. */
struct pipes {
	int fail[2], out[2], err[2];
};

static void close_pair(int *p)
{
	wdr_closep(&p[0]);
	wdr_closep(&p[1]);
}

static void close_pipes(struct pipes *p)
{
	close_pair(p->fail);
	close_pair(p->out);
	close_pair(p->err);
}

static int open_pipes(const struct wdr_command_spec *spec, struct pipes *p)
{
	*p = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (pipe2(p->fail, O_CLOEXEC) < 0 || (spec->stdio[1] < 0 && pipe2(p->out, O_CLOEXEC) < 0) ||
	    (spec->stdio[2] < 0 && pipe2(p->err, O_CLOEXEC) < 0))
		return -errno;
	return 0;
}

static int set_up_child(const struct wdr_command_spec *spec, struct pipes *p, pid_t parent)
{
	int src[FIRST_FREE_FD];
	sigset_t none;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || setsid() < 0)
		return -errno;
	if (getppid() != parent)
		return -ECANCELED; /* it died before the line above */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_DFL);
	src[0] = spec->stdio[0] >= 0 ? spec->stdio[0] : open("/dev/null", O_RDONLY | O_CLOEXEC);
	src[1] = spec->stdio[1] >= 0 ? spec->stdio[1] : p->out[1];
	src[2] = spec->stdio[2] >= 0 ? spec->stdio[2] : p->err[1];
	for (size_t i = 0; i < spec->n_fds; i++)
		src[3 + i] = spec->fds[i];
	/* wdr_place_fds() may land on the failure pipe. */
	p->fail[1] = fcntl(p->fail[1], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
	if (p->fail[1] < 0)
		return -errno;
	return wdr_place_fds(src, 3 + (int)spec->n_fds, FIRST_FREE_FD);
}

static void run_child(const struct wdr_command_spec *spec, struct pipes *p, pid_t parent)
{
	static const char *const clean_env[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL
	};
	const char *const *envp = spec->envp ? spec->envp : clean_env;
	int code = set_up_child(spec, p, parent);

	if (code == 0) {
		(void)execve(spec->argv[0], (char *const *)spec->argv, (char *const *)envp);
		code = -errno;
	}
	(void)!write(p->fail[1], &code, sizeof(code));
	_exit(127);
}

static int clone_child(const struct wdr_command_spec *spec, struct pipes *p, struct wdr_command *c)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD,
		.pidfd = (uintptr_t)&c->pid_fd,
		.exit_signal = SIGCHLD,
	};
	pid_t parent = getpid();

	c->pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (c->pid == 0)
		run_child(spec, p, parent);
	return c->pid < 0 ? -errno : 0;
}

static void keep_our_ends(struct wdr_command *c, struct pipes *p)
{
	int *fds[] = { &c->fail_fd, &c->out.fd, &c->err.fd };

	c->fail_fd = WDR_TAKE_FD(p->fail[0]);
	c->out.fd = WDR_TAKE_FD(p->out[0]);
	c->err.fd = WDR_TAKE_FD(p->err[0]);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			(void)fcntl(*fds[i], F_SETFL, O_NONBLOCK);
}

int wdr_command_start(const struct wdr_command_spec *spec, struct wdr_command **ret,
		      struct wdr_err *err)
{
	wdr_command_ struct wdr_command *c = NULL;
	const char *slash = strrchr(spec->argv[0], '/');
	struct pipes p;
	int r;

	if (spec->n_fds > WDR_COMMAND_MAX_FDS)
		return wdr_err_set(err, -E2BIG, "too many descriptors for one command: %zu",
				   spec->n_fds);
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->reaped = true; /* nothing to reap yet */
	c->pid_fd = c->fail_fd = c->out.fd = c->err.fd = -1;
	(void)snprintf(c->name, sizeof(c->name), "%s", slash ? slash + 1 : spec->argv[0]);
	r = open_pipes(spec, &p);
	if (r == 0)
		r = clone_child(spec, &p, c);
	if (r == 0) {
		c->reaped = false;
		keep_our_ends(c, &p);
		*ret = WDR_TAKE_PTR(c);
	}
	close_pipes(&p);
	return r < 0 ? wdr_err_wrap(err, r, "start %s", spec->argv[0]) : 0;
}

/* And whatever it started in the session that it leads; not reaped yet, its number is nobody else's. */
static int send_kill(const struct wdr_command *c)
{
	(void)kill(-c->pid, SIGKILL);
	return wdr_pidfd_kill(c->pid_fd);
}

void wdr_command_freep(struct wdr_command **cp)
{
	struct wdr_command *c = *cp;

	*cp = NULL;
	if (!c)
		return;
	if (!c->reaped) {
		(void)send_kill(c);
		while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
			;
	}
	wdr_closep(&c->pid_fd);
	wdr_closep(&c->fail_fd);
	wdr_closep(&c->out.fd);
	wdr_closep(&c->err.fd);
	free(c);
}

pid_t wdr_command_pid(const struct wdr_command *c)
{
	return c->pid;
}

void wdr_command_fds(const struct wdr_command *c, int ret_fds[4])
{
	ret_fds[0] = c->reaped ? -1 : c->pid_fd;
	ret_fds[1] = c->out.fd;
	ret_fds[2] = c->err.fd;
	ret_fds[3] = c->fail_fd;
}

static void drain(struct stream *s)
{
	char over[4096];
	size_t room;
	ssize_t n;

	while (s->fd >= 0) {
		room = WDR_COMMAND_MAX_OUTPUT - s->len;
		n = read(s->fd, room ? s->bytes + s->len : over, room ? room : sizeof(over));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			wdr_closep(&s->fd);
		else if (room)
			s->len += (size_t)n;
		else
			s->lost += (uint64_t)n;
	}
}

static int take_failure(struct wdr_command *c, struct wdr_err *err)
{
	int code;
	ssize_t n;

	if (c->fail_fd < 0)
		return 0;
	n = read(c->fail_fd, &code, sizeof(code));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	wdr_closep(&c->fail_fd); /* EOF: the exec happened */
	if (n != sizeof(code))
		return 0;
	return wdr_err_wrap(err, code < 0 ? code : -EIO, "execute %s", c->name);
}

int wdr_command_pump(struct wdr_command *c, struct wdr_err *err)
{
	pid_t pid = 0;
	int r;

	if (!c->reaped)
		pid = waitpid(c->pid, &c->status, WNOHANG);
	if (pid == c->pid)
		c->reaped = true;
	r = take_failure(c, err);
	if (r < 0)
		return r;
	drain(&c->out);
	drain(&c->err);
	return c->reaped;
}

int wdr_command_kill(struct wdr_command *c)
{
	return c->reaped ? -ESRCH : send_kill(c);
}

static int64_t now_ms(void)
{
	return (int64_t)(wdr_now_ns() / 1000000);
}

int wdr_command_look(struct wdr_command *c, int ms, struct wdr_err *err)
{
	int64_t deadline = now_ms() + ms, left;
	struct pollfd fds[4];
	int want[4];
	int r;

	while ((r = wdr_command_pump(c, err)) == 0) {
		left = deadline - now_ms();
		if (left <= 0)
			return 0;
		wdr_command_fds(c, want);
		for (int i = 0; i < 4; i++)
			fds[i] = (struct pollfd){ .fd = want[i], .events = POLLIN };
		if (poll(fds, 4, (int)left) < 0 && errno != EINTR)
			return wdr_err_wrap(err, -errno, "wait for %s", c->name);
	}
	return r;
}

int wdr_command_wait(struct wdr_command *c, int timeout_ms, struct wdr_err *err)
{
	int r = wdr_command_look(c, timeout_ms, err);

	if (r != 0)
		return r < 0 ? r : 0;
	(void)send_kill(c);
	return wdr_err_set(err, -ETIMEDOUT, "%s did not end within %d ms", c->name, timeout_ms);
}

int wdr_command_status(const struct wdr_command *c)
{
	return c->status;
}

const char *wdr_command_output(const struct wdr_command *c, int which, size_t *ret_len,
			       uint64_t *ret_lost)
{
	const struct stream *s = which == 1 ? &c->out : &c->err;

	if (ret_len)
		*ret_len = s->len;
	if (ret_lost)
		*ret_lost = s->lost;
	return s->bytes;
}

/* The last line that says something. */
static const char *last_line(const struct stream *s, size_t *ret_len)
{
	size_t end = s->len, start;

	while (end > 0 && strchr("\r\n\t ", s->bytes[end - 1]))
		end--;
	for (start = end; start > 0 && s->bytes[start - 1] != '\n'; start--)
		;
	*ret_len = end - start;
	return s->bytes + start;
}

int wdr_command_check(const struct wdr_command *c, const char *what, struct wdr_err *err)
{
	char safe[200];
	const char *line;
	size_t len;

	if (WIFEXITED(c->status) && WEXITSTATUS(c->status) == 0)
		return 0;
	if (WIFSIGNALED(c->status))
		return wdr_err_set(err, -EREMOTEIO, "%s: killed by signal %d", what,
				   WTERMSIG(c->status));
	line = last_line(&c->err, &len);
	if (len == 0)
		return wdr_err_set(err, -EREMOTEIO, "%s: failed with exit status %d and no word",
				   what, WEXITSTATUS(c->status));
	return wdr_err_set(err, -EREMOTEIO, "%s: %s", what,
			   wdr_text_escape(line, len, safe, sizeof(safe)));
}
