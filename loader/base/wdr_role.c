/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wdr_role.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/wdr_io.h"
#include "base/wdr_pidfd.h"

#define FREE_FD (WDR_ROLE_FDS + WDR_ROLE_MAX_FDS) /* from here on nothing is in the way */

struct start {
	const char *name;
	int exe, sock;
	const int *fds;
	size_t n;
	pid_t parent;
};

/* Also the program, which must not be where another belongs. */
static int place_fds(const struct start *s, int *ret_exe)
{
	int src[FREE_FD], n = WDR_ROLE_FDS + (int)s->n;

	src[0] = src[1] = src[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
	src[WDR_ROLE_SOCK] = s->sock;
	for (size_t i = 0; i < s->n; i++)
		src[WDR_ROLE_FDS + i] = s->fds[i];
	*ret_exe = fcntl(s->exe, F_DUPFD_CLOEXEC, FREE_FD);
	return *ret_exe < 0 ? -errno : wdr_place_fds(src, n, FREE_FD);
}

static int set_up(const struct start *s, int *ret_exe)
{
	sigset_t none;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || setsid() < 0 || chdir("/") < 0)
		return -errno;
	if (getppid() != s->parent)
		return -ECANCELED; /* it died before the line above */
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	return place_fds(s, ret_exe);
}

static _Noreturn void run_child(const struct start *s)
{
	char *argv[] = { (char *)(uintptr_t)s->name, NULL };
	char *envp[] = { NULL };
	int exe = -1;
	int r = set_up(s, &exe);

	if (r == 0) {
		(void)syscall(SYS_execveat, exe, "", argv, envp, AT_EMPTY_PATH);
		r = -errno;
	}
	_exit(-r);
}

int wdr_role_start(const char *name, const int *fds, size_t n, struct wdr_role *ret,
		   struct wdr_err *err)
{
	wdr_close_ int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	wdr_close_ int ours = -1;
	wdr_close_ int theirs = -1;
	int pair[2], pidfd = -1;
	struct clone_args ca = {
		.flags = CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid;

	if (n > WDR_ROLE_MAX_FDS)
		return wdr_err_set(err, -E2BIG, "%zu descriptors: want at most %d", n,
				   WDR_ROLE_MAX_FDS);
	if (exe < 0)
		return wdr_err_wrap(err, -errno, "open /proc/self/exe");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return wdr_err_wrap(err, -errno, "socket pair");
	ours = pair[0];
	theirs = pair[1];
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		return wdr_err_wrap(err, -errno, "socket pair");
	const struct start s = { name, exe, theirs, fds, n, getpid() };

	pid = syscall(SYS_clone3, &ca, sizeof(ca));
	if (pid == 0)
		run_child(&s);
	if (pid < 0)
		return wdr_err_wrap(err, -errno, "clone3");
	*ret = (struct wdr_role){ .pid = (pid_t)pid, .pidfd = pidfd, .sock = WDR_TAKE_FD(ours) };
	return 0;
}

void wdr_role_end(struct wdr_role *r, int *ret_status)
{
	int status = 0;

	if (r->pid > 0) {
		(void)wdr_pidfd_kill(r->pidfd);
		while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (ret_status)
		*ret_status = status;
	r->pid = -1;
	wdr_closep(&r->pidfd);
	wdr_closep(&r->sock);
}

/* The other end of our socket was made by our parent. */
static bool is_parents(int sock)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int), peer_len = sizeof(struct ucred);
	struct ucred peer = { 0 };

	return getsockopt(sock, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX &&
	       getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET &&
	       getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &peer_len) == 0 &&
	       peer.pid == getppid();
}

int wdr_role_check(struct wdr_err *err)
{
	char path[32];
	struct stat own, parent;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)getppid());
	if (!is_parents(WDR_ROLE_SOCK) || stat("/proc/self/exe", &own) < 0 ||
	    stat(path, &parent) < 0 || own.st_dev != parent.st_dev || own.st_ino != parent.st_ino)
		return wdr_err_set(err, -EPERM,
				   "a part of warder, which starts it by itself: try warder help");
	return 0;
}
