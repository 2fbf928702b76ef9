/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job's control groups behind one interface, on pure cgroup v2 and on a v1 hybrid machine.
 *
 * A job has two handles, which on pure v2 are one directory: the *limit* side (on v1 one directory
 * in each of the cpu, cpuacct, memory and pids hierarchies) and the *v2* side, where the job is
 * born (CLONE_INTO_CGROUP), where cgroup.kill and cgroup.events work and where BPF hangs.
 * All directories are named warder/JOB, so that a sweep finds them by name alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/wdr_err.h"
#include "model/probe.h"

struct wdr_cgroup_tree; /* where this machine keeps its hierarchies; made once a process */
struct wdr_cgroup;	/* one job's */

/* A value of UINT64_MAX, or cpus of 0, sets no limit. */
struct wdr_cgroup_limits {
	uint64_t memory_bytes;
	uint64_t swap_bytes; /* beyond memory_bytes */
	uint64_t pids;	     /* tasks, Warder's own pid 1 included by the caller */
	double cpus;	     /* quota: share of CPUs */
};

struct wdr_cgroup_usage {
	uint64_t cpu_ns, user_ns, system_ns;
	uint64_t memory_peak_bytes, memory_bytes;
	uint64_t pids, pids_peak;
	uint64_t oom_kills;   /* processes of this job that the OOM killer took */
	uint64_t pids_events; /* forks refused by the pids limit */
};

/*
 * Find this machine's hierarchies and prepare the folder warder with its controllers in each: at the
 * top, or where that can't be written, in this process' own cgroup. As root they need not be
 * mounted anywhere. @root is NULL, or a folder that is laid out as /sys/fs/cgroup for tests.
 *
 * On pure v2 under systemd as PID 1 the place is what systemd has delegated: this process' own
 * unit if it has Delegate=yes (it should say Slice=warder.slice, too), else a transient scope that is
 * asked for, in warder.slice; an ordinary user asks the systemd of the user. This process is then
 * moved into a leaf `supervisor` beside the jobs. The same goes for the top of a container's cgroup
 * namespace, where other processes are moved along: with them there, no limit could be set.
 *
 * A controller that can't be had is no failure here but of the limit that wants it.
 * Returns 0; -ENOENT if no cgroup2 is mounted, -EACCES or -EROFS if it can't be written, -ETIMEDOUT
 * if systemd does not answer within 5 s, or what sd-bus returned.
 */
int wdr_cgroup_tree_new(const char *root, struct wdr_cgroup_tree **ret,
			struct wdr_err *err) wdr_must_check;
/*
 * The same for jobs that no BPF program judges: on v2 they are in a folder of their own, for what
 * hangs on the other denies a job that it does not know. A sweep looks in one of them.
 */
int wdr_cgroup_tree_new_plain(const char *root, struct wdr_cgroup_tree **ret,
			      struct wdr_err *err) wdr_must_check;
void wdr_cgroup_tree_freep(struct wdr_cgroup_tree **t);

/*
 * Say in @rep what @t really gives: CGROUP_ENTRY, CGROUP_KILL, the four limits, OOM_EVENTS, and a
 * clock that stands in for the kernel side's CPU_BUDGET. Found by doing it all to a probe cgroup
 * with a process in it, about 2 ms: for `warder check`, not for the start of a job.
 */
void wdr_cgroup_check(struct wdr_cgroup_tree *t, struct wdr_check_report *rep);
/* The same on this machine's tree, as a row of the checks' table. */
extern const struct wdr_probe wdr_cgroup_probe;

/*
 * The v2 folder that holds every Warder's jobs, warder or warder.slice: where BPF for all of them
 * hangs. Stays @t's. It may be a new directory once the last job has gone: compare inode numbers.
 */
int wdr_cgroup_tree_fd(const struct wdr_cgroup_tree *t);

/*
 * Make the directories of @job and set its limits. A limit that no hierarchy can hold is
 * -EOPNOTSUPP, named in *err, unless its protection's bit is in @waived (uint64_t of WDR_PROT_BIT).
 * On failure nothing is left. @t must outlive *ret.
 */
int wdr_cgroup_new(struct wdr_cgroup_tree *t, const char *job, const struct wdr_cgroup_limits *l,
		   uint64_t waived, struct wdr_cgroup **ret, struct wdr_err *err) wdr_must_check;
/* WDR_PROT_BIT()s of the limits that were asked for, could not be set, and were waived. */
uint64_t wdr_cgroup_missing(const struct wdr_cgroup *cg);
/* Frees memory and closes descriptors; the directories stay: wdr_cgroup_remove() is a step. */
void wdr_cgroup_freep(struct wdr_cgroup **cg);

