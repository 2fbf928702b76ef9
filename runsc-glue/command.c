/* SPDX-License-Identifier: Apache-2.0 */
#include "command_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

struct stream {
	int fd;
	size_t len;
	uint64_t lost;
	char bytes[WDR_COMMAND_MAX_OUTPUT + 1];
};

struct wdr_command {
	pid_t pid;
	int pid_fd, gate_fd, fail_fd;
	bool reaped;
	int status;
	char name[32]; /* of the binary, for messages */
	struct wdr_prep *preps;
	size_t n_preps;
	struct stream out, err;
};

/* Only targets are kept, for messages: the caller's array may be gone by then. */
static int copy_preps(struct wdr_command *c, const struct wdr_command_spec *spec)
{
	if (!spec->n_preps)
		return 0;
	c->preps = calloc(spec->n_preps, sizeof(*c->preps));
	if (!c->preps)
		return -ENOMEM;
	c->n_preps = spec->n_preps;
	for (size_t i = 0; i < spec->n_preps; i++) {
		c->preps[i].op = spec->preps[i].op;
		c->preps[i].target = strdup(spec->preps[i].target);
		if (!c->preps[i].target)
			return -ENOMEM;
	}
	return 0;
}

static int new_command(const struct wdr_command_spec *spec, struct wdr_command **ret)
{
	wdr_command_ struct wdr_command *c = calloc(1, sizeof(*c));
	const char *slash = strrchr(spec->argv[0], '/');

	if (!c)
		return -ENOMEM;
	c->reaped = true; /* nothing to reap yet */
	c->pid_fd = c->gate_fd = c->fail_fd = c->out.fd = c->err.fd = -1;
	(void)snprintf(c->name, sizeof(c->name), "%s", slash ? slash + 1 : spec->argv[0]);
	if (copy_preps(c, spec) < 0)
		return -ENOMEM;
	*ret = WDR_TAKE_PTR(c);
	return 0;
}

static void keep_our_ends(struct wdr_command *c, struct wdr_command_pipes *p)
{
	c->gate_fd = WDR_TAKE_FD(p->gate[1]);
	c->fail_fd = WDR_TAKE_FD(p->fail[0]);
	c->out.fd = WDR_TAKE_FD(p->out[0]);
	c->err.fd = WDR_TAKE_FD(p->err[0]);
	(void)fcntl(c->fail_fd, F_SETFL, O_NONBLOCK);
	if (c->out.fd >= 0)
		(void)fcntl(c->out.fd, F_SETFL, O_NONBLOCK);
	if (c->err.fd >= 0)
		(void)fcntl(c->err.fd, F_SETFL, O_NONBLOCK);
}

int wdr_command_start(const struct wdr_command_spec *spec, struct wdr_command **ret,
		      struct wdr_err *err)
{
	wdr_command_ struct wdr_command *c = NULL;
	struct wdr_command_pipes p;
	int r;

	if (spec->n_fds > WDR_COMMAND_MAX_FDS)
		return wdr_err_set(err, -E2BIG, "too many descriptors for one command: %zu",
				   spec->n_fds);
	r = new_command(spec, &c);
	if (r < 0)
		return r;
	r = wdr_command_pipes_open(spec, &p);
	if (r == 0) {
		c->pid = wdr_command_clone(spec, &p, &c->pid_fd);
		r = c->pid < 0 ? (int)c->pid : 0;
	}
	if (r == 0) {
		c->reaped = false;
		keep_our_ends(c, &p);
		*ret = WDR_TAKE_PTR(c);
	}
	wdr_command_pipes_close(&p);
	return r < 0 ? wdr_err_wrap(err, r, "start %s", spec->argv[0]) : 0;
}

