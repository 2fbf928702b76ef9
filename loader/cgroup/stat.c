/* SPDX-License-Identifier: Apache-2.0 */
/* What a job has used, and whether the OOM killer came. */
#include "cgroup_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

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
	(void)!wdr_cgroup_read_key(cg->fd[h], v2 ? "memory.events" : "memory.oom_control",
				   "oom_kill", &u->oom_kills);
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

/* v1: an eventfd told by memory.oom_control (kernel's admin-guide/cgroup-v1/memory.rst, 10). */
static int open_oom_v1(int dir_fd, int *ret_event_fd, int *ret_file_fd)
{
	wdr_close_ int file = openat(dir_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	wdr_close_ int event = -1;
	char text[32];
	int r;

	if (file < 0)
		return -errno;
	event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (event < 0)
		return -errno;
	(void)snprintf(text, sizeof(text), "%d %d", event, file);
	r = wdr_cgroup_write(dir_fd, "cgroup.event_control", text);
	if (r < 0)
		return r;
	*ret_event_fd = WDR_TAKE_FD(event);
	*ret_file_fd = WDR_TAKE_FD(file);
	return 0;
}

static int open_oom(struct wdr_cgroup *cg, int h)
{
	char text[512];
	int r;

	if (!cg->tree_ref->hier[h].v2) {
		r = open_oom_v1(cg->fd[h], &cg->oom_fd, &cg->oom_file_fd);
		return r == -ENOENT ? -EOPNOTSUPP : r;
	}
	cg->oom_fd = openat(cg->fd[h], "memory.events", O_RDONLY | O_CLOEXEC);
	if (cg->oom_fd < 0)
		return errno == ENOENT ? -EOPNOTSUPP : -errno;
	/* The first poll after an open is ready unless the file was read. */
	if (pread(cg->oom_fd, text, sizeof(text), 0) < 0)
		return -errno;
	return 0;
}

int wdr_cgroup_oom_fd(struct wdr_cgroup *cg, uint32_t *ret_events)
{
	int h = wdr_cgroup_tree_find(cg->tree_ref, WDR_CGROUP_MEMORY);
	int r;

	if (h < 0)
		return -EOPNOTSUPP;
	if (cg->oom_fd < 0) {
		r = open_oom(cg, h);
		if (r < 0)
			return r;
	}
	*ret_events = cg->tree_ref->hier[h].v2 ? EPOLLPRI : EPOLLIN;
	return cg->oom_fd;
}

void wdr_cgroup_oom_ack(struct wdr_cgroup *cg)
{
	char text[512];

	/* An eventfd wants read(2) of 8 bytes or more; memory.events is read from its start. */
	if (cg->oom_fd < 0)
		return;
	if (cg->oom_file_fd >= 0)
		(void)!read(cg->oom_fd, text, sizeof(text));
	else
		(void)!pread(cg->oom_fd, text, sizeof(text), 0);
}
