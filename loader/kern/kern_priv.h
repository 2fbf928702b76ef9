/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: tables of maps and programs, pins, the process's view. */
#pragma once

#include "kern.h"

#include <limits.h>

#define WDR_KERN_LOCK	  "/run/warder/kern.lock"
#define WDR_KERN_BPFFS	  "/sys/fs/bpf"
#define WDR_KERN_OWN	  "/run/warder/bpf" /* our own bpffs, where that is none */
#define WDR_KERN_LOCK_MS  10000
#define WDR_KERN_PATH_MAX 256
#define WDR_KERN_PARENTS  "parents" /* folders of pinned links, see pins.c */
#define WDR_KERN_JOBS	  "jobs"

/* Maps that outlive a process, in the order of their names in map_names[]. */
enum wdr_kern_map {
	WDR_MAP_SHARED,
	WDR_MAP_SLOTS,
	WDR_MAP_LIVE,
	WDR_MAP_SUPS,
	WDR_MAP_CGROUPS,
	WDR_MAP_IFACES,
	WDR_MAP_RINGS,
	WDR_MAP_TRIES,
	WDR_MAP_ROWS,
	WDR_MAP_POLICIES,
	WDR_MAP_HOSTS,
	WDR_MAP_FLOWS,
	WDR_MAP_FRAGS,
	WDR_MAP_DENIALS,
	WDR_MAP_DENIAL_KEYS,
	WDR_MAP_CPU_SLICES,
	WDR_MAP_CPU_TASKS,
	WDR_MAP_COUNTS,
	WDR_MAP_CALLS,
	_WDR_MAP_MAX
};

/* Programs; a bit each of wdr_shared.programs. Append only. */
enum wdr_kern_prog {
	WDR_PROG_CONNECT4,
	WDR_PROG_CONNECT6,
	WDR_PROG_SENDMSG4,
	WDR_PROG_SENDMSG6,
	WDR_PROG_SOCK_CREATE,
	WDR_PROG_SKB_OUT,
	WDR_PROG_SKB_IN,
	WDR_PROG_TC_OUT,
	WDR_PROG_TC_IN,
	WDR_PROG_CPU_CLOCK,
	WDR_PROG_CPU_LEAVE,
	WDR_PROG_SYS_ENTER,
	WDR_PROG_SYS_EXIT,
	WDR_PROG_SYS_FORK,
	WDR_PROG_URING_REQ,
	WDR_PROG_URING_SQE,
	WDR_PROG_EXEC,
	WDR_PROG_FORK,
	WDR_PROG_EXIT,
	WDR_PROG_OOM,
	WDR_PROG_OOM_PID,
	WDR_PROG_CAP,
	WDR_PROG_SIGSYS,
	WDR_PROG_PID,
	_WDR_PROG_MAX
};

#define WDR_KERN_CELLS	5 /* maps that are read and written as memory */
#define WDR_PROG_BIT(p) (UINT64_C(1) << (p))

struct wdr_kern_program {
	const char *name;
	uint8_t object;	      /* index in the table of objects */
	uint8_t attach;	      /* enum bpf_attach_type of a cgroup program */
	uint64_t protections; /* WDR_PROT_BIT()s that are gone without it; 0: good to have */
	uint8_t instead_of;   /* loaded only where this one is not; 0: always */
};

/* Name of a map and of its pin. */
const char *wdr_kern_map_name(enum wdr_kern_map m);
const struct wdr_kern_program *wdr_kern_program(enum wdr_kern_prog p);

struct wdr_kern {
	char root[WDR_KERN_PATH_MAX]; /* folder of all pins */
	char gen[WDR_KERN_PATH_MAX];  /* and, in it, of a generation's maps and programs */
	char lock[WDR_KERN_PATH_MAX];
	int map_fd[_WDR_MAP_MAX]; /* opened when first needed: wdr_kern_map_fd() */
	int prog_fd[_WDR_PROG_MAX];
	uint64_t parts[WDR_KERN_CELLS]; /* of what is mapped: bit N: part N, see cells.c */
	uint64_t pinned_ino; /* of the pin of wdr_shared: is it still the one that others use? */
	struct wdr_shared *shared;
	struct wdr_sup *sups;
	/* Of these a cell is there after wdr_kern_need(). */
	struct wdr_slot *slots;
	struct wdr_live *live;
	struct wdr_egress_policy *policies;
	uint32_t sup; /* our number, 0: not joined */
	struct wdr_kern_ring *ring;
	struct wdr_kern_slot *first; /* this process's slots */
};

