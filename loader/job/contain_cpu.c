/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on a container's CPU time, by events that are pinned for as long as it lives. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/contain.h"
#include "job/contain_priv.h"
#include "job/kernel.h"
#include "kern/kern.h"
#include "policy/policy.h"

bool wdr_contain_wants_cpu(const struct wdr_policy *p)
{
	return p->limits.cpu_ns != WDR_UNLIMITED || p->detect.cpu_action == WDR_DETECT_KILL ||
	       (p->net.mode != WDR_NET_NONE && p->net.on_deny == WDR_ON_DENY_KILL);
}

static struct wdr_kern_cpu wanted(const struct wdr_policy *p, double quota)
{
	struct wdr_kern_cpu c = { 0 };

	if (p->limits.cpu_ns != WDR_UNLIMITED)
		c.budget_ns = p->limits.cpu_ns;
	if (p->detect.cpu_action != WDR_DETECT_KILL)
		return c;
	c.act = WDR_CPU_KILL;
	c.window_ns = p->detect.cpu_for_ns;
	c.max_ns = (uint64_t)(wdr_job_cpu_window_ns(p, quota) * p->detect.cpu_above);
	return c;
}

/* Where the process is, which must be a cgroup of the container's own. */
static int open_place(pid_t pid, char place[WDR_CONTAIN_PATH_MAX], struct wdr_err *err)
{
	char path[WDR_CONTAIN_PATH_MAX + 64];
	int r = wdr_contain_place(pid, place), fd;

	if (r < 0)
		return wdr_err_wrap(err, r, "find the cgroup of the sandbox");
	if (!strcmp(place, "/") || strstr(place, "/.."))
		return wdr_err_set(err, -EXDEV,
				   "the sandbox is in cgroup \"%.100s\", which is not its own",
				   place);
	(void)snprintf(path, sizeof(path), "%s%s",
		       wdr_contain_is_hybrid() ? WDR_CONTAIN_V2 : WDR_CONTAIN_CGROUPS, place);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? wdr_err_wrap(err, -errno, "open cgroup %.100s", place) : fd;
}

int wdr_contain_watch(const char *name, const struct wdr_policy *p, double quota, pid_t pid,
		      char place[WDR_CONTAIN_PATH_MAX], struct wdr_err *err)
{
	struct wdr_kern_cpu c = wanted(p, quota);
	struct wdr_kern_slot *slot = NULL;
	wdr_close_ int fd = -1;
	int r;

	fd = open_place(pid, place, err);
	if (fd < 0 || !wdr_contain_wants_cpu(p))
		return fd < 0 ? fd : 0;
	r = wdr_contain_slot(name, &slot, err);
	if (r < 0)
		return r;
	if (pid)
		wdr_kern_slot_init_pid(slot, pid);
	return wdr_kern_slot_watch(slot, fd, &c, err);
}
