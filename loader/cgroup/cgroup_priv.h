/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: the hierarchies of a machine and a job's place in them. */
#pragma once

#include "cgroup.h"

#include <limits.h>

#define WDR_CGROUP_DIR	     "warder"	    /* the folder that holds all jobs, in every hierarchy */
#define WDR_CGROUP_PLAIN     "warder.plain" /* on v2: those that no program judges */
#define WDR_CGROUP_LEAF	     "supervisor"   /* where we go where a cgroup must have no process */
#define WDR_CGROUP_SLICE     "warder.slice" /* systemd's name for what holds all our scopes */
#define WDR_CGROUP_SYSTEMD   "/run/systemd/system" /* is there while systemd is PID 1 */
#define WDR_CGROUP_MAX_HIER  4	  /* v2, and at most one v1 hierarchy a controller */
#define WDR_CGROUP_JOB_MAX   64	  /* DESIGN: a job name has at most 63 characters */
#define WDR_CGROUP_MAX_DEPTH 16	  /* of what a sandbox makes below its job */
#define WDR_CGROUP_MAX_SUBS  1024 /* sub-cgroups removed below one job */

enum wdr_cgroup_ctl {
	WDR_CGROUP_CPU,
	WDR_CGROUP_MEMORY,
	WDR_CGROUP_PIDS,
	_WDR_CGROUP_CTL_MAX
};

/* "cpu" */
const char *wdr_cgroup_ctl_name(enum wdr_cgroup_ctl c);
/* Bits (1 << enum wdr_cgroup_ctl) of the names in @list, which @seps separate. */
unsigned int wdr_cgroup_ctl_bits(const char *list, const char *seps);

/* A mounted hierarchy, before anything is made in it. */
struct wdr_cgroup_mount {
	bool v2;
	unsigned int ctls;   /* v1 only: v2's are read where the jobs are */
	char root[PATH_MAX]; /* which cgroup of the hierarchy the mount shows: "/" */
	char path[PATH_MAX]; /* where */
	char name[64];	     /* folder in a job's view, "cpu,cpuacct"; "": the last of @path */
	int fd;		     /* keeps a mount that is attached nowhere, else -1 */
};

struct wdr_cgroup_mounts {
	struct wdr_cgroup_mount m[WDR_CGROUP_MAX_HIER];
	unsigned int n;
};

/* Take the first mount of v2 and of each v1 hierarchy that we use out of mountinfo's @line. */
void wdr_cgroup_mounts_add(struct wdr_cgroup_mounts *ms, const char *line);
/* Hierarchies by their customary places below @root, without /proc: v2 itself, or v1's folders. */
void wdr_cgroup_mounts_guess(struct wdr_cgroup_mounts *ms, const char *root);
/* Those that are mounted nowhere, as root. Those that fail are not there. */
void wdr_cgroup_mounts_make(struct wdr_cgroup_mounts *ms);
/*
 * By a guess that is verified, by /proc/self/mountinfo, by a guess, or by mounting them.
 * -ENOENT if there is no cgroup2 file system.
 */
int wdr_cgroup_mounts_find(const char *root, struct wdr_cgroup_mounts **ret,
			   struct wdr_err *err) wdr_must_check;
void wdr_cgroup_mounts_freep(struct wdr_cgroup_mounts **ms);
#define wdr_cgroup_mounts_ wdr_cleanup(wdr_cgroup_mounts_freep)

/* A hierarchy in use. hier[0] of a tree is always v2. */
struct wdr_cgroup_hier {
	bool v2;
	unsigned int ctls;
	bool detached;	     /* mounted nowhere: what is in it can't be mounted elsewhere */
	int base_fd;	     /* the cgroup that holds @dir */
	int fd;		     /* @dir */
	const char *dir;     /* WDR_CGROUP_DIR; on v2 of a plain tree WDR_CGROUP_PLAIN */
	char name[64];	     /* folder in a job's view: "cpu,cpuacct"; "" for pure v2 */
	char path[PATH_MAX]; /* base_fd's */
};

struct wdr_cgroup_tree {
	struct wdr_cgroup_hier hier[WDR_CGROUP_MAX_HIER];
	unsigned int n;
	int slice_fd; /* under systemd: the folder of all Warders' units, else -1 */
	char why[_WDR_CGROUP_CTL_MAX][192]; /* a controller is missing, because */
};

/* How one job's OOM kills are told. All descriptors -1 until someone asks. */
struct wdr_cgroup_oom {
	int fd;		/* what the caller polls: v2 memory.events, v1 an epoll of the two below */
	int event_fd;	/* v1: the kernel's eventfd */
	int timer_fd;	/* v1: looks again for the kill that an event announced */
	int file_fd;	/* v1: memory.oom_control, which the eventfd is about */
	uint64_t kills; /* that were counted at the last look */
	unsigned int looks; /* left for the event at hand */
};

