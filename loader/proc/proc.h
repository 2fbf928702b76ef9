/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roles of this program: what it is when it executes itself for work without rights
 * (base/wdr_role.h).
 */
#pragma once

#include <stdbool.h>

/* Whether @argv0 is the name of a role: no path of a file is. */
bool wdr_proc_is_role(const char *argv0);
/* Be it. Returns what to exit with. */
int wdr_proc_main(const char *argv0);
