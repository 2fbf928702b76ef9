/* SPDX-License-Identifier: Apache-2.0 */
/* What a killed supervisor left: its job is dead already, its cgroups and its record go now. */
#include <errno.h>

#include "base/wdr_log.h"
#include "job/job_priv.h"

static int sweep_job(const char *job, void *userdata)
{
	struct wdr_cgroup_tree *tree = userdata;
	struct wdr_err err = { 0 };
	int r = wdr_cgroup_sweep(tree, job, &err);

	if (r < 0)
		wdr_warn("job=%s step=sweep err=\"%s\"", job, err.msg);
	else
		wdr_debug("job=%s swept", job);
	return r;
}

int wdr_job_sweep_with(struct wdr_state *state, struct wdr_cgroup_tree *tree)
{
	return wdr_state_sweep(state, sweep_job, tree);
}

int wdr_job_sweep(void)
{
	wdr_state_ struct wdr_state *state = NULL;
	wdr_cgroup_tree_ struct wdr_cgroup_tree *tree = NULL;
	int r;

	r = wdr_state_open(&state, NULL);
	if (r == 0)
		r = wdr_cgroup_tree_new(NULL, &tree, NULL);
	return r < 0 ? r : wdr_job_sweep_with(state, tree);
}
