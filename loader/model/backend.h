/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a sandbox is started and spoken to, whatever it is made of.
 *
 * The life of a job: spawn() makes a process that waits, so that the caller can put it into its
 * cgroups and hang programs on it; release() lets it build the sandbox and execute the program;
 * what happens then comes as messages on msg_fd, read by receive(). The pidfd becomes readable
 * when nothing of the job is left.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/wdr_err.h"
#include "model/spec.h"

struct wdr_backend_job; /* the backend's own */

enum wdr_backend_event {
	WDR_BACKEND_NOTHING, /* a message that changes nothing */
	WDR_BACKEND_RUNNING, /* the program has been executed */
	WDR_BACKEND_FAILED,  /* it could not be; *err says why, exit_code what to exit with */
	WDR_BACKEND_EXITED,  /* the main process has ended; status is wait4's */
	WDR_BACKEND_LOST,    /* the sandbox broke under it; *err says how */
	WDR_BACKEND_SINK,    /* before it runs: fd is where telemetry of the guest will come */
	WDR_BACKEND_HELD,    /* of a sandbox made ahead: it stands, and waits for take() */
};

struct wdr_backend_msg {
	enum wdr_backend_event event;
	int status;    /* WDR_BACKEND_EXITED */
	int exit_code; /* WDR_BACKEND_FAILED: 125, 126 or 127 */
	/*
	 * The receiver's. With WDR_BACKEND_RUNNING of a tty job the pty's master; with
	 * WDR_BACKEND_SINK a listening socket; else -1.
	 */
	int fd;
};

struct wdr_backend_ops {
	const char *name; /* "native" */
	/*
	 * What the sandbox needs of the job's own limit: host tasks for itself, and for each task of
	 * the job's. Where that is more than one, the backend bounds the job's own number inside, and
	 * what the host counts is not it.
	 */
	uint64_t own_tasks, tasks_each;
	/* Making the sandbox takes CPU of its own: the job's share holds from RUNNING on. */
	bool late_cpus;
	/* WDR_PROT_BIT()s that it brings itself, where others need a program in the kernel. */
	uint64_t gives;

	/* 0 if a sandbox really starts here; else -errno and why not. */
	int (*probe)(struct wdr_err *err);
	/*
	 * Make the waiting process. @s must outlive the job. Checks everything that can be checked
	 * from outside (mount sources, seccomp names): on failure nothing runs and nothing is left.
	 */
	int (*spawn)(const struct wdr_spec *s, struct wdr_backend_job **ret, struct wdr_err *err);
	/* Let it go on. Returns at once; the outcome is a message. */
	int (*release)(struct wdr_backend_job *b, struct wdr_err *err);
	/*
	 * Give a sandbox that was made ahead, and has said HELD, its one job: what the spec has now of
	 * argv, envp and policy, without input if stdio_fds[0] is -1. Returns at once; RUNNING or
	 * FAILED follows. A failure leaves a sandbox in which no job has run and none will: kill it.
	 * NULL: this backend holds none, and spawn() refuses a spec with `ahead`.
	 */
	int (*take)(struct wdr_backend_job *b, struct wdr_err *err);
	/* Host pid of the sandbox's first process, its pidfd, the descriptor of messages: the job's. */
	pid_t (*pid)(const struct wdr_backend_job *b);
	int (*pidfd)(const struct wdr_backend_job *b);
	int (*msg_fd)(const struct wdr_backend_job *b);
	/* Take one message. -EAGAIN: none; -EPIPE: the other side is gone; -EPROTO: not ours. */
	int (*receive)(struct wdr_backend_job *b, struct wdr_backend_msg *ret, struct wdr_err *err);
	/* Send a signal to the job's main process. */
	int (*signal)(struct wdr_backend_job *b, int signo);
	/* SIGKILL to the sandbox's first process; the cgroup's kill comes beside it. */
	int (*kill)(struct wdr_backend_job *b);
	/* Reap the process that pidfd told of and free. Nothing of the job may be alive. */
	void (*freep)(struct wdr_backend_job **b);
};
