/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "proc/proc.h"

int main(int argc, char **argv)
{
	return wdr_proc_is_role(argv[0]) ? wdr_proc_main(argv[0]) : wdr_cli_main(argc, argv);
}
