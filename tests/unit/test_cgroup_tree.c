/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the hierarchies of a machine, and getting the controllers to where the jobs are. */
#include <sys/wait.h>

#include "fake_cgroup.h"

static const struct wdr_cgroup_limits none = { UINT64_MAX, UINT64_MAX, UINT64_MAX, 0 };
static const struct wdr_cgroup_limits pids = { UINT64_MAX, UINT64_MAX, 20, 0 };

static void reads_mountinfo(void **state)
{
	static const char *const lines[] = {
		"25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw\n",
		"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n",
		"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n",
		"33 31 0:30 / /sys/fs/cgroup/net rw - cgroup cgroup rw,net_cls\n",
		"34 31 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n",
		"35 31 0:32 /docker/ab /sys/fs/my\\040memory rw master:1 - cgroup none rw,memory\n",
		"36 31 0:32 / /again rw - cgroup cgroup rw,memory\n",
		"37 31 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n",
		"38 31 0:33 / /other/unified rw - cgroup2 cgroup2 rw\n",
		"39 31 0:34 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
		"40 31 0:35 / /pids rw - cgroup cgroup rw,pids\n",
		"41 31 0:36 / /fifth rw - cgroup cgroup rw,cpu\n",
	};
	static const struct wdr_cgroup_mount want[] = {
		{ false, 1U << WDR_CGROUP_CPU, "/", "/sys/fs/cgroup/cpu,cpuacct", "", 0 },
		{ false, 1U << WDR_CGROUP_MEMORY, "/docker/ab", "/sys/fs/my memory", "", 0 },
		{ true, 0, "/", "/sys/fs/cgroup/unified", "", 0 },
		{ false, 1U << WDR_CGROUP_PIDS, "/", "/pids", "", 0 },
	};
	static struct wdr_cgroup_mounts ms;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		wdr_cgroup_mounts_add(&ms, lines[i]);
	assert_int_equal(ms.n, sizeof(want) / sizeof(want[0]));
	for (i = 0; i < ms.n; i++) {
		assert_int_equal(ms.m[i].v2, want[i].v2);
		assert_int_equal(ms.m[i].ctls, want[i].ctls);
		assert_string_equal(ms.m[i].root, want[i].root);
		assert_string_equal(ms.m[i].path, want[i].path);
	}
}

static void is_not_confused_by_odd_lines(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		" - ",
		" - cgroup2",
		"1 2 3 - cgroup2 x rw\n",
		"- cgroup2 cgroup2 rw",
		"1 2 0:1 / /x rw - cgroup3 a rw\n",
		"1 2 0:1 / /x rw - cgroup a \n",
		"1 2 0:1 / /x rw - cgroup a rw,cpus,memorypids,xcpu\n",
	};
	static struct wdr_cgroup_mounts ms;
	char longest[6000];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		wdr_cgroup_mounts_add(&ms, lines[i]);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	memcpy(longest, "1 2 0:1 / /", 11);
	memcpy(longest + sizeof(longest) - 30, " rw - cgroup2 c rw", 19);
	wdr_cgroup_mounts_add(&ms, longest);
	/* A path that is cut is still a path, and no cgroup is found at it. */
	assert_true(ms.n <= 1);
	assert_true(!ms.n || strlen(ms.m[0].path) < sizeof(ms.m[0].path));
}

static void knows_controllers_by_whole_words(void **state)
{
	static const struct {
		const char *list, *seps;
		unsigned int bits;
	} rows[] = {
		{ "", " ", 0 },
		{ "cpu", " ", 1U << WDR_CGROUP_CPU },
		{ "cpuset cpu io memory hugetlb pids", " ", 7 },
		{ "cpuset cpuacct memoryx xpids", " ", 0 },
		{ " memory  pids ", " ", 6 },
		{ "rw,cpuacct,pids", ",", 1U << WDR_CGROUP_PIDS },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(wdr_cgroup_ctl_bits(rows[i].list, rows[i].seps), rows[i].bits);
}

static void wants_a_cgroup2(void **state)
{
	static const struct fake_file only_v1[] = {
		{ "memory", "tasks", "" },
		{ NULL, NULL, NULL },
	};
	struct wdr_cgroup_tree *t = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	fake_make(only_v1);
	assert_int_equal(wdr_cgroup_tree_new(fake_root, &t, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "no cgroup2 file system is mounted: want one at /"));
	assert_null(t);
	fake_drop();
}

/* On v2 the controllers are handed down, to the folder and to the jobs. */
static void enables_controllers_on_the_way(void **state)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	fake_make(fake_pure);
	fake_put(".", "cgroup.subtree_control", "io");
	assert_ok(wdr_cgroup_tree_new(fake_root, &t, &err));
	assert_string_equal(fake_get(".", "cgroup.subtree_control"), "io cpu memory pids");
	fake_drop();
}

static void tells_which_controller_could_not_be_enabled(void **state)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	struct wdr_cgroup *cg = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	fake_make(fake_pure);
	fake_put(".", "cgroup.subtree_control", "");
	fake_fault.call = FAKE_WRITE;
	fake_fault.name = "cgroup.subtree_control";
	fake_fault.error = EBUSY;
	fake_fault.times = -1;
	assert_ok(wdr_cgroup_tree_new(fake_root, &t, &err));
	assert_int_equal(wdr_cgroup_new(t, "job", &pids, 0, &cg, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "pids limit: no pids controller here: /"));
	assert_non_null(strstr(err.msg, "/cgroup.subtree_control: Device or resource busy"));
	fake_drop();
}

