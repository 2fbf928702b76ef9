/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side and the cgroup know of a container, at its end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/wdr_io.h"
#include "base/wdr_log.h"
#include "job/contain.h"
#include "job/contain_priv.h"
#include "job/kernel.h"
#include "kern/kern.h"
#include "policy/policy.h"

#define MAX_STAT 4096

static uint64_t find_us(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) * 1000 : WDR_UNKNOWN;
}

static void read_cpu(const char *place, struct wdr_usage *u)
{
	char path[WDR_CONTAIN_PATH_MAX + 64];
	wdr_free_ char *text = NULL;

	(void)snprintf(path, sizeof(path), "%s%.4000s/cpu.stat",
		       wdr_contain_is_hybrid() ? WDR_CONTAIN_V2 : WDR_CONTAIN_CGROUPS, place);
	if (!place[0] || wdr_read_file(AT_FDCWD, path, MAX_STAT, &text, NULL) < 0)
		return;
	u->cpu_ns = find_us(text, "usage_usec ");
	u->user_ns = find_us(text, "user_usec ");
	u->system_ns = find_us(text, "system_usec ");
}

static void take_verdict(const struct wdr_live *live, const struct wdr_policy *p, double quota,
			 struct wdr_result *r)
{
	switch (live->killed) {
	case WDR_KILL_CPU_BUDGET:
		r->exit.reason = WDR_EXIT_CPU_BUDGET;
		r->exit.limit = p ? p->limits.cpu_ns : 0;
		r->exit.value = live->killed_value;
		break;
	case WDR_KILL_CPU_SHARE:
		r->exit.reason = WDR_EXIT_CPU_BUDGET;
		if (p)
			wdr_job_cpu_finding(p, quota, live->killed_value, WDR_FINDING_KILL, r);
		break;
	case WDR_KILL_EGRESS:
		r->exit.reason = WDR_EXIT_EGRESS;
		break;
	default:
		break;
	}
}

/* The slot of a container, without taking it over. */
static int find(const char *name, struct wdr_kern **ret_k, struct wdr_kern_slot **ret,
		struct wdr_err *err)
{
	wdr_kern_ struct wdr_kern *k = NULL;
	wdr_close_ int fd = -1;
	int r;

	r = wdr_contain_mark(name, &fd, err);
	if (r == 0)
		r = wdr_kern_open(NULL, &k, err);
	if (r == 0)
		r = wdr_kern_slot_look(k, fd, ret, err);
	if (r == 0)
		*ret_k = WDR_TAKE_PTR(k);
	return r;
}

void wdr_contain_release(const char *name)
{
	wdr_kern_ struct wdr_kern *k = NULL;
	struct wdr_kern_slot *slot = NULL;
	struct wdr_err err = { 0 };
	int r = find(name, &k, &slot, &err);

	if (r < 0 && r != -ENOENT) /* nothing that could be let go, or another has done it */
		wdr_warn("container=%s step=release err=\"%s\"", name,
			 err.code ? err.msg : strerror(-r));
	if (r < 0)
		return;
	wdr_kern_slot_unlink(slot);
	wdr_kern_slot_unlook(&slot);
}

static int look(const char *name, const struct wdr_policy *p, double quota, struct wdr_result *r,
		struct wdr_err *err)
{
	wdr_kern_ struct wdr_kern *k = NULL;
	struct wdr_kern_slot *slot = NULL;
	struct wdr_live live;
	int e;

	e = find(name, &k, &slot, err);
	if (e < 0)
		return e;
	wdr_kern_slot_live(slot, &live);
	e = wdr_job_collect_slot(slot, p, r);
	wdr_kern_slot_unlook(&slot);
	if (r->usage.cpu_ns == WDR_UNKNOWN && live.cpu_ns)
		r->usage.cpu_ns = live.cpu_ns;
	take_verdict(&live, p, quota, r);
	return e < 0 ? wdr_err_wrap(err, e, "read the denials of %s", name) : 0;
}

int wdr_contain_collect(const char *name, const char *place, const struct wdr_policy *p,
			double quota, struct wdr_result *ret, struct wdr_err *err)
{
	struct wdr_usage *u = &ret->usage;

	u->wall_ns = u->start_ns = u->cpu_ns = u->user_ns = u->system_ns = WDR_UNKNOWN;
	u->memory_peak_bytes = u->pids_peak = WDR_UNKNOWN;
	read_cpu(place, u);
	return look(name, p, quota, ret, err);
}
