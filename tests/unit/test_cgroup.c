/* SPDX-License-Identifier: Apache-2.0 */
/* Making a job's cgroups: the same limits on every layout, and nothing left where one fails. */
#include <math.h>

#include "fake_cgroup.h"

#define MIB	  (UINT64_C(1) << 20)
#define UNLIMITED UINT64_MAX
#define SWAP_BIT  WDR_PROT_BIT(WDR_PROT_SWAP_LIMIT)
#define PIDS_BIT  WDR_PROT_BIT(WDR_PROT_PIDS_LIMIT)

static const struct wdr_cgroup_limits all = { 64 * MIB, 16 * MIB, 20, 0.5 };

static int make(const struct wdr_cgroup_limits *l, uint64_t waived, struct wdr_cgroup_tree **t,
		struct wdr_cgroup **cg, struct wdr_err *err)
{
	assert_ok(wdr_cgroup_tree_new(fake_root, t, err));
	return wdr_cgroup_new(*t, "job", l, waived, cg, err);
}

/* Every limit is in its file: rows of directory, file, text. */
static void check_files(const struct fake_file *layout, const struct fake_file *want)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	wdr_cgroup_ struct wdr_cgroup *cg = NULL;
	struct wdr_err err = { 0 };

	fake_make(layout);
	assert_ok(make(&all, 0, &t, &cg, &err));
	assert_int_equal(wdr_cgroup_missing(cg), 0);
	for (; want->dir; want++)
		assert_string_equal(fake_get(want->dir, want->file), want->text);
	assert_ok(wdr_cgroup_remove(cg, 0, &err));
	wdr_cgroup_tree_trim(t);
	assert_false(fake_has("warder"));
	assert_false(fake_has("memory/warder"));
	fake_drop();
}

static void writes_limits_to_v1(void **state)
{
	static const struct fake_file want[] = {
		{ "memory/warder/job", "memory.limit_in_bytes", "67108864" },
		{ "memory/warder/job", "memory.memsw.limit_in_bytes", "83886080" },
		{ "pids/warder/job", "pids.max", "20" },
		{ "cpu/warder/job", "cpu.cfs_period_us", "100000" },
		{ "cpu/warder/job", "cpu.cfs_quota_us", "50000" },
		{ "pids/warder", "pids.max", "max\n" },
		{ NULL, NULL, NULL },
	};

	(void)state;
	check_files(fake_hybrid, want);
}

static void writes_limits_to_v2(void **state)
{
	static const struct fake_file want[] = {
		{ "warder/job", "memory.max", "67108864" },
		{ "warder/job", "memory.swap.max", "16777216" },
		{ "warder/job", "memory.oom.group", "1" },
		{ "warder/job", "pids.max", "20" },
		{ "warder/job", "cpu.max", "50000 100000" },
		{ "warder", "memory.max", "max\n" },
		{ NULL, NULL, NULL },
	};

	(void)state;
	check_files(fake_pure, want);
}

static void finds_cpu_and_cpuacct_in_one_hierarchy(void **state)
{
	static const struct fake_file layout[] = {
		{ "unified", "cgroup.controllers", "" },
		{ "unified", "cgroup.subtree_control", "" },
		{ "unified", "cpu.stat", "usage_usec 0\n" },
		{ "cpu,cpuacct", "tasks", "" },
		{ "cpu,cpuacct", "cgroup.procs", "" },
		{ "cpu,cpuacct", "cpu.cfs_quota_us", "" },
		{ "cpu,cpuacct", "cpu.cfs_period_us", "" },
		{ NULL, NULL, NULL },
	};
	static const struct wdr_cgroup_limits l = { UNLIMITED, UNLIMITED, UNLIMITED, 2 };
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	wdr_cgroup_ struct wdr_cgroup *cg = NULL;
	struct wdr_err err = { 0 };
	const char *name;
	int fd;

	(void)state;
	fake_make(layout);
	assert_ok(make(&l, 0, &t, &cg, &err));
	assert_string_equal(fake_get("cpu,cpuacct/warder/job", "cpu.cfs_quota_us"), "200000");
	assert_ok(wdr_cgroup_view(cg, 0, &name, &fd));
	assert_string_equal(name, "unified");
	assert_ok(wdr_cgroup_view(cg, 1, &name, &fd));
	assert_string_equal(name, "cpu,cpuacct");
	assert_int_equal(wdr_cgroup_view(cg, 2, &name, &fd), -ENOENT);
	assert_int_equal(wdr_cgroup_set_cpus(cg, 0), 0);
	assert_string_equal(fake_get("cpu,cpuacct/warder/job", "cpu.cfs_quota_us"), "-1");
	fake_drop();
}

