/* SPDX-License-Identifier: Apache-2.0 */
/* Limits as a table: which protection, which controller, how each version of cgroups writes it. */
#include "cgroup_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Linux 6.1 kernel/sched/core.c: periods of 1 ms to 1 s, a quota of at least 1 ms. */
#define PERIOD_US     100000
#define MAX_PERIOD_US 1000000
#define MIN_QUOTA_US  1000
#define MAX_CPUS      100000.0 /* more than any machine has; keeps the quota within an integer */

static bool wants_memory(const struct wdr_cgroup_limits *l)
{
	return l->memory_bytes != UINT64_MAX;
}

static bool wants_swap(const struct wdr_cgroup_limits *l)
{
	return l->swap_bytes != UINT64_MAX;
}

static bool wants_pids(const struct wdr_cgroup_limits *l)
{
	return l->pids != UINT64_MAX;
}

static bool wants_cpus(const struct wdr_cgroup_limits *l)
{
	return l->cpus != 0;
}

/* With oom.group the kernel itself ends the whole job; on v1 the caller does, see oom_fd. */
static int set_memory(int fd, bool v2, const struct wdr_cgroup_limits *l)
{
	int r;

	if (!v2)
		return wdr_cgroup_write_u64(fd, "memory.limit_in_bytes", l->memory_bytes);
	r = wdr_cgroup_write_u64(fd, "memory.max", l->memory_bytes);
	if (r < 0)
		return r;
	return wdr_cgroup_write(fd, "memory.oom.group", "1");
}

/* v1 counts memory and swap together, so it can't limit swap alone. */
static int set_swap(int fd, bool v2, const struct wdr_cgroup_limits *l)
{
	uint64_t total;

	if (v2)
		return wdr_cgroup_write_u64(fd, "memory.swap.max", l->swap_bytes);
	if (!wants_memory(l))
		return -EOPNOTSUPP;
	if (__builtin_add_overflow(l->memory_bytes, l->swap_bytes, &total))
		return 0;
	return wdr_cgroup_write_u64(fd, "memory.memsw.limit_in_bytes", total);
}

static int set_pids(int fd, bool v2, const struct wdr_cgroup_limits *l)
{
	(void)v2;
	return wdr_cgroup_write_u64(fd, "pids.max", l->pids);
}

/* A small share gets the longest period, so that its quota does not fall below the minimum. */
static int quota_of(double cpus, uint64_t *ret_quota_us, uint64_t *ret_period_us)
{
	uint64_t period = cpus * PERIOD_US < MIN_QUOTA_US ? MAX_PERIOD_US : PERIOD_US;

	if (!isfinite(cpus) || cpus < 0 || cpus > MAX_CPUS)
		return -EINVAL;
	*ret_quota_us = (uint64_t)(cpus * (double)period + 0.5);
	*ret_period_us = period;
	return *ret_quota_us < MIN_QUOTA_US ? -EINVAL : 0;
}

static int set_cpus_at(int fd, bool v2, double cpus)
{
	uint64_t quota, period;
	char text[64];
	int r;

	if (cpus == 0)
		return v2 ? wdr_cgroup_write(fd, "cpu.max", "max") :
			    wdr_cgroup_write(fd, "cpu.cfs_quota_us", "-1");
	r = quota_of(cpus, &quota, &period);
	if (r < 0)
		return r;
	if (v2) {
		(void)snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, quota, period);
		return wdr_cgroup_write(fd, "cpu.max", text);
	}
	r = wdr_cgroup_write_u64(fd, "cpu.cfs_period_us", period);
	if (r < 0)
		return r;
	return wdr_cgroup_write_u64(fd, "cpu.cfs_quota_us", quota);
}

static int set_cpus(int fd, bool v2, const struct wdr_cgroup_limits *l)
{
	return set_cpus_at(fd, v2, l->cpus);
}