struct wdr_kern_slot {
	struct wdr_kern *kern_ref;
	struct wdr_kern_slot *next;
	uint32_t n;
	uint64_t job;
	void *user;
	int link_fd[_WDR_PROG_MAX]; /* of tracing programs that all jobs share, else -1 */
	int counts_fd;		    /* its row of system call counts, else -1 */
	uint64_t misses;	    /* of the programs that count, when it began */
	int *cpu_fd;		    /* links to its perf events, n_cpu of them */
	unsigned int n_cpu;
};

uint64_t wdr_kern_now_ns(void); /* CLOCK_MONOTONIC, which is bpf_ktime_get_ns() */

/*
 * Bitmaps of the shared cell. find: the first free number of from..max - 1, next: the first taken one
 * of after + 1..max - 1; 0 if there is none.
 */
uint32_t wdr_kern_bit_next(const __u64 *words, uint32_t after, uint32_t max);
uint32_t wdr_kern_bit_find(const __u64 *words, uint32_t from, uint32_t max);
void wdr_kern_bit_set(__u64 *words, uint32_t n, bool on);

/* -- lock.c -- */

/* The lock of @path; closing the descriptor gives it back. -EBUSY after WDR_KERN_LOCK_MS. */
int wdr_kern_lock(const char *path, int *ret_fd, struct wdr_err *err) wdr_must_check;

/* -- pins.c -- */

/*
 * Find the folder of all pins; with @make it is made, and a bpffs mounted if need be. -ENOENT: there
 * is none; -EACCES: whether there is one is not for this user to see.
 */
int wdr_kern_root(const struct wdr_kern_place *at, bool make, char root[WDR_KERN_PATH_MAX],
		  struct wdr_err *err) wdr_must_check;
/* Unmount our own bpffs if it is there. In use or needed by others, it stays. */
void wdr_kern_root_drop(void);
/* @dir/@name. Longer than any of ours is cut, and so found nowhere. */
void wdr_kern_path(char ret[WDR_KERN_PATH_MAX], const char *dir, const char *name);
/* Remove a folder of pins with what is in it. 0 or -errno; -ENOENT is 0. */
int wdr_kern_pins_remove(const char *path);
/* Each name in folder @path but . and ..; until @each returns non-zero, which is returned. */
int wdr_kern_pins_each(const char *path, int (*each)(void *arg, const char *name), void *arg);

/* -- load.c, under the lock -- */

/* Load all objects and pin them below @root; take over or remove other generations. */
int wdr_kern_load(const char *root, struct wdr_err *err) wdr_must_check;
/* Remove generations that nobody needs beside @k's. */
int wdr_kern_collect(struct wdr_kern *k) wdr_must_check;

/* -- objects.c -- */

/* What libbpf has to say goes to our log, not to the standard error of whoever runs us. */
void wdr_kern_hear_libbpf(void);

struct wdr_kern_loaded {
	int map_fd[_WDR_MAP_MAX]; /* in: maps to take over, else -1 */
	int prog_fd[_WDR_PROG_MAX];
	uint64_t programs;
};

#define WDR_KERN_LOG_MAX (64 * 1024)

/*
 * Load what is in this binary; programs that the kernel refuses are left out. -EPERM, -ENOMEM and
 * their like are not the kernel's refusal: they are returned, and the program named.
 */
