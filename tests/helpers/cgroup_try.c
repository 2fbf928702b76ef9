/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One deed in a job's cgroups, told as "key value" lines: what the integration tests of
 * loader/cgroup are made of.
 *
 * usage: cgroup_try DEED JOB [memory=BYTES] [swap=BYTES] [pids=N] [cpus=SHARE] [arg=N]
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "cgroup/cgroup.h"

struct
try {
	const char *job;
	struct wdr_cgroup_limits limits;
	uint64_t arg;
	struct wdr_cgroup_tree *tree;
	struct wdr_cgroup *cg;
	struct wdr_err err;
};

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int spin(uint64_t ms)
{
	uint64_t end = now_ms() + ms;

	while (now_ms() < end)
		;
	return 0;
}

/* The deeds of the process inside. Its exit status is what they return. */

static int eat(uint64_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 2;
	memset(p, 1, bytes);
	return 0;
}

/* How many of @n children could be born; they wait for ever, without an ear for SIGTERM. */
static int breed(uint64_t n)
{
	uint64_t i;
	pid_t pid;

	(void)signal(SIGTERM, SIG_IGN);
	for (i = 0, pid = 1; i < n && pid > 0; i += pid > 0)
		pid = fork();
	while (!pid)
		(void)pause();
	return (int)i;
}

static int breed_and_wait(uint64_t n)
{
	int born = breed(n);

	while (pause() < 0)
		;
	return born;
}

/* A child that eats @bytes, and a parent whom its end does not move. */
static int feed_a_child(uint64_t bytes)
{
	if (!fork())
		_exit(eat(bytes));
	return breed_and_wait(0);
}

/* Enter as a job's first process does, then do @deed. */
static pid_t start(struct try *t, int (*deed)(uint64_t arg))
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)wdr_cgroup_entry_fd(t->cg),
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (!pid)
		_exit(wdr_cgroup_enter(t->cg) < 0 ? 99 : deed(t->arg));
	return pid;
}

static void tell_status(pid_t pid)
{
	int status = 0;

	(void)waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		(void)printf("signal %d\n", WTERMSIG(status));
	else
		(void)printf("exit %d\n", WEXITSTATUS(status));
}

static int tell_usage(struct try *t)
{
	struct wdr_cgroup_usage u;
	int r = wdr_cgroup_usage(t->cg, &u);

	if (r < 0)
		return r;
	(void)printf("cpu_ms %" PRIu64 "\nuser_ms %" PRIu64 "\nmemory_peak_bytes %" PRIu64
		     "\npids_peak %" PRIu64 "\noom_kills %" PRIu64 "\npids_events %" PRIu64 "\n",
		     u.cpu_ns / 1000000, u.user_ns / 1000000, u.memory_peak_bytes, u.pids_peak,
		     u.oom_kills, u.pids_events);
	return 0;
}

static int do_eat(struct try *t)
{
	struct pollfd p;
	uint32_t events;
	pid_t pid;
	int fd = wdr_cgroup_oom_fd(t->cg, &events), told;

	if (fd < 0)
		return fd;
	pid = start(t, eat);
	tell_status(pid);
	/* Each kill may be told, and memory.events holds news back for 10 ms after the last. */
	p = (struct pollfd){ .fd = fd, .events = (short)events };
	for (told = 0; told < 10 && poll(&p, 1, 100) > 0; told++)
		wdr_cgroup_oom_ack(t->cg);
	(void)printf("oom_told %d\n", told);
	return tell_usage(t);
}

/* What a supervisor sees of a kill that leaves the job's main process alive on v1. */
static int do_feed(struct try *t)
{
	struct wdr_cgroup_usage u = { 0 };
	struct pollfd p = { 0 };
	uint32_t events;
	pid_t pid;
	int r;

	p.fd = wdr_cgroup_oom_fd(t->cg, &events);
	p.events = (short)events;
	pid = start(t, feed_a_child);
	while (!u.oom_kills && poll(&p, 1, 5000) > 0) {
		wdr_cgroup_oom_ack(t->cg);
		r = wdr_cgroup_usage(t->cg, &u);
		if (r < 0)
			return r;
	}
	(void)printf("oom_kills %" PRIu64 "\n", u.oom_kills);
	r = wdr_cgroup_kill(t->cg);
	tell_status(pid);
	return r;
}

