/* SPDX-License-Identifier: Apache-2.0 */
/* Man page and completions say what the tables say: nothing less, nothing else. */
#include "wdr_test.h"

#include <ctype.h>
#include <fcntl.h>

#include "base/wdr_io.h"
#include "cli/cli.h"
#include "model/result.h"

#define MAX_BYTES      (1 << 17)
#define ARG_SEPARATORS "|[]:="

struct around {
	const char *before, *after;
};

/* One row a file: what stands around an option's name, its letter, a command. */
static const struct completion {
	const char *path;
	struct around option, letter, command;
	bool flags_only; /* letters are named only for options without a value */
} completions[] = {
	{ "packaging/completions/warder.bash", { "--", "" }, { " -", " " }, { "", "" }, true },
	{ "packaging/completions/warder.fish",
	  { "-l ", "" },
	  { "-s ", " " },
	  { "-a ", " " },
	  false },
	{ "packaging/completions/warder.zsh", { "--", "" }, { "{-", "" }, { "'", ":" }, false },
};

/* A walk over the options of all commands; a table that several share comes again. */
struct cursor {
	const struct wdr_command *command;
	size_t table;
	const struct wdr_option *option;
};

/* The first option with a zeroed @at, then each after the other; NULL past the last. */
static const struct wdr_option *next_option(struct cursor *at)
{
	if (!at->command)
		at->command = wdr_commands;
	else
		at->option++;
	for (; at->command->name; at->command++, at->table = 0) {
		for (; at->command->options[at->table]; at->table++, at->option = NULL) {
			if (!at->option)
				at->option = at->command->options[at->table];
			if (at->option->name)
				return at->option;
		}
		at->option = NULL;
	}
	return NULL;
}

#define N_COMPLETIONS (sizeof(completions) / sizeof(completions[0]))

static bool name_char(char c)
{
	return islower((unsigned char)c) || c == '-';
}

/* @word in @text, not as the beginning of a longer name. */
static const char *find_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
		if (!name_char(p[n]) || !name_char(word[n - 1]))
			return p;
	return NULL;
}

static void want_word(const char *path, const char *text, const char *word)
{
	if (!find_word(text, word))
		fail_msg("%s: \"%s\" is missing", path, word);
}

static void want_around(const char *path, const char *text, struct around a, const char *name,
			size_t n)
{
	char word[96];

	(void)snprintf(word, sizeof(word), "%s%.*s%s", a.before, (int)n, name, a.after);
	want_word(path, text, word);
}

static bool is_option(const char *name, size_t n)
{
	struct cursor at = { 0 };

	for (const struct wdr_option *o; (o = next_option(&at));)
		if (strlen(o->name) == n && !memcmp(o->name, name, n))
			return true;
	return false;
}

/* Every name behind @mark is an option's. */
static void want_no_others(const char *path, const char *text, const char *mark)
{
	for (const char *p = strstr(text, mark); p; p = strstr(p, mark)) {
		size_t n = 0;

		p += strlen(mark);
		while (name_char(p[n]))
			n++;
		if (n && islower((unsigned char)*p) && !is_option(p, n) &&
		    memcmp(p, "fcs-skip", n) != 0)
			fail_msg("%s: there is no option \"%.*s\"", path, (int)n, p);
	}
}

static void completions_know_every_option_and_no_other(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_COMPLETIONS; i++) {
		const struct completion *c = &completions[i];
		wdr_free_ char *text = NULL;
		struct cursor at = { 0 };

		assert_ok(wdr_read_file(AT_FDCWD, c->path, MAX_BYTES, &text, NULL));
		for (const struct wdr_option *o; (o = next_option(&at));) {
			want_around(c->path, text, c->option, o->name, strlen(o->name));
			if (o->letter && !(c->flags_only && o->arg))
				want_around(c->path, text, c->letter, &o->letter, 1);
		}
		want_no_others(c->path, text, c->option.before);
	}
}

static void completions_know_every_command(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_COMPLETIONS; i++) {
		wdr_free_ char *text = NULL;

		assert_ok(wdr_read_file(AT_FDCWD, completions[i].path, MAX_BYTES, &text, NULL));
		for (const struct wdr_command *c = wdr_commands; c->name; c++)
			want_around(completions[i].path, text, completions[i].command, c->name,
				    strcspn(c->name, " "));
	}
}

