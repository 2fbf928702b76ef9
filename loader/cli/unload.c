/* SPDX-License-Identifier: Apache-2.0 */
/* `warder unload`: what jobs share goes out of the kernel. */
#include <errno.h>

#include "cli/cli.h"
#include "job/job.h"

int wdr_cmd_unload(const struct wdr_command *c, int argc, char **argv)
{
	struct wdr_err err = { 0 };
	int r;

	if (argc > 1) {
		(void)wdr_err_set(&err, -EINVAL, "unload takes no argument: %.60s", argv[1]);
		return wdr_cli_misused(c, &err);
	}
	r = wdr_job_unload(&err);
	if (r == 0)
		return 0;
	(void)wdr_err_wrap(&err, r, "unload");
	return wdr_cli_fail(&err, WDR_STATUS_FAILED);
}