static int send_kill(const struct wdr_command *c)
{
	return syscall(SYS_pidfd_send_signal, c->pid_fd, SIGKILL, NULL, 0) < 0 ? -errno : 0;
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
	wdr_closep(&c->gate_fd);
	wdr_closep(&c->fail_fd);
	wdr_closep(&c->out.fd);
	wdr_closep(&c->err.fd);
	for (size_t i = 0; i < c->n_preps; i++)
		free((char *)c->preps[i].target);
	free(c->preps);
	free(c);
}

pid_t wdr_command_pid(const struct wdr_command *c)
{
	return c->pid;
}

int wdr_command_release(struct wdr_command *c)
{
	int fd = WDR_TAKE_FD(c->gate_fd);
	/* A child that died makes this EPIPE; callers of this library ignore SIGPIPE. */
	ssize_t n = write(fd, "g", 1);

	(void)close(fd);
	return n == 1 ? 0 : -EPIPE;
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

static int explain_failure(const struct wdr_command *c, const struct wdr_command_failure *f,
			   struct wdr_err *err)
{
	if (f->step == WDR_STEP_EXEC)
		return wdr_err_wrap(err, f->code, "execute %s", c->name);
	if (f->step >= 0 && (size_t)f->step < c->n_preps)
		return wdr_err_wrap(err, f->code, "prepare %s for %s", c->preps[f->step].target,
				    c->name);
	return wdr_err_wrap(err, f->code, "set up the process of %s", c->name);
}

static int take_failure(struct wdr_command *c, struct wdr_err *err)
{
	struct wdr_command_failure f;
	ssize_t n;

	if (c->fail_fd < 0)
		return 0;
	n = read(c->fail_fd, &f, sizeof(f));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	wdr_closep(&c->fail_fd); /* EOF: the exec happened */
	if (n != sizeof(f))
		return 0;
	if (f.code >= 0)
		f.code = -EIO;
	return explain_failure(c, &f, err);
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
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int wdr_command_wait(struct wdr_command *c, int timeout_ms, struct wdr_err *err)
{
	int64_t deadline = now_ms() + timeout_ms, left;
	struct pollfd fds[4];
	int want[4];
	int r;

	while ((r = wdr_command_pump(c, err)) == 0) {
		left = deadline - now_ms();
		if (left <= 0) {
			(void)send_kill(c);
			return wdr_err_set(err, -ETIMEDOUT, "%s did not end within %d ms", c->name,
					   timeout_ms);
		}
		wdr_command_fds(c, want);
		for (int i = 0; i < 4; i++)
			fds[i] = (struct pollfd){ .fd = want[i], .events = POLLIN };
		if (poll(fds, 4, (int)left) < 0 && errno != EINTR)
			return wdr_err_wrap(err, -errno, "wait for %s", c->name);
	}
	return r < 0 ? r : 0;
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

/* The last line that says something, made safe for a terminal and a log. */
static void last_line(const struct stream *s, char *dst, size_t size)
{
	size_t end = s->len, start, n = 0;

	while (end > 0 && strchr("\r\n\t ", s->bytes[end - 1]))
		end--;
	for (start = end; start > 0 && s->bytes[start - 1] != '\n'; start--)
		;
	for (; start < end && n + 1 < size; start++) {
		unsigned char b = (unsigned char)s->bytes[start];

		dst[n++] = b >= 0x20 && b < 0x7f ? (char)b : '?';
	}
	dst[n] = '\0';
}

int wdr_command_check(const struct wdr_command *c, const char *what, struct wdr_err *err)
{
	char line[180];

	if (WIFEXITED(c->status) && WEXITSTATUS(c->status) == 0)
		return 0;
	last_line(&c->err, line, sizeof(line));
	if (WIFSIGNALED(c->status))
		return wdr_err_set(err, -EREMOTEIO, "%s: killed by signal %d", what,
				   WTERMSIG(c->status));
	return wdr_err_set(err, -EREMOTEIO, "%s: %s (exit status %d)", what,
			   line[0] ? line : "failed without a word", WEXITSTATUS(c->status));
}
