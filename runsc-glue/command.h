/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One runsc command as a child process: its output kept up to a bound, killed when it takes too
 * long.
 *
 * Nothing here blocks but wdr_command_wait(). A caller with an event loop polls the descriptors of
 * wdr_command_fds() and calls wdr_command_pump() when one is ready.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/wdr_err.h"

#define WDR_COMMAND_MAX_OUTPUT (64 * 1024) /* kept of stdout and of stderr, each */
#define WDR_COMMAND_MAX_FDS    8	   /* passed on as 3, 4, ... */

struct wdr_command_spec {
	const char *const *argv; /* argv[0] is the absolute path of the binary; NULL at the end */
	const char *const *envp; /* NULL: PATH alone */
	int stdio[3];		 /* -1: /dev/null for stdin, kept for the caller for the others */
	const int *fds;		 /* further descriptors, from 3 on; at most WDR_COMMAND_MAX_FDS */
	size_t n_fds;
};

struct wdr_command; /* one running or ended command */

/*
 * Start @spec. Its strings and arrays need to live only until the call returns; descriptors stay
 * the caller's. The child dies with the calling thread (PR_SET_PDEATHSIG), and is in a session of
 * its own so that a terminal's signals pass it by.
 * Returns 0; -E2BIG for too many descriptors; else the -errno of pipe2(2) or clone3(2).
 * What fails later, in the child, is the error of wdr_command_pump().
 */
int wdr_command_start(const struct wdr_command_spec *spec, struct wdr_command **ret,
		      struct wdr_err *err) wdr_must_check;

/* Kills what still runs, reaps it, frees. */
void wdr_command_freep(struct wdr_command **c);

pid_t wdr_command_pid(const struct wdr_command *c);

/* What to poll for EPOLLIN: pidfd, stdout, stderr, start errors; -1 where there is none. */
void wdr_command_fds(const struct wdr_command *c, int ret_fds[4]);

/*
 * Take what output there is, and the exit status if the command has ended: 1 if it has, 0 if it
 * runs. Output that a grandchild still holds open is not waited for. Negative if it never became
 * the command: the -errno of execve(2) or of what came before, named in *err.
 */
int wdr_command_pump(struct wdr_command *c, struct wdr_err *err) wdr_must_check;

/* SIGKILL; TERM would be forwarded to the guest. 0 or -errno; -ESRCH if it has ended. */
int wdr_command_kill(struct wdr_command *c) wdr_must_check;

/* Pump until the end or for @ms: 1 if it has ended, 0 if it runs; else as wdr_command_pump(). */
int wdr_command_look(struct wdr_command *c, int ms, struct wdr_err *err) wdr_must_check;

/*
 * Pump until the end, at most @timeout_ms, then kill. 0 when it ended by itself, whatever its exit
 * status; -ETIMEDOUT when it had to be killed; else as wdr_command_pump().
 */
int wdr_command_wait(struct wdr_command *c, int timeout_ms, struct wdr_err *err) wdr_must_check;

/* After the end: the wait(2) status. */
int wdr_command_status(const struct wdr_command *c);
/* What was kept of stdout (1) or stderr (2), NUL-terminated; bytes past the bound are counted. */
const char *wdr_command_output(const struct wdr_command *c, int which, size_t *ret_len,
			       uint64_t *ret_lost);

/*
 * 0 if the command exited with 0. Else -EREMOTEIO with the last line that it wrote to stderr,
 * escaped and cut, behind @what: "runsc create: no such file".
 */
int wdr_command_check(const struct wdr_command *c, const char *what,
		      struct wdr_err *err) wdr_must_check;

#define wdr_command_ wdr_cleanup(wdr_command_freep)
