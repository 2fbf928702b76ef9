/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include "cli/options.h"

#define MAX_WORDS 12
#define REST_SIZE 256

struct ctx {
	bool quick, json;
	const char *size, *name;
};

static int refuse(void *ctx, const struct wdr_option *o, const char *value, struct wdr_err *err)
{
	(void)ctx;
	(void)o;
	return value ? wdr_err_set(err, -EINVAL, "not a size: %s", value) : 0;
}

static const struct wdr_option first[] = {
	{ .name = "quick",
	  .letter = 'q',
	  .set = wdr_option_set_true,
	  .field = offsetof(struct ctx, quick) },
	{ .name = "json",
	  .letter = 'j',
	  .set = wdr_option_set_true,
	  .field = offsetof(struct ctx, json) },
	WDR_OPTION_END,
};
static const struct wdr_option second[] = {
	{ .name = "size",
	  .letter = 's',
	  .arg = "SIZE",
	  .set = wdr_option_set_string,
	  .field = offsetof(struct ctx, size) },
	{ .name = "name",
	  .arg = "NAME",
	  .set = wdr_option_set_string,
	  .field = offsetof(struct ctx, name) },
	{ .name = "disk", .arg = "SIZE", .set = refuse },
	{ .name = "later", .letter = 'l', .set = refuse, .unsupported = "this build has it not" },
	WDR_OPTION_END,
};
static const struct wdr_option *const tables[] = { first, second, NULL };

/* Splits @line at spaces ("''" is an empty word), parses it, joins what is left with '|'. */
static int parse(enum wdr_options_order order, const char *line, struct ctx *c, char *rest,
		 char *copy, struct wdr_err *err)
{
	char *argv[MAX_WORDS + 1] = { (char *)"cmd" };
	int argc = 1, from = 0, r;
	size_t n = 0;

	(void)strcpy(copy, line);
	for (char *w = strtok(copy, " "); w; w = strtok(NULL, " ")) {
		assert_true(argc < MAX_WORDS);
		argv[argc++] = strcmp(w, "''") != 0 ? w : w + 2;
	}
	r = wdr_options_parse(tables, order, argc, argv, c, &from, err);
	rest[0] = '\0';
	for (int i = from; r == 0 && i < argc; i++)
		n += (size_t)snprintf(rest + n, REST_SIZE - n, "%s|", argv[i]);
	if (r == 0)
		assert_null(argv[argc]);
	return r;
}

static void reads_every_spelling(void **state)
{
	static const struct {
		enum wdr_options_order order;
		const char *line;
		struct ctx want;
		const char *rest;
	} cases[] = {
		{ WDR_OPTIONS_FIRST, "", { 0 }, "" },
		{ WDR_OPTIONS_FIRST, "prog --size 5", { 0 }, "prog|--size|5|" },
		{ WDR_OPTIONS_FIRST, "-q prog -j", { .quick = true }, "prog|-j|" },
		{ WDR_OPTIONS_FIRST, "-qj -- -prog", { true, true, NULL, NULL }, "-prog|" },
		{ WDR_OPTIONS_FIRST, "--size=5 --size 6 --", { .size = "6" }, "" },
		{ WDR_OPTIONS_FIRST, "-s5 --name a=b -", { .size = "5", .name = "a=b" }, "-|" },
		{ WDR_OPTIONS_FIRST, "-qs 5 x", { .quick = true, .size = "5" }, "x|" },
		{ WDR_OPTIONS_FIRST, "-sq x", { .size = "q" }, "x|" },
		{ WDR_OPTIONS_FIRST, "--name --json x", { .name = "--json" }, "x|" },
		{ WDR_OPTIONS_FIRST, "''", { 0 }, "|" },
		{ WDR_OPTIONS_ANYWHERE,
		  "a -q b --size 5 c",
		  { .quick = true, .size = "5" },
		  "a|b|c|" },
		{ WDR_OPTIONS_ANYWHERE, "a -q -- --size b", { .quick = true }, "a|--size|b|" },
		{ WDR_OPTIONS_ANYWHERE, "--json --name=x", { .json = true, .name = "x" }, "" },
		{ WDR_OPTIONS_ANYWHERE, "a b c", { 0 }, "a|b|c|" },
		{ WDR_OPTIONS_ANYWHERE, "--", { 0 }, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wdr_err err = { 0 };
		struct ctx c = { 0 };
		char rest[REST_SIZE], copy[256];

		assert_ok(parse(cases[i].order, cases[i].line, &c, rest, copy, &err));
		assert_string_equal(rest, cases[i].rest);
		assert_int_equal(c.quick, cases[i].want.quick);
		assert_int_equal(c.json, cases[i].want.json);
		assert_string_equal(c.size ? c.size : "-",
				    cases[i].want.size ? cases[i].want.size : "-");
		assert_string_equal(c.name ? c.name : "-",
				    cases[i].want.name ? cases[i].want.name : "-");
	}
}

static void names_what_it_refuses_and_offers_the_nearest(void **state)
{
	static const struct {
		const char *line;
		int code;
		const char *message;
	} cases[] = {
		{ "--sise 5", -EINVAL, "unknown option --sise, did you mean --size?" },
		{ "--sise=5", -EINVAL, "unknown option --sise, did you mean --size?" },
		{ "--quic", -EINVAL, "unknown option --quic, did you mean --quick?" },
		{ "--colour", -EINVAL, "unknown option --colour" },
		{ "--\x1b[2J", -EINVAL, "unknown option --\\x1b[2J" },
		{ "--=x", -EINVAL, "unknown option --" },
		{ "-x", -EINVAL, "unknown option -x" },
		{ "-qx", -EINVAL, "unknown option -qx" },
		{ "-size 5", -EINVAL, "unknown option -size, did you mean --size?" },
		{ "-size=5", -EINVAL, "unknown option -size=5, did you mean --size?" },
		{ "--size", -EINVAL, "--size wants a value: SIZE" },
		{ "-s", -EINVAL, "--size wants a value: SIZE" },
		{ "--size=", -EINVAL, "--size: an empty value: want SIZE" },
		{ "--size ''", -EINVAL, "--size: an empty value: want SIZE" },
		{ "--json=yes", -EINVAL, "--json takes no value" },
		{ "--disk 5", -EINVAL, "--disk: not a size: 5" },
		{ "--later", -EOPNOTSUPP, "--later: this build has it not" },
		{ "-l", -EOPNOTSUPP, "--later: this build has it not" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wdr_err err = { 0 };
		struct ctx c = { 0 };
		char rest[REST_SIZE], copy[256];

		assert_int_equal(parse(WDR_OPTIONS_FIRST, cases[i].line, &c, rest, copy, &err),
				 cases[i].code);
		assert_string_equal(err.msg, cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_spelling),
		cmocka_unit_test(names_what_it_refuses_and_offers_the_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
