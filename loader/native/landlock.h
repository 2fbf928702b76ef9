/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock as the second wall behind the mount namespace: one rung per kernel ABI, so that every
 * right the running kernel knows is handled and every older kernel still gives what it can.
 */
#pragma once

#include <stddef.h>

#include "base/wdr_cleanup.h"

enum wdr_landlock_access {
	WDR_LANDLOCK_READ_EXEC, /* read, list, execute, connect to the sockets in it */
	WDR_LANDLOCK_DEVICE,	/* read, write, list, ioctl: device files or a folder of them */
	WDR_LANDLOCK_WRITE,	/* everything a writable tree needs, rename and link across
				   included; but no device is made in it or spoken to */
};

struct wdr_landlock_rule {
	const char *path; /* in the job's root; one that does not exist is skipped */
	enum wdr_landlock_access access;
};

/*
 * ABI of the running kernel, 1 and up; -EOPNOTSUPP where Landlock is not built in or off, else the
 * -errno of the question.
 */
int wdr_landlock_abi(void);

/*
 * In the job's process, with no_new_privs set: allow in the file system what @rules say and nothing
 * else; from ABI 6 (Linux 6.12) on keep signals and abstract sockets inside. A rule's path may be a
 * file or a folder. TCP and UDP ports are not Landlock's here.
 * Returns 0; -EOPNOTSUPP as above; else the -errno of what failed. Nothing is restricted then.
 * Allocates nothing: safe between clone and execve.
 */
int wdr_landlock_restrict(const struct wdr_landlock_rule *rules, size_t n) wdr_must_check;
