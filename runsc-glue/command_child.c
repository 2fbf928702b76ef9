/* SPDX-License-Identifier: Apache-2.0 */
/* The child's side of a command: what happens between clone3 and execve. */
#include "command_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define FIRST_FREE_FD (3 + WDR_COMMAND_MAX_FDS) /* below: what the command is given */

static void close_pair(int *p)
{
	wdr_closep(&p[0]);
	wdr_closep(&p[1]);
}

void wdr_command_pipes_close(struct wdr_command_pipes *p)
{
	close_pair(p->gate);
	close_pair(p->fail);
	close_pair(p->out);
	close_pair(p->err);
}

int wdr_command_pipes_open(const struct wdr_command_spec *spec, struct wdr_command_pipes *p)
{
	*p = (struct wdr_command_pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (pipe2(p->fail, O_CLOEXEC) < 0 || (spec->gated && pipe2(p->gate, O_CLOEXEC) < 0) ||
	    (spec->stdio[1] < 0 && pipe2(p->out, O_CLOEXEC) < 0) ||
	    (spec->stdio[2] < 0 && pipe2(p->err, O_CLOEXEC) < 0))
		return -errno;
	return 0;
}

static int do_prep(const struct wdr_prep *p)
{
	if (p->op == WDR_PREP_MOUNT)
		return mount(p->source, p->target, p->fstype, p->flags, p->data) < 0 ? -errno : 0;
	if (mkdir(p->target, p->mode) < 0)
		return errno == EEXIST ? 0 : -errno;
	/* mkdir's mode went through the umask. */
	if (chmod(p->target, p->mode) < 0 || lchown(p->target, p->uid, p->gid) < 0)
		return -errno;
	return 0;
}

static int enter_namespaces(const struct wdr_command_spec *spec)
{
	int flags = (spec->n_preps ? CLONE_NEWNS : 0) | (spec->new_net ? CLONE_NEWNET : 0);

	if (flags && unshare(flags) < 0)
		return -errno;
	if (spec->n_preps && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return -errno;
	return 0;
}

/* Descriptor @i of the command is src[i]; all of them first move out of each other's way. */
static int place_fds(int *src, int n)
{
	for (int i = 0; i < n; i++) {
		src[i] = fcntl(src[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
		if (src[i] < 0)
			return -errno;
	}
	for (int i = 0; i < n; i++)
		if (dup2(src[i], i) < 0)
			return -errno;
	return 0;
}

static int child_setup(const struct wdr_command_spec *spec, struct wdr_command_pipes *p,
		       pid_t parent)
{
	int src[FIRST_FREE_FD];
	sigset_t none;
	char c;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || setsid() < 0)
		return -errno;
	if (getppid() != parent)
		return -ECANCELED; /* it died before the line above */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	wdr_closep(&p->gate[1]);
	if (p->gate[0] >= 0 && read(p->gate[0], &c, 1) != 1)
		return -ECANCELED;
	src[0] = spec->stdio[0] >= 0 ? spec->stdio[0] : open("/dev/null", O_RDONLY | O_CLOEXEC);
	src[1] = spec->stdio[1] >= 0 ? spec->stdio[1] : p->out[1];
	src[2] = spec->stdio[2] >= 0 ? spec->stdio[2] : p->err[1];
	for (size_t i = 0; i < spec->n_fds; i++)
		src[3 + i] = spec->fds[i];
	/* place_fds() may land on the failure pipe. */
	p->fail[1] = fcntl(p->fail[1], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
	if (p->fail[1] < 0)
		return -errno;
	return place_fds(src, 3 + (int)spec->n_fds);
}

static void run_child(const struct wdr_command_spec *spec, struct wdr_command_pipes *p,
		      pid_t parent)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	static char *const clean_env[] = { path, NULL };
	struct wdr_command_failure f = { 0, WDR_STEP_SETUP };

	f.code = child_setup(spec, p, parent);
	if (f.code == 0)
		f.code = enter_namespaces(spec);
	for (size_t i = 0; f.code == 0 && i < spec->n_preps; i++) {
		f.step = (int32_t)i;
		f.code = do_prep(&spec->preps[i]);
	}
	if (f.code == 0) {
		(void)syscall(SYS_close_range, 3 + spec->n_fds, ~0U, CLOSE_RANGE_CLOEXEC);
		(void)execve(spec->argv[0], (char *const *)spec->argv,
			     spec->envp ? (char *const *)spec->envp : clean_env);
		f = (struct wdr_command_failure){ -errno, WDR_STEP_EXEC };
	}
	(void)!write(p->fail[1], &f, sizeof(f));
	_exit(127);
}

pid_t wdr_command_clone(const struct wdr_command_spec *spec, struct wdr_command_pipes *p,
			int *ret_pid_fd)
{
	pid_t parent = getpid(), pid;
	struct clone_args args = {
		.flags = CLONE_PIDFD | (spec->cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uintptr_t)ret_pid_fd,
		.exit_signal = SIGCHLD,
		.cgroup = spec->cgroup_fd >= 0 ? (uint64_t)spec->cgroup_fd : 0,
	};

	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		run_child(spec, p, parent);
	return pid < 0 ? -errno : pid;
}
