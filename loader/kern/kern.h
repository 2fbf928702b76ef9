/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side: BPF programs and maps that are loaded once per boot, pinned, and shared by all
 * of Warder's processes.
 *
 * A process that supervises jobs opens the kernel side, joins it (heartbeat, ring of events) and
 * takes a slot for each job before the job runs. What a slot says then holds whatever becomes of
 * the process: without its heartbeat the job loses its network after WDR_BEAT_MAX_NS. Everything
 * that other processes can see is removed by the functions named drop, leave and unload; freep
 * only frees memory and closes descriptors.
 *
 * One lock (WDR_KERN_LOCK) orders all who change shared state; it is never held for longer than a
 * few milliseconds, but for loading (0.1 to 0.5 s, once per boot). Where it can't be had within 10 s
 * functions fail with -EBUSY.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/wdr_err.h"
#include "model/protection.h"
#include "wdr_abi_egress.h"
#include "wdr_abi_event.h"
#include "wdr_abi_slot.h"

struct wdr_kern;      /* this process's view of the kernel side */
struct wdr_kern_slot; /* one job's place in it */

/* Where pins and lock are. NULL in a wdr_kern_open() stands for what is said here. */
struct wdr_kern_place {
	const char *
		bpffs; /* a folder in a bpffs; NULL: warder/ in /sys/fs/bpf, else in our own mount */
	const char *lock; /* NULL: /run/warder/kern.lock */
};

/*
 * Open what is pinned, in some 0.1 ms; load and pin it first where this is the first process since
 * boot, where a load was not finished, or where another version of Warder left its own.
 * Returns 0; -EBUSY if jobs of an incompatible version run, or no lock was to be had; -EPERM
 * without CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON and CAP_SYS_ADMIN; -EOPNOTSUPP if a map can't be
 * made; -ENOENT without /sys/kernel/btf/vmlinux. Programs that don't load are no failure here:
 * see wdr_kern_can().
 */
int wdr_kern_open(const struct wdr_kern_place *at, struct wdr_kern **ret,
		  struct wdr_err *err) wdr_must_check;
void wdr_kern_freep(struct wdr_kern **k);

/* WDR_PROT_BIT()s of the protections whose programs are loaded. */
uint64_t wdr_kern_can(const struct wdr_kern *k);

/* -- a supervisor -- */

/*
 * Become a supervisor: a heartbeat, which starts with this call, and a ring. Once a process.
 * -ENOSPC past WDR_SUPS_MAX - 1 supervisors.
 */
int wdr_kern_join(struct wdr_kern *k, struct wdr_err *err) wdr_must_check;
/* The opposite, after the last slot was dropped. */
void wdr_kern_leave(struct wdr_kern *k);

/* Give a sign of life. Call it at least every 500 ms; costs a clock_gettime and a store. */
void wdr_kern_beat(struct wdr_kern *k);

/* Readable (EPOLLIN) when events wait; stays @k's. -1 before wdr_kern_join(). */
int wdr_kern_ring_fd(const struct wdr_kern *k);

/*
 * One function a kind of event, by WDR_EV_*; NULL: not wanted. @user is the slot's. @ev is the
 * header of the struct that the type says, whole: the kernel's memory, which lives until the
 * handler returns. A handler must not drop slots.
 */
struct wdr_kern_handlers {
	void (*on[WDR_EV_MAX])(void *user, const struct wdr_ev_hdr *ev);
};

/*
 * Hand out what waits, at most @max events so that a flood does not starve the loop. Returns how
 * many were taken (fewer than @max: the ring is empty). Events of slots that are not this
 * process's are dropped.
 */
int wdr_kern_ring_read(struct wdr_kern *k, const struct wdr_kern_handlers *h, unsigned int max);

/* -- a policy -- */

/* A compiled policy, as bpf/include/wdr_abi_egress.h explains it. All memory stays the caller's. */
struct wdr_kern_policy {
	struct wdr_egress_head head;
	const struct wdr_egress_key *keys; /* n_entries of them, no two alike, with their entries */
	const struct wdr_egress_entry *entries;
	uint32_t n_entries;
	const struct wdr_egress_row *rows;
	uint32_t n_rows;
};

