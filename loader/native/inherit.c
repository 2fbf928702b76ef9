/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process hands down to its children and execve(2) keeps: an urgent caller's priorities would
 * be the job's, and no cgroup's share holds a real-time task. What the caller has less of than
 * usual (a positive nice value, SCHED_IDLE, fewer CPUs) stays: it is a limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/wdr_io.h"
#include "native/init_priv.h"

static bool is_realtime(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
}

static int lower_priorities(struct wdr_err *err)
{
	const struct sched_param none = { 0 };
	long io;

	/* Before it enters a cgroup: v1's cpu controller refuses real-time tasks. */
	if (is_realtime(sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) &&
	    sched_setscheduler(0, SCHED_OTHER, &none) < 0)
		return wdr_err_set(err, -errno, "leave real-time scheduling: %s", strerror(errno));
	if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) < 0)
		return wdr_err_set(err, -errno, "set nice to 0: %s", strerror(errno));
	io = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
	if (io > 0 && IOPRIO_PRIO_CLASS(io) == IOPRIO_CLASS_RT &&
	    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0) < 0)
		return wdr_err_set(err, -errno, "leave real-time I/O: %s", strerror(errno));
	return 0;
}

int wdr_init_shed(struct child *c, struct wdr_err *err)
{
	(void)c;
	(void)signal(SIGCHLD, SIG_DFL); /* where it is ignored, nobody hears of a child's end */
	(void)umask(022);
	/* setarch(8) -R would take the job's address space randomization away. */
	if (personality(PER_LINUX) < 0)
		return wdr_err_set(err, -errno, "personality: %s", strerror(errno));
	return lower_priorities(err);
}

/*
 * By its parent: who is exempt from the OOM killer (service managers, logins) must not make a job
 * that its memory limit can't end. Written with CAP_SYS_RESOURCE it is a floor, too
 * (proc(5), oom_score_adj).
 */
int wdr_native_level_oom(pid_t pid, struct wdr_err *err)
{
	wdr_free_ char *own = NULL;
	char path[48];
	int r;

	r = wdr_read_file(AT_FDCWD, "/proc/self/oom_score_adj", 16, &own, NULL);
	if (r == 0 && own[0] == '-') {
		(void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
		r = wdr_write_file(AT_FDCWD, path, "0");
	}
	return r < 0 ? wdr_err_wrap(err, r, "oom_score_adj in /proc") : 0;
}
