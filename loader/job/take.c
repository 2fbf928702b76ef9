/* SPDX-License-Identifier: Apache-2.0 */
/* A job for a sandbox that was made before it. */
#include <errno.h>
#include <time.h>

#include "job/job_priv.h"

struct wdr_cgroup_limits wdr_job_cgroup_limits(const struct wdr_job *j, const struct wdr_policy *p)
{
	const struct wdr_limits *l = &p->limits;
	struct wdr_cgroup_limits limits = {
		.memory_bytes = l->memory_bytes,
		.swap_bytes = l->swap_bytes,
		.pids = l->pids,
		.cpus = j->o.backend->late_cpus ? 0 : l->cpus,
	};

	if (limits.pids != WDR_UNLIMITED)
		limits.pids = l->pids * j->o.backend->tasks_each + j->o.backend->own_tasks;
	return limits;
}

/* What this one was made with, and may be short of, is this job's, too. */
static int check_protections(const struct wdr_job *j, const struct wdr_job_take *t,
			     struct wdr_err *err)
{
	uint64_t made = wdr_job_asks(j, j->o.policy), job = wdr_job_asks(j, t->policy);
	char names[128];

	if (made != job)
		return wdr_err_set(err, -EXDEV, "the sandbox was made with other protections: %s",
				   wdr_protection_list(made ^ job, names, sizeof(names)));
	if (j->result.prot_missing && !t->allow_degraded)
		return wdr_err_set(
			err, -EXDEV, "the sandbox was made without %s",
			wdr_protection_list(j->result.prot_missing, names, sizeof(names)));
	return 0;
}

static int check(const struct wdr_job *j, const struct wdr_job_take *t, struct wdr_err *err)
{
	int r;

	if (!j->held || j->taken || j->decided || j->dead)
		return wdr_err_set(err, -EBUSY, "%s",
				   j->taken ? "the sandbox has had its job" :
					      "there is no sandbox that waits for a job");
	r = wdr_policy_fits(j->o.policy, t->policy, err);
	return r < 0 ? r : check_protections(j, t, err);
}

static int set_words(struct wdr_job *j, const struct wdr_job_take *t)
{
	int r;

	wdr_job_free_words(j);
	j->o.policy = j->spec.policy = t->policy;
	j->o.argv = t->argv;
	r = wdr_job_make_env(j);
	if (r == 0)
		r = wdr_job_copy_argv(j);
	j->spec.argv = j->argv;
	j->spec.envp = j->envp;
	return r;
}

static void set_streams(struct wdr_job *j, const struct wdr_job_take *t)
{
	j->o.capture = t->capture;
	j->o.in_fd = t->in_fd;
	j->o.out_fd = t->out_fd;
	j->o.err_fd = t->err_fd;
	j->spec.stdio_fds[0] = t->in_fd < 0 ? -1 : j->our_stdio[0];
	if (t->in_fd < 0)
		wdr_closep(&j->our_stdio[0]);
}

static void set_result(struct wdr_job *j, const struct wdr_job_take *t)
{
	j->o.begun_ns = t->begun_ns;
	(void)clock_gettime(CLOCK_REALTIME, &j->result.started);
	(void)snprintf(j->result.name, sizeof(j->result.name), "%s", t->label ? t->label : "");
	j->result.command_ref = t->argv;
}

static int set_limits(struct wdr_job *j, struct wdr_err *err)
{
	const struct wdr_cgroup_limits l = wdr_job_cgroup_limits(j, j->o.policy);

	return j->cg ? wdr_cgroup_limit(j->cg, &l, j->spec.waived, err) : 0;
}

int wdr_job_take(struct wdr_job *j, const struct wdr_job_take *t, struct wdr_err *err)
{
	int r = check(j, t, err);

	if (r < 0)
		return r;
	j->taken = true;
	set_streams(j, t);
	set_result(j, t);
	r = set_words(j, t);
	if (r < 0)
		return wdr_err_wrap(err, r, "a job for a sandbox made ahead");
	r = set_limits(j, err);
	if (r < 0)
		return r;
	wdr_job_maybe_crash("limits");
	r = j->o.backend->take(j->b, err);
	if (r == 0)
		wdr_job_maybe_crash("take");
	return r;
}
