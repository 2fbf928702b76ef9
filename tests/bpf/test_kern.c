/* SPDX-License-Identifier: Apache-2.0 */
/* Loading, pinning, opening again, supervisors and slots, on the real kernel. */
#include "wdr_test.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "kern_env.h"
#include "wdr_objects.h"

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

static void opens_again_quickly(void **state)
{
	struct wdr_kern *k = open_kern();
	double best = 1e9, start;
	int i;

	(void)state;
	assert_int_equal(kern_env_count_names(&env, "."), 1);
	wdr_kern_freep(&k);
	for (i = 0; i < 20; i++) {
		start = now_ms();
		k = open_kern();
		if (now_ms() - start < best)
			best = now_ms() - start;
		wdr_kern_freep(&k);
	}
	print_message("opened in %.3f ms\n", best);
	assert_true(best < OPEN_MAX_MS * kern_env_slow());
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
	assert_int_equal(kern_env_count_names(&env, "."), 0);
	(void)mkdir(env.bpffs, 0700);
	(void)snprintf(path, sizeof(path), "%s/new", env.bpffs);
	assert_ok(mkdir(path, 0700));
	(void)snprintf(path, sizeof(path), "%s/new/wdr_shared", env.bpffs);
	assert_ok(mkdir(path, 0700));
	k = open_kern();
	assert_int_equal(kern_env_count_names(&env, "."), 1);
	wdr_kern_freep(&k);
}

static int drop_capability(unsigned int cap)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	data[cap / 32].effective &= ~(1U << cap % 32);
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

