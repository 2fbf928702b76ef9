/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A job is a slot: a number below WDR_SLOTS_MAX. The loader fills struct wdr_slot before the job
 * runs, the programs keep struct wdr_live; both are mmapped by the loader. Slot 0 is nobody's: its
 * wdr_live counts what below Warder's cgroups or at its interfaces belonged to no job.
 */
#pragma once

#include "wdr_abi.h"

#define WDR_RING_BYTES	 (128 * 1024)
#define WDR_FLOWS_MAX	 65536 /* of all jobs */
#define WDR_FRAGS_MAX	 4096
#define WDR_LEVEL_MIN	 2 /* a job's cgroup has a parent, which is not the root */
#define WDR_LEVELS_BELOW 4 /* so far below its job's cgroup a task is found */
#define WDR_LEVEL_MAX	 32
#define WDR_BEAT_MAX_NS	 2000000000u /* a supervisor silent for longer is lost */
#define WDR_CPU_BUCKETS	 16	     /* steps that a window of detect.cpu slides in */
#define WDR_SYSCALLS_MAX 512	     /* numbers counted one by one */
#define WDR_URING_MAX	 64	     /* io_uring operations counted one by one */
#define WDR_SLOT_WORDS	 (WDR_SLOTS_MAX / 64)
#define WDR_SUP_WORDS	 (WDR_SUPS_MAX / 64)

/* Bits of wdr_slot.flags: what the policy asks for. */
enum wdr_slot_flag {
	WDR_SLOT_EGRESS = 1 << 0,  /* judge destinations by .policy; without, every one is denied */
	WDR_SLOT_NETNS = 1 << 1,   /* network namespace of its own: loopback and .self are free */
	WDR_SLOT_RAW = 1 << 2,	   /* may make raw sockets; their packets are judged like others */
	WDR_SLOT_CONTAIN = 1 << 3, /* a lost supervisor changes nothing */
	WDR_SLOT_COUNT = 1 << 4,   /* count system calls in row .counts */
	WDR_SLOT_PROC = 1 << 5,	   /* send exec, fork, exit and refused capabilities */
	WDR_SLOT_SIGSYS = 1 << 6,  /* send which system call seccomp killed a task for */
	WDR_SLOT_TELL_SOCKETS =
		1 << 7, /* send what is allowed at a socket, and flows that have no ports */
	WDR_SLOT_TELL_FLOWS = 1 << 8, /* send what flows begin on the wire */
};

enum wdr_on_denied {
	WDR_DENIED_REJECT = 1, /* packets: answer with RST or ICMP administratively prohibited */
	WDR_DENIED_DROP = 2,
	WDR_DENIED_KILL = 3,
};

enum wdr_cpu_act {
	WDR_CPU_ALERT = 1, /* an event, once each time the share rises above */
	WDR_CPU_KILL = 2,
};

/* Why the kernel killed a job. Append only. */
enum wdr_kill {
	WDR_KILL_CPU_BUDGET = 1, /* value: ns used */
	WDR_KILL_CPU_SHARE = 2,	 /* value: ns used within the window */
	WDR_KILL_EGRESS = 3,	 /* value: 0; the denial says more */
};

/*
 * What a job may do. { cgroup 4711, job 12, flags EGRESS | NETNS, policy 3, sup 1 } is a job whose
 * packets are judged by policy 3 for as long as supervisor 1 beats.
 */
struct wdr_slot {
	__u64 cgroup;	  /* v2 id of the job's cgroup */
	__u64 job;	  /* different at each use of a slot; 0: free */
	__u32 flags;	  /* WDR_SLOT_* */
	__u32 policy;	  /* number of the loaded policy, 0: none */
	__u32 sup;	  /* number of its supervisor, which has the ring as well */
	__u32 init_pid;	  /* the job's first process, in the first pid namespace; 0: not yet */
	__u32 ifindex;	  /* host end of its last veth, 0: none */
	__u32 counts;	  /* number of its row of system call counts, 0: none */
	__u8 self[2][16]; /* its own addresses, IPv4 mapped; all zero: any source passes */
	__u8 on_denied;	  /* WDR_DENIED_* */
	__u8 cpu_act;	  /* WDR_CPU_*, 0: no window */
	__u8 n_ifaces;	  /* veths that were linked: more than one are found in wdr_ifaces */
	__u8 zero[5];
	__u64 cpu_budget_ns; /* 0: none */
	__u64 cpu_window_ns;
	__u64 cpu_max_ns; /* more CPU time than this within cpu_window_ns is too much */
	__u64 spare[3];
};
WDR_ABI_SIZE(wdr_slot, 128);

