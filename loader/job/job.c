/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a job's start. The same table, backwards, ends it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

#include "base/wdr_log.h"
#include "base/wdr_tree.h"
#include "job/job_priv.h"

/* How long the job's last process may take to leave its cgroup after it was killed. */
#define REMOVE_WAIT_MS 5000
#define MAX_ID_TRIES   8

static int take_record(struct wdr_job *j, struct wdr_err *err)
{
	int r = 0;

	if (!j->state)
		return 0;
	for (int i = 0; i < MAX_ID_TRIES; i++) {
		struct wdr_err e = { 0 };

		r = wdr_record_new(j->state, j->spec.id, &j->record, &e);
		if (r != -EEXIST) {
			if (r < 0 && err)
				*err = e;
			return r;
		}
		r = wdr_job_id(j->spec.id);
		if (r < 0)
			return r;
	}
	return wdr_err_set(err, -EEXIST, "no free job id");
}

static void drop_record(struct wdr_job *j)
{
	/* What could not be removed is left to the next sweep, which goes by the records. */
	if (j->record && !j->left_behind)
		wdr_record_remove(j->record);
	wdr_record_freep(&j->record);
}

static int take_uid(struct wdr_job *j, struct wdr_err *err)
{
	if (!j->spec.privileged || (j->spec.waived & WDR_PROT_BIT(WDR_PROT_HOST_UID))) {
		j->spec.host_uid = geteuid();
		return 0;
	}
	return wdr_state_take_uid(j->state, &j->spec.host_uid, &j->uid_fd, err);
}

static void give_uid(struct wdr_job *j)
{
	wdr_closep(&j->uid_fd);
}

static int fill_views(struct wdr_job *j)
{
	struct wdr_spec *s = &j->spec;

	for (unsigned int i = 0; i < WDR_SPEC_MAX_VIEWS; i++) {
		const char *name = NULL;
		int fd = -1;

		if (wdr_cgroup_view(j->cg, i, &name, &fd) < 0)
			break;
		if (strlen(name) >= sizeof(s->views[i].name))
			return -ENAMETOOLONG;
		(void)snprintf(s->views[i].name, sizeof(s->views[i].name), "%s", name);
		s->views[i].dir_fd = fd;
		s->n_views = i + 1;
	}
	for (unsigned int i = 0; i < WDR_SPEC_MAX_ENTER; i++) {
		int fd = wdr_cgroup_enter_fd(j->cg, i);

		if (fd < 0)
			break;
		s->enter_fds[s->n_enter_fds++] = fd;
	}
	return 0;
}

static int make_cgroup(struct wdr_job *j, struct wdr_err *err)
{
	const struct wdr_cgroup_limits limits = wdr_job_cgroup_limits(j, j->o.policy);
	int r;

	if (!j->tree)
		return 0;
	r = wdr_cgroup_new(j->tree, j->spec.id, &limits, j->spec.waived, &j->cg, err);
	if (r < 0)
		return r;
	j->result.prot_missing |= wdr_cgroup_missing(j->cg);
	j->spec.cgroup_fd = wdr_cgroup_entry_fd(j->cg);
	r = fill_views(j);
	return r < 0 ? wdr_err_wrap(err, r, "job cgroup") : 0;
}

static void drop_cgroup(struct wdr_job *j)
{
	struct wdr_err err = { 0 };

	if (!j->cg)
		return;
	(void)!wdr_cgroup_kill(j->cg);
	if (wdr_cgroup_remove(j->cg, REMOVE_WAIT_MS, &err) < 0) {
		j->left_behind = true;
		wdr_warn("job=%s step=cgroup err=\"%s\"", j->spec.id, err.msg);
	}
	wdr_cgroup_freep(&j->cg);
	j->spec.cgroup_fd = -1;
}

/*
 * Ours is non-blocking, the job's is not: they are two descriptions. The job's end belongs to the
 * job's user, so that it can open /dev/stdout again.
 */
