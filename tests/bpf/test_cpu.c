/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU budget, with nobody supervising: this process only looks on. What a job may use past its
 * budget is the sampler's period on each CPU, and the time that a signal takes.
 */
#include "wdr_test.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "kern_env.h"

#define MS	    1000000ull
#define BUDGET_MS   100
#define OVER_MS	    10 /* per CPU */
#define DEADLINE_MS 10000

static struct kern_env env;
static struct wdr_kern *kern;

static uint64_t cgroup_cpu_us(int fd)
{
	char text[512] = "", *at;
	int stat = openat(fd, "cpu.stat", O_RDONLY | O_CLOEXEC);

	assert_true(stat >= 0 && read(stat, text, sizeof(text) - 1) > 0);
	(void)close(stat);
	at = strstr(text, "usage_usec ");
	assert_non_null(at);
	return strtoull(at + 11, NULL, 10);
}

static void burn(void)
{
	for (;;)
		__asm__ volatile("" ::: "memory");
}

/* Run for a moment, then let a child go on: no process of it lives for long. */
static void hop(void)
{
	struct timespec start, now;

	for (;;) {
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
		do
			(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		while (now.tv_nsec - start.tv_nsec < 1000000 && now.tv_sec == start.tv_sec);
		if (fork())
			_exit(0);
	}
}

/* An emulated CPU is stopped for longer than what is measured here. */
static bool is_emulated(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "TCG") != NULL;
	if (f)
		(void)fclose(f);
	return found;
}

struct shape {
	const char *name;
	unsigned int n; /* processes */
	void (*run)(void);
};

static void nap(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	volatile unsigned int i;

	for (;;) {
		for (i = 0; i < 300000; i++)
			;
		(void)nanosleep(&ms, NULL);
	}
}

static void rest(void)
{
	for (;;)
		(void)pause();
}

#define N_BUSY 4 /* of the shapes */

static const struct shape shapes[] = {
	{ "one that burns", 1, burn },	{ "four that burn", 4, burn },
	{ "one that naps", 1, nap },	{ "processes of a millisecond", 1, hop },
	{ "one that sleeps", 1, rest },
};

/* The first process of a pid namespace, born in cgroup @cg, with @shape's processes. */
static pid_t start_job(int cg, const struct shape *shape)
{
	unsigned int i;
	pid_t pid;

	kern_env_enter(&env, cg);
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	assert_true(pid >= 0);
	if (!pid) {
		for (i = 0; i < shape->n; i++) {
			if (!fork())
				shape->run();
		}
		while (wait(NULL) > 0 || errno == EINTR)
			;
		for (;;)
			(void)pause();
	}
	kern_env_enter(&env, -1);
	return pid;
}

struct told {
	uint32_t killed, alerts;
	int32_t rc;
};

static void note_killed(void *user, const struct wdr_ev_hdr *ev)
{
	const struct wdr_ev_killed *killed = (const struct wdr_ev_killed *)ev;
	struct told *told = user;

	told->killed = killed->why;
	told->rc = killed->rc;
}

static void note_alert(void *user, const struct wdr_ev_hdr *ev)
{
	(void)ev;
	((struct told *)user)->alerts++;
}

static const struct wdr_kern_handlers handlers = {
	.on = { [WDR_EV_KILLED] = note_killed, [WDR_EV_CPU] = note_alert },
};

static void kill_all(int cg)
{
	int fd = openat(cg, "cgroup.kill", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0 && write(fd, "1", 1) == 1);
	(void)close(fd);
}

/*
 * Wait until nothing runs in @cg; false after @ms. Where the kernel can't reach the whole job
 * (before 6.13) it kills who runs, and this process does what a supervisor does then.
 */
static bool wait_empty(int cg, pid_t init, const struct told *told, int ms)
{
	int events = openat(cg, "cgroup.events", O_RDONLY | O_CLOEXEC), i, status;
	const struct timespec tick = { .tv_nsec = 2000000 };
	char text[128];
	bool empty = false;

	for (i = 0; i < ms / 2 && !empty; i++) {
		memset(text, 0, sizeof(text));
		(void)wdr_kern_ring_read(kern, &handlers, 100);
		if (told->killed && told->rc == -EOPNOTSUPP)
			kill_all(cg);
		(void)waitpid(init, &status, WNOHANG);
		if (pread(events, text, sizeof(text) - 1, 0) > 0)
			empty = strstr(text, "populated 0") != NULL;
		if (!empty)
			(void)nanosleep(&tick, NULL);
	}
	(void)close(events);
	return empty;
}

