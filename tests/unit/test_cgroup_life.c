/* SPDX-License-Identifier: Apache-2.0 */
/* A job's cgroups while it runs and after: what it used, how it is ended, how all goes away. */
#include <signal.h>
#include <sys/wait.h>

#include "fake_cgroup.h"

static void mkdir_at(const char *path)
{
	char dir[512], *name;
	int fd;

	(void)snprintf(dir, sizeof(dir), "%s/%s", fake_root, path);
	name = strrchr(dir, '/');
	*name++ = '\0';
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_ok(mkdirat(fd, name, 0755));
	(void)close(fd);
}

static void tells_what_a_job_used(void **state)
{
	static const struct fake_file *const layouts[] = { fake_hybrid, fake_pure };
	struct wdr_cgroup_usage u;
	uint64_t ns;
	struct fake_job j;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		fake_begin(&j, layouts[i]);
		assert_ok(wdr_cgroup_cpu_ns(j.cg, &ns));
		assert_int_equal(ns, 70000);
		assert_ok(wdr_cgroup_usage(j.cg, &u));
		assert_int_equal(u.cpu_ns, 70000);
		assert_int_equal(u.user_ns, 50000);
		assert_int_equal(u.system_ns, 20000);
		assert_int_equal(u.memory_bytes, 4096);
		assert_int_equal(u.memory_peak_bytes, 8192);
		assert_int_equal(u.pids, 2);
		assert_int_equal(u.pids_peak, i ? 9 : 2); /* v1 here has no pids.peak */
		assert_int_equal(u.oom_kills, 3);
		assert_int_equal(u.pids_events, 5);
		fake_end(&j);
	}
}

/* Where the kernel keeps no peak, the highest that was seen counts. */
static void remembers_the_peak(void **state)
{
	static const struct {
		const char *memory, *pids;
		uint64_t memory_peak, pids_peak;
	} rows[] = {
		{ "100\n", "3\n", 100, 3 },
		{ "50\n", "7\n", 100, 7 },
		{ "200\n", "1\n", 200, 7 },
		{ "0\n", "0\n", 200, 7 },
	};
	struct wdr_cgroup_usage u;
	struct fake_job j;
	size_t i;

	(void)state;
	fake_begin(&j, fake_pure);
	assert_ok(unlinkat(j.cg->fd[0], "memory.peak", 0));
	assert_ok(unlinkat(j.cg->fd[0], "pids.peak", 0));
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fake_put("warder/job", "memory.current", rows[i].memory);
		fake_put("warder/job", "pids.current", rows[i].pids);
		assert_ok(wdr_cgroup_usage(j.cg, &u));
		assert_int_equal(u.memory_peak_bytes, rows[i].memory_peak);
		assert_int_equal(u.pids_peak, rows[i].pids_peak);
	}
	fake_end(&j);
}

static void survives_files_that_vanish_or_make_no_sense(void **state)
{
	static const char *const files[] = { "memory.current", "memory.peak", "memory.events",
					     "pids.current",   "pids.events", "pids.peak" };
	struct wdr_cgroup_usage u;
	struct fake_job j;
	size_t i;

	(void)state;
	fake_begin(&j, fake_pure);
	fake_put("warder/job", "memory.peak", "no number\n");
	fake_put("warder/job", "pids.peak", "");
	fake_put("warder/job", "memory.events", "oom_kills 9\nxoom_kill 8\n");
	assert_ok(wdr_cgroup_usage(j.cg, &u));
	assert_int_equal(u.memory_peak_bytes, 4096);
	assert_int_equal(u.pids_peak, 2);
	assert_int_equal(u.oom_kills, 0);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_ok(unlinkat(j.cg->fd[0], files[i], 0));
	assert_ok(wdr_cgroup_usage(j.cg, &u));
	assert_int_equal(u.cpu_ns, 70000);
	assert_int_equal(u.pids, 0);
	fake_put("warder/job", "cpu.stat", "nothing\n");
	assert_int_equal(wdr_cgroup_usage(j.cg, &u), -ENOENT);
	fake_end(&j);
}

