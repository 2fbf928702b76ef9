/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two sides of a native job: the supervisor's handle, and what runs between clone3 and the
 * job's first instruction. Control messages go over one SOCK_SEQPACKET pair.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/wdr_tree.h"
#include "model/backend.h"
#include "model/protection.h"
#include "native/seccomp.h"
#include "policy/policy.h"

/* Supervisor to pid 1. */
enum native_cmd_type {
	NATIVE_CMD_MAPPED = 1, /* the uid and gid maps are written */
	NATIVE_CMD_GO = 2,     /* the cgroups and programs are in place */
	NATIVE_CMD_SIGNAL = 3, /* value: pass this signal to the main process */
};

struct native_cmd {
	uint32_t type;
	int32_t value;
};

/* Pid 1 to supervisor. */
enum native_msg_type {
	NATIVE_MSG_RUNNING = 1, /* executed; carries the pty's master for a tty job */
	NATIVE_MSG_FAILED = 2,	/* value: exit code, err: why */
	NATIVE_MSG_EXITED = 3,	/* value: wait status of the main process */
};

struct native_msg {
	uint32_t type;
	int32_t value;
	struct wdr_err err;
};

/* A mount of the user's, or a view of a cgroup: made by a supervisor that is root, else by path. */
struct native_tree {
	int fd;		    /* detached mount, attributes set; -1: pid 1 clones @source itself */
	char *source;	    /* absolute path, for an ordinary user and for messages */
	const char *target; /* in the job's root; the policy's */
	bool readonly;
	bool is_dir;
};

/* A root's skeleton from the cache; fd -1: pid 1 makes it itself. */
struct native_prepared {
	int fd;	     /* detached mount, read-only */
	int lock_fd; /* held shared while the job lives: who trims the cache lets it alone */
	char *binds; /* the host's folders that belong into it, a line each */
};

struct wdr_backend_job {
	const struct wdr_spec *spec;
	pid_t pid;
	int pidfd;
	int ctl_fd; /* this process's end */
	struct native_tree *mounts;
	size_t n_mounts;
	struct native_tree views[WDR_SPEC_MAX_VIEWS];
	struct native_tree root; /* of --root; target NULL where there is none */
	struct native_prepared prepared;
	struct wdr_seccomp_filter filter;
};

/* Fill b->mounts, b->views and b->root. -ENOENT and its like name the source. */
int wdr_native_open_trees(struct wdr_backend_job *b, struct wdr_err *err) wdr_must_check;

/*
 * Fill b->prepared where the job's root is of the common kind, making the folder if there is none for
 * it. No failure: without, the start takes longer.
 */
void wdr_native_open_prepared(struct wdr_backend_job *b);
void wdr_native_close_prepared(struct wdr_backend_job *b);

/* Everything from clone3 on; ends in _exit. @ctl_fd is pid 1's end. */
_Noreturn void wdr_native_child(struct wdr_backend_job *b, int ctl_fd);

/* Let the OOM killer take @pid, which waits, as it would take any process. 0 or -errno. */
int wdr_native_level_oom(pid_t pid, struct wdr_err *err) wdr_must_check;

/*
 * Enter a new time namespace, whose monotonic and boot clocks begin now. While /proc is there to set
 * them in, with CAP_SYS_TIME and CAP_SYS_ADMIN in one's user namespace. 0 or -errno.
 */
int wdr_native_start_clocks(void) wdr_must_check;

/* Build the job's root from inside its mount namespace and make it "/". */
int wdr_native_enter_root(struct wdr_backend_job *b, struct wdr_err *err) wdr_must_check;

/* In the main process: give up everything and execute. Returns only a failure; *ret_exit is what
 * warder then exits with. */
int wdr_native_exec(struct wdr_backend_job *b, const int stdio[3], int *ret_exit,
		    struct wdr_err *err);