static int do_breed(struct try *t)
{
	tell_status(start(t, breed));
	return tell_usage(t);
}

static int do_spin(struct try *t)
{
	tell_status(start(t, spin));
	return tell_usage(t);
}

static uint64_t cpu_ms_of(struct try *t, int wall_ms)
{
	uint64_t a = 0, b = 0;

	if (wdr_cgroup_cpu_ns(t->cg, &a) < 0)
		return 0;
	(void)poll(NULL, 0, wall_ms);
	if (wdr_cgroup_cpu_ns(t->cg, &b) < 0)
		return 0;
	return (b - a) / 1000000;
}

/* CPU time of half a second each: free, throttled, frozen, free again. */
static int do_slow(struct try *t)
{
	pid_t pid;
	int r;

	t->arg = 60000;
	pid = start(t, spin);
	(void)printf("free_ms %" PRIu64 "\n", cpu_ms_of(t, 500));
	r = wdr_cgroup_set_cpus(t->cg, 0.1);
	if (r < 0)
		return r;
	(void)printf("throttled_ms %" PRIu64 "\n", cpu_ms_of(t, 500));
	r = wdr_cgroup_freeze(t->cg, true);
	if (r < 0)
		return r;
	(void)poll(NULL, 0, 50); /* a task stops at its next return to user space */
	(void)printf("frozen_ms %" PRIu64 "\n", cpu_ms_of(t, 300));
	r = wdr_cgroup_set_cpus(t->cg, 0);
	if (r < 0)
		return r;
	r = wdr_cgroup_freeze(t->cg, false);
	if (r < 0)
		return r;
	(void)printf("thawed_ms %" PRIu64 "\n", cpu_ms_of(t, 500));
	r = wdr_cgroup_kill(t->cg);
	if (r < 0)
		return r;
	tell_status(pid);
	return 0;
}

static int do_kill(struct try *t)
{
	struct wdr_cgroup_usage u = { 0 };
	uint64_t started = now_ms();
	pid_t pid = start(t, breed_and_wait);
	int r;

	while (u.pids <= t->arg && now_ms() - started < 5000) {
		(void)poll(NULL, 0, 5);
		r = wdr_cgroup_usage(t->cg, &u);
		if (r < 0)
			return r;
	}
	(void)printf("alive %" PRIu64 "\n", u.pids);
	started = now_ms();
	r = wdr_cgroup_remove(t->cg, 30, &t->err);
	(void)printf("remove_alive %s after %" PRIu64 " ms\n", strerror(-r), now_ms() - started);
	r = wdr_cgroup_kill(t->cg);
	if (r < 0)
		return r;
	tell_status(pid);
	return 0;
}

static int tell_place(uint64_t unused)
{
	char text[4096];
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text));

	(void)unused;
	return n < 0 || write(STDOUT_FILENO, text, (size_t)n) != n;
}

/* Where a process is that enters by itself, and one that is brought. */
static int do_place(struct try *t)
{
	int go[2], r;
	pid_t pid;
	char c;

	(void)fflush(stdout);
	tell_status(start(t, tell_place));
	(void)fflush(stdout);
	if (pipe(go) < 0)
		return -errno;
	pid = fork();
	if (!pid) {
		(void)close(go[1]);
		_exit(read(go[0], &c, 1) < 0 ? 98 : tell_place(0));
	}
	r = wdr_cgroup_attach(t->cg, pid, &t->err);
	(void)close(go[1]);
	tell_status(pid);
	return r;
}

