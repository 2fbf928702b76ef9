/* SPDX-License-Identifier: Apache-2.0 */
/* What a job has used. */
#include "cgroup_priv.h"

#include <errno.h>
#include <string.h>

static int read_cpu_stat(const struct wdr_cgroup *cg, char *buf, size_t size)
{
	ssize_t n = pread(cg->cpu_stat_fd, buf, size - 1, 0);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return 0;
}

static int find_us_as_ns(const char *text, const char *key, uint64_t *ret_ns)
{
	uint64_t us;
	int r;

	r = wdr_cgroup_find_key(text, key, &us);
	if (r < 0)
		return r;
	*ret_ns = us * 1000;
	return 0;
}

int wdr_cgroup_cpu_ns(const struct wdr_cgroup *cg, uint64_t *ret_ns)
{
	char text[1024];
	int r;

	r = read_cpu_stat(cg, text, sizeof(text));
	if (r < 0)
		return r;
	return find_us_as_ns(text, "usage_usec", ret_ns);
}

static int read_cpu(const struct wdr_cgroup *cg, struct wdr_cgroup_usage *u)
{
	char text[1024];
	int r;

	r = read_cpu_stat(cg, text, sizeof(text));
	if (r < 0)
		return r;
	r = find_us_as_ns(text, "usage_usec", &u->cpu_ns);
	if (r < 0)
		return r;
	(void)find_us_as_ns(text, "user_usec", &u->user_ns);
	(void)find_us_as_ns(text, "system_usec", &u->system_ns);
	return 0;
}

/* Take the kernel's peak if it keeps one; either way remember what was seen. */
static void update_peak(uint64_t *peak, uint64_t now, uint64_t kernels)
{
	if (now > *peak)
		*peak = now;
	if (kernels > *peak)
		*peak = kernels;
}

static void read_memory(struct wdr_cgroup *cg, struct wdr_cgroup_usage *u)
{
	int h = wdr_cgroup_tree_find(cg->tree_ref, WDR_CGROUP_MEMORY);
	uint64_t kernels = 0;
	bool v2;

	if (h < 0)
		return;
	v2 = cg->tree_ref->hier[h].v2;
	(void)!wdr_cgroup_read_u64(cg->fd[h], v2 ? "memory.current" : "memory.usage_in_bytes",
				   &u->memory_bytes);
	(void)!wdr_cgroup_read_u64(cg->fd[h], v2 ? "memory.peak" : "memory.max_usage_in_bytes",
				   &kernels);
	update_peak(&cg->memory_peak_bytes, u->memory_bytes, kernels);
	u->memory_peak_bytes = cg->memory_peak_bytes;
	(void)!wdr_cgroup_oom_kills(cg, &u->oom_kills);
}

static void read_pids(struct wdr_cgroup *cg, struct wdr_cgroup_usage *u)
{
	int h = wdr_cgroup_tree_find(cg->tree_ref, WDR_CGROUP_PIDS);
	uint64_t kernels = 0;

	if (h < 0)
		return;
	(void)!wdr_cgroup_read_u64(cg->fd[h], "pids.current", &u->pids);
	(void)!wdr_cgroup_read_u64(cg->fd[h], "pids.peak", &kernels);
	update_peak(&cg->pids_peak, u->pids, kernels);
	u->pids_peak = cg->pids_peak;
	(void)!wdr_cgroup_read_key(cg->fd[h], "pids.events", "max", &u->pids_events);
}

int wdr_cgroup_usage(struct wdr_cgroup *cg, struct wdr_cgroup_usage *ret)
{
	struct wdr_cgroup_usage u = { 0 };
	int r;

	r = read_cpu(cg, &u);
	if (r < 0)
		return r;
	read_memory(cg, &u);
	read_pids(cg, &u);
	*ret = u;
	return 0;
}