/* What became of it: written by the programs with atomic additions, zeroed by the loader. */
struct wdr_live {
	__u64 out_packets; /* allowed; each packet of a super-packet counts */
	__u64 out_bytes;   /* of IP */
	__u64 out_denied;  /* attempts at the socket, packets on the wire */
	__u64 in_packets;
	__u64 in_bytes;
	__u64 in_denied;    /* packets that belong to no allowed flow */
	__u64 denials_lost; /* attempts past WDR_DENIALS_MAX different ones, or without memory */
	__u64 flows_lost;   /* new flows not noted: their answers won't pass */
	__u32 n_denials;    /* keys handed out; more than WDR_DENIALS_MAX means that many */
	__u32 flow_tokens;  /* new flows it may still make, see lib/flow.bpf.h */
	__u64 flow_ns;
	__u64 ev_lost[WDR_EV_MAX]; /* by WDR_EV_* */
	__u32 killed;		   /* WDR_KILL_*, 0: not by us */
	__s32 kill_rc;		   /* of sending the signal: 0 or -errno */
	__u64 killed_ns;	   /* CLOCK_MONOTONIC */
	__u64 killed_value;	   /* see enum wdr_kill */
	__u64 cpu_ns;		   /* counted by the sampler: behind by up to its period a CPU */
	__u64 cpu_step;		   /* number of the newest bucket */
	__u64 cpu_at[WDR_CPU_BUCKETS]; /* cpu_ns when bucket step % WDR_CPU_BUCKETS began */
	__u64 caps;		       /* bit N: capability N was refused, and told once */
	__u32 cpu_above;	       /* 1: the alert is out */
	__u32 executed;		       /* 1: a program; before that, what is refused is our own */
};
WDR_ABI_SIZE(wdr_live, 360);

/* A supervisor: a process with a heartbeat, a ring at the same number, and jobs. */
struct wdr_sup {
	__u64 beat_ns; /* CLOCK_MONOTONIC of its last sign of life */
	__u64 start;   /* field 22 of /proc/PID/stat, so that a reused pid is not it */
	__u32 pid;     /* 0: free */
	__u32 pidns;   /* inode of the pid namespace that pid and start are of */
};
WDR_ABI_SIZE(wdr_sup, 24);

/* System calls of one job on one CPU. */
struct wdr_counts {
	__u64 total[WDR_SYSCALLS_MAX];	/* by number, refused ones included */
	__u64 denied[WDR_SYSCALLS_MAX]; /* refused by seccomp before they began */
	__u64 uring[WDR_URING_MAX];	/* io_uring operations by opcode */
	__u64 other;			/* numbers past the tables, other architectures' calls */
	__u64 lost; /* calls of which it is not known whether they were refused */
};
WDR_ABI_SIZE(wdr_counts, 8720);

/* A thread of a job whose calls are counted. */
struct wdr_call {
	__u64 job;
	__u32 counts; /* wdr_slot.counts, the slot's own number */
	__u32 inside; /* 1: between sys_enter and sys_exit */
};
WDR_ABI_SIZE(wdr_call, 16);

/* The slice of CPU time that a job's task is in, on one CPU. */
struct wdr_cpu_slice {
	__u64 job;
	__u64 counted_ns; /* of this slice already in wdr_live.cpu_ns */
	__u64 began_ns;	  /* the perf clock's running time when the job last left this CPU */
};
WDR_ABI_SIZE(wdr_cpu_slice, 24);

/* The one cell of what all processes share. The programs don't look at it. */
struct wdr_shared {
	__u64 next_job;
	__u64 programs;	    /* bit N: program N of kern's table is loaded */
	__u32 maps_hash;    /* of the headers that lay out the maps */
	__u32 n_hosts;	    /* addresses in wdr_hosts */
	__u32 link_ids[16]; /* kernel ids of the links that all share while one asks */
	__u64 slots_used[WDR_SLOT_WORDS];
	__u64 sups_used[WDR_SUP_WORDS];
	__u64 policies_used[WDR_SLOT_WORDS];
};
WDR_ABI_SIZE(wdr_shared, 1368);

/* A packet flow that was allowed, seen from the job. */
struct wdr_flow_key {
	__u64 job;
	__u8 remote[16];
	__u16 local_port;  /* host order; an ICMP echo's identifier */
	__u16 remote_port; /* 0 for ICMP */
	__u8 proto;	   /* WDR_EGRESS_PROTO_ICMP for both */
	__u8 zero[3];
};
WDR_ABI_SIZE(wdr_flow_key, 32);

/* In units of ns: bpf_ktime_get_coarse_ns() when it began, but for its lowest bit. */
#define WDR_FLOW_LOCAL 1ull /* to an address of this machine */

/* A first fragment that was allowed. */
struct wdr_frag_key {
	__u64 job;
	__u8 remote[16];
	__u32 id;
	__u8 proto; /* 0 for IPv6 */
	__u8 out;   /* 1: sent by the job */
	__u8 zero[2];
};
WDR_ABI_SIZE(wdr_frag_key, 32);