static int make_pipe(struct wdr_job *j, int i, bool job_writes)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	j->our_stdio[i] = fd[job_writes ? 0 : 1];
	j->job_stdio[i] = fd[job_writes ? 1 : 0];
	if (fcntl(j->our_stdio[i], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	if (j->spec.privileged && fchown(j->job_stdio[i], j->spec.host_uid, j->spec.host_uid) < 0)
		return -errno;
	j->spec.stdio_fds[i] = j->job_stdio[i];
	return 0;
}

static int make_stdio(struct wdr_job *j, struct wdr_err *err)
{
	int r = 0;

	if (j->o.tty)
		return 0;
	if (j->o.in_fd >= 0 || j->o.ahead)
		r = make_pipe(j, 0, false);
	for (int i = 1; r == 0 && i < 3; i++)
		r = make_pipe(j, i, true);
	return r < 0 ? wdr_err_wrap(err, r, "stdio pipes") : 0;
}

static void close_stdio(struct wdr_job *j)
{
	for (int i = 0; i < 3; i++) {
		wdr_closep(&j->job_stdio[i]);
		wdr_closep(&j->our_stdio[i]);
	}
	wdr_closep(&j->tty_fd);
}

static int make_process(struct wdr_job *j, struct wdr_err *err)
{
	int r = j->o.backend->spawn(&j->spec, &j->b, err);

	if (r == 0 && j->kslot)
		wdr_kern_slot_init_pid(j->kslot, j->o.backend->pid(j->b));
	/* The job has its own copies now; an end of file must mean that the job is gone. */
	for (int i = 0; i < 3; i++)
		wdr_closep(&j->job_stdio[i]);
	return r;
}

static void end_process(struct wdr_job *j)
{
	wdr_job_kill(j);
	if (j->b)
		j->o.backend->freep(&j->b);
}

static int let_go(struct wdr_job *j, struct wdr_err *err)
{
	return j->o.backend->release(j->b, err);
}

static const struct step {
	const char *name;
	int (*doit)(struct wdr_job *j, struct wdr_err *err);
	void (*undo)(struct wdr_job *j);
} steps[] = {
	{ "record", take_record, drop_record },
	{ "uid", take_uid, give_uid },
	{ "network", wdr_job_begin_network, wdr_job_drop_network },
	{ "cgroup", make_cgroup, drop_cgroup },
	{ "kernel", wdr_job_make_kernel, wdr_job_drop_kernel },
	{ "link", wdr_job_finish_network, NULL },
	{ "stdio", make_stdio, close_stdio },
	{ "process", make_process, end_process },
	{ "raw network", wdr_job_make_raw_network, NULL },
	{ "watch", wdr_job_watch, wdr_job_unwatch },
	{ "release", let_go, NULL },
};

void wdr_job_maybe_crash(const char *step)
{
	const char *at = getenv("WDR_CRASH_AT");

	if (at && !strcmp(at, step))
		(void)raise(SIGKILL);
}

/* The steps that need no event loop. */
#define N_STEPS_NEW 9
#define N_STEPS	    (sizeof(steps) / sizeof(steps[0]))

static int do_steps(struct wdr_job *j, unsigned int end, struct wdr_err *err)
{
	for (; j->n_done < end; j->n_done++) {
		const struct step *s = &steps[j->n_done];
		struct wdr_err e = { 0 };
		int r = s->doit(j, &e);

		if (r < 0) {
			if (!e.code)
				(void)wdr_err_wrap(&e, r, "%s", s->name);
			if (err)
				*err = e;
			/* A step that failed half way has its undo, too: each accepts what is not there. */
			j->n_done++;
			wdr_job_undo(j);
			return r;
		}
		wdr_job_maybe_crash(s->name);
	}
	return 0;
}

void wdr_job_undo(struct wdr_job *j)
{
	while (j->n_done > 0) {
		const struct step *s = &steps[--j->n_done];

		if (s->undo)
			s->undo(j);
	}
}

void wdr_job_freep(struct wdr_job **pj)
{
	struct wdr_job *j = *pj;

	if (!j)
		return;
	wdr_job_undo(j);
	wdr_pump_freep(&j->in);
	wdr_pump_freep(&j->out);
	wdr_pump_freep(&j->err);
	wdr_kern_freep(&j->kern);
	wdr_cgroup_tree_freep(&j->tree);
	wdr_state_freep(&j->state);
	wdr_result_done(&j->result);
	wdr_lines_done(&j->events);
	wdr_job_free_words(j);
	wdr_freep(pj);
}

static int new_job(const struct wdr_job_opts *o, struct wdr_job **ret, struct wdr_err *err)
{
	static const struct wdr_result no_result = WDR_RESULT_INIT;
	wdr_job_ struct wdr_job *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	if (o->ahead && !o->backend->take)
		return wdr_err_set(err, -EOPNOTSUPP, "%s holds no sandbox for a job to come",
				   o->backend->name);
	j->o = *o;
	j->result = no_result;
	wdr_lines_init(&j->events, o->events_fd);
	j->sigsys_nr = j->uid_fd = j->tty_fd = j->spec.cgroup_fd = j->spec.net_fd = -1;
	for (int i = 0; i < 3; i++)
		j->job_stdio[i] = j->our_stdio[i] = j->spec.stdio_fds[i] = -1;
	r = wdr_job_id(j->spec.id);
	if (r < 0)
		return wdr_err_wrap(err, r, "job id");
	j->spec.policy = o->policy;
	j->spec.tty = o->tty;
	j->spec.ahead = o->ahead;
	j->spec.args_area = o->args_area;
	j->spec.args_area_len = o->args_area_len;
	j->spec.privileged = geteuid() == 0 && wdr_userns_is_first();
	r = wdr_job_make_env(j);
	if (r == 0)
		r = wdr_job_copy_argv(j);
	if (r < 0)
		return r;
	j->spec.argv = j->argv;
	j->spec.envp = j->envp;
	*ret = WDR_TAKE_PTR(j);
	return 0;
}

/* An ordinary user may have neither: then what they are for is missing, and was waived. */
static int open_places(struct wdr_job *j, struct wdr_err *err)
{
	int r = wdr_state_open(&j->state, err);

	if (r < 0 && j->spec.privileged)
		return wdr_err_wrap(err, r, "state directory");
	if (j->state)
		j->spec.cache_dir = wdr_state_cache_dir(j->state);
	return 0;
}

int wdr_job_new(const struct wdr_job_opts *o, struct wdr_job **ret, struct wdr_err *err)
{
	wdr_job_ struct wdr_job *j = NULL;
	int r;

	r = new_job(o, &j, err);
	if (r == 0)
		r = open_places(j, err);
	if (r == 0)
		r = wdr_job_check_protections(j, err);
	if (r == 0 && j->state) {
		int swept = wdr_job_sweep_with(j->state);

		if (swept < 0)
			wdr_warn("step=sweep err=\"%s\"", strerror(-swept));
	}
	if (r < 0)
		return r;
	(void)clock_gettime(CLOCK_REALTIME, &j->result.started);
	(void)snprintf(j->result.name, sizeof(j->result.name), "%s", o->label ? o->label : "");
	j->result.backend = o->backend->name;
	j->result.command_ref = o->argv;
	r = do_steps(j, N_STEPS_NEW, err);
	if (r < 0)
		return r;
	(void)snprintf(j->result.job, sizeof(j->result.job), "%s", j->spec.id);
	*ret = WDR_TAKE_PTR(j);
	return 0;
}

int wdr_job_attach(struct wdr_job *j, struct wdr_event *event, struct wdr_err *err)
{
	j->event = event;
	return do_steps(j, N_STEPS, err);
}

const struct wdr_result *wdr_job_result(const struct wdr_job *j)
{
	return &j->result;
}

void wdr_job_kill(struct wdr_job *j)
{
	if (j->cg)
		(void)!wdr_cgroup_kill(j->cg);
	if (j->b)
		(void)j->o.backend->kill(j->b);
}
