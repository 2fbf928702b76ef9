/* SPDX-License-Identifier: Apache-2.0 */
/* Programs on tracepoints: which stay when no job asks any more, whose they are, and that they go. */
#include "wdr_test.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "kern_env.h"

#define GONE_MS 5000 /* for RCU, and work that the kernel does later */

/* Cells of wdr_shared.link_ids, as kern/trace.c has them. */
enum {
	SYS_ENTER = 0,
	EXEC = 4,
	CAP = 8
};

static struct kern_env env;

static uint32_t link_id(unsigned int cell)
{
	struct wdr_shared shared;
	uint32_t zero = 0;
	int fd = kern_env_program(&env, "wdr_shared");

	assert_true(fd >= 0);
	assert_ok(bpf_map_lookup_elem(fd, &zero, &shared));
	(void)close(fd);
	return shared.link_ids[cell];
}

static bool is_there(uint32_t id)
{
	int fd = bpf_link_get_fd_by_id(id);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

static bool is_gone(uint32_t id)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	unsigned int ms;

	for (ms = 0; is_there(id) && ms < GONE_MS * kern_env_slow(); ms += 10)
		(void)nanosleep(&pause, NULL);
	return !is_there(id);
}

static struct wdr_kern_slot *start(struct wdr_kern *k, int cg, void *user)
{
	struct wdr_kern_ask ask = {
		.cgroup_fd = cg, .user = user, .netns = true, .proc = true, .count = true
	};
	struct wdr_kern_slot *s = NULL;
	struct wdr_err err = { 0 };
	int r = wdr_kern_slot_new(k, &ask, &s, &err);

	if (r < 0)
		print_error("%s\n", err.msg);
	assert_ok(r);
	return s;
}

static void those_for_events_stay_until_unload(void **state)
{
	int cg = kern_env_cgroup(&env, "stay"), fd;
	uint32_t exec, enter, cap;
	struct wdr_kern *k = NULL;
	struct wdr_kern_slot *s;
	struct wdr_err err = { 0 };

	(void)state;
	assert_ok(kern_env_join(&env, &k));
	assert_int_equal(link_id(EXEC), 0); /* not before somebody asks */
	s = start(k, cg, NULL);
	exec = link_id(EXEC);
	enter = link_id(SYS_ENTER);
	cap = link_id(CAP);
	assert_true(is_there(exec) && is_there(enter));
	wdr_kern_slot_drop(&s);
	assert_true(is_gone(enter));
	assert_true(!cap || is_gone(cap));
	assert_true(is_there(exec));
	s = start(k, cg, NULL);
	assert_int_equal(link_id(EXEC), exec);
	assert_int_not_equal(link_id(SYS_ENTER), enter);
	wdr_kern_slot_drop(&s);
	kern_env_leave(&k);
	fd = kern_env_program(&env, "wdr_exec_link");
	assert_true(fd >= 0);
	(void)close(fd);
	assert_ok(wdr_kern_unload(&env.at, &err));
	assert_true(is_gone(exec));
	(void)close(cg);
}