static void enters_by_one_byte_for_each_v1_hierarchy(void **state)
{
	struct fake_job j;

	(void)state;
	fake_begin(&j, fake_hybrid);
	assert_true(wdr_cgroup_enter_fd(j.cg, 2) >= 0);
	assert_int_equal(wdr_cgroup_enter_fd(j.cg, 3), -ENOENT);
	assert_ok(wdr_cgroup_enter(j.cg));
	assert_string_equal(fake_get("cpu/warder/job", "tasks"), "0");
	assert_string_equal(fake_get("memory/warder/job", "tasks"), "0");
	assert_string_equal(fake_get("pids/warder/job", "tasks"), "0");
	assert_ok(wdr_cgroup_attach(j.cg, 77, &j.err));
	assert_string_equal(fake_get("memory/warder/job", "cgroup.procs"), "77");
	fake_put("memory/warder/job", "cgroup.procs", "");
	fake_fault.call = FAKE_WRITE;
	fake_fault.name = "tasks";
	fake_fault.parent = "memory";
	fake_fault.error = ENOMEM;
	fake_fault.times = -1;
	assert_int_equal(wdr_cgroup_enter(j.cg), -ENOMEM);
	fake_fault.name = "cgroup.procs";
	fake_fault.error = ESRCH;
	assert_int_equal(wdr_cgroup_attach(j.cg, 77, &j.err), -ESRCH);
	assert_non_null(strstr(j.err.msg, "move process 77 to /"));
	assert_non_null(strstr(j.err.msg, "/memory/warder/job: No such process"));
	fake_end(&j);
	fake_begin(&j, fake_pure);
	assert_int_equal(wdr_cgroup_enter_fd(j.cg, 0), -ENOENT);
	assert_ok(wdr_cgroup_enter(j.cg));
	assert_ok(wdr_cgroup_attach(j.cg, 77, &j.err));
	fake_end(&j);
}

static void kills_and_freezes_by_file(void **state)
{
	struct fake_job j;

	(void)state;
	fake_begin(&j, fake_hybrid);
	assert_ok(wdr_cgroup_kill(j.cg));
	assert_string_equal(fake_get("unified/warder/job", "cgroup.kill"), "1");
	assert_ok(wdr_cgroup_freeze(j.cg, true));
	assert_string_equal(fake_get("unified/warder/job", "cgroup.freeze"), "1");
	assert_ok(wdr_cgroup_freeze(j.cg, false));
	assert_string_equal(fake_get("unified/warder/job", "cgroup.freeze"), "0");
	fake_end(&j);
}

static pid_t start_waiting(void)
{
	pid_t pid = fork();

	while (!pid)
		(void)pause();
	return pid;
}