int wdr_kern_objects_load(struct wdr_kern_loaded *l, struct wdr_err *err) wdr_must_check;
/* Nothing loaded, nothing to take over. */
void wdr_kern_loaded_init(struct wdr_kern_loaded *l);
void wdr_kern_loaded_done(struct wdr_kern_loaded *l);
/* Load program @p alone. @log of WDR_KERN_LOG_MAX gets why it is refused, @verbose: a summary, too. */
int wdr_kern_program_try(enum wdr_kern_prog p, bool verbose, char *log) wdr_must_check;
/* What the verifier said, in one line for an error message. */
void wdr_kern_log_line(const char *log, char *ret, size_t size);

/* -- kern.c -- */

/* A view of the generation pinned in @gen below @root. -ENOENT if there is none. */
int wdr_kern_view_new(const char *root, const char *gen, struct wdr_kern **ret) wdr_must_check;
/* Is what @k opened still what others find, here or in a generation that has taken it over? */
bool wdr_kern_is_current(struct wdr_kern *k);
/* A new descriptor of what is pinned as @dir/@name, or -errno of bpf(2). */
int wdr_kern_pin_get(const char *dir, const char *name) wdr_must_check;
/* Descriptors of a pinned map or program; @k's. -errno of bpf(2) if there is none. */
int wdr_kern_map_fd(struct wdr_kern *k, enum wdr_kern_map m);
int wdr_kern_prog_fd(struct wdr_kern *k, enum wdr_kern_prog p);

/* -- cells.c -- */

/* Make room for the maps that are memory, and map those that every process needs whole. */
int wdr_kern_cells_map(struct wdr_kern *k) wdr_must_check;
void wdr_kern_cells_unmap(struct wdr_kern *k);
/* Have cell @n of slots, live or policies mapped, until @k goes. -errno of mmap(2). */
int wdr_kern_need(struct wdr_kern *k, enum wdr_kern_map m, uint32_t n) wdr_must_check;
/* The same for all that are in use: slots_used for slots and live, policies_used for policies. */
int wdr_kern_need_used(struct wdr_kern *k, enum wdr_kern_map m) wdr_must_check;

/* -- sup.c -- */

/* How many supervisors live, and how many contained jobs have outlived theirs; 1 if none can say. */
unsigned int wdr_kern_users(struct wdr_kern *k);
/* Is the process still there that took this number? */
bool wdr_kern_sup_alive(const struct wdr_sup *sup);
/* Take the lock; -ESTALE if @k's pins have been removed since it was opened. */
int wdr_kern_lock_current(struct wdr_kern *k, int *ret_fd, struct wdr_err *err) wdr_must_check;

/* -- pid.c -- */

/* Inode of our pid namespace; 0: it can't be read. */
uint32_t wdr_kern_pidns(void);
/* How our @pid is called in the first pid namespace; 0 if that can't be said. */
uint32_t wdr_kern_first_pid(struct wdr_kern *k, pid_t pid);

/* -- ring.c -- */

int wdr_kern_ring_new(struct wdr_kern *k, int map_fd, struct wdr_kern_ring **ret) wdr_must_check;
void wdr_kern_ring_freep(struct wdr_kern_ring **ring);
/* Is what a ring gave, @size bytes, an event that we know, and whole? */
bool wdr_kern_event_good(const void *data, size_t size);

/* -- pool.c, under the lock -- */

/* A descriptor of the map at number @n of the map of maps @map, made if there is none. */
int wdr_kern_pool_get(struct wdr_kern *k, enum wdr_kern_map map, uint32_t n) wdr_must_check;
/* Put maps at @n and some numbers after it, where there are none. */
int wdr_kern_pool_fill(int outer_fd, enum wdr_kern_map map, uint32_t n) wdr_must_check;
/* Put a new, empty map at @n. */
int wdr_kern_pool_renew(int outer_fd, enum wdr_kern_map map, uint32_t n) wdr_must_check;

/* -- policies.c, under the lock -- */

/*
 * The number of the loaded policy that is equal to @p; loads it if there is none, and then gives
 * *lock back and takes it again. It stays at least until the lock is given back again with no slot
 * that has it.
 */