static const struct limit {
	enum wdr_protection prot;
	enum wdr_cgroup_ctl ctl;
	const char *name;
	bool (*wanted)(const struct wdr_cgroup_limits *l);
	int (*set)(int fd, bool v2, const struct wdr_cgroup_limits *l);
} limits[] = {
	{ WDR_PROT_MEMORY_LIMIT, WDR_CGROUP_MEMORY, "memory", wants_memory, set_memory },
	{ WDR_PROT_SWAP_LIMIT, WDR_CGROUP_MEMORY, "swap", wants_swap, set_swap },
	{ WDR_PROT_PIDS_LIMIT, WDR_CGROUP_PIDS, "pids", wants_pids, set_pids },
	{ WDR_PROT_CPU_LIMIT, WDR_CGROUP_CPU, "cpus", wants_cpus, set_cpus },
};

static int explain(const struct wdr_cgroup *cg, const struct limit *lim, int r,
		   const struct wdr_cgroup_limits *l, struct wdr_err *err)
{
	const struct wdr_cgroup_tree *t = cg->tree_ref;
	const char *ctl = wdr_cgroup_ctl_name(lim->ctl);

	if (r == -ENOENT && wdr_cgroup_tree_find(t, lim->ctl) < 0)
		return wdr_err_set(err, -EOPNOTSUPP, "%s limit: no %s controller here%s%s",
				   lim->name, ctl, *t->why[lim->ctl] ? ": " : "", t->why[lim->ctl]);
	if (r == -ENOENT)
		return wdr_err_set(err, -EOPNOTSUPP,
				   "%s limit: this kernel's %s controller has no file for it",
				   lim->name, ctl);
	if (r == -EOPNOTSUPP)
		return wdr_err_set(err, r,
				   "swap limit: cgroup v1 holds one only beside a memory limit");
	if (r == -EINVAL && lim->prot == WDR_PROT_CPU_LIMIT)
		return wdr_err_set(err, r, "cpus limit of %g: want 0.001 to %g", l->cpus, MAX_CPUS);
	return wdr_err_set(err, r, "%s limit: %s", lim->name, strerror(-r));
}

int wdr_cgroup_limits_set(struct wdr_cgroup *cg, const struct wdr_cgroup_limits *l, uint64_t waived,
			  struct wdr_err *err)
{
	const struct limit *lim;
	size_t i;
	int h, r;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		lim = &limits[i];
		if (!lim->wanted(l))
			continue;
		h = wdr_cgroup_tree_find(cg->tree_ref, lim->ctl);
		r = h < 0 ? h : lim->set(cg->fd[h], cg->tree_ref->hier[h].v2, l);
		if (r >= 0)
			continue;
		if (!(waived & WDR_PROT_BIT(lim->prot)))
			return explain(cg, lim, r, l, err);
		cg->missing |= WDR_PROT_BIT(lim->prot);
	}
	return 0;
}

/* v1 refuses memory above memory and swap: lifted first, for a moment in which memory holds alone. */
int wdr_cgroup_limit(struct wdr_cgroup *cg, const struct wdr_cgroup_limits *l, uint64_t waived,
		     struct wdr_err *err)
{
	int h = wdr_cgroup_tree_find(cg->tree_ref, WDR_CGROUP_MEMORY);
	int r = 0;

	if (h >= 0 && !cg->tree_ref->hier[h].v2 && wants_swap(l))
		r = wdr_cgroup_write(cg->fd[h], "memory.memsw.limit_in_bytes", "-1");
	if (r < 0 && r != -ENOENT)
		return wdr_err_set(err, r, "swap limit: %s", strerror(-r));
	return wdr_cgroup_limits_set(cg, l, waived, err);
}

int wdr_cgroup_set_cpus(struct wdr_cgroup *cg, double cpus)
{
	int h = wdr_cgroup_tree_find(cg->tree_ref, WDR_CGROUP_CPU);

	if (h < 0)
		return -EOPNOTSUPP;
	return set_cpus_at(cg->fd[h], cg->tree_ref->hier[h].v2, cpus);
}