static void leaves_what_is_unlimited_alone(void **state)
{
	static const struct wdr_cgroup_limits l = { UNLIMITED, UNLIMITED, UNLIMITED, 0 };
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	wdr_cgroup_ struct wdr_cgroup *cg = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	fake_make(fake_pure);
	assert_ok(make(&l, 0, &t, &cg, &err));
	assert_string_equal(fake_get("warder/job", "memory.max"), "max\n");
	assert_string_equal(fake_get("warder/job", "memory.swap.max"), "max\n");
	assert_string_equal(fake_get("warder/job", "pids.max"), "max\n");
	assert_string_equal(fake_get("warder/job", "cpu.max"), "max 100000\n");
	fake_drop();
}

static void sets_limits_anew(void **state)
{
	static const struct wdr_cgroup_limits more = { 640 * MIB, 0, 30, 2 };
	static const struct {
		const struct fake_file *layout;
		const char *dir, *file, *text;
	} want[] = {
		{ fake_hybrid, "memory/warder/job", "memory.limit_in_bytes", "671088640" },
		{ fake_hybrid, "memory/warder/job", "memory.memsw.limit_in_bytes", "671088640" },
		{ fake_hybrid, "pids/warder/job", "pids.max", "30" },
		{ fake_pure, "warder/job", "memory.max", "671088640" },
		{ fake_pure, "warder/job", "memory.swap.max", "0" },
		{ fake_pure, "warder/job", "cpu.max", "200000 100000" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
		wdr_cgroup_ struct wdr_cgroup *cg = NULL;
		struct wdr_err err = { 0 };

		fake_make(want[i].layout);
		assert_ok(make(&all, 0, &t, &cg, &err));
		assert_ok(wdr_cgroup_limit(cg, &more, 0, &err));
		assert_string_equal(fake_get(want[i].dir, want[i].file), want[i].text);
		fake_drop();
	}
}

static void turns_a_share_of_cpus_into_a_quota(void **state)
{
	static const struct {
		double cpus;
		const char *text; /* NULL: refused */
	} rows[] = {
		{ 0.5, "50000 100000" },   { 1.25, "125000 100000" },
		{ 64, "6400000 100000" },  { 0.01, "1000 100000" },
		{ 0.009, "9000 1000000" }, { 0.001, "1000 1000000" },
		{ 0.0009, NULL },	   { -1, NULL },
		{ 100001, NULL },	   { NAN, NULL },
		{ INFINITY, NULL },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wdr_cgroup_limits l = { UNLIMITED, UNLIMITED, UNLIMITED, rows[i].cpus };
		wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
		wdr_cgroup_ struct wdr_cgroup *cg = NULL;
		struct wdr_err err = { 0 };

		fake_make(fake_pure);
		assert_int_equal(make(&l, 0, &t, &cg, &err), rows[i].text ? 0 : -EINVAL);
		if (rows[i].text)
			assert_string_equal(fake_get("warder/job", "cpu.max"), rows[i].text);
		else
			assert_non_null(strstr(err.msg, "want 0.001 to 100000"));
		assert_int_equal(fake_has("warder/job"), rows[i].text != NULL);
		fake_drop();
	}
}

/* A limit that can't be held names itself, is let pass when waived, and then is told of. */
static void check_missing(const struct wdr_cgroup_limits *l, uint64_t bit, const char *why)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	wdr_cgroup_ struct wdr_cgroup *cg = NULL;
	struct wdr_err err = { 0 };
	int fds = fake_count_fds();

	assert_int_equal(make(l, ~bit, &t, &cg, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, why));
	assert_false(fake_has("warder/job"));
	assert_false(fake_has("memory/warder/job"));
	wdr_cgroup_tree_freep(&t);
	assert_int_equal(fake_count_fds(), fds);
	err = (struct wdr_err){ 0 };
	assert_ok(make(l, bit, &t, &cg, &err));
	assert_int_equal(wdr_cgroup_missing(cg), bit);
	fake_drop();
}

