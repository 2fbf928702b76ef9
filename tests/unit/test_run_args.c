/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include "cli/run_args.h"

#define WORDS(...)                                               \
	{                                                        \
		(char *)"run", __VA_ARGS__, NULL /* argv ends */ \
	}

static int parse(char **argv, struct wdr_run_args *a, struct wdr_err *err)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return wdr_run_args_parse(argc, argv, a, err);
}

static void fills_what_was_asked_for(void **state)
{
	char *argv[] = WORDS((char *)"-p", (char *)"agent", (char *)"--json", (char *)"--name=a.1",
			     (char *)"--result", (char *)"r.json", (char *)"--allow-degraded",
			     (char *)"-qT", (char *)"--", (char *)"prog", (char *)"-x",
			     (char *)"--json=no");
	wdr_run_args_ struct wdr_run_args a = { 0 };

	(void)state;
	assert_ok(parse(argv, &a, NULL));
	assert_string_equal(a.policy, "agent");
	assert_string_equal(a.name, "a.1");
	assert_string_equal(a.result, "r.json");
	assert_true(a.json && a.allow_degraded && a.quiet && !a.help);
	assert_int_equal(a.pty, WDR_PTY_NO);
	assert_string_equal(a.command[0], "prog");
	assert_string_equal(a.command[2], "--json=no");
	assert_null(a.command[3]);
	assert_int_equal(a.overrides.n, 0);
}

static void has_defaults(void **state)
{
	char *argv[] = WORDS((char *)"");
	wdr_run_args_ struct wdr_run_args a = { 0 };

	(void)state;
	assert_ok(parse(argv, &a, NULL));
	assert_string_equal(a.policy, "default");
	assert_int_equal(a.pty, WDR_PTY_AUTO);
	assert_null(a.name);
	assert_string_equal(a.command[0], ""); /* a PROGRAM that is not found: 127, not 125 */
}

static void keeps_overrides_in_their_order(void **state)
{
	static const struct wdr_override want[] = {
		{ "timeout", "5" },	 { "allow", "192.0.2.1:443" }, { "memory", "512M" },
		{ "syscalls", NULL },	 { "deny", "0.0.0.0/0" },      { "mount", "./a:/a:rw" },
		{ "env", "A" },		 { "timeout", "6s" },	       { "workdir", "/" },
		{ "backend", "native" },
	};
	char *argv[] = WORDS((char *)"-t5", (char *)"--allow", (char *)"192.0.2.1:443",
			     (char *)"-m", (char *)"512M", (char *)"--syscalls",
			     (char *)"--deny=0.0.0.0/0", (char *)"-v", (char *)"./a:/a:rw",
			     (char *)"-eA", (char *)"--timeout", (char *)"6s", (char *)"-w",
			     (char *)"/", (char *)"-b", (char *)"native", (char *)"true");
	wdr_run_args_ struct wdr_run_args a = { 0 };

	(void)state;
	assert_ok(parse(argv, &a, NULL));
	assert_int_equal(a.overrides.n, sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < a.overrides.n; i++) {
		assert_string_equal(a.overrides.items[i].option, want[i].option);
		if (want[i].value)
			assert_string_equal(a.overrides.items[i].value, want[i].value);
		else
			assert_null(a.overrides.items[i].value);
	}
	assert_string_equal(a.command[0], "true");
}

static void takes_as_many_overrides_as_a_command_line_holds(void **state)
{
	enum {
		N = 5000
	};
	wdr_free_ char **argv = calloc(N + 3, sizeof(*argv));
	wdr_run_args_ struct wdr_run_args a = { 0 };

	(void)state;
	assert_non_null(argv);
	argv[0] = (char *)"run";
	for (int i = 1; i <= N; i++)
		argv[i] = (char *)(i % 2 ? "--allow=192.0.2.1" : "--deny=192.0.2.2");
	argv[N + 1] = (char *)"true";
	assert_ok(parse(argv, &a, NULL));
	assert_int_equal(a.overrides.n, N);
	for (int i = 0; i < N; i++)
		assert_string_equal(a.overrides.items[i].option, i % 2 ? "deny" : "allow");
}