/* Directory descriptor for clone3's CLONE_INTO_CGROUP and for attaching BPF; stays @cg's. */
int wdr_cgroup_entry_fd(const struct wdr_cgroup *cg);
/*
 * Move the calling thread into the hierarchies that CLONE_INTO_CGROUP can't reach; nothing to do on
 * pure v2. The first thing a job's process does after clone3, while it has one thread: async-signal
 * safe. A thread that moves itself waits for no RCU grace period (since Linux 5.6, commit
 * 9a3284fad42f), where wdr_cgroup_attach() does in every tenth job or so: p90 0.05 ms against
 * 13 ms for four hierarchies. A cgroup namespace must be unshared after it: one made by clone3
 * shows the parent's place. Returns 0 or the -errno of write(2).
 */
int wdr_cgroup_enter(const struct wdr_cgroup *cg) wdr_must_check;
/*
 * For processes that don't know this module: the descriptors that wdr_cgroup_enter() writes "0" to
 * (spec.h's enter_fds). They stay @cg's. Returns descriptor @i, -ENOENT past the last.
 */
int wdr_cgroup_enter_fd(const struct wdr_cgroup *cg, unsigned int i);
/* Move another process, @pid, with all of its threads: slow, see above. */
int wdr_cgroup_attach(struct wdr_cgroup *cg, pid_t pid, struct wdr_err *err) wdr_must_check;

/* SIGKILL to every process of the job, forks in flight included. Does not wait. 0 or -errno. */
int wdr_cgroup_kill(struct wdr_cgroup *cg) wdr_must_check;
int wdr_cgroup_freeze(struct wdr_cgroup *cg, bool frozen) wdr_must_check;
/*
 * Other limits for a cgroup that has some: each of @l must set one, or none, where it had. 0, or as
 * wdr_cgroup_new(); -EBUSY if more memory is used already. After a failure some are the old ones.
 */
int wdr_cgroup_limit(struct wdr_cgroup *cg, const struct wdr_cgroup_limits *l, uint64_t waived,
		     struct wdr_err *err) wdr_must_check;
/* Change the CPU quota of a running job (throttling). */
int wdr_cgroup_set_cpus(struct wdr_cgroup *cg, double cpus) wdr_must_check;

/*
 * CPU time so far, one read of one file: cheap enough for a timer of 2 ms. It comes from cpu.stat
 * of the v2 side, which counts without any controller, and lags by up to a tick per running task.
 */
int wdr_cgroup_cpu_ns(const struct wdr_cgroup *cg, uint64_t *ret_ns) wdr_must_check;
/*
 * Fill *ret with what the job used; a figure that this kernel does not keep is 0. memory_peak_bytes
 * is the kernel's (v1 memory.max_usage_in_bytes, v2 memory.peak since 5.19), else, like pids_peak
 * where there is no pids.peak (6.11), the largest value that calls of this function have seen.
 * Returns 0, or the -errno of reading cpu.stat.
 */
int wdr_cgroup_usage(struct wdr_cgroup *cg, struct wdr_cgroup_usage *ret) wdr_must_check;

/*
 * A descriptor that tells of the OOM killer: poll it for *ret_events (v1 EPOLLIN, v2 EPOLLPRI), call
 * wdr_cgroup_oom_ack(), then read wdr_cgroup_usage()'s oom_kills, which alone decides. v1 tells before
 * it kills: there the descriptor is ready again, a few times within 0.3 s, until the kill is
 * counted. On v2 the kernel takes the whole job (memory.oom.group); on v1 the caller must.
 * Stays @cg's. Returns it; -EOPNOTSUPP where there is none.
 */
int wdr_cgroup_oom_fd(struct wdr_cgroup *cg, uint32_t *ret_events) wdr_must_check;
/* Clear what made oom_fd ready. */
void wdr_cgroup_oom_ack(struct wdr_cgroup *cg);

/*
 * What the job sees at /sys/fs/cgroup, read-only: entry @i is a folder name ("" for the root
 * itself on pure v2, "memory", "cpu,cpuacct"...) and a directory descriptor that stays @cg's.
 * Returns -ENOENT past the last; there is none where no hierarchy is mounted.
 */
int wdr_cgroup_view(const struct wdr_cgroup *cg, unsigned int i, const char **ret_name,
		    int *ret_fd);

/* Remove the directories of a job whose processes are dead. Waits up to @wait_ms for the last of
 * them to leave (v2: cgroup.events, v1: EBUSY of rmdir). -EBUSY past that. */
int wdr_cgroup_remove(struct wdr_cgroup *cg, int wait_ms, struct wdr_err *err) wdr_must_check;
/* Kill and remove by name what a dead supervisor left. 0 too if there is nothing. */
int wdr_cgroup_sweep(struct wdr_cgroup_tree *t, const char *job,
		     struct wdr_err *err) wdr_must_check;
/* Remove the folders warder where no job is left in them. A scope goes with its last process. */
void wdr_cgroup_tree_trim(struct wdr_cgroup_tree *t);
/* The same at the top of this machine's hierarchies, both folders, without making a tree first. */
void wdr_cgroup_trim(void);

#define wdr_cgroup_tree_ wdr_cleanup(wdr_cgroup_tree_freep)
#define wdr_cgroup_	 wdr_cleanup(wdr_cgroup_freep)
