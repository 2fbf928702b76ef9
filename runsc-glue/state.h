/* SPDX-License-Identifier: Apache-2.0 */
/* runsc's own record of a container: the file below its --root, read and never written. Pure. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/wdr_err.h"

#define WDR_RUNSC_STATE_MAX (1 << 20) /* the spec is inside, with everything the engine put there */

struct wdr_runsc_state {
	char status[16]; /* "creating", "created", "running", "paused", "stopped" */
	pid_t gofer_pid; /* 0: none; in the pid namespace of who started it */
	pid_t sentry_pid;
	char bundle[256];
	char control[256]; /* path of the control socket; "": an old runsc, abstract name */
};

/*
 * Read the @n bytes of a state file. Returns 0; -EPROTO for what is none: not an object, a field of
 * another type, a pid that can't be, a path or status that is too long.
 */
int wdr_runsc_state_parse(const char *text, size_t n, struct wdr_runsc_state *ret) wdr_must_check;
