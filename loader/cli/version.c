/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "cli/cli.h"
#include "wdr_build.h"

int wdr_cmd_version(const struct wdr_command *c, int argc, char **argv)
{
	struct wdr_err err = { 0 };

	if (argc > 1) {
		(void)wdr_err_set(&err, -EINVAL, "unexpected word \"%.64s\"", argv[1]);
		return wdr_cli_misused(c, &err);
	}
	(void)printf("warder %s\n", WDR_VERSION);
	return wdr_cli_flush(0);
}
