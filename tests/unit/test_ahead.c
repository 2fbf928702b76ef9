/* SPDX-License-Identifier: Apache-2.0 */
/* What is said to the program that waits in a sandbox, and what it says. */
#include "wdr_test.h"

#include "ahead.h"
#include "idle/idle.h"

static struct wdr_policy *default_policy(void)
{
	struct wdr_policy *p = NULL;

	assert_ok(wdr_policy_default(&p));
	return p;
}

static void tells_what_the_sandbox_does_not_have(void **state)
{
	char prog[] = "prog", arg[] = "", env[] = "A=b";
	char *const argv[] = { prog, arg, NULL }, *const envp[] = { env, NULL };
	static const char same[] = "\0prog\0\0A=b";
	wdr_policy_ struct wdr_policy *p = default_policy();
	struct wdr_spec s = { .policy = p, .argv = argv, .envp = envp };
	struct wdr_limits made = p->limits;
	wdr_free_ char *a = NULL;
	wdr_free_ char *b = NULL;
	struct wdr_idle_head h;
	size_t n = 0;

	(void)state;
	assert_ok(wdr_ahead_words(&s, &made, p->workdir, &a, &n, NULL));
	memcpy(&h, a, sizeof(h));
	assert_int_equal(n, sizeof(h) + sizeof(same));
	assert_memory_equal(a + sizeof(h), same, sizeof(same));
	assert_int_equal(h.n_bytes, sizeof(same));
	assert_int_equal(h.n_args, 2);
	assert_int_equal(h.n_envs, 1);
	assert_int_equal(h.flags, 0);
	assert_true(h.files == WDR_IDLE_SAME && h.pids == WDR_IDLE_SAME &&
		    h.file_size_bytes == WDR_IDLE_SAME);

	s.stdio_fds[0] = -1;
	made.files++;
	made.pids = WDR_UNLIMITED;
	assert_ok(wdr_ahead_words(&s, &made, "/", &b, &n, NULL));
	memcpy(&h, b, sizeof(h));
	assert_int_equal(h.flags, WDR_IDLE_NO_STDIN);
	assert_int_equal(h.files, p->limits.files);
	assert_int_equal(h.pids, p->limits.pids);
	assert_memory_equal(b + sizeof(h), p->workdir, strlen(p->workdir) + 1);
}

static void refuses_more_than_the_other_side_takes(void **state)
{
	wdr_policy_ struct wdr_policy *p = default_policy();
	wdr_free_ char *word = calloc(1, WDR_IDLE_MAX_BYTES + 1);
	wdr_free_ char **many = calloc(WDR_IDLE_MAX_WORDS + 2, sizeof(*many));
	struct wdr_spec s = { .policy = p };
	char *one[] = { word, NULL };
	wdr_free_ char *text = NULL;
	size_t n = 0;

	(void)state;
	memset(word, 'x', WDR_IDLE_MAX_BYTES - 2); /* with its NUL and the empty workdir: all */
	s.argv = one;
	assert_ok(wdr_ahead_words(&s, &p->limits, p->workdir, &text, &n, NULL));
	word[WDR_IDLE_MAX_BYTES - 2] = 'x';
	assert_int_equal(wdr_ahead_words(&s, &p->limits, p->workdir, &text, &n, NULL), -E2BIG);
	for (size_t i = 0; i <= WDR_IDLE_MAX_WORDS; i++)
		many[i] = (char *)(uintptr_t) "";
	s.argv = many;
	assert_int_equal(wdr_ahead_words(&s, &p->limits, p->workdir, &text, &n, NULL), -E2BIG);
}

/* What it says is the guest's: any number may come. */
static void names_what_failed(void **state)
{
	static const struct {
		uint32_t step;
		int32_t error;
		int exit_code;
		const char *msg;
	} rows[] = {
		{ WDR_IDLE_EXEC, ENOENT, 127, "prog: not found" },
		{ WDR_IDLE_EXEC, ENOTDIR, 127, "prog: not found" },
		{ WDR_IDLE_EXEC, EACCES, 126, "prog: Permission denied" },
		{ WDR_IDLE_EXEC, ENOEXEC, 126, "prog: Exec format error" },
		{ WDR_IDLE_WORKDIR, ENOENT, 125, "workdir /home/user: No such file or directory" },
		{ WDR_IDLE_LIMIT, EPERM, 125,
		  "in the sandbox, lower a limit: Operation not permitted" },
		{ 0, EPERM, 125, "no answer of a sandbox made ahead" },
		{ 99, EPERM, 125, "no answer of a sandbox made ahead" },
		{ WDR_IDLE_EXEC, 0, 125, "no answer of a sandbox made ahead" },
		{ WDR_IDLE_EXEC, INT32_MIN, 125, "no answer of a sandbox made ahead" },
		{ WDR_IDLE_WORKDIR, INT32_MAX, 125, "no answer of a sandbox made ahead" },
	};
	char prog[] = "prog";
	char *const argv[] = { prog, NULL };
	wdr_policy_ struct wdr_policy *p = default_policy();
	const struct wdr_spec s = { .policy = p, .argv = argv };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wdr_err err = { 0 };

		assert_int_equal(wdr_ahead_failure(rows[i].step, rows[i].error, &s, &err),
				 rows[i].exit_code);
		assert_string_equal(err.msg, rows[i].msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_the_sandbox_does_not_have),
		cmocka_unit_test(refuses_more_than_the_other_side_takes),
		cmocka_unit_test(names_what_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