static void refuses_a_limit_without_its_controller(void **state)
{
	struct fake_file layout[sizeof(fake_hybrid) / sizeof(fake_hybrid[0])];
	size_t i, n = 0;

	(void)state;
	for (i = 0; i < sizeof(fake_hybrid) / sizeof(fake_hybrid[0]); i++)
		if (!fake_hybrid[i].dir || strcmp(fake_hybrid[i].dir, "pids"))
			layout[n++] = fake_hybrid[i];
	fake_make(layout);
	check_missing(&all, PIDS_BIT, "pids limit: no pids controller here");
	fake_make(fake_pure);
	fake_put(".", "cgroup.subtree_control", "cpu memory");
	fake_put(".", "cgroup.controllers", "cpu memory");
	check_missing(&all, PIDS_BIT, "/cgroup.controllers: it is not listed");
}

static void refuses_swap_that_the_kernel_does_not_count(void **state)
{
	static const struct wdr_cgroup_limits alone = { UNLIMITED, 0, UNLIMITED, 0 };
	char path[128];

	(void)state;
	fake_make(fake_pure);
	(void)snprintf(path, sizeof(path), "%s/memory.swap.max", fake_root);
	assert_ok(unlink(path));
	check_missing(&all, SWAP_BIT, "swap limit: this kernel's memory controller has no file");
	fake_make(fake_hybrid);
	check_missing(&alone, SWAP_BIT,
		      "swap limit: cgroup v1 holds one only beside a memory limit");
}

static const struct fault {
	const struct fake_file *layout;
	enum fake_call call;
	const char *name, *parent;
	int error;
	const char *says;
} faults[] = {
	{ fake_hybrid, FAKE_MKDIR, "job", "unified", EAGAIN,
	  "make cgroup warder/job: Resource temp" },
	{ fake_hybrid, FAKE_MKDIR, "job", "cpu", ENOSPC, "make cgroup warder/job: No space left" },
	{ fake_hybrid, FAKE_MKDIR, "job", "memory", ENOMEM, "Cannot allocate memory" },
	{ fake_hybrid, FAKE_MKDIR, "job", "pids", EROFS, "Read-only file system" },
	{ fake_hybrid, FAKE_OPEN, "job", "unified", EMFILE, "Too many open files" },
	{ fake_hybrid, FAKE_OPEN, "job", "pids", ENFILE, "Too many open files in system" },
	{ fake_hybrid, FAKE_OPEN, "tasks", "memory", EMFILE, "Too many open files" },
	{ fake_hybrid, FAKE_OPEN, "cpu.stat", "unified", EMFILE, "Too many open files" },
	{ fake_hybrid, FAKE_OPEN, "memory.limit_in_bytes", NULL, EMFILE, "memory limit: Too many" },
	{ fake_hybrid, FAKE_WRITE, "memory.limit_in_bytes", NULL, EBUSY, "memory limit: Device" },
	{ fake_hybrid, FAKE_WRITE, "memory.memsw.limit_in_bytes", NULL, EINVAL, "swap limit: Inv" },
	{ fake_hybrid, FAKE_WRITE, "pids.max", NULL, EPERM, "pids limit: Operation not permitted" },
	{ fake_hybrid, FAKE_WRITE, "cpu.cfs_quota_us", NULL, EACCES, "cpus limit: Permission den" },
	{ fake_hybrid, FAKE_WRITE, "cpu.cfs_period_us", NULL, ENODEV,
	  "cpus limit: No such device" },
	{ fake_pure, FAKE_MKDIR, "job", "warder", EAGAIN, "make cgroup warder/job: Resource temp" },
	{ fake_pure, FAKE_OPEN, "job", "warder", EMFILE, "Too many open files" },
	{ fake_pure, FAKE_OPEN, "cpu.stat", "warder", ENODEV, "No such device" },
	{ fake_pure, FAKE_WRITE, "memory.max", NULL, EBUSY,
	  "memory limit: Device or resource busy" },
	{ fake_pure, FAKE_WRITE, "memory.oom.group", NULL, EINVAL,
	  "memory limit: Invalid argument" },
	{ fake_pure, FAKE_WRITE, "memory.swap.max", NULL, EIO, "swap limit: Input/output error" },
	{ fake_pure, FAKE_WRITE, "pids.max", NULL, ENODEV, "pids limit: No such device" },
	{ fake_pure, FAKE_WRITE, "cpu.max", NULL, EPERM, "cpus limit: Operation not permitted" },
};