static void asks_for_help_without_a_program(void **state)
{
	char *argv[] = WORDS((char *)"-t", (char *)"5", (char *)"--help");
	wdr_run_args_ struct wdr_run_args a = { 0 };

	(void)state;
	assert_ok(parse(argv, &a, NULL));
	assert_true(a.help);
}

static void names_what_is_wrong(void **state)
{
	static const struct {
		const char *words[3];
		const char *message;
	} cases[] = {
		{ { "--json", NULL, NULL }, "no PROGRAM to run" },
		{ { "--", NULL, NULL }, "no PROGRAM to run" },
		{ { "--memry=5M", "true", NULL },
		  "unknown option --memry, did you mean --memory?" },
		{ { "--tiemout", "5", "true" },
		  "unknown option --tiemout, did you mean --timeout?" },
		{ { "-timeout", "5", "true" }, "unknown option -timeout, did you mean --timeout?" },
		{ { "--name", "a/b", "true" },
		  "--name: not a name: want letters, digits and ._-, at most 63, a letter or digit first" },
		{ { "--policy=", "true", NULL }, "--policy: an empty value: want FILE|NAME" },
		{ { "-t", NULL, NULL }, "--timeout wants a value: DUR" },
		{ { "--syscalls=yes", "true", NULL }, "--syscalls takes no value" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *argv[] = WORDS((char *)cases[i].words[0], (char *)cases[i].words[1],
				     (char *)cases[i].words[2]);
		struct wdr_run_args a = { .json = true };
		struct wdr_err err = { 0 };

		assert_int_equal(parse(argv, &a, &err), -EINVAL);
		assert_string_equal(err.msg, cases[i].message);
		assert_null(a.overrides.items);
	}
}

/* What no build gives yet is refused by name; a row that lands leaves this list. */
static void refuses_what_this_build_can_not_do(void **state)
{
	(void)state;
	for (const struct wdr_option *o = wdr_run_options; o->name; o++) {
		char word[64];
		char *argv[] = WORDS(word, (char *)"true");
		struct wdr_run_args a = { 0 };
		struct wdr_err err = { 0 };

		if (!o->unsupported)
			continue;
		(void)snprintf(word, sizeof(word), "--%s%s", o->name, o->arg ? "=x" : "");
		assert_int_equal(parse(argv, &a, &err), -EOPNOTSUPP);
		assert_non_null(strstr(err.msg, o->unsupported));
	}
}

static void names_and_letters_are_unique_and_explained(void **state)
{
	static const struct wdr_option *const tables[] = { wdr_override_options, wdr_run_options };
	bool letters[128] = { false };
	const char *names[64];
	size_t n = 0;

	(void)state;
	for (size_t t = 0; t < 2; t++) {
		for (const struct wdr_option *o = tables[t]; o->name; o++) {
			assert_false(letters[(unsigned char)o->letter]);
			letters[(unsigned char)o->letter] = o->letter != 0;
			assert_true(strlen(o->help) > 6 && o->set);
			for (size_t i = 0; i < n; i++)
				assert_string_not_equal(names[i], o->name);
			assert_true(n < 64);
			names[n++] = o->name;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_what_was_asked_for),
		cmocka_unit_test(has_defaults),
		cmocka_unit_test(keeps_overrides_in_their_order),
		cmocka_unit_test(takes_as_many_overrides_as_a_command_line_holds),
		cmocka_unit_test(asks_for_help_without_a_program),
		cmocka_unit_test(names_what_is_wrong),
		cmocka_unit_test(refuses_what_this_build_can_not_do),
		cmocka_unit_test(names_and_letters_are_unique_and_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
