/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_golden.h"

#include <linux/capability.h>
#include <unistd.h>

#include "bundle.h"

/* Constant text where the types that own theirs want it changeable. */
#define S(text) ((char *)(uintptr_t)(text))

static char *const tmpfs[] = { S("/tmp"), S("/home/user") };
static char *const deny[] = { S("chroot"), S("getpid") };
static char *const allow[] = { S("ptrace") };
static char *const argv[] = { S("python3"), S("-c"), S("print(\"\xc3\xa9\")"), NULL };
static char *const envp[] = { S("PATH=/usr/bin:/bin"), S("HOME=/home/user"), NULL };
static struct wdr_mount mounts[] = {
	{ .source = S("/srv/data"), .target = S("/data"), .readonly = true },
	{ .source = S("/srv/out"), .target = S("/out"), .readonly = false },
};

static struct wdr_policy base_policy(void)
{
	struct wdr_policy p = {
		.name = S("default"),
		.user = { 1000, 1000 },
		.workdir = S("/home/user"),
		.limits = { .pids = 100,
			    .files = 1024,
			    .file_size_bytes = WDR_UNLIMITED,
			    .disk_bytes = 1 << 28 },
		.fs = { .readonly = true, .tmpfs = (char **)(uintptr_t)tmpfs, .n_tmpfs = 2 },
		.syscalls = { .profile = S("default") },
	};

	return p;
}

static const struct wdr_runsc new_runsc = {
	.path = "/usr/bin/runsc",
	.features = WDR_RUNSC_OVERLAY2 | WDR_RUNSC_OVERLAY2_DIR | WDR_RUNSC_OCI_SECCOMP |
		    WDR_RUNSC_TRACE,
	.platform = WDR_RUNSC_SYSTRAP,
};

static const struct wdr_runsc old_runsc = {
	.path = "/usr/bin/runsc",
	.features = WDR_RUNSC_OVERLAY2 | WDR_RUNSC_OCI_SECCOMP | WDR_RUNSC_TRACE,
	.platform = WDR_RUNSC_PTRACE,
};

/* Everything that a policy can say and the bundle shows. */
static struct wdr_policy full_policy(void)
{
	struct wdr_policy p = base_policy();

	p.user.uid = 4294967294U;
	p.user.gid = 0;
	p.limits.pids = WDR_UNLIMITED;
	p.limits.file_size_bytes = 64 << 20;
	p.fs.readonly = false;
	p.fs.mounts = mounts;
	p.fs.n_mounts = 2;
	p.capabilities = UINT64_C(1) << CAP_NET_RAW | UINT64_C(1) << CAP_CHECKPOINT_RESTORE;
	p.syscalls.profile = S("strict");
	p.syscalls.deny = (char **)(uintptr_t)deny;
	p.syscalls.n_deny = 2;
	p.syscalls.allow = (char **)(uintptr_t)allow;
	p.syscalls.n_allow = 1;
	p.syscalls.on_deny = WDR_ON_SYSCALL_KILL;
	p.net.mode = WDR_NET_EGRESS;
	return p;
}

static struct wdr_policy host_policy(void)
{
	struct wdr_policy p = base_policy();

	p.net.mode = WDR_NET_HOST;
	return p;
}

static const struct {
	const char *file;
	struct wdr_policy (*policy)(void);
	const struct wdr_runsc *runsc;
	const char *net_path;
	bool traced, tty, views;
	const char *flags;
} cases[] = {
	{ "bundle_default.json", base_policy, &new_runsc, NULL, false, false, false,
	  "--network=none --overlay2=none --oci-seccomp --platform=systrap" },
	{ "bundle_default_old.json", base_policy, &old_runsc, NULL, true, false, false,
	  "--network=none --overlay2=none --oci-seccomp --pod-init-config=/run/warder/init.json "
	  "--platform=ptrace" },
	{ "bundle_full.json", full_policy, &new_runsc, "/proc/1/fd/9", false, true, true,
	  "--network=sandbox --overlay2=root:dir=/run/warder/rw --oci-seccomp --net-raw "
	  "--platform=systrap" },
	{ "bundle_full_old.json", full_policy, &old_runsc, "/proc/1/fd/9", false, false, false,
	  "--network=sandbox --overlay2=root:memory --oci-seccomp --net-raw --platform=ptrace" },
	{ "bundle_host.json", host_policy, &new_runsc, NULL, false, false, false,
	  "--network=host --overlay2=none --oci-seccomp --platform=systrap" },
};

