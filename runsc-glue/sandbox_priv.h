/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two sides of a job under runsc: the supervisor's handle, and the sandbox's keeper.
 *
 * The keeper is a fork of the supervisor and pid 1 of a pid namespace that holds runsc, the sentry,
 * the gofer and the stubs, in a mount namespace that holds everything they need on disk. When it
 * ends the kernel kills them all, and the last of them takes the mounts along: a sandbox that lost
 * any of its parts, its keeper or its supervisor leaves nothing behind.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ahead.h"
#include "base/wdr_err.h"
#include "bundle.h"
#include "command.h"
#include "control.h"
#include "model/backend.h"

/* Supervisor to keeper. */
enum wdr_keep_cmd_type {
	WDR_KEEP_GO = 1,     /* cgroups and programs are in place */
	WDR_KEEP_SIGNAL = 2, /* value: for the job's main process */
	WDR_KEEP_TAKE = 3,   /* a sandbox made ahead gets its job, with wall_ns */
};

struct wdr_keep_cmd {
	uint32_t type;
	int32_t value;
	uint64_t wall_ns; /* from now on; WDR_UNLIMITED */
};

/* Keeper to supervisor. */
enum wdr_keep_msg_type {
	WDR_KEEP_RUNNING = 1, /* carries the pty's master for a tty job */
	WDR_KEEP_FAILED = 2,  /* value: exit code, err: why */
	WDR_KEEP_EXITED = 3,  /* value: wait status of the guest's main process */
	WDR_KEEP_LOST = 4,    /* err: which part of the sandbox broke, and how */
	WDR_KEEP_SINK = 5,    /* carries the socket that the sentry will tell of the guest on */
	WDR_KEEP_HELD = 6,    /* in place of RUNNING: made ahead, it waits */
	WDR_KEEP_ANSWER = 7,  /* step, value: errno of the program that was to become the job */
};

struct wdr_keep_msg {
	uint32_t type;
	int32_t value;
	uint32_t step; /* enum wdr_idle_step */
	struct wdr_err err;
};

struct wdr_box_tree {
	int fd; /* detached mount */
	bool is_dir;
};

struct wdr_backend_job {
	const struct wdr_spec *spec;
	struct wdr_runsc runsc;
	pid_t pid;
	int pidfd;
	int ctl_fd;		  /* this process's end */
	char *config;		  /* text of config.json */
	char *session;		  /* text of the seccheck session, NULL: none */
	struct wdr_box_tree root; /* of --root; fd -1: the host's */
	struct wdr_box_tree *mounts;
	size_t n_mounts;
	struct wdr_box_tree views[WDR_SPEC_MAX_VIEWS];
	struct wdr_ahead ahead;
};

/* One command to the keeper, without waiting. 0 or the -errno of sendmsg(2). */
int wdr_sandbox_tell(struct wdr_backend_job *b, const struct wdr_keep_cmd *c) wdr_must_check;
/* Path of a mount's source, the caller's; NULL: no memory. */
char *wdr_mount_source(const struct wdr_mount *m);

/* Make a sandbox of @s under @r, waiting for wdr_runsc_ops.release. As wdr_backend_ops.spawn. */
int wdr_sandbox_spawn(const struct wdr_spec *s, const struct wdr_runsc *r,
		      struct wdr_backend_job **ret, struct wdr_err *err) wdr_must_check;

/*
 * Whether a sandbox starts under @r, on its platform, and runs a program to its end within
 * @timeout_ms. 0, or why not; nothing of it is left.
 */
int wdr_sandbox_try(const struct wdr_runsc *r, int timeout_ms, struct wdr_err *err) wdr_must_check;

/* Everything from clone3 on; ends in _exit. @ctl_fd is the keeper's end. */
_Noreturn void wdr_keep(struct wdr_backend_job *b, int ctl_fd);

/* The keeper itself. */
struct wdr_keeper {
	struct wdr_backend_job *b;
	int ctl;
	int stdio[3];
	int console; /* listening, for the pty's master */
	int tty;
	pid_t sentry, gofer;
	int gofer_status; /* 0: it runs, or ended well */
	char control_path[256];
	struct wdr_control
		*control; /* asked for the guest's end; NULL: that failed, or was answered */
	int guest_status; /* the answer; -1: none */
	int ahead_fds[3];
	bool taken;	 /* not made ahead, or given its job */
	uint64_t end_ns; /* of the wall clock, with some grace; UINT64_MAX: none */
};

/* The arguments behind `run` for a sandbox made ahead, and the descriptors they speak of. */
int wdr_keep_ahead_args(struct wdr_keeper *k, struct wdr_args *a,
			struct wdr_command_spec *c) wdr_must_check;
/* Once runsc has them. */
void wdr_keep_close_ahead(struct wdr_keeper *k);
/* Take what the program that waits has said, if it has. */
void wdr_keep_hear_answer(struct wdr_keeper *k);
/* To the supervisor; a pty's master goes with it. */
void wdr_keep_send(struct wdr_keeper *k, const struct wdr_keep_msg *m);
/* The clock of a job that begins now. */
void wdr_keep_start_clock(struct wdr_keeper *k, uint64_t wall_ns);

/*
 * Cgroups, descriptors, mounts, the box, sockets: everything up to the wait for the supervisor.
 * -errno, with *err saying what could not be done.
 */
int wdr_keep_prepare(struct wdr_keeper *k, struct wdr_err *err) wdr_must_check;

/* In the keeper's mount namespace: make WDR_BOX and all that is below it. */
int wdr_box_make(struct wdr_backend_job *b, struct wdr_err *err) wdr_must_check;

/* After that: the mount points of the policy, and whether its workdir is there. */
int wdr_box_place(struct wdr_backend_job *b, struct wdr_err *err) wdr_must_check;

/*
 * Say in @err what runsc's JSON log @log, @n bytes, gives as the reason of a failed start, without
 * the steps that it was in. Returns what warder then exits with: 127 for a program that is not
 * there, 126 for one that can't be executed, else 125. Pure.
 */
int wdr_start_failure(const char *log, size_t n, const char *program, struct wdr_err *err);

/*
 * Whether a sentry that ended with @status was not ended by its guest, and if so what happened, in
 * @err: from the status of a gofer that had ended before (0: none), and from the @n bytes that the
 * sentry left in its panic log. Pure.
 */
bool wdr_sandbox_loss(int status, int gofer_status, const char *panic, size_t n,
		      struct wdr_err *err);

/*
 * What the guest's main process ended with, from the wait status of the sentry, which exits with
 * the guest's code or 128 and the number of the signal that ended it (runsc/boot, WaitExit). Pure.
 */
int wdr_guest_status(int sentry_status);