static void killed_supervisors_take_nothing_from_the_next(void **state)
{
	int cg = kern_env_cgroup(&env, "killed"), status;
	struct wdr_kern *k = NULL;
	struct wdr_kern_slot *s;
	uint32_t exec;
	pid_t pid;

	(void)state;
	assert_ok(kern_env_join(&env, &k));
	pid = kern_env_fork();
	if (!pid) {
		struct wdr_kern *mine = NULL;

		if (kern_env_join(&env, &mine) || !start(mine, cg, NULL))
			_exit(1);
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	exec = link_id(EXEC);
	assert_true(is_there(exec));
	assert_true(is_gone(link_id(SYS_ENTER)));
	assert_int_equal(wdr_kern_sweep(k, env.cgroup2_fd, NULL), 1);
	s = start(k, cg, NULL);
	assert_int_equal(link_id(EXEC), exec);
	wdr_kern_slot_drop(&s);
	kern_env_leave(&k);
	assert_ok(wdr_kern_unload(&env.at, NULL));
	assert_true(is_gone(exec));
	(void)close(cg);
}

/* What is pinned becomes another version's, in use by this process. */
static void rename_generation(void)
{
	char from[2 * KE_PATH] = "", to[2 * KE_PATH];
	struct dirent *d;
	DIR *dir = opendir(env.bpffs);

	assert_non_null(dir);
	while ((d = readdir(dir)) != NULL) {
		if (strlen(d->d_name) == 16)
			(void)snprintf(from, sizeof(from), "%s/%s", env.bpffs, d->d_name);
	}
	(void)closedir(dir);
	(void)snprintf(to, sizeof(to), "%s/other", env.bpffs);
	assert_ok(rename(from, to));
}

static uint32_t prog_of_link(uint32_t id)
{
	struct bpf_link_info info = { 0 };
	uint32_t len = sizeof(info);
	int fd = bpf_link_get_fd_by_id(id);

	assert_true(fd >= 0);
	assert_ok(bpf_obj_get_info_by_fd(fd, &info, &len));
	(void)close(fd);
	return info.prog_id;
}

static uint32_t pinned_prog(const char *name)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	int fd = kern_env_program(&env, name);

	assert_true(fd >= 0);
	assert_ok(bpf_obj_get_info_by_fd(fd, &info, &len));
	(void)close(fd);
	return info.id;
}

static void count_exec(void *user, const struct wdr_ev_hdr *ev)
{
	(void)ev;
	++*(unsigned int *)user;
}

static unsigned int execs_told(struct wdr_kern *k, int cg, const unsigned int *n)
{
	const struct wdr_kern_handlers h = { .on = { [WDR_EV_EXEC] = count_exec } };
	unsigned int before = *n;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		kern_env_enter(&env, cg);
		(void)execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_ok(status);
	(void)wdr_kern_ring_read(k, &h, 1000);
	return *n - before;
}

/*
 * Jobs that run keep what they have, and one beside them shares it, so that nothing is told twice;
 * it is the other version's, and does not stay. What comes after is the new version's, also from
 * a process that has seen the old one.
 */
static void an_upgrade_tells_once_and_keeps_its_own(void **state)
{
	int cg = kern_env_cgroup(&env, "upgraded"), beside = kern_env_cgroup(&env, "beside");
	struct wdr_kern *old = NULL, *new = NULL;
	struct wdr_kern_slot *s, *t;
	unsigned int n = 0;
	uint32_t was;

	(void)state;
	assert_ok(kern_env_join(&env, &old));
	s = start(old, cg, &n);
	was = link_id(EXEC);
	rename_generation();
	assert_ok(kern_env_join(&env, &new));
	t = start(new, beside, &n);
	assert_int_equal(link_id(EXEC), was);
	assert_int_equal(execs_told(old, cg, &n), 1);
	assert_int_equal(execs_told(new, beside, &n), 1);
	assert_true(kern_env_program(&env, "wdr_exec_link") < 0);
	wdr_kern_slot_drop(&s);
	wdr_kern_slot_drop(&t);
	assert_true(is_gone(was));
	s = start(old, cg, &n);
	assert_int_not_equal(link_id(EXEC), was);
	assert_int_equal(prog_of_link(link_id(EXEC)), pinned_prog("wdr_exec"));
	assert_int_equal(execs_told(old, cg, &n), 1);
	wdr_kern_slot_drop(&s);
	assert_true(is_there(link_id(EXEC)));
	kern_env_leave(&old);
	kern_env_leave(&new);
	assert_ok(wdr_kern_unload(&env.at, NULL));
	(void)close(cg);
	(void)close(beside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_for_events_stay_until_unload),
		cmocka_unit_test(killed_supervisors_take_nothing_from_the_next),
		cmocka_unit_test(an_upgrade_tells_once_and_keeps_its_own),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_stop(&env);
	return r;
}
