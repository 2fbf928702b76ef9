/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal form. Its keys stand in the order of the schema; what is a set is sorted, so that two
 * policies that mean the same read the same.
 */
#include <errno.h>
#include <string.h>

#include "base/wdr_num.h"
#include "policy_priv.h"

/*
 * Set @key of @obj to @v, whose reference goes with it. A NULL on either side is a failed
 * allocation: it is passed on, and nothing leaks.
 */
static bool put(json_t *obj, const char *key, json_t *v)
{
	return json_object_set_new(obj, key, v) == 0;
}

static json_t *duration(uint64_t ns)
{
	char buf[WDR_NUM_TEXT_MAX];

	return json_string(ns == WDR_UNLIMITED ? "unlimited" : wdr_num_duration_text(ns, buf));
}

static json_t *size(uint64_t bytes)
{
	char buf[WDR_NUM_TEXT_MAX];

	return json_string(bytes == WDR_UNLIMITED ? "unlimited" : wdr_num_size_text(bytes, buf));
}

static json_t *count(uint64_t n)
{
	return n == WDR_UNLIMITED ? json_string("unlimited") : json_integer((json_int_t)n);
}

/* A whole number is written without a point, as people do: 2, not 2.0. */
static json_t *number(double v)
{
	return v == (double)(json_int_t)v ? json_integer((json_int_t)v) : json_real(v);
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static json_t *strings(char *const *list, size_t n, bool sort)
{
	wdr_json_ json_t *a = json_array();
	wdr_free_ char **copy = calloc(n + 1, sizeof(*copy));

	if (!a || !copy)
		return NULL;
	if (n)
		memcpy(copy, list, n * sizeof(*copy));
	if (sort)
		qsort(copy, n, sizeof(*copy), compare_strings);
	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(a, json_string(copy[i])) < 0)
			return NULL;
	return WDR_TAKE_PTR(a);
}

static json_t *bits(uint64_t set, const char *const *words)
{
	wdr_json_ json_t *a = json_array();

	for (unsigned int i = 0; words[i]; i++)
		if (set >> i & 1 && json_array_append_new(a, json_string(words[i])) < 0)
			return NULL;
	return WDR_TAKE_PTR(a);
}

static json_t *env(const struct wdr_policy *p)
{
	wdr_json_ json_t *o = json_object();
	wdr_free_ struct wdr_env *copy = calloc(p->n_env + 1, sizeof(*copy));

	if (!o || !copy)
		return NULL;
	if (p->n_env)
		memcpy(copy, p->env, p->n_env * sizeof(*copy));
	/* The name is the first member: strings compare as they do in an array. */
	_Static_assert(!offsetof(struct wdr_env, name), "sorted by name");
	qsort(copy, p->n_env, sizeof(*copy), compare_strings);
	for (size_t i = 0; i < p->n_env; i++)
		if (!put(o, copy[i].name, json_string(copy[i].value)))
			return NULL;
	return WDR_TAKE_PTR(o);
}

static json_t *user(const struct wdr_policy *p)
{
	wdr_json_ json_t *o = json_object();
	bool ok = put(o, "uid", json_integer(p->user.uid)) &&
		  put(o, "gid", json_integer(p->user.gid));

	return ok ? WDR_TAKE_PTR(o) : NULL;
}

static json_t *limits(const struct wdr_limits *l)
{
	wdr_json_ json_t *o = json_object();
	bool ok = put(o, "wall", duration(l->wall_ns)) && put(o, "cpu", duration(l->cpu_ns)) &&
		  put(o, "cpus", l->cpus > 0 ? number(l->cpus) : json_string("unlimited")) &&
		  put(o, "memory", size(l->memory_bytes)) && put(o, "swap", size(l->swap_bytes)) &&
		  put(o, "pids", count(l->pids)) && put(o, "files", count(l->files)) &&
		  put(o, "file_size", size(l->file_size_bytes)) &&
		  put(o, "disk", size(l->disk_bytes)) && put(o, "stdout", size(l->stdout_bytes)) &&
		  put(o, "stderr", size(l->stderr_bytes)) &&
		  put(o, "on_output", json_string(wdr_words_on_output[l->on_output]));

	return ok ? WDR_TAKE_PTR(o) : NULL;
}

static json_t *mount_source(const struct wdr_mount *m)
{
	wdr_free_ char *whole = NULL;

	if (!m->base)
		return json_string(m->source);
	if (wdr_policy_join(m->base, m->source, &whole, NULL) < 0)
		return NULL;
	return json_string(whole);
}