static void leaves_nothing_where_a_call_fails(void **state)
{
	static const char *const places[] = { "warder/job", "unified/warder/job", "cpu/warder/job",
					      "memory/warder/job", "pids/warder/job" };
	size_t i, p;

	(void)state;
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const struct fault *f = &faults[i];
		wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
		struct wdr_cgroup *cg = NULL;
		struct wdr_err err = { 0 };
		int fds;

		fake_make(f->layout);
		assert_ok(wdr_cgroup_tree_new(fake_root, &t, &err));
		fds = fake_count_fds();
		fake_fault.call = f->call;
		fake_fault.name = f->name;
		fake_fault.parent = f->parent;
		fake_fault.error = f->error;
		fake_fault.times = -1;
		assert_int_equal(wdr_cgroup_new(t, "job", &all, 0, &cg, &err), -f->error);
		assert_non_null(strstr(err.msg, f->says));
		assert_null(cg);
		assert_int_equal(fake_count_fds(), fds);
		for (p = 0; p < sizeof(places) / sizeof(places[0]); p++)
			assert_false(fake_has(places[p]));
		fake_drop();
	}
}

static void does_not_take_another_jobs_cgroup(void **state)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	wdr_cgroup_ struct wdr_cgroup *cg = NULL, *other = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	fake_make(fake_hybrid);
	assert_ok(make(&all, 0, &t, &cg, &err));
	assert_int_equal(wdr_cgroup_new(t, "job", &all, 0, &other, &err), -EEXIST);
	assert_true(fake_has("unified/warder/job"));
	assert_true(fake_has("pids/warder/job"));
	fake_drop();
}

static void refuses_names_that_are_no_folder(void **state)
{
	static const char *const names[] = {
		"",
		".",
		"..",
		".x",
		"a/b",
		"/",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	struct wdr_cgroup *cg = NULL;
	struct wdr_err err = { 0 };
	size_t i;

	(void)state;
	fake_make(fake_pure);
	assert_ok(wdr_cgroup_tree_new(fake_root, &t, &err));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(wdr_cgroup_new(t, names[i], &all, 0, &cg, &err), -EINVAL);
		assert_int_equal(wdr_cgroup_sweep(t, names[i], &err), -EINVAL);
	}
	fake_drop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_limits_to_v1),
		cmocka_unit_test(writes_limits_to_v2),
		cmocka_unit_test(finds_cpu_and_cpuacct_in_one_hierarchy),
		cmocka_unit_test(leaves_what_is_unlimited_alone),
		cmocka_unit_test(sets_limits_anew),
		cmocka_unit_test(turns_a_share_of_cpus_into_a_quota),
		cmocka_unit_test(refuses_a_limit_without_its_controller),
		cmocka_unit_test(refuses_swap_that_the_kernel_does_not_count),
		cmocka_unit_test(leaves_nothing_where_a_call_fails),
		cmocka_unit_test(does_not_take_another_jobs_cgroup),
		cmocka_unit_test(refuses_names_that_are_no_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
