/* SPDX-License-Identifier: Apache-2.0 */
/* Loading, pinning, opening again, supervisors and slots, on the real kernel. */
#include "wdr_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "kern_env.h"

#define OPEN_MAX_MS 2 /* of a kernel side that is there already */

static struct kern_env env;

static double now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

#define assert_good(r, err)                                                 \
	do {                                                                \
		if ((r) < 0)                                                \
			print_error("%s: %s\n", strerror(-(r)), (err).msg); \
		assert_true((r) >= 0);                                      \
	} while (0)

static struct wdr_kern *open_kern(void)
{
	struct wdr_kern *k = NULL;
	struct wdr_err err = { 0 };
	int r = wdr_kern_open(&env.at, &k, &err);

	assert_good(r, err);
	return k;
}

static int count_names(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n - 2;
}

static int count_in(const char *name)
{
	char path[2 * KE_PATH];

	(void)snprintf(path, sizeof(path), "%s/%s", env.bpffs, name);
	return count_names(path);
}

static void opens_again_quickly(void **state)
{
	struct wdr_kern *k = open_kern();
	double best = 1e9, start;
	int i;

	(void)state;
	assert_int_equal(count_in("."), 1);
	wdr_kern_freep(&k);
	for (i = 0; i < 20; i++) {
		start = now_ms();
		k = open_kern();
		if (now_ms() - start < best)
			best = now_ms() - start;
		wdr_kern_freep(&k);
	}
	print_message("opened in %.3f ms\n", best);
	assert_true(best < OPEN_MAX_MS);
}

static void tell(void *arg, const char *name, uint64_t protections, int error, const char *log)
{
	unsigned int *n = arg;

	if (error && protections)
		print_error("%s: %s\n%s\n", name, strerror(-error), log);
	*n += !error;
}

static void can_what_this_kernel_loads(void **state)
{
	struct wdr_kern *k = open_kern();
	uint64_t want = WDR_PROT_BIT(WDR_PROT_EGRESS_SOCKET) |
			WDR_PROT_BIT(WDR_PROT_EGRESS_PACKET) | WDR_PROT_BIT(WDR_PROT_HEARTBEAT);

	struct wdr_err err = { 0 };
	unsigned int n = 0;

	(void)state;
	assert_ok(wdr_kern_programs(false, tell, &n, &err));
	assert_int_equal(wdr_kern_can(k) & want, want);
	wdr_kern_freep(&k);
}

/* What a loader left that was killed half way is neither taken for the whole nor in the way. */
static void loads_over_half_a_load(void **state)
{
	char path[2 * KE_PATH];
	struct wdr_err err = { 0 };
	struct wdr_kern *k;

	(void)state;
	assert_ok(wdr_kern_unload(&env.at, &err));
	assert_int_equal(count_names(env.bpffs), 0);
	(void)mkdir(env.bpffs, 0700);
	(void)snprintf(path, sizeof(path), "%s/new", env.bpffs);
	assert_ok(mkdir(path, 0700));
	(void)snprintf(path, sizeof(path), "%s/new/wdr_shared", env.bpffs);
	assert_ok(mkdir(path, 0700));
	k = open_kern();
	assert_int_equal(count_in("."), 1);
	wdr_kern_freep(&k);
}

static void unload_refuses_while_a_supervisor_lives(void **state)
{
	struct wdr_kern *k = open_kern();
	struct wdr_err err = { 0 };
	int r;

	(void)state;
	r = wdr_kern_join(k, &err);
	assert_good(r, err);
	assert_int_equal(wdr_kern_unload(&env.at, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "1 jobs or supervisors"));
	wdr_kern_leave(k);
	memset(&err, 0, sizeof(err));
	assert_ok(wdr_kern_unload(&env.at, &err));
	/* What was removed meanwhile is not used. */
	assert_int_equal(wdr_kern_join(k, &err), -ESTALE);
	wdr_kern_freep(&k);
}

static void a_slot_leaves_nothing(void **state)
{
	struct wdr_compiled *c =
		kern_env_compile("{\"mode\": \"egress\", \"rules\": "
				 "[{\"action\": \"allow\", \"to\": \"192.0.2.0/24\"}]}");
	struct wdr_kern_policy pol;
	struct wdr_kern_slot *s = NULL;
	struct wdr_err err = { 0 };
	struct wdr_kern *k = open_kern();
	int fd = kern_env_cgroup(&env, "one"), r, i;
	struct wdr_kern_ask ask = { .cgroup_fd = fd, .policy = &pol };
	double start, took = 0;

	(void)state;
	kern_env_policy(c, &pol);
	assert_ok(wdr_kern_join(k, &err));
	for (i = 0; i < 50; i++) {
		start = now_ms();
		r = wdr_kern_slot_new(k, &ask, &s, &err);
		took += now_ms() - start;
		assert_good(r, err);
		assert_int_equal(count_in("jobs"), 1);
		assert_int_equal(count_in("parents"), 1);
		wdr_kern_slot_drop(&s);
		assert_null(s);
		assert_int_equal(count_in("jobs"), 0);
	}
	print_message("a slot in %.3f ms\n", took / i);
	wdr_kern_leave(k);
	wdr_kern_freep(&k);
	wdr_compiled_freep(&c);
	(void)close(fd);
}

/* A supervisor that was killed: its slot and number are given back by the next one's sweep. */
static void a_sweep_frees_what_the_dead_left(void **state)
{
	struct wdr_kern *k = open_kern();
	int fd = kern_env_cgroup(&env, "swept"), status, pipefd[2], r;
	struct wdr_err err = { 0 };
	char byte;
	pid_t pid;

	(void)state;
	assert_ok(pipe(pipefd));
	pid = fork();
	if (!pid) {
		struct wdr_kern_ask ask = { .cgroup_fd = fd, .netns = false };
		struct wdr_kern_slot *s = NULL;
		struct wdr_kern *mine = NULL;

		if (wdr_kern_open(&env.at, &mine, NULL) || wdr_kern_join(mine, NULL) ||
		    wdr_kern_slot_new(mine, &ask, &s, NULL))
			_exit(1);
		(void)!write(pipefd[1], "x", 1);
		(void)pause();
		_exit(1);
	}
	assert_int_equal(read(pipefd[0], &byte, 1), 1);
	assert_int_equal(wdr_kern_sweep(k, env.cgroup2_fd, &err), 0);
	assert_int_equal(count_in("jobs"), 1);
	assert_ok(kill(pid, SIGKILL));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	r = wdr_kern_sweep(k, env.cgroup2_fd, &err);
	assert_int_equal(r, 1);
	assert_int_equal(count_in("jobs"), 0);
	memset(&err, 0, sizeof(err));
	assert_ok(wdr_kern_unload(&env.at, &err));
	wdr_kern_freep(&k);
	(void)close(pipefd[0]);
	(void)close(pipefd[1]);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_again_quickly),
		cmocka_unit_test(can_what_this_kernel_loads),
		cmocka_unit_test(loads_over_half_a_load),
		cmocka_unit_test(unload_refuses_while_a_supervisor_lives),
		cmocka_unit_test(a_slot_leaves_nothing),
		cmocka_unit_test(a_sweep_frees_what_the_dead_left),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_stop(&env);
	return r;
}
