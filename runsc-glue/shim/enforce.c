/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/enforce.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/wdr_log.h"
#include "job/contain.h"

#define NAME_MAX_LEN 64

_Static_assert(WDR_SHIM_PLACE_MAX == WDR_CONTAIN_PATH_MAX, "one buffer");

/* A cgroup's name for a container: part of its id, for people, and a hash of id and root. */
static const char *name_of(const struct wdr_shim_record *r, char name[NAME_MAX_LEN])
{
	uint64_t h = 14695981039346656037ULL; /* FNV-1a, draft-eastlake-fnv */
	const char *parts[] = { r->root, "/", r->id };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		for (const char *c = parts[i]; *c; c++)
			h = (h ^ (unsigned char)*c) * 1099511628211ULL;
	}
	(void)snprintf(name, NAME_MAX_LEN, "c-%.24s-%016llx", r->id, (unsigned long long)h);
	for (char *c = name; *c; c++) {
		if (*c == '/')
			*c = '_';
	}
	return name;
}

/* What is in the network namespace of the sandbox by now. */
static int link_now(const struct wdr_shim_record *r, struct wdr_err *err)
{
	char name[NAME_MAX_LEN], netns[64];
	pid_t pid = wdr_shim_record_sandbox(r);

	if (pid < 0)
		return wdr_err_wrap(err, pid, "find the sandbox");
	(void)snprintf(netns, sizeof(netns), "/proc/%d/ns/net", pid);
	return wdr_contain_link(name_of(r, name), netns, err);
}

/* Nobody but a hook, or the engine before the start, can have given it a network. */
static bool is_made_by_runsc(const struct wdr_shim_bundle *b)
{
	return b->has_netns && !b->netns;
}

/* Before it starts by itself, there is only this process to tell where it will be. */
static int watch_us(const struct wdr_shim_container *c, const char *name, struct wdr_err *err)
{
	int r;

	if (!c->starts || !(wdr_contain_is_hybrid() || c->no_cgroup))
		return 0;
	r = wdr_contain_watch(name, c->policy, c->bundle->quota, 0, c->place, err);
	if (r < 0)
		wdr_contain_end(name);
	return r;
}

static int before(const struct wdr_shim_container *c, struct wdr_err *err)
{
	char name[NAME_MAX_LEN];
	int r;

	if (c->starts && is_made_by_runsc(c->bundle) && c->bundle->has_hooks)
		return wdr_err_set(err, -EOPNOTSUPP,
				   "its hooks may give a network to what runs at once: create it, "
				   "then start it, or give it a network namespace by path");
	if (c->starts && wdr_contain_wants_cpu(c->policy) && !wdr_contain_is_hybrid() &&
	    !c->no_cgroup)
		return wdr_err_set(err, -EOPNOTSUPP,
				   "runsc takes what runs at once to a cgroup that is not known "
				   "before: create it, then start it, or give --ignore-cgroups");
	r = wdr_contain_begin(c->policy, name_of(c->record, name), c->bundle->netns,
			      !c->bundle->has_netns, err);
	return r < 0 ? r : watch_us(c, name, err);
}

static void started(void)
{
	wdr_contain_step_out();
}

static int watch_sandbox(const struct wdr_shim_container *c, struct wdr_err *err)
{
	pid_t pid = wdr_shim_record_sandbox(c->record);
	char name[NAME_MAX_LEN];

	if (pid < 0 && !wdr_contain_wants_cpu(c->policy))
		return 0; /* its CPU time is not known, and it needs not be */
	if (pid < 0)
		return wdr_err_wrap(err, pid, "find the sandbox");
	return wdr_contain_watch(name_of(c->record, name), c->policy, c->bundle->quota, pid,
				 c->place, err);
}

/* A runsc of before 2023 runs hooks at the start, when nobody looks any more. */
static int created(const struct wdr_shim_container *c, struct wdr_err *err)
{
	int r = watch_sandbox(c, err);

	if (r < 0 || !is_made_by_runsc(c->bundle))
		return r;
	r = link_now(c->record, err);
	if (r == 0 && c->bundle->has_hooks)
		return wdr_err_set(err, -EOPNOTSUPP,
				   "its hooks have made no network that can be judged: this runsc "
				   "may run them too late");
	return r < 0 ? r : 0;
}

static int starting(const struct wdr_shim_record *r, struct wdr_err *err)
{
	int n;

	if (!r->done)
		return wdr_err_set(err, -EPERM, "its creation was interrupted: delete it");
	n = link_now(r, err);
	return n < 0 ? n : 0;
}

static void tell(const struct wdr_shim_record *r, const struct wdr_policy *p,
		 struct wdr_result *ret)
{
	struct wdr_err err = { 0 };
	char name[NAME_MAX_LEN];
	int e = wdr_contain_collect(name_of(r, name), r->place, p, r->quota, ret, &err);

	if (e < 0 && e != -ENOENT) /* it was never begun, or another has ended it */
		wdr_warn("container=%s step=report err=\"%s\"", name,
			 err.code ? err.msg : strerror(-e));
}

static void gone(const struct wdr_shim_record *r, bool sure)
{
	char name[NAME_MAX_LEN];

	if (sure)
		wdr_contain_release(name_of(r, name));
	wdr_contain_end(name_of(r, name));
}

const struct wdr_shim_hooks wdr_shim_enforce = { before, started, created, starting, tell, gone };
