/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `warder run` that override a policy's field: one row each. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/wdr_text.h"
#include "policy_priv.h"

struct row {
	const char *option;
	int (*set)(struct wdr_policy *p, const char *value, struct wdr_err *err);
};

static int set_timeout(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	return wdr_limit_duration(value, WDR_LIMIT_UNLIMITED, &p->limits.wall_ns, err);
}

static int set_cpu_time(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	return wdr_limit_duration(value, WDR_LIMIT_UNLIMITED, &p->limits.cpu_ns, err);
}

static int set_cpus(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	return wdr_limit_cpus(value, &p->limits.cpus, err);
}

static int set_memory(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	return wdr_limit_size(value, WDR_LIMIT_UNLIMITED, &p->limits.memory_bytes, err);
}

static int set_pids(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	return wdr_limit_count(value, WDR_POLICY_MAX_PIDS, &p->limits.pids, err);
}

static int set_disk(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	return wdr_limit_size(value, WDR_LIMIT_UNLIMITED, &p->limits.disk_bytes, err);
}

static int set_output(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	int r = wdr_limit_size(value, 0, &p->limits.stdout_bytes, err);

	if (r == 0)
		p->limits.stderr_bytes = p->limits.stdout_bytes;
	return r;
}

static int set_net(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	unsigned int mode;
	int r = wdr_word_find(value, wdr_words_net_mode, &mode, err);

	if (r < 0)
		return r;
	p->net.mode = mode;
	p->over.net = true;
	return 0;
}

/* Behind the rules that came by earlier options, before the policy's own. */
static int insert_rule(struct wdr_policy *p, struct wdr_rule *rule)
{
	struct wdr_rule *rules = reallocarray(p->net.rules, p->net.n_rules + 1, sizeof(*rules));
	size_t at = p->over.n_rules;

	if (!rules)
		return -ENOMEM;
	p->net.rules = rules;
	memmove(rules + at + 1, rules + at, (p->net.n_rules - at) * sizeof(*rules));
	rules[at] = *rule;
	*rule = (struct wdr_rule){ .to = NULL };
	p->net.n_rules++;
	p->over.n_rules++;
	return 0;
}

static int add_rule(struct wdr_policy *p, const char *value, enum wdr_verdict action,
		    struct wdr_err *err)
{
	struct wdr_rule rule = { .action = action, .n_to = 1 };
	struct wdr_dest dest;
	int r;

	if (p->over.n_rules >= WDR_POLICY_MAX_OPTION_RULES)
		return wdr_err_set(err, -EINVAL, "too many: at most %d rules by options",
				   WDR_POLICY_MAX_OPTION_RULES);
	r = wdr_addr_dest(value, &dest, err);
	if (r < 0)
		return r;
	rule.proto = dest.proto;
	rule.to = calloc(1, sizeof(*rule.to));
	rule.ports = calloc(1, sizeof(*rule.ports));
	r = -ENOMEM;
	if (rule.to && rule.ports) {
		*rule.to = dest.to;
		*rule.ports = dest.ports;
		rule.n_ports = dest.has_ports;
		r = insert_rule(p, &rule);
	}
	wdr_rule_done(&rule);
	return r;
}

static int add_allow(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	int r = add_rule(p, value, WDR_VERDICT_ALLOW, err);

	if (r == 0)
		p->over.allow = true;
	return r;
}

static int add_deny(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	return add_rule(p, value, WDR_VERDICT_DENY, err);
}

/* As a shell completes it: without the doubled and trailing slashes that a policy may not have. */
static void tidy_path(char *s)
{
	char *to = s;

	for (const char *from = s; *from; from++)
		if (*from != '/' || to == s || to[-1] != '/')
			*to++ = *from;
	if (to > s + 1 && to[-1] == '/')
		to--;
	*to = '\0';
}

static int check_tidy(char **ret, const char *value, int (*check)(const char *, struct wdr_err *),
		      struct wdr_err *err)
{
	wdr_free_ char *s = strdup(value);
	int r;

	if (!s)
		return -ENOMEM;
	tidy_path(s);
	r = check(s, err);
	if (r < 0)
		return r;
	free(*ret);
	*ret = WDR_TAKE_PTR(s);
	return 0;
}

static int get_base(char **ret, struct wdr_err *err)
{
	free(*ret);
	*ret = getcwd(NULL, 0);
	if (*ret)
		return 0;
	return errno == ENOMEM ? -ENOMEM :
				 wdr_err_set(err, -EINVAL, "the working directory is gone");
}

/* Cut @s (SRC:DST[:ro|rw]) into a mount; the last colon before a / is where DST begins. */
static int parse_mount(char *s, struct wdr_mount *m, struct wdr_err *err)
{
	char *colon = strrchr(s, ':');
	int r;

	m->readonly = true;
	if (colon && (!strcmp(colon, ":ro") || !strcmp(colon, ":rw"))) {
		m->readonly = colon[2] == 'o';
		*colon = '\0';
		colon = strrchr(s, ':');
	}
	if (!colon || colon == s || colon[1] != '/')
		return wdr_err_set(err, -EINVAL,
				   "not a mount: want SRC:DST[:ro|rw], DST an absolute path");
	*colon = '\0';
	r = wdr_policy_check_source(s, err);
	if (r < 0)
		return r;
	r = wdr_policy_set_string(&m->source, s);
	if (r < 0)
		return r;
	return check_tidy(&m->target, colon + 1, wdr_policy_check_target, err);
}

