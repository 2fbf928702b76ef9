/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc's control socket: what `runsc exec`, `ps` and `events` say to a sandbox, said directly. A
 * command of runsc's is a Go program that starts for 25 ms; a call here takes one.
 *
 * The protocol is gVisor's own and promised to nobody (pkg/urpc): a JSON object each way, no length
 * before it, descriptors beside the request. So every answer that is not understood is -EPROTO,
 * which tells the caller to fall back on the command line; and what comes is as hostile as the
 * sentry: bounded in size and depth, and parsed before it is believed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wdr_err.h"
#include "base/wdr_json.h"

#define WDR_CONTROL_MAX_REPLY (1 << 20)
#define WDR_CONTROL_MAX_TASKS 4096 /* of a process list */

struct wdr_control; /* a connection: one call at a time */

/*
 * Connect to the socket at @path, or to the abstract name behind an "@" (runsc until 2023, in the
 * network namespace of who started the sandbox). 0 or the -errno of connect(2), *err naming it.
 */
int wdr_control_open(const char *path, struct wdr_control **ret,
		     struct wdr_err *err) wdr_must_check;
void wdr_control_freep(struct wdr_control **c);
/* To poll for EPOLLIN while an answer is awaited. */
int wdr_control_fd(const struct wdr_control *c);

/*
 * Call @method with @arg, which stays the caller's, and the @n_fds descriptors of @fds. 0; -EBUSY
 * while an answer is awaited; -EPIPE if the sandbox is gone; -ENOMEM.
 */
int wdr_control_send(struct wdr_control *c, const char *method, json_t *arg, const int *fds,
		     size_t n_fds) wdr_must_check;
/*
 * Take what there is of the answer. 1: it is complete, *ret its result, the caller's (JSON null
 * where there is none). 0: not yet. -EREMOTEIO: the sandbox refused, with its words in *err;
 * -EPROTO: not understood, or the method is not known; -EPIPE: gone in the middle.
 */
int wdr_control_pump(struct wdr_control *c, json_t **ret, struct wdr_err *err) wdr_must_check;
/* Both, waiting at most @timeout_ms: -ETIMEDOUT, after which the connection is of no more use. */
int wdr_control_call(struct wdr_control *c, const char *method, json_t *arg, const int *fds,
		     size_t n_fds, int timeout_ms, json_t **ret,
		     struct wdr_err *err) wdr_must_check;

struct wdr_control_exec {
	const char *container; /* id */
	char *const *argv, *const *envp;
	const char *cwd;
	uint32_t uid, gid;
	uint64_t capabilities; /* bit N is capability N, in all five sets */
	bool tty;	       /* stdio is the slave of a pty */
	int stdio[3];
};

/* Start a process in a running container. *ret_pid is its pid inside. */
int wdr_control_exec(struct wdr_control *c, const struct wdr_control_exec *e, int timeout_ms,
		     int32_t *ret_pid, struct wdr_err *err) wdr_must_check;

/* Ask for the end of @pid, or of the container itself if it is 0: a pump then brings the answer. */
int wdr_control_wait(struct wdr_control *c, const char *container, int32_t pid) wdr_must_check;
/* The wait(2) status in such an answer. -EPROTO. */
int wdr_control_status(const json_t *result, int *ret_status) wdr_must_check;

/* Send @signo to @pid, or to the container's first process if it is 0. */
int wdr_control_signal(struct wdr_control *c, const char *container, int32_t pid, int signo,
		       int timeout_ms, struct wdr_err *err) wdr_must_check;

struct wdr_control_task {
	int32_t pid, ppid;
	uint32_t uid;
	char cmd[64]; /* of the guest's choice: escape it */
};

/*
 * The processes of a container, at most WDR_CONTROL_MAX_TASKS; *ret is the caller's to free.
 */
int wdr_control_tasks(struct wdr_control *c, const char *container, int timeout_ms,
		      struct wdr_control_task **ret, size_t *ret_n,
		      struct wdr_err *err) wdr_must_check;

struct wdr_control_stats {
	uint64_t memory_bytes; /* of the guest's programs */
	uint64_t pids;
};

int wdr_control_stats(struct wdr_control *c, const char *container, int timeout_ms,
		      struct wdr_control_stats *ret, struct wdr_err *err) wdr_must_check;

#define wdr_control_ wdr_cleanup(wdr_control_freep)
