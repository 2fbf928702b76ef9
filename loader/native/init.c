/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of pid 1's life: reap what the job leaves, pass signals on, keep its time. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "native/init_priv.h"

#define NS_PER_S 1000000000ULL
/* A stopped supervisor can't keep its own time: pid 1 ends the job this long after its limit. */
#define WALL_GRACE_NS NS_PER_S

void wdr_init_send(struct child *c, const struct native_msg *m, int fd)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)m, .iov_len = sizeof(*m) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cm;

	if (fd >= 0) {
		h.msg_control = &control;
		h.msg_controllen = sizeof(control);
		cm = CMSG_FIRSTHDR(&h);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cm), &fd, sizeof(fd));
	}
	while (sendmsg(c->ctl, &h, MSG_NOSIGNAL) < 0) {
		if (errno != EINTR)
			_exit(EXIT_NOT_STARTED);
	}
}

static void take_command(struct child *c)
{
	struct native_cmd cmd;
	ssize_t n = recv(c->ctl, &cmd, sizeof(cmd), MSG_DONTWAIT);

	if (n == 0)
		_exit(EXIT_NOT_STARTED);
	if (n == (ssize_t)sizeof(cmd) && cmd.type == NATIVE_CMD_SIGNAL)
		(void)kill(c->main_pid, cmd.value);
}

/* As long as the main process was not waited for there is one to wait for. */
static _Noreturn void lose_main(struct child *c)
{
	struct native_msg m = { .type = NATIVE_MSG_FAILED, .value = EXIT_NOT_STARTED };

	(void)wdr_err_set(&m.err, -errno, "wait for the program: %s", strerror(errno));
	wdr_init_send(c, &m, -1);
	_exit(EXIT_NOT_STARTED);
}

static void reap(struct child *c)
{
	struct native_msg m = { .type = NATIVE_MSG_EXITED };
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) != 0) {
		if (pid < 0 && errno != EINTR)
			lose_main(c);
		if (pid != c->main_pid)
			continue;
		m.value = status;
		wdr_init_send(c, &m, -1);
		_exit(0);
	}
}

_Noreturn void wdr_init_reap(struct child *c)
{
	uint64_t wall = c->b->spec->policy->limits.wall_ns;
	struct pollfd p[] = { { .fd = c->ctl, .events = POLLIN },
			      { .fd = c->chld, .events = POLLIN } };
	struct signalfd_siginfo si;
	struct timespec now;
	struct timespec left;
	uint64_t end = 0;
	int n;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (wall != WDR_UNLIMITED)
		end = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec + wall +
		      WALL_GRACE_NS;
	for (;;) {
		uint64_t t;

		reap(c);
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		t = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
		if (end && t >= end)
			_exit(0);
		left.tv_sec = (time_t)((end - t) / NS_PER_S);
		left.tv_nsec = (long)((end - t) % NS_PER_S);
		n = ppoll(p, 2, end ? &left : NULL, NULL);
		if (n < 0 && errno != EINTR)
			lose_main(c);
		if (n <= 0)
			continue;
		if (p[1].revents)
			(void)!read(c->chld, &si, sizeof(si));
		if (p[0].revents)
			take_command(c);
	}
}

/* Before anything of the job runs; the main process opens the mask again. */
int wdr_init_watch(struct wdr_err *err)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
		return wdr_err_set(err, -errno, "signal mask: %s", strerror(errno));
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? wdr_err_set(err, -errno, "signalfd: %s", strerror(errno)) : fd;
}
