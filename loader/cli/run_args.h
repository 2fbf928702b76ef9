/* SPDX-License-Identifier: Apache-2.0 */
/* What `warder run` was asked for, and the options that override a policy, wherever they occur. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/wdr_err.h"
#include "cli/options.h"

/* Options that override the policy's field of the same meaning, in the order given. */
struct wdr_override {
	const char *option; /* long name without dashes: "timeout", "allow" */
	const char *value;  /* the caller's string; NULL for "syscalls", which takes none */
};

struct wdr_overrides {
	struct wdr_override *items; /* owned */
	size_t n;
};

void wdr_overrides_done(struct wdr_overrides *o);
#define wdr_overrides_ wdr_cleanup(wdr_overrides_done)

enum wdr_pty_choice {
	WDR_PTY_AUTO, /* a pty where stdin is a terminal */
	WDR_PTY_YES,
	WDR_PTY_NO
};

/* Strings are the caller's, of argv. */
struct wdr_run_args {
	struct wdr_overrides overrides;		       /* first: see wdr_override_options */
	const char *policy;			       /* FILE or NAME; "default" unless given */
	const char *name;			       /* a valid label, or NULL */
	const char *result, *events, *audit, *metrics; /* files, or NULL */
	bool json, quiet, allow_degraded;
	bool help; /* --help: then command may be empty */
	enum wdr_pty_choice pty;
	char **command; /* PROGRAM and its arguments, NULL-terminated; "" is a PROGRAM too */
};

/* Those that override a policy, for any command whose ctx starts with a struct wdr_overrides. */
extern const struct wdr_option wdr_override_options[];
/* The others of run; ctx is a struct wdr_run_args. */
extern const struct wdr_option wdr_run_options[];

/*
 * Read the words behind `warder`, argv[0] being "run". Returns 0; -EINVAL or -EOPNOTSUPP with the
 * option named and, where it helps, the nearest one: the caller exits 125. -ENOMEM.
 */
int wdr_run_args_parse(int argc, char **argv, struct wdr_run_args *ret,
		       struct wdr_err *err) wdr_must_check;
void wdr_run_args_done(struct wdr_run_args *a);
#define wdr_run_args_ wdr_cleanup(wdr_run_args_done)
