/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, and how a command line finds its row. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/wdr_text.h"
#include "cli/cli_priv.h"
#include "cli/policy.h"
#include "cli/run_args.h"

#define WORD_MAX 72 /* of what was typed, in a message */

const struct wdr_command wdr_commands[] = {
	{ "run",
	  "[OPTIONS] [--] PROGRAM [ARG...]",
	  "run one job; its stdin, stdout and stderr are yours, streamed as they come",
	  { wdr_run_options, wdr_override_options },
	  wdr_cmd_run,
	  WDR_STATUS_REFUSED },
	{ "check",
	  "[--json] [-v]",
	  "what this machine can enforce, each protection with yes or no and why",
	  { wdr_check_options },
	  wdr_cmd_check,
	  WDR_STATUS_REFUSED },
	{ "policy check",
	  "FILE",
	  "0 and silent if the policy is good, else what is wrong, where, and what is right",
	  { NULL },
	  wdr_cmd_policy_check,
	  WDR_STATUS_FAILED },
	{ "policy show",
	  "FILE [OPTIONS]",
	  "the effective policy, every default written out, as JSON",
	  { wdr_override_options },
	  wdr_cmd_policy_show,
	  WDR_STATUS_REFUSED },
	{ "policy explain",
	  "FILE DEST... [OPTIONS]",
	  "what becomes of a connection to ADDR:PORT[/tcp|udp], and the rule that decides",
	  { wdr_explain_options, wdr_override_options },
	  wdr_cmd_policy_explain,
	  WDR_STATUS_REFUSED },
	{ "unload",
	  "",
	  "remove Warder's pinned kernel objects when no job runs",
	  { NULL },
	  wdr_cmd_unload,
	  WDR_STATUS_REFUSED },
	{ "version", "", "the version of warder", { NULL }, wdr_cmd_version, WDR_STATUS_REFUSED },
	{ "help", "[COMMAND]", "what a command does", { NULL }, wdr_cmd_help, WDR_STATUS_REFUSED },
	{ .name = NULL },
};

/* How many words of @argv name @c: 0 if it is another command. */
static int match(const struct wdr_command *c, int argc, char **argv)
{
	const char *name = c->name;
	int n = 0;

	for (; n < argc && *name; n++) {
		size_t len = strcspn(name, " ");

		if (strlen(argv[n]) != len || memcmp(argv[n], name, len) != 0)
			return 0;
		name += len + (name[len] == ' ');
	}
	return *name ? 0 : n;
}

const struct wdr_command *wdr_cli_find(int argc, char **argv, int *ret_words)
{
	for (const struct wdr_command *c = wdr_commands; c->name; c++) {
		int n = match(c, argc, argv);

		if (!n)
			continue;
		*ret_words = n;
		return c;
	}
	return NULL;
}

/* "policy" of "policy check", with its length; 0 for a command of one word. */
static size_t group_length(const struct wdr_command *c)
{
	size_t n = strcspn(c->name, " ");

	return c->name[n] ? n : 0;
}

bool wdr_cli_is_group(const char *word)
{
	for (const struct wdr_command *c = wdr_commands; c->name; c++) {
		size_t n = group_length(c);

		if (n && strlen(word) == n && !memcmp(word, c->name, n))
			return true;
	}
	return false;
}

int wdr_cli_unknown(int argc, char **argv)
{
	bool two = argc > 1 && wdr_cli_is_group(argv[0]);
	char word[WORD_MAX], shown[WORD_MAX], groups[WORD_MAX];
	struct wdr_nearest near = { .word = word };
	struct wdr_err err = { 0 };

	(void)snprintf(word, sizeof(word), "%s%s%s", argv[0], two ? " " : "", two ? argv[1] : "");
	for (const struct wdr_command *c = wdr_commands; c->name; c++)
		wdr_nearest_offer(&near, c->name);
	for (const struct wdr_command *c = wdr_commands; c->name && !near.best; c++) {
		(void)snprintf(groups, sizeof(groups), "%.*s", (int)group_length(c), c->name);
		wdr_nearest_offer(&near, groups);
	}
	(void)wdr_text_escape(word, strlen(word), shown, sizeof(shown));
	if (near.best)
		(void)wdr_err_set(&err, -EINVAL, "unknown command \"%s\", did you mean \"%s\"?",
				  shown, near.best);
	else
		(void)wdr_err_set(&err, -EINVAL, "unknown command \"%s\": try warder help", shown);
	return wdr_cli_fail(&err, WDR_STATUS_REFUSED);
}

/* What everybody tries first. */
static const char *alias(const char *word)
{
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return "help";
	if (!strcmp(word, "--version") || !strcmp(word, "-V"))
		return "version";
	return word;
}

int wdr_cli_main(int argc, char **argv)
{
	const struct wdr_command *c;
	int words = 0;

	if (argc < 2) {
		wdr_cli_overview(stderr, NULL);
		return WDR_STATUS_REFUSED;
	}
	argv[1] = (char *)alias(argv[1]);
	c = wdr_cli_find(argc - 1, argv + 1, &words);
	if (!c && argc == 2 && wdr_cli_is_group(argv[1])) {
		wdr_cli_overview(stderr, argv[1]);
		return WDR_STATUS_REFUSED;
	}
	if (!c)
		return wdr_cli_unknown(argc - 1, argv + 1);
	argc -= words;
	argv += words;
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return wdr_cli_help(c);
	return c->run(c, argc, argv);
}