int wdr_kern_policy_use(struct wdr_kern *k, const struct wdr_kern_policy *p, int *lock,
			uint32_t *ret, struct wdr_err *err) wdr_must_check;
/* Remove loaded policies that no slot uses, but for the WDR_KERN_IDLE_POLICIES used last. */
void wdr_kern_policy_trim(struct wdr_kern *k);

#define WDR_KERN_IDLE_POLICIES 4

/* -- attach.c, under the lock -- */

/* Hang the socket programs on cgroup @fd of id @id, for good, unless they hang there already. */
int wdr_kern_attach_parent(struct wdr_kern *k, int fd, uint64_t id,
			   struct wdr_err *err) wdr_must_check;
/* Hang the packet programs on the cgroup of a job, pinned under its number. */
int wdr_kern_attach_job(struct wdr_kern *k, int fd, uint64_t job,
			struct wdr_err *err) wdr_must_check;
/* The folder of a job's pins, for those who pin into it. */
int wdr_kern_job_folder(struct wdr_kern *k, uint64_t job, struct wdr_err *err) wdr_must_check;
/* Remove it with all pins; nothing to do is fine. */
void wdr_kern_detach_job(struct wdr_kern *k, uint64_t job);
/* Remove pins of programs that hung on cgroups which are gone. */
void wdr_kern_attach_trim(struct wdr_kern *k);
/* Put the tc programs on both directions of @ifindex. */
int wdr_kern_attach_iface(struct wdr_kern *k, unsigned int ifindex,
			  struct wdr_err *err) wdr_must_check;
/* Is one of them there? */
bool wdr_kern_has_filter(unsigned int ifindex);
/* Take them off again, where they are. */
void wdr_kern_detach_iface(unsigned int ifindex);
void wdr_kern_replace_iface(unsigned int ifindex, const int *prog_fd);

/* -- replace.c, under the lock -- */

/* Wherever @k's programs hang, hang those of @prog_fd (by enum wdr_kern_prog, -1: none). */
void wdr_kern_replace(struct wdr_kern *k, const int *prog_fd);

/* -- slot.c -- */

/* Free slot @n, of which slot and live are mapped, with its denials, under the lock. */
void wdr_kern_slot_clear(struct wdr_kern *k, uint32_t n);

/* -- tables.c -- */

/* @r of an update, while doing @what: the kernel's word for a full map is -E2BIG, ours -ENOSPC. */
int wdr_kern_table_err(struct wdr_err *err, int r, const char *what);
/* Each interface that is some slot's, with its number. */
void wdr_kern_ifaces_each(struct wdr_kern *k, void (*each)(void *arg, uint32_t ifindex, uint32_t n),
			  void *arg);
/* Forget the interfaces of slot @n, all of them; @open: and let through them what comes. */
void wdr_kern_ifaces_drop(struct wdr_kern *k, uint32_t n, bool open);
/* Remove the denials of slot @n, and the flows of @job. What can't be removed stays bounded. */
void wdr_kern_denials_drop(struct wdr_kern *k, uint32_t n);
void wdr_kern_flows_drop(struct wdr_kern *k, uint64_t job);

/* -- trace.c, under the lock -- */

/* Have the tracing programs run that a slot with @flags needs; @s holds them. */
int wdr_kern_trace_start(struct wdr_kern_slot *s, uint32_t flags,
			 struct wdr_err *err) wdr_must_check;
/* Let them go: who was the last stops them. */
void wdr_kern_trace_stop(struct wdr_kern_slot *s);

/* -- cpu.c, under the lock -- */

/* Sample the CPU time of cgroup @fd for the slot; pinned too if it is contained. */
int wdr_kern_cpu_start(struct wdr_kern_slot *s, int cgroup_fd, struct wdr_err *err) wdr_must_check;
void wdr_kern_cpu_stop(struct wdr_kern_slot *s);

/* -- counts.c, under the lock -- */

/* A zeroed row for the slot's system calls. */
int wdr_kern_counts_start(struct wdr_kern_slot *s, struct wdr_err *err) wdr_must_check;
