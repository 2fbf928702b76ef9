/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line that engines give to runsc, read as Go's flag package reads it and left as it
 * is: only what Warder must know is taken from it, everything else is runsc's business. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/wdr_err.h"

#define WDR_SHIM_MAX_ARGS 4096

enum wdr_shim_command {
	WDR_SHIM_OTHER, /* one that needs nothing of us, known today or not */
	WDR_SHIM_CREATE,
	WDR_SHIM_RUN,
	WDR_SHIM_RESTORE,
	WDR_SHIM_START,
	WDR_SHIM_DELETE,
};

/* All strings are the caller's argv; NULL where the command line does not say. */
struct wdr_shim_args {
	enum wdr_shim_command command;
	const char *name; /* of the sub-command, NULL: there is none */
	const char *id;	  /* of the container, for the commands above */
	const char *root, *log, *log_format;
	const char *bundle;
	bool force, detach, ignore_cgroups, flag_override;
};

/*
 * Read @argv, @argc of them, argv[0] the program. Returns 0; -E2BIG past WDR_SHIM_MAX_ARGS. A
 * command line that runsc itself will refuse is no failure here.
 */
int wdr_shim_args_parse(int argc, char *const *argv, struct wdr_shim_args *ret) wdr_must_check;
