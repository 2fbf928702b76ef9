/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A role is this very program, executed again for one piece of work that is to be done without
 * rights: reading what an enemy sends. Whoever needs one starts it here and speaks to it over a
 * socket; what it does, and how it gives its rights up, is loader/proc's.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/wdr_err.h"

/* In the role's process: its end of the socket, and the first of what it was handed. */
#define WDR_ROLE_SOCK	 3
#define WDR_ROLE_FDS	 4
#define WDR_ROLE_MAX_FDS 4

struct wdr_role {
	pid_t pid;
	int pidfd;
	int sock; /* SOCK_SEQPACKET, non-blocking on this side only */
};

#define WDR_ROLE_NONE                               \
	{                                           \
		.pid = -1, .pidfd = -1, .sock = -1, \
	}

/*
 * Execute the file that this process runs, even if its path is gone or another file's by now, with
 * @name as its only argument: argv[0], which main() knows roles by. It gets /dev/null as stdio, one
 * end of a socket pair, copies of the @n descriptors of @fds and nothing else: no environment, no
 * terminal, no blocked signals. It dies with the calling thread. Returns at once: that it could
 * not be executed shows as its end, with the errno as its exit status.
 * 0, or -errno of open(2) of /proc/self/exe, socketpair(2), clone3(2).
 */
int wdr_role_start(const char *name, const int *fds, size_t n, struct wdr_role *ret,
		   struct wdr_err *err) wdr_must_check;

/* SIGKILL if it is there; reap; close. *ret_status (may be NULL) is as of wait4(2). */
void wdr_role_end(struct wdr_role *r, int *ret_status);

/*
 * In the role's process, before anything else: that it was started by wdr_role_start(), by a
 * process of the same program. -EPERM: by somebody else.
 */
int wdr_role_check(struct wdr_err *err) wdr_must_check;