void wdr_cgroup_oom_init(struct wdr_cgroup_oom *o);
void wdr_cgroup_oom_close(struct wdr_cgroup_oom *o);
int wdr_cgroup_oom_kills(const struct wdr_cgroup *cg, uint64_t *ret) wdr_must_check;

struct wdr_cgroup {
	struct wdr_cgroup_tree *tree_ref;
	char job[WDR_CGROUP_JOB_MAX];
	int fd[WDR_CGROUP_MAX_HIER];	   /* the job's directories */
	int tasks_fd[WDR_CGROUP_MAX_HIER]; /* v1: its files tasks, open for wdr_cgroup_enter() */
	int cpu_stat_fd;
	struct wdr_cgroup_oom oom;
	uint64_t pids_peak, memory_peak_bytes;
	uint64_t missing; /* WDR_PROT_BIT()s of waived limits that could not be set */
};

/* Open @dir in @h's base, or make it. -EACCES, -EROFS if nothing can be made in it. */
int wdr_cgroup_open_dir(struct wdr_cgroup_hier *h) wdr_must_check;
/*
 * Find where in mount @m jobs may be made, and open it as @h->base_fd, and WDR_CGROUP_DIR in it: the
 * top, else this process' own cgroup; under systemd, @systemd, what it has delegated to us, if need
 * be a new scope.
 */
int wdr_cgroup_place(struct wdr_cgroup_hier *h, const struct wdr_cgroup_mount *m, bool systemd,
		     struct wdr_err *err) wdr_must_check;
/*
 * Move this process out of @h->base_fd into a leaf beside the jobs: a v2 cgroup that hands
 * controllers down may hold no process (admin-guide/cgroup-v2.rst, "No Internal Process
 * Constraint"). If the base is the root of our cgroup namespace, a container's, all others in it
 * are moved as well. Returns 0 or the -errno of mkdirat(2), write(2).
 */
int wdr_cgroup_vacate(const struct wdr_cgroup_hier *h) wdr_must_check;

/*
 * Move this process into a new delegated scope of systemd, in WDR_CGROUP_SLICE. Returns when it is
 * there; -ETIMEDOUT after 5 s, -EIO if systemd failed, or what sd-bus returned.
 */
int wdr_cgroup_scope_enter(struct wdr_err *err) wdr_must_check;

/* Make the folders WDR_CGROUP_DIR again that another Warder has trimmed. */
int wdr_cgroup_tree_remake(struct wdr_cgroup_tree *t, struct wdr_err *err) wdr_must_check;
/* Index of the hierarchy that holds @c, or -ENOENT. */
int wdr_cgroup_tree_find(const struct wdr_cgroup_tree *t, enum wdr_cgroup_ctl c);

/* -EINVAL if @job can't be the name of one directory. */
int wdr_cgroup_name_check(const char *job) wdr_must_check;
/* Set every limit of @l; see wdr_cgroup_new(). */
int wdr_cgroup_limits_set(struct wdr_cgroup *cg, const struct wdr_cgroup_limits *l, uint64_t waived,
			  struct wdr_err *err) wdr_must_check;

/*
 * Remove cgroup @name below @parent_fd with its sub-cgroups, waiting until @deadline_ns
 * (CLOCK_MONOTONIC) for the last process to leave. 0 if it is gone or never was; -EBUSY.
 */
int wdr_cgroup_rmtree(int parent_fd, const char *name, uint64_t deadline_ns) wdr_must_check;
/* SIGKILL all processes at and below cgroup @fd. */
int wdr_cgroup_kill_at(int fd) wdr_must_check;
uint64_t wdr_cgroup_now_ns(void);

/* Files of a cgroup directory. All return 0 or the -errno of the system call that failed. */

int wdr_cgroup_write(int dir_fd, const char *file, const char *value) wdr_must_check;
int wdr_cgroup_write_u64(int dir_fd, const char *file, uint64_t value) wdr_must_check;
/* At most @size - 1 bytes, NUL-terminated, the last newline cut off. */
int wdr_cgroup_read(int dir_fd, const char *file, char *buf, size_t size) wdr_must_check;
/* One number; "max" is UINT64_MAX. -EPROTO if it is neither. */
int wdr_cgroup_read_u64(int dir_fd, const char *file, uint64_t *ret) wdr_must_check;
/* The number after "@key " at a line's start; -ENOENT if no line has it. */
int wdr_cgroup_find_key(const char *text, const char *key, uint64_t *ret) wdr_must_check;
int wdr_cgroup_read_key(int dir_fd, const char *file, const char *key,
			uint64_t *ret) wdr_must_check;

/* Before any function of sd-bus: load what has them (wdr_systemd.h). */
int wdr_bus_load(struct wdr_err *err) wdr_must_check;
