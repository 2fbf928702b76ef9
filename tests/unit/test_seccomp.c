/* SPDX-License-Identifier: Apache-2.0 */
#include "seccomp_try.h"

static const struct wdr_seccomp_spec plain = { .profile = "default" };
static const struct wdr_seccomp_spec strict = { .profile = "strict" };

/* What DESIGN and README promise by name, whatever the profile's data says. */
static void refuses_what_is_promised(void **state)
{
	static const char *const names[] = {
		"ptrace",
		"process_vm_readv",
		"process_vm_writev",
		"userfaultfd",
		"keyctl",
		"add_key",
		"request_key",
		"perf_event_open",
		"bpf",
		"io_uring_setup",
		"io_uring_enter",
		"io_uring_register",
		"setns",
		"mount",
		"umount2",
		"pivot_root",
		"chroot",
		"open_tree",
		"move_mount",
		"fsopen",
		"fsconfig",
		"fsmount",
		"fspick",
		"mount_setattr",
		"kexec_load",
		"kexec_file_load",
		"init_module",
		"finit_module",
		"delete_module",
		"reboot",
		"swapon",
		"swapoff",
		"quotactl",
		"acct",
		"iopl",
		"ioperm",
		"modify_ldt",
		"settimeofday",
		"clock_settime",
		"clock_adjtime",
		"adjtimex",
		"open_by_handle_at",
		"name_to_handle_at",
		"fanotify_init",
		"kcmp",
		"pidfd_getfd",
		"move_pages",
		"syslog",
		"vhangup",
		"memfd_secret",
		"sethostname",
	};
	struct attempt rows[N_OF(names)];

	(void)state;
	for (size_t i = 0; i < N_OF(names); i++)
		rows[i] = (struct attempt){ names[i], MINUS_1S, EPERM };
	make_attempts(&plain, rows, N_OF(rows));
	make_attempts(&strict, rows, N_OF(rows));
}

