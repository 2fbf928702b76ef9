/* SPDX-License-Identifier: Apache-2.0 */
/* The end of everything that jobs share: programs, rules, folders. The next job makes it again. */
#include <errno.h>
#include <string.h>

#include "job/job_priv.h"

static int refuse_while_jobs_run(struct wdr_err *err)
{
	wdr_state_ struct wdr_state *state = NULL;
	char names[160];
	int r = wdr_state_open(&state, err);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	r = wdr_job_sweep_with(state);
	if (r >= 0)
		r = wdr_state_running(state, names, sizeof(names));
	if (r < 0)
		return wdr_err_wrap(err, r, "look for running jobs");
	return r > 0 ? wdr_err_set(err, -EBUSY, "%d job%s: %s", r, r > 1 ? "s run" : " runs",
				   names) :
		       0;
}

static int remove_net(struct wdr_err *err)
{
	wdr_net_pool_ struct wdr_net_pool *pool = NULL;
	int r;

	if (geteuid() != 0)
		return 0;
	r = wdr_net_pool_new(NULL, &pool, err);
	return r < 0 ? r : wdr_net_sweep(pool, err);
}

int wdr_job_unload(struct wdr_err *err)
{
	int r = refuse_while_jobs_run(err);

	if (r == 0)
		r = wdr_kern_unload(NULL, err);
	if (r == 0)
		r = remove_net(err);
	if (r < 0)
		return r;
	wdr_cgroup_trim();
	return 0;
}
