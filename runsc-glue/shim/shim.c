/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/shim.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/wdr_io.h"
#include "base/wdr_log.h"
#include "command.h"
#include "shim/pod.h"
#include "shim/report.h"
#include "shim/run.h"
#include "wdr_build.h"

#define NS_PER_S 1000000000LL
/* A creation that takes longer than this is over; a younger record may be one under way. */
#define SWEEP_AGE_NS (60 * NS_PER_S)
#define DELETE_MS    10000
#define KILLED	     137 /* 128 + SIGKILL: what runsc ends with if its sandbox is killed */

struct shim {
	struct wdr_shim_args args;
	char **argv;
	char runsc[PATH_MAX];
	const struct wdr_shim_hooks *hooks;
	struct wdr_shim_settings *settings;
	struct wdr_shim_bundle *bundle;
	struct wdr_policy *policy;
	struct wdr_shim_record record; /* strings are others' */
	char place[WDR_SHIM_PLACE_MAX];
	char rules[WDR_SHIM_MARK_MAX];
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
	if (!s->bundle->joins)
		return wdr_shim_choose(s->settings, s->bundle, ret_name, err);
	r = wdr_shim_pod_check(WDR_SHIM_DIR, root_of(&s->args), s->settings, s->bundle, err);
	return r < 0 ? wdr_err_wrap(err, r, "container %s", s->args.id ? s->args.id : "") : 0;
}

static int prepare(struct shim *s, const char *name, struct wdr_err *err)
{
	int r = load_policy(name, &s->policy, err);

	if (r == 0 && s->settings->report)
		r = wdr_shim_report_check(s->settings->report, err);
	if (r < 0)
		return r;
	wdr_shim_report_mark(s->policy, s->rules);
	s->record = (struct wdr_shim_record){
		.id = (char *)(uintptr_t)s->args.id,
		.root = (char *)(uintptr_t)root_of(&s->args),
		.policy = (char *)(uintptr_t)name,
		.cgroup = s->bundle->cgroup ? s->bundle->cgroup : (char *)(uintptr_t) "",
		.netns = s->bundle->netns ? s->bundle->netns : (char *)(uintptr_t) "",
		.made_ns = boot_ns(),
		.place = s->place,
		.quota = s->bundle->quota,
		.rules = s->rules,
	};
	return 0;
}

/* CLOCK_BOOTTIME on the wall's clock. */
static struct timespec wall_time(long long at_ns)
{
	struct timespec now;
	long long ns;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	ns = now.tv_sec * NS_PER_S + now.tv_nsec - (boot_ns() - at_ns);
	return (struct timespec){ .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
}

/* The policy of @r as it was; NULL if what explains a report is not the same any more. */
static void load_again(const struct wdr_shim_record *r, struct wdr_policy **ret)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	char rules[WDR_SHIM_MARK_MAX];

	if (load_policy(r->policy, &p, NULL) < 0)
		return;
	wdr_shim_report_mark(p, rules);
	if (!strcmp(rules, r->rules))
		*ret = WDR_TAKE_PTR(p);
}

static int write_report(struct shim *s, const struct wdr_shim_record *r, const char *how, bool same,
			const struct wdr_result *facts)
{
	struct timespec made = wall_time(r->made_ns), now = wall_time(boot_ns());
	wdr_json_ json_t *line = NULL;
	wdr_close_ int lock = -1;
	int again = wdr_shim_record_tell(WDR_SHIM_DIR, r, &lock);

	if (again == -ENOENT && r != &s->record)
		return 0; /* another process did it */
	/* What could not be noted may have been written. */
	line = wdr_shim_report_line(r, how, again && again != -ENOENT, same, facts, &made, &now);
	if (!line)
		return -ENOMEM;
	return wdr_shim_report_write(s->settings->report, line, WDR_SHIM_REPORT_MAX);
}

/*
 * The end of a container: a line about it, then nothing of it any more. @early is what was known
 * before runsc took its cgroup away, or NULL; @sure: as for the hook. Returns why the kernel ended it,
 * if it did.
 */
static enum wdr_exit_reason end(struct shim *s, const struct wdr_shim_record *r, const char *how,
				const struct wdr_result *early, bool sure)
{
	wdr_result_ struct wdr_result facts = WDR_RESULT_INIT;
	wdr_policy_ struct wdr_policy *p = NULL;
	int e = 0;

	load_again(r, &p);
	s->hooks->tell(r, p, &facts);
	if (early && facts.usage.cpu_ns == WDR_UNKNOWN) {
		facts.usage.cpu_ns = early->usage.cpu_ns;
		facts.usage.user_ns = early->usage.user_ns;
		facts.usage.system_ns = early->usage.system_ns;
	}
	if (s->settings->report)
		e = write_report(s, r, how, p, &facts);
	if (e < 0)
		wdr_warn("container=%s step=report err=\"%s: %s\"", r->id, s->settings->report,
			 strerror(-e));
	s->hooks->gone(r, sure);
	return facts.exit.reason;
}

