/* SPDX-License-Identifier: Apache-2.0 */
/* `warder unload`: sweep, then take the pinned programs and maps out of the kernel. */
#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "job/job.h"
#include "kern/kern.h"

int wdr_cmd_unload(const struct wdr_command *c, int argc, char **argv)
{
	struct wdr_err err = { 0 };
	int r;

	if (argc > 1) {
		(void)wdr_err_set(&err, -EINVAL, "unload takes no argument: %.60s", argv[1]);
		return wdr_cli_misused(c, &err);
	}
	/* A job whose supervisor was killed would count as running. */
	(void)!wdr_job_sweep();
	r = wdr_kern_unload(NULL, &err);
	if (r < 0) {
		(void)(err.code ? 0 : wdr_err_wrap(&err, r, "unload"));
		return wdr_cli_fail(&err, WDR_STATUS_FAILED);
	}
	return 0;
}