/* Calls that, made with nonsense, would not come back to tell or leave something behind. */
static bool is_unfit(const char *name)
{
	static const char *const names[] = { "fork", "vfork",	     "clone", "exit",  "exit_group",
					     "kill", "rt_sigreturn", "pause", "msgget" };

	for (size_t i = 0; i < N_OF(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static bool has_arg_rule(const char *name)
{
	char word[64];

	(void)snprintf(word, sizeof(word), "%s ", name);
	for (size_t i = 0; i < wdr_seccomp_n_arg_rules; i++) {
		const char *at = strstr(wdr_seccomp_arg_rules[i].names, word);

		if (at && (at == wdr_seccomp_arg_rules[i].names || at[-1] == ' '))
			return true;
	}
	return false;
}

/* What a call with nonsense for arguments comes to, where its group says @verdict. */
static void try_nonsense(const struct wdr_seccomp_filter *f, const char *name, int verdict)
{
	static const long args[6] = MINUS_1S;
	int nr = wdr_syscall_number(name), with, without;
	bool good;

	if (nr < 0 || is_unfit(name) || (verdict == WDR_SECCOMP_ALLOW && has_arg_rule(name)))
		return;
	with = try_call(f, nr, args);
	without = try_call(NULL, nr, args);
	if (verdict == WDR_SECCOMP_ALLOW)
		good = with == without;
	else if (verdict == WDR_SECCOMP_REFUSE)
		good = with == EPERM && (without != EPERM || geteuid() != 0);
	else
		good = with == ENOSYS;
	if (!good)
		fail_msg("%s: %d with the filter, %d without", name, with, without);
}

static void sweep(const struct wdr_seccomp_spec *spec, int profile)
{
	struct wdr_seccomp_filter f = build(spec);
	char seen[WDR_SYSCALL_MAX] = { 0 };

	for (size_t i = 0; i < wdr_seccomp_n_groups; i++) {
		const struct wdr_seccomp_group *g = &wdr_seccomp_groups[i];
		char names[1024], *save = NULL;

		assert_true(strlen(g->names) < sizeof(names));
		strcpy(names, g->names);
		for (char *s = strtok_r(names, " ", &save); s; s = strtok_r(NULL, " ", &save)) {
			int nr = wdr_syscall_number(s);

			try_nonsense(&f, s, g->verdict[profile]);
			if (nr >= 0 && seen[nr]++)
				fail_msg("%s stands in two groups", s);
#if defined(__x86_64__) /* of which every other architecture has a part */
			if (nr < 0)
				fail_msg("%s is no system call", s);
#endif
		}
	}
	for (unsigned int nr = 0; nr < WDR_SYSCALL_MAX; nr++)
		if (wdr_syscall_name(nr) && !seen[nr])
			fail_msg("%s stands in no group", wdr_syscall_name(nr));
	wdr_seccomp_filter_free(&f);
}

static void every_call_has_the_verdict_of_its_group(void **state)
{
	(void)state;
	sweep(&plain, WDR_SECCOMP_DEFAULT);
	sweep(&strict, WDR_SECCOMP_STRICT);
}

static void numbers_without_a_name_are_unknown(void **state)
{
	static const long numbers[] = { -1, 423, 500, 511, 512, 600, 0x3fffffff, 0x80000000 };
	static const long args[6] = { 0 };
	struct wdr_seccomp_filter f = build(&plain);

	(void)state;
	for (size_t i = 0; i < N_OF(numbers); i++)
		assert_int_equal(try_call(&f, numbers[i], args), ENOSYS);
	wdr_seccomp_filter_free(&f);
}

/* The words of @text, which is cut up for it. Returns their number. */
static size_t split(char *text, char **ret)
{
	char *save = NULL;
	size_t n = 0;

	for (char *s = strtok_r(text, " ", &save); s; s = strtok_r(NULL, " ", &save))
		ret[n++] = s;
	return n;
}

static void the_policy_adds_and_takes_away(void **state)
{
	char allowed[] = "ptrace socket clone3 chmod getppid", denied[] = "chmod getppid times";
	char *allow[8], *deny[8];
	static const struct attempt rows[] = {
		{ "ptrace", MINUS_1S, SAME },	    { "clone3", MINUS_1S, SAME },
		{ "socket", { 16, 3 }, SAME }, /* by name, so whatever its arguments */
		{ "socketpair", { 16, 3 }, EPERM }, { "chmod", MINUS_1S, EPERM },
		{ "getppid", { 0 }, EPERM },	    { "times", { 0 }, EPERM },
		{ "getpid", { 0 }, SAME },
	};
	struct wdr_seccomp_spec spec = plain;

	(void)state;
	spec.allow = allow;
	spec.n_allow = split(allowed, allow);
	spec.deny = deny;
	spec.n_deny = split(denied, deny);
	make_attempts(&spec, rows, N_OF(rows));
}

static void what_is_refused_kills_when_asked_to(void **state)
{
	char times[] = "times", *deny[] = { times };
	static const struct attempt rows[] = {
		{ "ptrace", MINUS_1S, SIGNAL + SIGSYS }, { "socket", { 16, 3 }, SIGNAL + SIGSYS },
		{ "times", { 0 }, SIGNAL + SIGSYS },	 { "clone3", MINUS_1S, ENOSYS },
		{ "openat2", MINUS_1S, ENOSYS },	 { "getppid", { 0 }, SAME },
	};
	struct wdr_seccomp_spec spec = { .profile = "default", .kill = true };

	(void)state;
	spec.deny = deny;
	spec.n_deny = 1;
	make_attempts(&spec, rows, N_OF(rows));
}

static void a_role_is_ended_by_what_it_does_not_need(void **state)
{
	static const struct attempt rows[] = {
		{ "exit_group", { 0 }, 0 },
		{ "times", { 0 }, SIGNAL + SIGSYS },
		{ "mmap", { 0, 4096, 0, 0x22, -1, 0 }, SIGNAL + SIGSYS },
		{ "clone3", MINUS_1S, SIGNAL + SIGSYS },
	};
	struct wdr_seccomp_filter f = { 0 };

	(void)state;
	if (!has_seccomp())
		skip();
	assert_ok(wdr_seccomp_only("exit_group nonsense ", &f));
	for (size_t i = 0; i < N_OF(rows); i++)
		assert_int_equal(try_call(&f, wdr_syscall_number(rows[i].call), rows[i].args),
				 rows[i].with);
	wdr_seccomp_filter_free(&f);
}

static void names_what_is_wrong_in_the_policy(void **state)
{
	static const struct {
		const char *name;
		bool deny;
		const char *msg;
	} bad[] = {
		{ "ptrce", false,
		  "syscalls.allow: no system call \"ptrce\" here: did you mean \"ptrace\"?" },
		{ "mont", true,
		  "syscalls.deny: no system call \"mont\" here: did you mean \"mount\"?" },
		{ "qqqqqqqqqqqq", true, "syscalls.deny: no system call \"qqqqqqqqqqqq\" here" },
		{ "", true, "syscalls.deny: no system call \"\" here" },
	};

	(void)state;
	for (size_t i = 0; i < N_OF(bad); i++) {
		char name[32], *const names[] = { name };
		struct wdr_seccomp_spec spec = plain;
		struct wdr_seccomp_filter f = { 0 };
		struct wdr_err err = { 0 };

		(void)snprintf(name, sizeof(name), "%s", bad[i].name);
		spec.allow = spec.deny = names;
		spec.n_allow = !bad[i].deny;
		spec.n_deny = bad[i].deny;
		assert_int_equal(wdr_seccomp_build(&spec, &f, &err), -EINVAL);
		assert_string_equal(err.msg, bad[i].msg);
		assert_null(f.insns);
	}
}

static void refuses_a_profile_that_is_none(void **state)
{
	struct wdr_seccomp_spec spec = { .profile = "docker" };
	struct wdr_seccomp_filter f = { 0 };
	struct wdr_err err = { 0 };

	(void)state;
	assert_int_equal(wdr_seccomp_build(&spec, &f, &err), -EINVAL);
	assert_string_equal(err.msg, "no system call profile \"docker\": want default or strict");
}

/* The most runs a filter can have: every other number refused. */
static void the_longest_filter_fits(void **state)
{
	char *deny[WDR_SYSCALL_MAX];
	struct wdr_seccomp_spec spec = { .profile = "default", .deny = deny };
	struct wdr_seccomp_filter f;

	(void)state;
	for (unsigned int nr = 0; nr < WDR_SYSCALL_MAX; nr += 2)
		if (wdr_syscall_name(nr))
			deny[spec.n_deny++] = (char *)(uintptr_t)wdr_syscall_name(nr);
	f = build(&spec);
	assert_true(f.n_insns > 300 && f.n_insns <= BPF_MAXINSNS);
	wdr_seccomp_filter_free(&f);
}

#if defined(__x86_64__)
static int getpid_by_int_0x80(void)
{
	int ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

static int try_i386(const struct wdr_seccomp_filter *f)
{
	pid_t pid = fork();
	int r;

	assert_true(pid >= 0);
	if (pid)
		return reap(pid);
	enter(f);
	r = getpid_by_int_0x80();
	_exit(r < 0 ? -r : r != getpid());
}

static void i386_calls_are_refused(void **state)
{
	struct wdr_seccomp_spec kill = { .profile = "default", .kill = true };
	struct wdr_seccomp_filter f = build(&plain), k = build(&kill);

	(void)state;
	if (try_i386(NULL) == 0) {
		assert_int_equal(try_i386(&f), EPERM);
		assert_int_equal(try_i386(&k), SIGNAL + SIGSYS);
	}
	wdr_seccomp_filter_free(&f);
	wdr_seccomp_filter_free(&k);
}

static void x32_calls_are_refused(void **state)
{
	static const long numbers[] = { 0, SYS_getpid, SYS_execve, 512, 520, 547, 0x3fffffff };
	static const long args[6] = { 0 };
	struct wdr_seccomp_filter f = build(&plain);

	(void)state;
	for (size_t i = 0; i < N_OF(numbers); i++)
		assert_int_equal(try_call(&f, 0x40000000 | numbers[i], args), EPERM);
	wdr_seccomp_filter_free(&f);
}
#else
static void i386_calls_are_refused(void **state)
{
	(void)state;
	skip();
}

static void x32_calls_are_refused(void **state)
{
	(void)state;
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_what_is_promised),
		cmocka_unit_test(every_call_has_the_verdict_of_its_group),
		cmocka_unit_test(numbers_without_a_name_are_unknown),
		cmocka_unit_test(the_policy_adds_and_takes_away),
		cmocka_unit_test(what_is_refused_kills_when_asked_to),
		cmocka_unit_test(a_role_is_ended_by_what_it_does_not_need),
		cmocka_unit_test(names_what_is_wrong_in_the_policy),
		cmocka_unit_test(refuses_a_profile_that_is_none),
		cmocka_unit_test(the_longest_filter_fits),
		cmocka_unit_test(i386_calls_are_refused),
		cmocka_unit_test(x32_calls_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