/* In a process of its own: open without the right to load. Exits with the errno. */
static int open_without_rights(void)
{
	struct wdr_kern *k = NULL;
	pid_t pid = kern_env_fork();
	int status;

	if (!pid) {
		if (drop_capability(CAP_SYS_ADMIN) || drop_capability(CAP_BPF))
			_exit(0);
		_exit(-wdr_kern_open(&env.at, &k, NULL));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Else all later starts would find a kernel side without programs, and this one's jobs lose theirs. */
static void who_may_not_load_does_not_replace_what_others_use(void **state)
{
	struct wdr_kern *k = open_kern();
	char path[2 * KE_PATH], other[2 * KE_PATH];
	struct wdr_err err = { 0 };
	int pins;

	(void)state;
	assert_ok(wdr_kern_join(k, &err));
	(void)snprintf(path, sizeof(path), "%s/%s", env.bpffs, WDR_OBJECTS_HASH);
	(void)snprintf(other, sizeof(other), "%s/other", env.bpffs);
	pins = kern_env_count_names(&env, WDR_OBJECTS_HASH);
	assert_ok(rename(path, other));
	assert_int_equal(open_without_rights(), EPERM);
	assert_int_equal(kern_env_count_names(&env, "."), 1);
	assert_int_equal(kern_env_count_names(&env, "other"), pins);
	assert_ok(rename(other, path));
	wdr_kern_leave(k);
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
		assert_int_equal(kern_env_count_names(&env, "jobs"), 1);
		assert_int_equal(kern_env_count_names(&env, "parents"), 1);
		wdr_kern_slot_drop(&s);
		assert_null(s);
		assert_int_equal(kern_env_count_names(&env, "jobs"), 0);
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
	char byte, stale[2 * KE_PATH];
	pid_t pid;

	(void)state;
	(void)snprintf(stale, sizeof(stale), "%s/stale", env.bpffs);
	assert_ok(pipe(pipefd));
	pid = kern_env_fork();
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
	assert_int_equal(kern_env_count_names(&env, "jobs"), 1);
	assert_ok(kill(pid, SIGKILL));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_ok(mkdir(stale, 0700)); /* a generation of which nothing can be used */
	r = wdr_kern_sweep(k, env.cgroup2_fd, &err);
	assert_int_equal(r, 1);
	assert_int_equal(kern_env_count_names(&env, "jobs"), 0);
	assert_int_equal(access(stale, F_OK), -1);
	memset(&err, 0, sizeof(err));
	assert_ok(wdr_kern_unload(&env.at, &err));
	wdr_kern_freep(&k);
	(void)close(pipefd[0]);
	(void)close(pipefd[1]);
	(void)close(fd);
}

/* What is pinned becomes another version's, in use by this process. */
static void rename_generation(char ret[2 * KE_PATH])
{
	char from[2 * KE_PATH] = "";
	struct dirent *d;
	DIR *dir = opendir(env.bpffs);

	assert_non_null(dir);
	while ((d = readdir(dir)) != NULL) {
		if (strlen(d->d_name) == 16)
			(void)snprintf(from, sizeof(from), "%s/%s", env.bpffs, d->d_name);
	}
	(void)closedir(dir);
	(void)snprintf(ret, 2 * KE_PATH, "%s/other", env.bpffs);
	assert_ok(rename(from, ret));
}

/* Of the one folder of @kind. */
static uint32_t program_of(const char *kind, const char *pin)
{
	struct bpf_link_info info = { 0 };
	uint32_t len = sizeof(info);
	char path[3 * KE_PATH];
	struct dirent *d;
	DIR *dir;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", env.bpffs, kind);
	dir = opendir(path);
	assert_non_null(dir);
	while ((d = readdir(dir)) != NULL && d->d_name[0] == '.')
		;
	assert_non_null(d);
	(void)snprintf(path, sizeof(path), "%s/%s/%s/%s", env.bpffs, kind, d->d_name, pin);
	(void)closedir(dir);
	fd = bpf_obj_get(path);
	assert_true(fd >= 0);
	assert_ok(bpf_obj_get_info_by_fd(fd, &info, &len));
	(void)close(fd);
	return info.prog_id;
}

static void an_upgrade_puts_its_programs_where_jobs_run(void **state)
{
	int cg = kern_env_cgroup(&env, "upgrade");
	struct wdr_kern_ask ask = { .cgroup_fd = cg };
	struct wdr_kern *old = open_kern(), *new;
	struct wdr_kern_slot *s = NULL;
	struct wdr_err err = { 0 };
	char other[2 * KE_PATH];
	uint32_t packets, sockets;

	(void)state;
	assert_ok(wdr_kern_join(old, &err));
	assert_ok(wdr_kern_slot_new(old, &ask, &s, &err));
	packets = program_of("jobs", "wdr_skb_out");
	sockets = program_of("parents", "wdr_connect4");
	rename_generation(other);
	new = open_kern();
	assert_int_not_equal(program_of("jobs", "wdr_skb_out"), packets);
	assert_int_not_equal(program_of("parents", "wdr_connect4"), sockets);
	assert_int_equal(access(other, F_OK), -1);
	/* The old process goes on with the maps that are now the new one's. */
	wdr_kern_slot_drop(&s);
	assert_int_equal(kern_env_count_names(&env, "jobs"), 0);
	assert_ok(wdr_kern_slot_new(old, &ask, &s, &err));
	wdr_kern_slot_drop(&s);
	assert_int_equal(wdr_kern_unload(&env.at, &err), -EBUSY);
	wdr_kern_leave(old);
	wdr_kern_freep(&old);
	wdr_kern_freep(&new);
	(void)close(cg);
}

static void an_upgrade_that_can_not_share_maps_waits(void **state)
{
	struct wdr_kern *old = open_kern(), *new = NULL;
	struct wdr_err err = { 0 };
	char other[2 * KE_PATH], path[3 * KE_PATH];
	struct wdr_shared shared;
	uint32_t zero = 0;
	int fd;

	(void)state;
	assert_ok(wdr_kern_join(old, &err));
	rename_generation(other);
	(void)snprintf(path, sizeof(path), "%s/wdr_shared", other);
	fd = bpf_obj_get(path);
	assert_ok(bpf_map_lookup_elem(fd, &zero, &shared));
	shared.maps_hash ^= 1;
	assert_ok(bpf_map_update_elem(fd, &zero, &shared, BPF_ANY));
	(void)close(fd);
	assert_int_equal(wdr_kern_open(&env.at, &new, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "another version"));
	wdr_kern_leave(old);
	wdr_kern_freep(&old);
	new = open_kern();
	assert_int_equal(kern_env_count_names(&env, "."), 1);
	wdr_kern_freep(&new);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_again_quickly),
		cmocka_unit_test(can_what_this_kernel_loads),
		cmocka_unit_test(loads_over_half_a_load),
		cmocka_unit_test(who_may_not_load_does_not_replace_what_others_use),
		cmocka_unit_test(unload_refuses_while_a_supervisor_lives),
		cmocka_unit_test(a_slot_leaves_nothing),
		cmocka_unit_test(a_sweep_frees_what_the_dead_left),
		cmocka_unit_test(an_upgrade_puts_its_programs_where_jobs_run),
		cmocka_unit_test(an_upgrade_that_can_not_share_maps_waits),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_stop(&env);
	return r;
}
