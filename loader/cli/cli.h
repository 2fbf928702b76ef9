/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of `warder`: one row each, one file each. */
#pragma once

#include "base/wdr_err.h"
#include "cli/options.h"

/* Exit statuses that are not a job's. */
#define WDR_STATUS_FAILED  1   /* what was asked about is not so: bad policy, missing protection */
#define WDR_STATUS_REFUSED 125 /* bad usage, or nothing was started */

struct wdr_command {
	const char *name;  /* as typed: "run", "policy check" */
	const char *args;  /* as in the usage line: "[OPTIONS] [--] PROGRAM [ARG...]" */
	const char *brief; /* one line */
	const struct wdr_option *options[3]; /* tables, NULL-terminated */
	/* argv[0] is the command's name, its last word if there are two. Returns the exit status. */
	int (*run)(const struct wdr_command *c, int argc, char **argv);
	int usage_status; /* exit status of bad usage: 1 for `policy check`, else 125 */
};

/* The row after the last has no name. */
extern const struct wdr_command wdr_commands[];

/* All of `warder`: find the command, run it. Returns the exit status. */
int wdr_cli_main(int argc, char **argv);

/* "warder: WHERE: MESSAGE" on stderr. Returns @status, so that a failure is one statement. */
int wdr_cli_fail(const struct wdr_err *err, int status);
/* The same for bad usage of @c, with what to type for help. Returns c->usage_status. */
int wdr_cli_misused(const struct wdr_command *c, const struct wdr_err *err);
/* What --help of @c prints. Returns 0, or WDR_STATUS_FAILED if stdout can't take it. */
int wdr_cli_help(const struct wdr_command *c);
/* Flush stdout. Returns @status, or WDR_STATUS_FAILED, said on stderr, if not all came out. */
int wdr_cli_flush(int status);

int wdr_cmd_run(const struct wdr_command *c, int argc, char **argv);
int wdr_cmd_help(const struct wdr_command *c, int argc, char **argv);
int wdr_cmd_unload(const struct wdr_command *c, int argc, char **argv);
int wdr_cmd_version(const struct wdr_command *c, int argc, char **argv);
int wdr_cmd_check(const struct wdr_command *c, int argc, char **argv);

extern const struct wdr_option wdr_check_options[];