static void moves_out_of_a_cgroup_that_hands_controllers_down(void **state)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	fake_make(fake_pure);
	fake_put(".", "cgroup.type", "domain\n"); /* so it is not the machine's root */
	fake_put(".", "cgroup.subtree_control", "");
	fake_put(".", "cgroup.procs", "4194304\n");
	assert_ok(wdr_cgroup_tree_new(fake_root, &t, &err));
	assert_string_not_equal(fake_get("supervisor", "cgroup.procs"), "");
	/* The stand-in does not really move anybody: what stays is in the way. */
	assert_string_equal(fake_get(".", "cgroup.subtree_control"), "");
	assert_non_null(strstr(t->why[WDR_CGROUP_CPU], "/cgroup.procs: Device or resource busy"));
	fake_drop();
}

static void loses_only_what_a_broken_v1_hierarchy_holds(void **state)
{
	static const struct {
		enum fake_call call;
		int error;
		const char *says;
	} rows[] = {
		{ FAKE_MKDIR, EROFS, "/pids/warder: Read-only file system" },
		{ FAKE_MKDIR, ENOSPC, "/pids/warder: No space left on device" },
		{ FAKE_OPEN, EACCES, "/pids/warder: Permission denied" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
		wdr_cgroup_ struct wdr_cgroup *cg = NULL;
		struct wdr_cgroup *no = NULL;
		struct wdr_err err = { 0 };

		fake_make(fake_hybrid);
		fake_fault.call = rows[i].call;
		fake_fault.name = "warder";
		fake_fault.parent = "/pids";
		fake_fault.error = rows[i].error;
		fake_fault.times = -1;
		assert_ok(wdr_cgroup_tree_new(fake_root, &t, &err));
		assert_int_equal(wdr_cgroup_new(t, "job", &pids, 0, &no, &err), -EOPNOTSUPP);
		assert_non_null(strstr(err.msg, rows[i].says));
		assert_ok(wdr_cgroup_new(t, "job", &none, 0, &cg, &err));
		assert_false(fake_has("pids/warder/job"));
		assert_true(fake_has("memory/warder/job"));
		fake_drop();
	}
}

static void needs_v2_itself(void **state)
{
	static const int errors[] = { EROFS, EACCES, ENOSPC };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct wdr_cgroup_tree *t = NULL;
		struct wdr_err err = { 0 };
		int fds = fake_count_fds();

		fake_make(fake_hybrid);
		fake_fault.call = FAKE_MKDIR;
		fake_fault.name = "warder";
		fake_fault.parent = "/unified";
		fake_fault.error = errors[i];
		fake_fault.times = -1;
		assert_int_equal(wdr_cgroup_tree_new(fake_root, &t, &err), -errors[i]);
		assert_non_null(strstr(err.msg, "/unified/warder: "));
		assert_int_equal(fake_count_fds(), fds);
		fake_drop();
	}
}

/* Two Warders: one trims the folders between the other's start and its job. */
static void makes_the_folders_again(void **state)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL, *other = NULL;
	wdr_cgroup_ struct wdr_cgroup *cg = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	fake_make(fake_hybrid);
	assert_ok(wdr_cgroup_tree_new(fake_root, &t, &err));
	assert_ok(wdr_cgroup_tree_new(fake_root, &other, &err));
	wdr_cgroup_tree_trim(other);
	assert_false(fake_has("unified/warder"));
	assert_ok(wdr_cgroup_new(t, "job", &pids, 0, &cg, &err));
	assert_string_equal(fake_get("pids/warder/job", "pids.max"), "20");
	wdr_cgroup_tree_trim(other);
	assert_true(fake_has("unified/warder/job"));
	fake_drop();
}

/* One of four folders is gone: the job has nothing half made when they are made again. */
static void makes_one_folder_again(void **state)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	wdr_cgroup_ struct wdr_cgroup *cg = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	fake_make(fake_hybrid);
	assert_ok(wdr_cgroup_tree_new(fake_root, &t, &err));
	assert_ok(unlinkat(t->hier[2].base_fd, "warder", AT_REMOVEDIR));
	assert_ok(wdr_cgroup_new(t, "job", &pids, 0, &cg, &err));
	assert_string_equal(fake_get("pids/warder/job", "pids.max"), "20");
	assert_true(fake_has("memory/warder/job"));
	fake_drop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_mountinfo),
		cmocka_unit_test(is_not_confused_by_odd_lines),
		cmocka_unit_test(knows_controllers_by_whole_words),
		cmocka_unit_test(wants_a_cgroup2),
		cmocka_unit_test(enables_controllers_on_the_way),
		cmocka_unit_test(tells_which_controller_could_not_be_enabled),
		cmocka_unit_test(moves_out_of_a_cgroup_that_hands_controllers_down),
		cmocka_unit_test(loses_only_what_a_broken_v1_hierarchy_holds),
		cmocka_unit_test(needs_v2_itself),
		cmocka_unit_test(makes_the_folders_again),
		cmocka_unit_test(makes_one_folder_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