static void writes_the_golden_bundles(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wdr_policy p = cases[i].policy();
		struct wdr_spec s = {
			.policy = &p, .argv = argv, .envp = envp, .tty = cases[i].tty
		};
		wdr_json_ json_t *config = NULL;
		wdr_free_ char *text = NULL;
		wdr_free_ char *line = NULL;
		struct wdr_err err = { 0 };

		if (cases[i].views) {
			s.n_views = 2;
			(void)snprintf(s.views[1].name, sizeof(s.views[1].name), "memory");
		}
		assert_ok(wdr_bundle_config(&s, cases[i].runsc, cases[i].net_path, &config, &err));
		text = json_dumps(config, JSON_INDENT(1) | JSON_SORT_KEYS);
		assert_true(asprintf(&line, "%s\n", text) > 0);
		assert_golden(cases[i].file, line, strlen(line));
	}
}

static void gives_runsc_its_flags(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wdr_policy p = cases[i].policy();
		struct wdr_spec s = { .policy = &p };
		struct wdr_args a = { 0 };
		char line[1024] = "";
		size_t n = 0;

		assert_ok(wdr_bundle_flags(&s, cases[i].runsc, cases[i].traced, &a));
		assert_string_equal(a.v[0], "/usr/bin/runsc");
		assert_string_equal(a.v[1], "--root=/run/warder/state");
		assert_string_equal(a.v[4], "--panic-log=/run/warder/panic");
		assert_string_equal(a.v[5], "--ignore-cgroups");
		assert_null(a.v[a.n]);
		for (size_t k = 6; k < a.n; k++)
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", k > 6 ? " " : "",
					      a.v[k]);
		assert_string_equal(line, cases[i].flags);
	}
}

static void refuses_what_json_cannot_hold(void **state)
{
	char *odd[] = { S("cat"), S("\xff\xfe"), NULL }, *cut[] = { S("A=\xc3"), NULL };
	struct wdr_policy p = base_policy();
	struct wdr_spec s = { .policy = &p, .argv = odd, .envp = envp };
	struct wdr_err err = { 0 };
	json_t *config = NULL;

	(void)state;
	assert_int_equal(wdr_bundle_config(&s, &new_runsc, NULL, &config, &err), -EILSEQ);
	assert_string_equal(err.msg, "argument 1 is not UTF-8: runsc can't pass it on");
	s.argv = argv;
	s.envp = cut;
	assert_int_equal(wdr_bundle_config(&s, &new_runsc, NULL, &config, &err), -EILSEQ);
	assert_string_equal(err.msg, "environment entry 0 is not UTF-8: runsc can't pass it on");
	assert_null(config);
}

static void argument_lists_have_an_end(void **state)
{
	struct wdr_args a = { 0 };

	(void)state;
	for (int i = 0; i < WDR_ARGS_MAX; i++)
		assert_ok(wdr_args_addf(&a, "%d", i));
	assert_int_equal(wdr_args_add(&a, "x"), -E2BIG);
	assert_null(a.v[WDR_ARGS_MAX]);
	a = (struct wdr_args){ 0 };
	assert_int_equal(wdr_args_addf(&a, "%600d", 1), -E2BIG);
	assert_int_equal(a.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_the_golden_bundles),
		cmocka_unit_test(gives_runsc_its_flags),
		cmocka_unit_test(refuses_what_json_cannot_hold),
		cmocka_unit_test(argument_lists_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