static void end_swept(void *arg, const struct wdr_shim_record *r)
{
	(void)end(arg, r, "swept", NULL, false);
}

static enum wdr_exit_reason forget(struct shim *s, const char *how, bool sure)
{
	enum wdr_exit_reason why = end(s, &s->record, how, NULL, sure);

	(void)!wdr_shim_record_remove(WDR_SHIM_DIR, s->record.root, s->record.id);
	return why;
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

/* It was run attached, and has ended; a runsc that a signal has ended left its files, or more. */
static void end_run(struct shim *s, int *status)
{
	bool killed = !WIFEXITED(*status);

	if (killed)
		destroy(s);
	if (forget(s, "ended", !killed) != WDR_EXIT_EXITED && killed)
		*status = KILLED << 8;
}

static int remember(struct shim *s, bool done, struct wdr_err *err)
{
	int r;

	s->record.done = done;
	r = wdr_shim_record_write(WDR_SHIM_DIR, &s->record);
	return r < 0 ? wdr_err_wrap(err, r, "remember the container in %s", WDR_SHIM_DIR) : 0;
}

/* runsc has made it: what is still missing, or the end of it. */
static int finish(struct shim *s, const struct wdr_shim_container *c, struct wdr_err *err)
{
	int r = c->starts ? 0 : s->hooks->created(c, err);

	if (r == 0)
		r = remember(s, true, err);
	if (r < 0)
		destroy(s);
	return r;
}

static int make_enforced(struct shim *s, int *ret_status, struct wdr_err *err)
{
	const struct wdr_shim_container c = { &s->record,
					      s->bundle,
					      s->policy,
					      s->args.command != WDR_SHIM_CREATE,
					      s->args.ignore_cgroups && !s->args.flag_override,
					      s->place };
	bool attached = s->args.command == WDR_SHIM_RUN && !s->args.detach;
	int r;

	(void)!wdr_shim_record_sweep(WDR_SHIM_DIR, s->record.made_ns, SWEEP_AGE_NS, end_swept, s);
	/* First, so that a shim that is killed leaves no enforcement that nobody knows of. */
	r = remember(s, false, err);
	if (r == 0)
		r = s->hooks->before(&c, err);
	if (r == 0)
		r = wdr_shim_spawn(s->runsc, s->argv, s->hooks->started, ret_status, err);
	if (r == 0 && attached) {
		end_run(s, ret_status);
		return 0;
	}
	if (r == 0 && went_well(*ret_status))
		r = finish(s, &c, err);
	if (r < 0 || !went_well(*ret_status))
		(void)forget(s, "failed", false);
	return r;
}

/* runsc would refuse it as well, but by then the note and the cgroup of the first would be undone. */
static int check_new(const struct shim *s, struct wdr_err *err)
{
	wdr_shim_record_ struct wdr_shim_record *r = NULL;

	if (wdr_shim_record_read(WDR_SHIM_DIR, root_of(&s->args), s->args.id, &r) == 0 &&
	    wdr_shim_record_is_there(r))
		return wdr_err_set(err, -EEXIST, "there is one of this id");
	return 0;
}

static int make(struct shim *s, int *ret_status, struct wdr_err *err)
{
	const char *name = NULL;
	int r = choose(s, &name, err);

	if (r < 0)
		return r;
	if (!name || !s->args.id)
		return wdr_shim_exec(s->runsc, s->argv, err);
	r = check_new(s, err);
	if (r == 0)
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

/*
 * What runsc can't delete, because it is not there, is gone all the same; but of what it does not know
 * --force says nothing, and its sandbox may live.
 */
static int delete (struct shim *s, int *ret_status, struct wdr_err *err)
{
	wdr_result_ struct wdr_result early = WDR_RESULT_INIT;
	wdr_shim_record_ struct wdr_shim_record *r = NULL;
	const char *root = root_of(&s->args);
	bool known;
	int e;

	if (!s->args.id || wdr_shim_record_read(WDR_SHIM_DIR, root, s->args.id, &r) < 0)
		return wdr_shim_exec(s->runsc, s->argv, err);
	s->hooks->tell(r, NULL, &early);
	known = wdr_shim_record_is_there(r);
	e = wdr_shim_spawn(s->runsc, s->argv, NULL, ret_status, err);
	if (e < 0 || (!went_well(*ret_status) && !s->args.force))
		return e;
	if (wdr_shim_record_is_anew(WDR_SHIM_DIR, r))
		return 0; /* what is there by that name now is not what was deleted */
	(void)end(s, r, "deleted", &early, known && went_well(*ret_status));
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
