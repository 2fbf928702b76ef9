/* SPDX-License-Identifier: Apache-2.0 */
/* What a backend needs to start one job, beside its policy: decided and opened before the start. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/wdr_id.h"

struct wdr_policy;

/* A folder shown read-only below /sys/fs/cgroup; the descriptor stays its owner's. */
struct wdr_spec_view {
	char name[32]; /* "" is the root itself */
	int dir_fd;
};

#define WDR_SPEC_MAX_VIEWS 8
#define WDR_SPEC_MAX_ENTER 4

/* What is to be told of the guest, where the backend can (WDR_BACKEND_SINK). */
enum wdr_telemetry {
	WDR_TELL_CALLS = 1 << 0, /* every system call, to be counted */
	WDR_TELL_EXEC = 1 << 1,	 /* processes: clone, exec, exit */
	WDR_TELL_NET = 1 << 2,	 /* connect */
	WDR_TELL_FILE = 1 << 3,	 /* open */
};

struct wdr_spec {
	char id[WDR_JOB_ID_SIZE];
	const struct wdr_policy *policy;
	char *const *argv; /* NULL-terminated, argv[0] is the program */
	char *const *envp; /* NULL-terminated, exactly what the job gets */
	uint64_t waived;   /* WDR_PROT_BIT()s the job may start without */
	uint32_t host_uid; /* the job's user outside; its group has the same number */
	bool privileged;   /* we are root in the first user namespace */
	/*
	 * The sandbox is made before its job is known and held until wdr_backend_ops.take: @argv and
	 * @envp are not read before, the policy is one that wdr_policy_fits() the job's.
	 */
	bool ahead;
	bool tty;	  /* the job's stdio is a pty of its own; stdio_fds are unused */
	int stdio_fds[3]; /* the job's ends; -1: /dev/null. They stay the caller's */
	int cgroup_fd;	  /* where the job is born, -1: in the caller's cgroup */
	int net_fd;	  /* the network namespace made for the job, -1: there is none */
	/*
	 * Files that the first process writes "0" to as its first deed, while it is one thread: so it
	 * enters the v1 hierarchies, which cgroup_fd does not reach. Only after that may it unshare
	 * its cgroup namespace: one that clone3 makes is rooted at the caller's cgroup.
	 */
	int enter_fds[WDR_SPEC_MAX_ENTER];
	unsigned int n_enter_fds;
	struct wdr_spec_view views[WDR_SPEC_MAX_VIEWS];
	unsigned int n_views;
	char *args_area; /* the caller's own command line in memory: a forked pid 1 wipes it */
	size_t args_area_len;
	unsigned int tell;     /* enum wdr_telemetry */
	const char *cache_dir; /* for what was found out about runsc, or NULL */
};
