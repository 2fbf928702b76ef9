/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job's cgroups cost, each call by itself, in microseconds: one job after the other is made,
 * entered, looked at and removed. Every second process enters by itself, every other is brought.
 *
 * usage: cgroup_ops ROUNDS [GAP_MS]   prints "CALL MEDIAN P90 P99"
 */
#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "cgroup/cgroup.h"

#define MAX_ROUNDS 10000

enum op {
	TREE,
	NEW,
	CLONE,
	ENTER,
	ATTACH,
	OOM_FD,
	CPU_NS,
	USAGE,
	REMOVE,
	_OP_MAX
};

static const char *const names[] = { "tree",   "new",	 "clone", "enter", "attach",
				     "oom_fd", "cpu_ns", "usage", "remove" };

_Static_assert(sizeof(names) / sizeof(names[0]) == _OP_MAX, "a name each");

static double g_us[_OP_MAX][MAX_ROUNDS];
static int g_n[_OP_MAX];
static double *g_enter_us; /* shared with the child */

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double lap(enum op op, double since)
{
	g_us[op][g_n[op]++] = now_us() - since;
	return now_us();
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void tell(void)
{
	int i;

	for (i = 0; i < _OP_MAX; i++) {
		int n = g_n[i];

		qsort(g_us[i], (size_t)n, sizeof(g_us[i][0]), by_value);
		if (n)
			(void)printf("%-7s %9.1f %9.1f %9.1f\n", names[i], g_us[i][n / 2],
				     g_us[i][n * 9 / 10], g_us[i][n * 99 / 100]);
	}
}

/* A process in the job that enters by itself, or waits at @gate_fd until it has been brought. */
static pid_t start(const struct wdr_cgroup *cg, bool self, int gate_fd)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)wdr_cgroup_entry_fd(cg),
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	double since = now_us();
	char c;

	if (pid)
		return pid;
	if (!self)
		_exit(read(gate_fd, &c, 1) != 1);
	if (wdr_cgroup_enter(cg) < 0)
		_exit(1);
	*g_enter_us = now_us() - since;
	_exit(0);
}

static int one_process(struct wdr_cgroup *cg, bool self, struct wdr_err *err)
{
	double since = now_us();
	int gate[2], status, r = 0;
	pid_t pid;

	if (pipe(gate) < 0)
		return -errno;
	pid = start(cg, self, gate[0]);
	since = lap(CLONE, since);
	if (!self) {
		r = wdr_cgroup_attach(cg, pid, err);
		(void)lap(ATTACH, since);
		if (write(gate[1], "", 1) < 0)
			r = -errno;
	}
	(void)close(gate[0]);
	(void)close(gate[1]);
	if (waitpid(pid, &status, 0) < 0 || status)
		return wdr_err_set(err, -ECHILD, "the process failed");
	if (self)
		g_us[ENTER][g_n[ENTER]++] = *g_enter_us;
	return r;
}

static int one_job(struct wdr_cgroup_tree *t, int i, struct wdr_err *err)
{
	static const struct wdr_cgroup_limits l = { UINT64_C(512) << 20, 0, 100, 0.5 };
	wdr_cgroup_ struct wdr_cgroup *cg = NULL;
	struct wdr_cgroup_usage u;
	uint32_t events;
	uint64_t ns;
	double since;
	char job[32];
	int r;

	(void)snprintf(job, sizeof(job), "wdr-bench-%d", i);
	since = now_us();
	r = wdr_cgroup_new(t, job, &l, 0, &cg, err);
	if (r < 0)
		return r;
	since = lap(NEW, since);
	r = wdr_cgroup_oom_fd(cg, &events);
	(void)lap(OOM_FD, since);
	if (r >= 0)
		r = one_process(cg, i % 2, err);
	since = now_us();
	if (r >= 0)
		r = wdr_cgroup_cpu_ns(cg, &ns);
	since = lap(CPU_NS, since);
	if (r >= 0)
		r = wdr_cgroup_usage(cg, &u);
	since = lap(USAGE, since);
	if (r < 0) {
		(void)!wdr_cgroup_remove(cg, 1000, NULL);
		return r;
	}
	r = wdr_cgroup_remove(cg, 1000, err);
	(void)lap(REMOVE, since);
	return r;
}

static int one_round(int i, struct wdr_err *err)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	double since = now_us();
	int r;

	r = wdr_cgroup_tree_new(NULL, &t, err);
	if (r < 0)
		return r;
	(void)lap(TREE, since);
	return one_job(t, i, err);
}

int main(int argc, char **argv)
{
	int i, r = 0, rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 200;
	int gap_ms = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
	struct wdr_err err = { 0 };

	if (rounds < 1 || rounds > MAX_ROUNDS)
		return 2;
	g_enter_us = mmap(NULL, sizeof(*g_enter_us), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g_enter_us == MAP_FAILED)
		return 2;
	for (i = 0; i < rounds && r >= 0; i++) {
		r = one_round(i, &err);
		(void)poll(NULL, 0, gap_ms);
	}
	if (r < 0)
		(void)fprintf(stderr, "cgroup_ops: %s\n", err.code ? err.msg : strerror(-r));
	else
		tell();
	return r < 0;
}
