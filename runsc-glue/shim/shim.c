/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/shim.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "command.h"
#include "shim/run.h"
#include "wdr_build.h"

#define NS_PER_S 1000000000LL
/* A creation that takes longer than this is over; a younger record may be one under way. */
#define SWEEP_AGE_NS (60 * NS_PER_S)
#define DELETE_MS    10000

struct shim {
	struct wdr_shim_args args;
	char **argv;
	char runsc[PATH_MAX];
	const struct wdr_shim_hooks *hooks;
	struct wdr_shim_settings *settings;
	struct wdr_shim_bundle *bundle;
	struct wdr_policy *policy;
	struct wdr_shim_record record; /* strings are others' */
};

static void shim_done(struct shim *s)
{
	wdr_policy_freep(&s->policy);
	wdr_shim_bundle_freep(&s->bundle);
	wdr_shim_settings_freep(&s->settings);
}

static long long boot_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static const char *root_of(const struct wdr_shim_args *a)
{
	return a->root ? a->root : "";
}

/* The machine's own policies alone: what lies in the bundle or beside us is somebody else's. */
static int load_policy(const char *name, struct wdr_policy **ret, struct wdr_err *err)
{
	static const char *const dirs[] = { "/etc/warder/policies", WDR_DATADIR "/policies" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s.json", dirs[i], name);
		if (access(path, F_OK) == 0)
			return wdr_policy_load(path, ret, err);
	}
	return wdr_err_set(err, -ENOENT, "no policy \"%s\" in %s or %s", name, dirs[0], dirs[1]);
}

/* Read the bundle and choose. *ret_name NULL: nothing to enforce. */
static int choose(struct shim *s, const char **ret_name, struct wdr_err *err)
{
	int r = wdr_shim_bundle_load(s->args.bundle, &s->bundle, err);

	*ret_name = NULL;
	if (r == -ENOENT)
		return 0; /* runsc will say so */
	if (r < 0)
		return r;
	/* In a pod the sandbox has the network and the cgroup: what it was given holds for all. */
	return s->bundle->joins ? 0 : wdr_shim_choose(s->settings, s->bundle, ret_name, err);
}

static int prepare(struct shim *s, const char *name, struct wdr_err *err)
{
	int r = load_policy(name, &s->policy, err);

	if (r < 0)
		return r;
	s->record = (struct wdr_shim_record){
		.id = (char *)(uintptr_t)s->args.id,
		.root = (char *)(uintptr_t)root_of(&s->args),
		.policy = (char *)(uintptr_t)name,
		.cgroup = s->bundle->cgroup ? s->bundle->cgroup : (char *)(uintptr_t) "",
		.netns = s->bundle->netns ? s->bundle->netns : (char *)(uintptr_t) "",
		.made_ns = boot_ns(),
	};
	return 0;
}

static void forget(struct shim *s)
{
	s->hooks->gone(&s->record);
	(void)!wdr_shim_record_remove(WDR_SHIM_DIR, s->record.root, s->record.id);
}

/* A container whose enforcement could not be completed must not be startable. */
static void destroy(struct shim *s)
{
	const char *const with_root[] = { s->runsc,   "--root", s->record.root, "delete", "--force",
					  s->args.id, NULL };
	const char *const without[] = { s->runsc, "delete", "--force", s->args.id, NULL };
	const struct wdr_command_spec spec = { .argv = s->args.root ? with_root : without,
					       .stdio = { -1, -1, -1 } };
	wdr_command_ struct wdr_command *c = NULL;

	if (wdr_command_start(&spec, &c, NULL) == 0)
		(void)!wdr_command_wait(c, DELETE_MS, NULL);
}