/* In the place of the policy's mount on that target, if there is one. */
static int put_mount(struct wdr_policy *p, struct wdr_mount *m, struct wdr_err *err)
{
	struct wdr_mount *mounts;
	size_t i = 0;

	while (i < p->fs.n_mounts && strcmp(p->fs.mounts[i].target, m->target) != 0)
		i++;
	if (i >= WDR_POLICY_MAX_MOUNTS)
		return wdr_err_set(err, -EINVAL, "too many mounts: at most %d",
				   WDR_POLICY_MAX_MOUNTS);
	if (i == p->fs.n_mounts) {
		mounts = reallocarray(p->fs.mounts, i + 1, sizeof(*mounts));
		if (!mounts)
			return -ENOMEM;
		p->fs.mounts = mounts;
		p->fs.n_mounts++;
	} else {
		wdr_mount_done(&p->fs.mounts[i]);
	}
	p->fs.mounts[i] = *m;
	*m = (struct wdr_mount){ .source = NULL };
	return 0;
}

static int add_mount(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	wdr_free_ char *copy = strdup(value);
	wdr_free_ char *whole = NULL;
	struct wdr_mount m = { .source = NULL };
	int r;

	if (!copy)
		return -ENOMEM;
	r = parse_mount(copy, &m, err);
	if (r == 0)
		r = get_base(&m.base, err);
	if (r == 0)
		r = wdr_policy_join(m.base, m.source, &whole, err);
	if (r == 0)
		r = put_mount(p, &m, err);
	wdr_mount_done(&m);
	return r;
}

static int set_root(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	wdr_free_ char *base = NULL;
	int r;

	if (!strcmp(value, "host")) {
		wdr_freep(&p->fs.root);
		return 0;
	}
	r = wdr_policy_check_source(value, err);
	if (r == 0)
		r = get_base(&base, err);
	return r < 0 ? r : wdr_policy_join(base, value, &p->fs.root, err);
}

static int set_workdir(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	return check_tidy(&p->workdir, value, wdr_policy_check_path, err);
}

/* -e K takes the caller's value; that the caller has none is said, not passed over. */
static int set_env(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	const char *equals = strchr(value, '='), *inherited = getenv(value);
	wdr_free_ char *name = equals ? strndup(value, (size_t)(equals - value)) : strdup(value);
	char shown[64];
	int r;

	if (!name)
		return -ENOMEM;
	r = wdr_policy_check_env_name(name, err);
	if (r < 0)
		return r;
	if (!equals && !inherited)
		return wdr_err_set(err, -EINVAL, "\"%s\" is not set here: want %s=VALUE",
				   wdr_text_escape(name, strlen(name), shown, sizeof(shown)),
				   shown);
	return wdr_policy_set_env(p, name, equals ? equals + 1 : inherited, err);
}

/* Without a GID, the same number: root's group with root, and a group of its own otherwise. */
static int set_user(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	wdr_free_ char *uid = strdup(value);
	uint32_t u, g;
	char *gid;
	int r;

	if (!uid)
		return -ENOMEM;
	gid = strchr(uid, ':');
	if (gid)
		*gid++ = '\0';
	r = wdr_policy_id(uid, &u, err);
	if (r == 0)
		r = wdr_policy_id(gid ? gid : uid, &g, err);
	if (r < 0)
		return wdr_err_wrap(err, r, "want UID[:GID]");
	p->user.uid = u;
	p->user.gid = g;
	return 0;
}

static int set_syscalls(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	(void)value;
	(void)err;
	p->syscalls.count = true;
	return 0;
}

static int set_backend(struct wdr_policy *p, const char *value, struct wdr_err *err)
{
	unsigned int kind;
	int r = wdr_word_find(value, wdr_words_backend, &kind, err);

	if (r == 0)
		p->backend = kind;
	return r;
}

static const struct row rows[] = {
	{ "timeout", set_timeout },   { "cpu-time", set_cpu_time }, { "cpus", set_cpus },
	{ "memory", set_memory },     { "pids", set_pids },	    { "disk", set_disk },
	{ "output", set_output },     { "net", set_net },	    { "allow", add_allow },
	{ "deny", add_deny },	      { "mount", add_mount },	    { "root", set_root },
	{ "workdir", set_workdir },   { "env", set_env },	    { "user", set_user },
	{ "syscalls", set_syscalls }, { "backend", set_backend },
};

int wdr_policy_override(struct wdr_policy *p, const char *option, const char *value,
			struct wdr_err *err)
{
	int r;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].option, option) != 0)
			continue;
		if (!value && rows[i].set != set_syscalls)
			return -EINVAL;
		r = rows[i].set(p, value, err);
		if (r < 0 && r != -ENOMEM && err)
			(void)snprintf(err->where, sizeof(err->where), "--%s", option);
		return r;
	}
	return wdr_err_set(err, -ENOENT, "no option --%s overrides a policy", option);
}
