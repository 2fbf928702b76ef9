/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of `warder`: one row each, one file each. */
#pragma once

#include "base/wdr_err.h"
#include "cli/options.h"

struct wdr_command {
	const char *name;
	const char *args;  /* as in the usage line: "[OPTIONS] [--] PROGRAM [ARG...]" */
	const char *brief; /* one line */
	const char *more;  /* what --help says below the usage line, or NULL */
	const struct wdr_option *options[3]; /* tables, NULL-terminated */
	/* argv[0] is the command's name. Returns the exit status of the process. */
	int (*run)(int argc, char **argv);
	int usage_status; /* exit status of a usage error: 125 for run, 1 for policy */
};

/* The row after the last has no name. */
extern const struct wdr_command wdr_commands[];

/* All of `warder`: find the command, run it. Returns the exit status. */
int wdr_cli_main(int argc, char **argv);

/* Exit statuses that are not a job's. */
#define WDR_STATUS_TIMEOUT	  124
#define WDR_STATUS_REFUSED	  125 /* bad usage, bad policy, missing protection */
#define WDR_STATUS_NOT_EXECUTABLE 126
#define WDR_STATUS_NOT_FOUND	  127

/* "warder: WHERE: MESSAGE" on stderr. Returns @status, so that a failure is one statement. */
int wdr_cli_fail(const struct wdr_err *err, int status);

/* Print what `warder help NAME` prints; returns 0, or 1 if stdout can't take it. */
int wdr_cli_help_command(const struct wdr_command *c);

int wdr_cmd_help(int argc, char **argv);
int wdr_cmd_version(int argc, char **argv);
int wdr_cmd_check(int argc, char **argv);
