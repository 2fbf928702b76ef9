/* SPDX-License-Identifier: Apache-2.0 */
/* The struct itself: its defaults, its end. */
#include "policy.h"

#include <errno.h>
#include <string.h>

#include "policy_priv.h"

#define SECOND	UINT64_C(1000000000)
#define MIB	(UINT64_C(1) << 20)
#define JOB_UID 1000

void wdr_rule_done(struct wdr_rule *r)
{
	free(r->to);
	free(r->list);
	free(r->ports);
	free(r->name);
	*r = (struct wdr_rule){ .to = NULL };
}

void wdr_mount_done(struct wdr_mount *m)
{
	free(m->source);
	free(m->base);
	free(m->target);
	*m = (struct wdr_mount){ .source = NULL };
}

static void free_strings(char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

void wdr_policy_freep(struct wdr_policy **pp)
{
	struct wdr_policy *p = *pp;

	if (!p)
		return;
	for (size_t i = 0; i < p->n_env; i++) {
		free(p->env[i].name);
		free(p->env[i].value);
	}
	for (size_t i = 0; i < p->fs.n_mounts; i++)
		wdr_mount_done(&p->fs.mounts[i]);
	for (size_t i = 0; i < p->net.n_rules; i++)
		wdr_rule_done(&p->net.rules[i]);
	free_strings(p->fs.tmpfs, p->fs.n_tmpfs);
	free_strings(p->syscalls.allow, p->syscalls.n_allow);
	free_strings(p->syscalls.deny, p->syscalls.n_deny);
	free(p->env);
	free(p->fs.mounts);
	free(p->net.rules);
	free(p->net.dns);
	free(p->name);
	free(p->workdir);
	free(p->fs.root);
	free(p->syscalls.profile);
	wdr_freep(pp);
}

int wdr_policy_set_string(char **at, const char *s)
{
	char *copy = strdup(s);

	if (!copy)
		return -ENOMEM;
	free(*at);
	*at = copy;
	return 0;
}

int wdr_policy_set_env(struct wdr_policy *p, const char *name, const char *value,
		       struct wdr_err *err)
{
	wdr_free_ char *copy = NULL;
	struct wdr_env *env;
	int r;

	r = wdr_policy_check_env_name(name, err);
	if (r < 0)
		return r;
	r = wdr_policy_check_text(value, WDR_ENV_VALUE_MAX, false, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->n_env; i++)
		if (!strcmp(p->env[i].name, name))
			return wdr_policy_set_string(&p->env[i].value, value);
	if (p->n_env >= WDR_POLICY_MAX_ENV)
		return wdr_err_set(err, -EINVAL, "too many variables: at most %d",
				   WDR_POLICY_MAX_ENV);
	env = reallocarray(p->env, p->n_env + 1, sizeof(*env));
	if (!env)
		return -ENOMEM;
	p->env = env;
	copy = strdup(name);
	env[p->n_env] = (struct wdr_env){ .value = strdup(value) };
	if (!copy || !env[p->n_env].value) {
		free(env[p->n_env].value);
		return -ENOMEM;
	}
	env[p->n_env++].name = WDR_TAKE_PTR(copy);
	return 0;
}

static void set_default_values(struct wdr_policy *p)
{
	p->user.uid = JOB_UID;
	p->user.gid = JOB_UID;
	p->limits = (struct wdr_limits){
		.wall_ns = 60 * SECOND,
		.cpu_ns = WDR_UNLIMITED,
		.cpus = 0.5,
		.memory_bytes = 512 * MIB,
		.pids = 100,
		.files = 1024,
		.file_size_bytes = 256 * MIB,
		.disk_bytes = 256 * MIB,
		.stdout_bytes = 10 * MIB,
		.stderr_bytes = 10 * MIB,
	};
	p->fs.readonly = true;
	p->detect.cpu_above = 0.95;
	p->detect.cpu_for_ns = 20 * SECOND;
	p->detect.mining_threshold = 0.8;
}

/* All that is left out here is an enum's first value, false, or empty. */
int wdr_policy_default(struct wdr_policy **ret)
{
	static const char *const tmpfs[] = { "/tmp", "/home/user" };
	wdr_policy_ struct wdr_policy *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	set_default_values(p);
	p->name = strdup("default");
	p->workdir = strdup("/home/user");
	p->syscalls.profile = strdup("default");
	p->fs.tmpfs = calloc(2, sizeof(*p->fs.tmpfs));
	if (!p->name || !p->workdir || !p->syscalls.profile || !p->fs.tmpfs)
		return -ENOMEM;
	for (; p->fs.n_tmpfs < 2; p->fs.n_tmpfs++) {
		p->fs.tmpfs[p->fs.n_tmpfs] = strdup(tmpfs[p->fs.n_tmpfs]);
		if (!p->fs.tmpfs[p->fs.n_tmpfs])
			return -ENOMEM;
	}
	*ret = WDR_TAKE_PTR(p);
	return 0;
}
