/* SPDX-License-Identifier: Apache-2.0 */
/* --help and every line that warder itself says about how it was called, from the tables. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_priv.h"

#define WIDTH	   80
#define COLUMN	   26 /* where what an option is for begins */
#define LEFT_MAX   96 /* "  -v, --mount SRC:DST[:ro|rw]" */
#define MAN_REMARK "\nwarder help COMMAND tells more; man 1 warder tells all.\n"

/* @text from column @at on, wrapped between words, later lines beginning in COLUMN. */
static void print_wrapped(FILE *f, const char *text, size_t at)
{
	while (*text) {
		size_t n = strcspn(text, " ");

		if (at > COLUMN && at + 1 + n > WIDTH) {
			(void)fprintf(f, "\n%*s", COLUMN, "");
			at = COLUMN;
		} else if (at > COLUMN) {
			(void)fputc(' ', f);
			at++;
		}
		(void)fprintf(f, "%.*s", (int)n, text);
		at += n;
		text += n + strspn(text + n, " ");
	}
	(void)fputc('\n', f);
}

/* @left, then @text in the second column, on the next line if @left is too long. */
static void print_row(FILE *f, const char *left, const char *text)
{
	size_t n = strlen(left);

	if (n + 2 > COLUMN)
		(void)fprintf(f, "%s\n%*s", left, COLUMN, "");
	else
		(void)fprintf(f, "%-*s", COLUMN, left);
	print_wrapped(f, text, COLUMN);
}

static void print_option(FILE *f, const struct wdr_option *o)
{
	char left[LEFT_MAX];
	char letter[] = "-?, ";

	letter[1] = o->letter;
	(void)snprintf(left, sizeof(left), "  %s--%s%s%s", o->letter ? letter : "    ", o->name,
		       o->arg ? " " : "", o->arg ? o->arg : "");
	print_row(f, left, o->help);
}

static void print_command(FILE *f, const struct wdr_command *c)
{
	char left[LEFT_MAX];

	(void)snprintf(left, sizeof(left), "  %s %s", c->name, c->args);
	print_row(f, left, c->brief);
}

void wdr_cli_overview(FILE *f, const char *group)
{
	size_t n = group ? strlen(group) : 0;

	(void)fprintf(f, "usage: warder %s [ARG...]\n\n", group ? group : "COMMAND");
	for (const struct wdr_command *c = wdr_commands; c->name; c++)
		if (!group || (!strncmp(c->name, group, n) && c->name[n] == ' '))
			print_command(f, c);
	(void)fputs(MAN_REMARK, f);
}

int wdr_cli_help(const struct wdr_command *c)
{
	(void)printf("usage: warder %s%s%s\n\n%s\n", c->name, c->args[0] ? " " : "", c->args,
		     c->brief);
	for (size_t i = 0; c->options[i]; i++) {
		(void)fputc('\n', stdout);
		for (const struct wdr_option *o = c->options[i]; o->name; o++)
			print_option(stdout, o);
	}
	return wdr_cli_flush(0);
}

int wdr_cmd_help(const struct wdr_command *c, int argc, char **argv)
{
	const struct wdr_command *about;
	int words = 0;

	(void)c;
	if (argc < 2 || (argc == 2 && wdr_cli_is_group(argv[1]))) {
		wdr_cli_overview(stdout, argc < 2 ? NULL : argv[1]);
		return wdr_cli_flush(0);
	}
	about = wdr_cli_find(argc - 1, argv + 1, &words);
	if (!about || words != argc - 1)
		return wdr_cli_unknown(argc - 1, argv + 1);
	return wdr_cli_help(about);
}

int wdr_cli_flush(int status)
{
	struct wdr_err err = { 0 };

	if (!fflush(stdout) && !ferror(stdout))
		return status;
	(void)wdr_err_wrap(&err, errno ? -errno : -EIO, "write to stdout");
	return wdr_cli_fail(&err, WDR_STATUS_FAILED);
}

int wdr_cli_fail(const struct wdr_err *err, int status)
{
	(void)fprintf(stderr, "warder: %s%s%s\n", err->where, err->where[0] ? ": " : "",
		      err->code && !err->msg[0] ? strerror(-err->code) : err->msg);
	return status;
}

int wdr_cli_misused(const struct wdr_command *c, const struct wdr_err *err)
{
	(void)fprintf(stderr, "warder: %s%s%s (see warder help %s)\n", err->where,
		      err->where[0] ? ": " : "", err->msg, c->name);
	return c->usage_status;
}
