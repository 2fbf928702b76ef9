/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What the programs tell a supervisor through its ring. A reader checks size and version before
 * type, and drops events of a job that is no longer in the slot. What did not fit is counted in
 * wdr_live.ev_lost, by type.
 */
#pragma once

#include "wdr_abi_egress.h"

#define WDR_EV_PATH_LEN 128

/* Append only; below WDR_EV_MAX. */
enum wdr_ev_type {
	WDR_EV_DENIED = 1, /* struct wdr_ev_verdict: the first denial of its kind */
	WDR_EV_KILLED = 2, /* struct wdr_ev_killed: the kernel killed the job */
	WDR_EV_CPU = 3,	   /* struct wdr_ev_cpu: above its share for the window */
	WDR_EV_EXEC = 4,   /* struct wdr_ev_exec */
	WDR_EV_FORK = 5,   /* struct wdr_ev_fork */
	WDR_EV_EXIT = 6,   /* struct wdr_ev_exit: the last thread of a process has gone */
	WDR_EV_OOM = 7,	   /* struct wdr_ev_hdr alone: the OOM killer took this process */
	WDR_EV_CAP = 8, /* struct wdr_ev_cap: a capability was asked for and refused, first time */
	WDR_EV_SIGSYS = 9, /* struct wdr_ev_sigsys: seccomp killed a task */
	WDR_EV_ALLOWED =
		10, /* struct wdr_ev_verdict: something began that may go on, WDR_SLOT_TELL_* */
};

struct wdr_ev_hdr {
	__u64 ts_ns; /* bpf_ktime_get_ns(), CLOCK_MONOTONIC */
	__u64 job;   /* wdr_slot.job */
	__u32 slot;
	__u32 pid;  /* process, in the first pid namespace; 0 where none is known */
	__u16 size; /* whole event, header included */
	__u8 type;  /* WDR_EV_* */
	__u8 version;
	__u32 zero;
	char comm[WDR_COMM_LEN]; /* not NUL-terminated when full */
};
WDR_ABI_SIZE(wdr_ev_hdr, 48);

/* What was decided about a destination. */
struct wdr_ev_verdict {
	struct wdr_ev_hdr hdr;
	struct wdr_deny_key key;
};
WDR_ABI_SIZE(wdr_ev_verdict, 80);

struct wdr_ev_killed {
	struct wdr_ev_hdr hdr;
	__u64 value; /* see enum wdr_kill */
	__u32 why;   /* WDR_KILL_* */
	__s32 rc;    /* of the signal: 0; -EOPNOTSUPP: this kernel reaches only running tasks */
};
WDR_ABI_SIZE(wdr_ev_killed, 64);

struct wdr_ev_cpu {
	struct wdr_ev_hdr hdr;
	__u64 used_ns; /* within the window */
	__u64 window_ns;
};
WDR_ABI_SIZE(wdr_ev_cpu, 64);

struct wdr_ev_exec {
	struct wdr_ev_hdr hdr;	    /* comm is the new one */
	__u32 parent;		    /* process, in the first pid namespace */
	__u32 uid;		    /* in the first user namespace */
	char path[WDR_EV_PATH_LEN]; /* as it was passed to execve(2), cut, NUL-terminated */
};
WDR_ABI_SIZE(wdr_ev_exec, 184);

struct wdr_ev_fork {
	struct wdr_ev_hdr hdr; /* the parent's */
	__u32 child;	       /* new process or thread, in the first pid namespace */
	__u32 child_process;   /* equal to child, unless it is a thread */
};
WDR_ABI_SIZE(wdr_ev_fork, 56);

struct wdr_ev_exit {
	struct wdr_ev_hdr hdr;
	__u32 status; /* as of wait4(2) */
	__u32 parent;
};
WDR_ABI_SIZE(wdr_ev_exit, 56);

struct wdr_ev_cap {
	struct wdr_ev_hdr hdr;
	__u32 cap; /* number of linux/capability.h */
	__u32 zero;
};
WDR_ABI_SIZE(wdr_ev_cap, 56);

struct wdr_ev_sigsys {
	struct wdr_ev_hdr hdr;
	__s32 nr; /* of the system call */
	__u32 zero;
};
WDR_ABI_SIZE(wdr_ev_sigsys, 56);