/* A sandbox makes cgroups of its own below a job: @arg of them, one in the other. */
static int do_nest(struct try *t)
{
	const char *name;
	unsigned int v;
	uint64_t i;
	int fd;

	for (v = 0; !wdr_cgroup_view(t->cg, v, &name, &fd); v++) {
		int at = dup(fd), next;

		(void)printf("view %s\n", *name ? name : "(top)");
		for (i = 0; i < t->arg && at >= 0; i++) {
			if (mkdirat(at, "sub", 0755) < 0 || mkdirat(at, "other", 0755) < 0)
				return -errno;
			next = openat(at, "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			(void)close(at);
			at = next;
		}
		(void)close(at);
	}
	return 0;
}

/* Die as a supervisor does that is killed: everything stays. */
static int do_leave(struct try *t)
{
	pid_t pid = start(t, breed_and_wait);

	(void)printf("left %d\n", (int)pid);
	(void)fflush(stdout);
	return kill(getpid(), SIGKILL);
}

static const struct deed {
	const char *name;
	int (*fn)(struct try *t);
} deeds[] = {
	{ "eat", do_eat },     { "feed", do_feed },   { "breed", do_breed }, { "spin", do_spin },
	{ "slow", do_slow },   { "kill", do_kill },   { "place", do_place }, { "nest", do_nest },
	{ "leave", do_leave }, { "new", tell_usage },
};

static void check(struct try *t)
{
	struct wdr_check_report rep = { 0 };
	int i;

	wdr_cgroup_check(t->tree, &rep);
	for (i = 0; i < _WDR_PROT_MAX; i++)
		if (rep.rows[i].said)
			(void)printf("%s %s %s\n", wdr_protection_name((enum wdr_protection)i),
				     rep.rows[i].yes ? "yes" : "no", rep.rows[i].why);
}

static int in_a_job(struct try *t, const struct deed *d)
{
	int r, gone;

	r = wdr_cgroup_new(t->tree, t->job, &t->limits, 0, &t->cg, &t->err);
	if (r < 0)
		return r;
	r = d->fn(t);
	gone = wdr_cgroup_kill(t->cg);
	if (gone >= 0)
		gone = wdr_cgroup_remove(t->cg, 2000, r < 0 ? NULL : &t->err);
	return r < 0 ? r : gone;
}

static int run(struct try *t, const char *name)
{
	size_t i;
	int r;

	r = wdr_cgroup_tree_new(getenv("WDR_CGROUP_ROOT"), &t->tree, &t->err);
	if (r < 0)
		return r;
	if (!strcmp(name, "sweep"))
		return wdr_cgroup_sweep(t->tree, t->job, &t->err);
	if (!strcmp(name, "check")) {
		check(t);
		return 0;
	}
	for (i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++)
		if (!strcmp(name, deeds[i].name))
			return in_a_job(t, &deeds[i]);
	return wdr_err_set(&t->err, -EINVAL, "no such deed");
}

int main(int argc, char **argv)
{
	struct try t = { .limits = { UINT64_MAX, UINT64_MAX, UINT64_MAX, 0 } };
	int i, r;

	if (argc < 3)
		return 2;
	t.job = argv[2];
	for (i = 3; i < argc; i++)
		if (sscanf(argv[i], "memory=%" SCNu64, &t.limits.memory_bytes) != 1 &&
		    sscanf(argv[i], "swap=%" SCNu64, &t.limits.swap_bytes) != 1 &&
		    sscanf(argv[i], "pids=%" SCNu64, &t.limits.pids) != 1 &&
		    sscanf(argv[i], "cpus=%lf", &t.limits.cpus) != 1 &&
		    sscanf(argv[i], "arg=%" SCNu64, &t.arg) != 1)
			return 2;
	r = run(&t, argv[1]);
	if (r < 0)
		(void)fprintf(stderr, "%s: %s\n", strerror(-r), t.err.msg);
	wdr_cgroup_freep(&t.cg);
	wdr_cgroup_tree_freep(&t.tree);
	return r < 0;
}
