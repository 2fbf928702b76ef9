/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel side of a test's own: pins in a bpffs that only this process sees, so that all of it
 * goes when the process does; cgroups below a folder of its own; network namespaces.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "kern/kern.h"
#include "policy/compile.h"

#define KE_PATH 256

struct kern_env {
	char dir[KE_PATH]; /* a tmpfs with the bpffs and the lock in it */
	char bpffs[KE_PATH], lock[KE_PATH];
	struct wdr_kern_place at;
	char parent[KE_PATH]; /* cgroup that holds only jobs */
	int cgroup2_fd;
};

/* 0; or 77 with a line of TAP if this machine can't: not root, no cgroup2, no bpf. */
int kern_env_start(struct kern_env *e);
void kern_env_stop(struct kern_env *e);

/* Load the programs and become their supervisor; 0, or below with the reason on standard error. */
int kern_env_join(const struct kern_env *e, struct wdr_kern **ret);
/* Undo what kern_env_join() did, all of it or a part. */
void kern_env_leave(struct wdr_kern **k);

/* A new cgroup below e->parent; its descriptor. Removed by kern_env_stop(). */
int kern_env_cgroup(struct kern_env *e, const char *name);
void kern_env_drop_cgroups(struct kern_env *e);
/* Move this process into cgroup @fd; -1: back where it came from. */
void kern_env_enter(struct kern_env *e, int fd);

/* fork(2), but the child dies with this process. */
pid_t kern_env_fork(void);

/*
 * How many times as long as on a real machine things take here, 1 or more: WDR_SLOW, as the guests
 * of check-kernels measure it.
 */
unsigned int kern_env_slow(void);

/* A policy from the JSON of its network section, compiled. Aborts the test on a mistake. */
struct wdr_compiled *kern_env_compile(const char *network);
void kern_env_policy(const struct wdr_compiled *c, struct wdr_kern_policy *ret);

/* What is left: names in folder @dir of the bpffs, set bits, entries of the pinned map @map. */
int kern_env_count_names(const struct kern_env *e, const char *dir);
unsigned int kern_env_count_bits(const __u64 *words, unsigned int n);
unsigned int kern_env_count_keys(const struct kern_env *e, const char *map);

/* A descriptor of the pinned program, or map, @name; below 0: this kernel does not load it. */
int kern_env_program(const struct kern_env *e, const char *name);