/*
 * Make known the addresses of this machine (mapped, @n of them): what a policy that denies private
 * ranges protects. Those that were known and are not among them are forgotten. Call it before
 * wdr_kern_slot_new() of a job with a network, and when addresses change.
 */
int wdr_kern_hosts(struct wdr_kern *k, const struct wdr_egress_addr *addrs, size_t n,
		   struct wdr_err *err) wdr_must_check;

/* -- a job -- */

struct wdr_kern_ask {
	int cgroup_fd; /* the job's directory in the cgroup2 hierarchy; its parent holds only jobs */
	void *user;    /* for handlers */
	bool netns;    /* it has a network namespace of its own */
	bool raw;      /* it may make raw sockets */
	bool contain;  /* on_supervisor_loss */
	const struct wdr_kern_policy *policy; /* NULL: no network, or with !netns none allowed */
	enum wdr_on_denied on_denied;
	uint64_t cpu_budget_ns; /* 0: none */
	uint64_t cpu_window_ns; /* detect.cpu: more than cpu_max_ns within this time; 0: off */
	uint64_t cpu_max_ns;
	enum wdr_cpu_act cpu_act;
	bool count;	   /* system calls */
	bool proc;	   /* exec, fork, exit, OOM victim, refused capabilities */
	bool tell_sockets; /* what is allowed at a socket, with its process, and flows without ports */
	bool tell_flows; /* what flows begin on the wire: a sandbox's sockets are its own */
	bool sigsys; /* which call seccomp killed a task for; where the kernel can't, it is not told */
};

/*
 * Take a slot and put in force all that @ask says, before the job's first process runs its program.
 * The policy is loaded if no running job has an equal one. Needs wdr_kern_join().
 * Returns 0; -EOPNOTSUPP if a program that is needed did not load (named in *err); -ENOSPC if all
 * slots or a map is full; -EPERM if another program on the cgroup allows no other (both named);
 * else the -errno of what failed. On failure nothing is left attached.
 */
int wdr_kern_slot_new(struct wdr_kern *k, const struct wdr_kern_ask *ask,
		      struct wdr_kern_slot **ret, struct wdr_err *err) wdr_must_check;

/* The job's first process, in our pid namespace: whom a verdict in the kernel kills. */
void wdr_kern_slot_init_pid(struct wdr_kern_slot *s, pid_t pid);
/* The same process in the first pid namespace, as events have it; 0: not known. */
uint32_t wdr_kern_slot_first_pid(const struct wdr_kern_slot *s);

/* What a job may use of CPUs; the fields of struct wdr_kern_ask. */
struct wdr_kern_cpu {
	uint64_t budget_ns, window_ns, max_ns;
	enum wdr_cpu_act act;
};

/*
 * For a slot that was taken without them: put @c in force for cgroup @cgroup_fd, in which the job's
 * tasks are by now, wherever that is, from here on. Where a verdict can't be carried out by the first
 * process, the programs that watch kill each task of it when it runs; all fields 0: do no more than
 * that. Also twice, also by another process: then it changes nothing. As wdr_kern_slot_new().
 */
int wdr_kern_slot_watch(struct wdr_kern_slot *s, int cgroup_fd, const struct wdr_kern_cpu *c,
			struct wdr_err *err) wdr_must_check;

/*
 * Judge what comes through @ifindex, the host end of the job's veth, in this process's network
 * namespace; before the job's end is up. @self4 and @self6 are the job's addresses, mapped: other
 * sources are refused; NULL: none is known, any passes. clsact is made if it is not there; other
 * filters stay. The filters live and end with the interface.
 * -EEXIST if a foreign filter holds our place in both directions; -ENODEV; for a contained slot -EBUSY
 * if it is that of another slot, and -EUCLEAN if one gave it up that was not unlinked.
 */
int wdr_kern_slot_link(struct wdr_kern_slot *s, unsigned int ifindex,
		       const struct wdr_egress_addr *self4, const struct wdr_egress_addr *self6,
		       struct wdr_err *err) wdr_must_check;

