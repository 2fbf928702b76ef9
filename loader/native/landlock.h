/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock as the second wall behind the mount namespace: one rung per kernel ABI, so that every
 * right the running kernel knows is handled and every older kernel still gets what it can.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/wdr_err.h"

enum wdr_landlock_access {
	WDR_LANDLOCK_READ_EXEC, /* read, list, execute */
	WDR_LANDLOCK_DEVICE,	/* read, write, ioctl of the device files below */
	WDR_LANDLOCK_WRITE, /* everything a writable tree needs, rename and link across included */
};

struct wdr_landlock_rule {
	const char
		*path; /* in the job's root, after pivot_root; one that does not exist is skipped */
	enum wdr_landlock_access access;
};

/* ABI of the running kernel, 1 and up; -EOPNOTSUPP where Landlock is off or not built in. */
int wdr_landlock_abi(void);

/*
 * In the job's process, with no_new_privs set: allow what @rules say and nothing else, keep
 * signals and abstract sockets inside (ABI 6). Returns a ruleset's effect or -errno.
 * Allocates nothing: safe between clone and execve.
 */
int wdr_landlock_restrict(const struct wdr_landlock_rule *rules, size_t n) wdr_must_check;