/* The .It line of @o, with its letter and every word of its argument. */
static void want_item(const char *path, const char *text, const struct wdr_option *o)
{
	char item[96], line[160], word[32];
	const char *at;

	if (o->letter)
		(void)snprintf(item, sizeof(item), "\n.It Fl %c , Fl Fl %s", o->letter, o->name);
	else
		(void)snprintf(item, sizeof(item), "\n.It Fl Fl %s", o->name);
	want_word(path, text, item);
	at = find_word(text, item) + strlen(item);
	(void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
	if (!o->arg != !line[0])
		fail_msg("%s: --%s: argument \"%s\"", path, o->name, line);
	for (const char *a = o->arg; a && *a; a += strspn(a, ARG_SEPARATORS)) {
		size_t n = strcspn(a, ARG_SEPARATORS);

		(void)snprintf(word, sizeof(word), "%.*s", (int)n, a);
		want_word(path, line, word);
		a += n;
	}
}

static void the_man_page_knows_every_option_and_no_other(void **state)
{
	static const char path[] = "docs/man/warder.1";
	wdr_free_ char *text = NULL;
	struct cursor at = { 0 };

	(void)state;
	assert_ok(wdr_read_file(AT_FDCWD, path, MAX_BYTES, &text, NULL));
	for (const struct wdr_option *o; (o = next_option(&at));)
		want_item(path, text, o);
	want_no_others(path, text, "Fl Fl ");
}

static void the_man_page_knows_commands_protections_and_reasons(void **state)
{
	static const char path[] = "docs/man/warder.1";
	wdr_free_ char *text = NULL;
	char want[256];

	(void)state;
	assert_ok(wdr_read_file(AT_FDCWD, path, MAX_BYTES, &text, NULL));
	for (const struct wdr_command *c = wdr_commands; c->name; c++) {
		(void)snprintf(want, sizeof(want), "\n.Cm %s\n", c->name);
		want_word(path, text, want);
	}
	for (enum wdr_protection p = 0; p < _WDR_PROT_MAX; p++) {
		(void)snprintf(want, sizeof(want), "\n.It Cm %s\n%s\n", wdr_protection_name(p),
			       wdr_protection_what(p));
		want_word(path, text, want);
	}
	for (enum wdr_exit_reason r = 0; r < _WDR_EXIT_MAX; r++) {
		(void)snprintf(want, sizeof(want), "\n.It Cm %s\n", wdr_exit_reason_name(r));
		want_word(path, text, want);
	}
}

static bool is_command(const char *name, size_t n)
{
	for (const struct wdr_command *c = wdr_commands; c->name; c++)
		if (strlen(c->name) == n && !memcmp(c->name, name, n))
			return true;
	return false;
}

static void want_no_other_commands(const char *path, const char *text)
{
	static const char before[] = "\n.Nm\n.Cm ";

	for (const char *p = strstr(text, before); p; p = strstr(p + 1, before)) {
		const char *name = p + strlen(before);
		size_t n = strcspn(name, "\n");

		if (!is_command(name, n))
			fail_msg("%s: there is no command \"%.*s\"", path, (int)n, name);
	}
}

static void the_man_page_promises_no_other_command(void **state)
{
	static const char path[] = "docs/man/warder.1";
	wdr_free_ char *text = NULL;

	(void)state;
	assert_ok(wdr_read_file(AT_FDCWD, path, MAX_BYTES, &text, NULL));
	want_no_other_commands(path, text);
}

static void every_command_is_explained(void **state)
{
	(void)state;
	for (const struct wdr_command *c = wdr_commands; c->name; c++) {
		assert_true(strlen(c->brief) > 10);
		assert_non_null(c->args);
		assert_non_null(c->run);
		assert_true(c->usage_status != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(completions_know_every_option_and_no_other),
		cmocka_unit_test(completions_know_every_command),
		cmocka_unit_test(the_man_page_knows_every_option_and_no_other),
		cmocka_unit_test(the_man_page_knows_commands_protections_and_reasons),
		cmocka_unit_test(the_man_page_promises_no_other_command),
		cmocka_unit_test(every_command_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