/* Without cgroup.kill: everyone that is listed, here and below, and nobody else. */
static void kills_by_list_before_linux_5_14(void **state)
{
	pid_t pids[3];
	char text[64];
	struct fake_job j;
	int status;
	size_t i;

	(void)state;
	fake_begin(&j, fake_pure);
	assert_ok(unlinkat(j.cg->fd[0], "cgroup.kill", 0));
	mkdir_at("warder/job/sub");
	mkdir_at("warder/job/sub/sub");
	for (i = 0; i < 3; i++)
		pids[i] = start_waiting();
	(void)snprintf(text, sizeof(text), "0\n%d\n", pids[0]);
	fake_put("warder/job", "cgroup.procs", text);
	(void)snprintf(text, sizeof(text), "%d\n", pids[1]);
	fake_put("warder/job/sub/sub", "cgroup.procs", text);
	assert_ok(wdr_cgroup_kill(j.cg));
	for (i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	assert_int_equal(waitpid(pids[2], &status, WNOHANG), 0);
	assert_string_equal(fake_get("warder/job", "cgroup.freeze"), "0");
	assert_ok(kill(pids[2], SIGKILL));
	assert_int_equal(waitpid(pids[2], &status, 0), pids[2]);
	fake_end(&j);
}

static void removes_what_a_sandbox_made_inside(void **state)
{
	struct fake_job j;

	(void)state;
	fake_begin(&j, fake_hybrid);
	mkdir_at("unified/warder/job/a");
	mkdir_at("unified/warder/job/a/b");
	mkdir_at("unified/warder/job/a/c");
	mkdir_at("memory/warder/job/x");
	assert_ok(wdr_cgroup_remove(j.cg, 0, &j.err));
	assert_false(fake_has("unified/warder/job"));
	assert_false(fake_has("memory/warder/job"));
	assert_false(fake_has("pids/warder/job"));
	assert_ok(wdr_cgroup_remove(j.cg, 0, &j.err));
	fake_end(&j);
}

/* @n cgroups below the job, one in the other. */
static void nest(int n)
{
	char path[256];
	int i, j, len;

	for (i = 1; i <= n; i++) {
		len = snprintf(path, sizeof(path), "warder/job");
		for (j = 0; j < i; j++)
			len += snprintf(path + len, sizeof(path) - (size_t)len, "/d");
		mkdir_at(path);
	}
}

static void stops_at_a_depth_and_at_a_number(void **state)
{
	char name[64];
	struct fake_job j;
	int i;

	(void)state;
	fake_begin(&j, fake_pure);
	nest(WDR_CGROUP_MAX_DEPTH);
	assert_ok(wdr_cgroup_remove(j.cg, 0, &j.err));
	fake_end(&j);

	fake_begin(&j, fake_pure);
	nest(WDR_CGROUP_MAX_DEPTH + 1);
	assert_int_equal(wdr_cgroup_remove(j.cg, 0, &j.err), -ELOOP);
	assert_non_null(strstr(j.err.msg, "/warder/job: Too many levels"));
	fake_end(&j);

	fake_begin(&j, fake_pure);
	for (i = 0; i < WDR_CGROUP_MAX_SUBS + 1; i++) {
		(void)snprintf(name, sizeof(name), "warder/job/%d", i);
		mkdir_at(name);
	}
	assert_int_equal(wdr_cgroup_remove(j.cg, 0, &j.err), -ELOOP);
	fake_end(&j);
}

static void waits_for_the_last_process_and_no_longer(void **state)
{
	uint64_t started, ms;
	struct fake_job j;

	(void)state;
	fake_begin(&j, fake_hybrid);
	fake_put("memory/warder/job", "cgroup.procs", "4194304\n");
	started = wdr_cgroup_now_ns();
	assert_int_equal(wdr_cgroup_remove(j.cg, 20, &j.err), -EBUSY);
	ms = (wdr_cgroup_now_ns() - started) / 1000000;
	assert_true(ms >= 20 && ms < 1000);
	assert_non_null(strstr(j.err.msg, "/memory/warder/job: Device or resource busy"));
	assert_false(fake_has("pids/warder/job")); /* the others are gone all the same */
	fake_put("memory/warder/job", "cgroup.procs", "");
	assert_ok(wdr_cgroup_remove(j.cg, 0, &j.err));
	fake_end(&j);
}

static void tries_again_when_rmdir_is_refused(void **state)
{
	struct fake_job j;

	(void)state;
	fake_begin(&j, fake_pure);
	fake_fault.call = FAKE_RMDIR;
	fake_fault.name = "job";
	fake_fault.error = EBUSY;
	fake_fault.times = 5;
	assert_ok(wdr_cgroup_remove(j.cg, 1000, &j.err));
	assert_int_equal(fake_fault.times, 0);
	assert_false(fake_has("warder/job"));
	fake_end(&j);
}

static void sweeps_by_name_whatever_is_there(void **state)
{
	pid_t pid = start_waiting();
	char text[16];
	struct fake_job j;
	int status, fds;

	(void)state;
	fake_begin(&j, fake_hybrid);
	fds = fake_count_fds();
	assert_ok(wdr_cgroup_sweep(j.t, "never", &j.err));
	mkdir_at("memory/warder/half");
	mkdir_at("memory/warder/half/sub");
	assert_ok(wdr_cgroup_sweep(j.t, "half", &j.err));
	assert_false(fake_has("memory/warder/half"));
	/* v1 has no cgroup.kill: the stand-in keeps the dead listed, so it is told busy in time. */
	(void)snprintf(text, sizeof(text), "%d\n", pid);
	fake_put("pids/warder/job", "cgroup.procs", text);
	assert_int_equal(wdr_cgroup_sweep(j.t, "job", &j.err), -EBUSY);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_false(fake_has("unified/warder/job"));
	assert_int_equal(fake_count_fds(), fds);
	fake_end(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_a_job_used),
		cmocka_unit_test(remembers_the_peak),
		cmocka_unit_test(survives_files_that_vanish_or_make_no_sense),
		cmocka_unit_test(enters_by_one_byte_for_each_v1_hierarchy),
		cmocka_unit_test(kills_and_freezes_by_file),
		cmocka_unit_test(kills_by_list_before_linux_5_14),
		cmocka_unit_test(removes_what_a_sandbox_made_inside),
		cmocka_unit_test(stops_at_a_depth_and_at_a_number),
		cmocka_unit_test(waits_for_the_last_process_and_no_longer),
		cmocka_unit_test(tries_again_when_rmdir_is_refused),
		cmocka_unit_test(sweeps_by_name_whatever_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
