/* SPDX-License-Identifier: Apache-2.0 */
/* What a killed supervisor left: its job is dead already, its cgroups and its record go now. */
#include <errno.h>

#include "base/wdr_log.h"
#include "job/job_priv.h"

struct trees {
	struct wdr_cgroup_tree *judged, *plain;
};

/* The record does not say which of the two folders the job was in. */
static int sweep_job(const char *job, void *userdata)
{
	struct trees *t = userdata;
	struct wdr_err err = { 0 };
	int r = 0;

	if (!t->judged)
		r = wdr_cgroup_tree_new(NULL, &t->judged, &err);
	if (r == 0 && !t->plain)
		r = wdr_cgroup_tree_new_plain(NULL, &t->plain, &err);
	if (r == 0)
		r = wdr_cgroup_sweep(t->judged, job, &err);
	if (r == 0)
		r = wdr_cgroup_sweep(t->plain, job, &err);
	if (r < 0)
		wdr_warn("job=%s step=sweep err=\"%s\"", job, err.msg);
	else
		wdr_debug("job=%s swept", job);
	return r;
}

int wdr_job_sweep_with(struct wdr_state *state)
{
	struct trees t = { 0 };
	int n = wdr_state_sweep(state, sweep_job, &t);

	wdr_cgroup_tree_freep(&t.judged);
	wdr_cgroup_tree_freep(&t.plain);
	return n;
}

int wdr_job_sweep(void)
{
	wdr_state_ struct wdr_state *state = NULL;
	int r = wdr_state_open(&state, NULL);

	return r < 0 ? r : wdr_job_sweep_with(state);
}