static json_t *mounts(const struct wdr_policy *p)
{
	wdr_json_ json_t *a = json_array();

	for (size_t i = 0; i < p->fs.n_mounts; i++) {
		const struct wdr_mount *m = &p->fs.mounts[i];
		wdr_json_ json_t *o = json_object();

		if (!put(o, "source", mount_source(m)) ||
		    !put(o, "target", json_string(m->target)) ||
		    !put(o, "readonly", json_boolean(m->readonly)) ||
		    json_array_append_new(a, WDR_TAKE_PTR(o)) < 0)
			return NULL;
	}
	return WDR_TAKE_PTR(a);
}

static json_t *filesystem(const struct wdr_policy *p)
{
	wdr_json_ json_t *o = json_object();
	bool ok = put(o, "root", json_string(p->fs.root ? p->fs.root : "host")) &&
		  put(o, "readonly", json_boolean(p->fs.readonly)) &&
		  put(o, "tmpfs", strings(p->fs.tmpfs, p->fs.n_tmpfs, false)) &&
		  put(o, "mounts", mounts(p));

	return ok ? WDR_TAKE_PTR(o) : NULL;
}

static json_t *privileges(const struct wdr_policy *p)
{
	wdr_json_ json_t *o = json_object();
	bool ok = put(o, "capabilities", bits(p->capabilities, wdr_words_caps)) &&
		  put(o, "no_new_privs", json_true());

	return ok ? WDR_TAKE_PTR(o) : NULL;
}

static json_t *syscalls(const struct wdr_policy *p)
{
	wdr_json_ json_t *o = json_object();
	bool ok = put(o, "profile", json_string(p->syscalls.profile)) &&
		  put(o, "allow", strings(p->syscalls.allow, p->syscalls.n_allow, true)) &&
		  put(o, "deny", strings(p->syscalls.deny, p->syscalls.n_deny, true)) &&
		  put(o, "on_deny", json_string(wdr_words_on_syscall[p->syscalls.on_deny])) &&
		  put(o, "count", json_boolean(p->syscalls.count));

	return ok ? WDR_TAKE_PTR(o) : NULL;
}

static json_t *detect_cpu(const struct wdr_policy *p)
{
	wdr_json_ json_t *o = json_object();
	bool ok = put(o, "action", json_string(wdr_words_detect[p->detect.cpu_action])) &&
		  put(o, "above", number(p->detect.cpu_above)) &&
		  put(o, "for", duration(p->detect.cpu_for_ns));

	return ok ? WDR_TAKE_PTR(o) : NULL;
}

static json_t *detect_mining(const struct wdr_policy *p)
{
	wdr_json_ json_t *o = json_object();
	bool ok = put(o, "action", json_string(wdr_words_detect[p->detect.mining_action])) &&
		  put(o, "threshold", number(p->detect.mining_threshold));

	return ok ? WDR_TAKE_PTR(o) : NULL;
}

static json_t *detect(const struct wdr_policy *p)
{
	wdr_json_ json_t *o = json_object();
	bool ok = put(o, "cpu", detect_cpu(p)) && put(o, "mining", detect_mining(p));

	return ok ? WDR_TAKE_PTR(o) : NULL;
}

static json_t *audit(const struct wdr_policy *p)
{
	wdr_json_ json_t *o = json_object();

	return put(o, "events", bits(p->audit_events, wdr_words_audit)) ? WDR_TAKE_PTR(o) : NULL;
}

int wdr_policy_show(const struct wdr_policy *p, json_t **ret)
{
	wdr_json_ json_t *o = json_object();
	bool ok = put(o, "version", json_integer(1)) && put(o, "name", json_string(p->name)) &&
		  put(o, "backend", json_string(wdr_words_backend[p->backend])) &&
		  put(o, "user", user(p)) && put(o, "workdir", json_string(p->workdir)) &&
		  put(o, "env", env(p)) && put(o, "limits", limits(&p->limits)) &&
		  put(o, "filesystem", filesystem(p)) && put(o, "privileges", privileges(p)) &&
		  put(o, "syscalls", syscalls(p)) && put(o, "network", wdr_show_network(p)) &&
		  put(o, "detect", detect(p)) && put(o, "audit", audit(p)) &&
		  put(o, "on_supervisor_loss", json_string(wdr_words_on_loss[p->on_loss]));

	if (!ok)
		return -ENOMEM;
	*ret = WDR_TAKE_PTR(o);
	return 0;
}

int wdr_policy_show_text(const struct wdr_policy *p, char **ret)
{
	wdr_json_ json_t *o = NULL;
	wdr_free_ char *text = NULL;
	int r;

	r = wdr_policy_show(p, &o);
	if (r < 0)
		return r;
	/* 15 digits are what every double keeps: 0.1 stays 0.1, and reads back as what it was. */
	r = wdr_json_dump(o, JSON_INDENT(2) | JSON_REAL_PRECISION(15), &text);
	if (r < 0)
		return r;
	return asprintf(ret, "%s\n", text) < 0 ? -ENOMEM : 0;
}