/*
 * Take the filters off its interfaces, and let these go: for a job that is known to have ended. Else
 * they deny all that comes through there, until wdr_kern_reopen() or the end of the interface.
 */
void wdr_kern_slot_unlink(struct wdr_kern_slot *s);

/* Take our filters off @ifindex if it is no slot's: for a network namespace that nobody is in. */
int wdr_kern_reopen(struct wdr_kern *k, unsigned int ifindex, struct wdr_err *err) wdr_must_check;

/* What the programs counted; struct wdr_live says what and in which units. */
void wdr_kern_slot_live(const struct wdr_kern_slot *s, struct wdr_live *ret);

/* Each different denial so far, at most WDR_DENIALS_MAX, with its counts. 0 or -errno of the map. */
int wdr_kern_slot_denials(const struct wdr_kern_slot *s,
			  void (*each)(void *arg, const struct wdr_deny_key *key,
				       const struct wdr_deny_val *val),
			  void *arg) wdr_must_check;

/*
 * System calls so far, of all CPUs together. `lost` is what is not known to be counted: at most that
 * many calls, of all jobs, were missed. -ENODATA if they are not counted.
 */
int wdr_kern_slot_counts(const struct wdr_kern_slot *s, struct wdr_counts *ret) wdr_must_check;

/* "openat" for IORING_OP_OPENAT; NULL past those of Linux 7.0. */
const char *wdr_kern_uring_name(unsigned int opcode);

/*
 * Give the slot back with all that belongs to it, and free *s. What is still alive below its cgroup
 * is denied every destination from then on. Call it when the job is dead, and before its cgroup
 * goes. Accepts NULL.
 */
void wdr_kern_slot_drop(struct wdr_kern_slot **s);

/*
 * Take over the slot of a job that lives in @cgroup_fd, made with `contain` by a supervisor that is
 * gone: its policy, counters and denials go on, its samplers and counting are attached again.
 * -ENOENT if no slot has this cgroup; -EBUSY if its supervisor lives.
 */
int wdr_kern_slot_adopt(struct wdr_kern *k, int cgroup_fd, void *user, struct wdr_kern_slot **ret,
			struct wdr_err *err) wdr_must_check;

/*
 * Look at the slot of the job that lives in @cgroup_fd, whoever supervises it: for live and denials
 * and nothing else. *ret is the caller's, by wdr_kern_slot_unlook(). -ENOENT if there is none.
 */
int wdr_kern_slot_look(struct wdr_kern *k, int cgroup_fd, struct wdr_kern_slot **ret,
		       struct wdr_err *err) wdr_must_check;
void wdr_kern_slot_unlook(struct wdr_kern_slot **s);

/* -- the machine -- */

/*
 * Give back what processes left that are gone: their slots (of a `contain` job only if its cgroup is
 * gone, of one in the host's network only if nothing lives in it: @cgroup2_fd is any descriptor in
 * that file system), supervisor numbers, pins. Returns how many slots, or -errno.
 */
int wdr_kern_sweep(struct wdr_kern *k, int cgroup2_fd, struct wdr_err *err) wdr_must_check;

/*
 * Unpin everything, without opening it by wdr_kern_open(). 0 too if nothing is there; -EBUSY, with
 * the number of jobs, while a living supervisor or a contained job has a slot.
 */
int wdr_kern_unload(const struct wdr_kern_place *at, struct wdr_err *err) wdr_must_check;

/*
 * Load every program by itself, in this process and unpinned, and tell of each, but for those that
 * are only there for kernels which refuse another: @log is the verifier's where it was refused, its
 * summary where it was not and @verbose, else "". Returns 0 or -errno if none could be tried.
 */
int wdr_kern_programs(bool verbose,
		      void (*each)(void *arg, const char *name, uint64_t protections, int error,
				   const char *log),
		      void *arg, struct wdr_err *err) wdr_must_check;

/* Why @prot is not in wdr_kern_can(): its first program that does not load, and the kernel's word. */
void wdr_kern_why_not(const struct wdr_kern *k, enum wdr_protection prot, struct wdr_err *ret);

#define wdr_kern_ wdr_cleanup(wdr_kern_freep)
