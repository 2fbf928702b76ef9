/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protections by name: the rows of `warder check`, the words of WARDER_DISABLE, the entries of
 * `protections.degraded` in a result. Append only; the names are contract.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/wdr_err.h"

enum wdr_protection {
	WDR_PROT_USER_NS,
	WDR_PROT_MOUNT_NS,
	WDR_PROT_PID_NS,
	WDR_PROT_NET_NS,
	WDR_PROT_IPC_NS,
	WDR_PROT_UTS_NS,
	WDR_PROT_CGROUP_NS,
	WDR_PROT_TIME_NS,
	WDR_PROT_HOST_UID, /* a host uid of the job's own */
	WDR_PROT_IDMAP,	   /* idmapped mounts */
	WDR_PROT_PIVOT_ROOT,
	WDR_PROT_MASKED_PATHS,
	WDR_PROT_NO_NEW_PRIVS,
	WDR_PROT_CAPABILITIES,
	WDR_PROT_SECCOMP,
	WDR_PROT_LANDLOCK,
	WDR_PROT_RLIMITS,
	WDR_PROT_KEYRING,
	WDR_PROT_CGROUP_ENTRY, /* born inside its cgroup: clone3 CLONE_INTO_CGROUP */
	WDR_PROT_CGROUP_KILL,
	WDR_PROT_MEMORY_LIMIT,
	WDR_PROT_SWAP_LIMIT,
	WDR_PROT_PIDS_LIMIT,
	WDR_PROT_CPU_LIMIT,
	WDR_PROT_OOM_EVENTS,
	WDR_PROT_CPU_BUDGET,
	WDR_PROT_DISK_LIMIT,
	WDR_PROT_EGRESS_SOCKET,
	WDR_PROT_EGRESS_PACKET,
	WDR_PROT_SYSCALL_COUNT,
	WDR_PROT_DETECT_CPU,
	WDR_PROT_DETECT_MINING,
	WDR_PROT_PROC_EVENTS,
	WDR_PROT_HEARTBEAT,
	WDR_PROT_AUDIT,
	_WDR_PROT_MAX
};

/* A set of protections is a uint64_t of these bits. */

_Static_assert(_WDR_PROT_MAX <= 64, "a bit each");

#define WDR_PROT_BIT(p) (UINT64_C(1) << (p))

/* "memory_limit" */
const char *wdr_protection_name(enum wdr_protection p);
/* One line for people: what it keeps a job from. */
const char *wdr_protection_what(enum wdr_protection p);
/* One line for the operator of a machine that lacks it: what to do. */
const char *wdr_protection_remedy(enum wdr_protection p);
/* -ENOENT if no protection has this name. */
int wdr_protection_find(const char *name);

/*
 * Read a list of names with commas between, as WARDER_DISABLE holds it; NULL and "" are the empty
 * set, spaces around a name are none of it. Returns 0; -EINVAL for an unknown or an empty name,
 * with the nearest known one.
 */
int wdr_protection_parse(const char *list, uint64_t *ret, struct wdr_err *err) wdr_must_check;

/* The names of @set in order, ", " between, cut with "..." at @size. Returns @buf. */
const char *wdr_protection_list(uint64_t set, char *buf, size_t size);