static bool went_well(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int make_enforced(struct shim *s, int *ret_status, struct wdr_err *err)
{
	const struct wdr_shim_container c = { &s->record, s->bundle, s->policy,
					      s->args.command != WDR_SHIM_CREATE };
	bool ended = s->args.command == WDR_SHIM_RUN && !s->args.detach;
	int r;

	(void)!wdr_shim_record_sweep(WDR_SHIM_DIR, s->record.made_ns, SWEEP_AGE_NS, s->hooks->gone);
	/* First, so that a shim that is killed leaves no enforcement that nobody knows of. */
	r = wdr_shim_record_write(WDR_SHIM_DIR, &s->record);
	if (r < 0)
		return wdr_err_wrap(err, r, "remember the container in %s", WDR_SHIM_DIR);
	r = s->hooks->before(&c, err);
	if (r == 0)
		r = wdr_shim_spawn(s->runsc, s->argv, ret_status, err);
	if (r == 0 && went_well(*ret_status) && s->args.command == WDR_SHIM_CREATE) {
		r = s->hooks->created(&c, err);
		if (r < 0)
			destroy(s);
	}
	if (r < 0 || ended || !went_well(*ret_status))
		forget(s);
	return r;
}

static int make(struct shim *s, int *ret_status, struct wdr_err *err)
{
	const char *name = NULL;
	int r = choose(s, &name, err);

	if (r < 0)
		return r;
	if (!name || !s->args.id)
		return wdr_shim_exec(s->runsc, s->argv, err);
	r = prepare(s, name, err);
	return r < 0 ? wdr_err_wrap(err, r, "container %s", s->args.id) :
		       make_enforced(s, ret_status, err);
}

static int start(struct shim *s, struct wdr_err *err)
{
	wdr_shim_record_ struct wdr_shim_record *rec = NULL;
	int r = 0;

	if (s->args.id)
		r = wdr_shim_record_read(WDR_SHIM_DIR, root_of(&s->args), s->args.id, &rec);
	if (r < 0 && r != -ENOENT)
		return wdr_err_wrap(err, r, "what is known of container %s", s->args.id);
	r = rec ? s->hooks->starting(rec, err) : 0;
	if (r < 0)
		return wdr_err_wrap(err, r, "container %s", s->args.id);
	return wdr_shim_exec(s->runsc, s->argv, err);
}

/* What runsc can't delete, because it is not there, is gone all the same. */
static int delete (struct shim *s, int *ret_status, struct wdr_err *err)
{
	wdr_shim_record_ struct wdr_shim_record *r = NULL;
	const char *root = root_of(&s->args);
	int e;

	if (!s->args.id || wdr_shim_record_read(WDR_SHIM_DIR, root, s->args.id, &r) < 0)
		return wdr_shim_exec(s->runsc, s->argv, err);
	e = wdr_shim_spawn(s->runsc, s->argv, ret_status, err);
	if (e < 0 || (!went_well(*ret_status) && !s->args.force))
		return e;
	s->hooks->gone(r);
	return wdr_shim_record_remove(WDR_SHIM_DIR, root, s->args.id);
}

static int run_command(struct shim *s, int *ret_status, struct wdr_err *err)
{
	switch (s->args.command) {
	case WDR_SHIM_CREATE:
	case WDR_SHIM_RUN:
	case WDR_SHIM_RESTORE:
		return make(s, ret_status, err);
	case WDR_SHIM_START:
		return start(s, err);
	case WDR_SHIM_DELETE:
		return delete (s, ret_status, err);
	case WDR_SHIM_OTHER:
		break;
	}
	return wdr_shim_exec(s->runsc, s->argv, err);
}

int wdr_shim_main(int argc, char **argv, const struct wdr_shim_hooks *hooks)
{
	struct shim s __attribute__((cleanup(shim_done))) = { .argv = argv, .hooks = hooks };
	struct wdr_err err = { 0 };
	int status = 0;
	int r = wdr_shim_args_parse(argc, argv, &s.args);

	if (r == 0)
		r = wdr_shim_settings_load(WDR_SHIM_SETTINGS, &s.settings, &err);
	if (r == 0)
		r = wdr_shim_find_runsc(s.settings->runsc, s.runsc, sizeof(s.runsc), &err);
	if (r == 0)
		r = run_command(&s, &status, &err);
	if (r == 0)
		return wdr_shim_end_as(status);
	if (!err.code)
		(void)wdr_err_wrap(&err, r, "%s", argv[0]);
	wdr_shim_report(&s.args, &err);
	return WDR_SHIM_FATAL;
}