static void ends_a_job_within_a_period_of_its_budget(void **state)
{
	long over_ms = sysconf(_SC_NPROCESSORS_ONLN) * (is_emulated() ? 100 : OVER_MS);
	unsigned int i, bad = 0;

	(void)state;
	for (i = 0; i < N_BUSY; i++) {
		int cg = kern_env_cgroup(&env, "cpu"), r;
		struct told told = { 0 };
		struct wdr_kern_ask ask = { .cgroup_fd = cg,
					    .user = &told,
					    .netns = true,
					    .cpu_budget_ns = BUDGET_MS * MS };
		struct wdr_kern_slot *s = NULL;
		struct wdr_err err = { 0 };
		struct wdr_live live;
		uint64_t start_us = cgroup_cpu_us(cg), used_us;
		pid_t pid;

		r = wdr_kern_slot_new(kern, &ask, &s, &err);
		if (r < 0)
			print_error("%s\n", err.msg);
		assert_ok(r);
		pid = start_job(cg, &shapes[i]);
		wdr_kern_slot_init_pid(s, pid);
		if (!wait_empty(cg, pid, &told, DEADLINE_MS)) {
			print_error("%s: alive after %d ms\n", shapes[i].name, DEADLINE_MS);
			bad++;
		}
		used_us = cgroup_cpu_us(cg) - start_us;
		wdr_kern_slot_live(s, &live);
		print_message("%s: %d.%03d ms used, %d.%03d counted, signal %d\n", shapes[i].name,
			      (int)(used_us / 1000), (int)(used_us % 1000), (int)(live.cpu_ns / MS),
			      (int)(live.cpu_ns / 1000 % 1000), live.kill_rc);
		if (live.killed != WDR_KILL_CPU_BUDGET || told.killed != WDR_KILL_CPU_BUDGET ||
		    used_us < (uint64_t)(BUDGET_MS - 2) * 1000 ||
		    used_us > (uint64_t)(BUDGET_MS + over_ms) * 1000) {
			print_error("%s: killed %u, told %u\n", shapes[i].name, live.killed,
				    told.killed);
			bad++;
		}
		wdr_kern_slot_drop(&s);
		(void)close(cg);
	}
	assert_int_equal(bad, 0);
}

/* detect.cpu: a share of a window, told each time it rises above, or fatal. */
static const struct {
	const char *name;
	unsigned int shape; /* index in shapes */
	enum wdr_cpu_act act;
	uint32_t killed, alerts;
} windows[] = {
	{ "burn, alert", 1, WDR_CPU_ALERT, 0, 1 },
	{ "burn, kill", 1, WDR_CPU_KILL, WDR_KILL_CPU_SHARE, 0 },
	{ "sleeps, kill", 4, WDR_CPU_KILL, 0, 0 },
};

static void watches_the_share_of_a_window(void **state)
{
	/* Where waking up takes ten times as long, who sleeps uses as much more of it. */
	const uint64_t share_ns = (kern_env_slow() >= 10 ? 160 : 20) * MS;
	unsigned int i, bad = 0;

	(void)state;
	for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		int cg = kern_env_cgroup(&env, "share");
		struct told told = { 0 };
		struct wdr_kern_ask ask = { .cgroup_fd = cg,
					    .user = &told,
					    .netns = true,
					    .cpu_window_ns = 320 * MS,
					    .cpu_max_ns = share_ns,
					    .cpu_act = windows[i].act };
		struct wdr_kern_slot *s = NULL;
		struct wdr_err err = { 0 };
		pid_t pid;

		assert_ok(wdr_kern_slot_new(kern, &ask, &s, &err));
		pid = start_job(cg, &shapes[windows[i].shape]);
		wdr_kern_slot_init_pid(s, pid);
		if (!wait_empty(cg, pid, &told, windows[i].killed ? DEADLINE_MS : 1000)) {
			kill_all(cg);
			assert_true(wait_empty(cg, pid, &told, DEADLINE_MS));
		}
		if (told.killed != windows[i].killed || !told.alerts != !windows[i].alerts) {
			print_error("%s: killed %u, %u alerts\n", windows[i].name, told.killed,
				    told.alerts);
			bad++;
		}
		wdr_kern_slot_drop(&s);
		(void)close(cg);
	}
	assert_int_equal(bad, 0);
}

/*
 * What engines do on pure cgroup v2: the slot is found by a cgroup that is only a mark, the tasks are in
 * another one that is known late. Nobody supervises, and no first process can be told to the kernel.
 */
static void watches_a_cgroup_that_is_named_late(void **state)
{
	int mark = kern_env_cgroup(&env, "mark"), cg = kern_env_cgroup(&env, "tasks");
	const struct wdr_kern_cpu none = { 0 }, budget = { .budget_ns = BUDGET_MS * MS };
	struct told told = { 0 };
	struct wdr_kern_ask ask = {
		.cgroup_fd = mark, .user = &told, .netns = true, .contain = true
	};
	struct wdr_kern_slot *s = NULL, *look = NULL;
	struct wdr_err err = { 0 };
	struct wdr_live live;
	pid_t pid;

	(void)state;
	assert_ok(wdr_kern_slot_new(kern, &ask, &s, &err));
	pid = start_job(cg, &shapes[1]);
	assert_false(wait_empty(cg, pid, &told, 3 * BUDGET_MS)); /* nobody watches yet */
	assert_ok(wdr_kern_slot_watch(s, cg, &budget, &err));
	assert_ok(wdr_kern_slot_watch(s, mark, &none, &err)); /* changes nothing */
	assert_true(wait_empty(cg, pid, &told, DEADLINE_MS));
	assert_ok(wdr_kern_slot_look(kern, mark, &look, &err));
	wdr_kern_slot_live(look, &live);
	assert_int_equal(live.killed, WDR_KILL_CPU_BUDGET);
	wdr_kern_slot_unlook(&look);
	assert_null(look);
	wdr_kern_slot_drop(&s);
	assert_int_equal(wdr_kern_slot_look(kern, mark, &look, &err), -ENOENT);
	(void)close(mark);
	(void)close(cg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_a_job_within_a_period_of_its_budget),
		cmocka_unit_test(watches_the_share_of_a_window),
		cmocka_unit_test(watches_a_cgroup_that_is_named_late),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	r = kern_env_join(&env, &kern);
	r = r ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_leave(&kern);
	kern_env_stop(&env);
	return r;
}
