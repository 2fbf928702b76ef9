/* SPDX-License-Identifier: Apache-2.0 */
/* `warder policy`: is a policy good, what does it come to, and what does it say of a destination. */
#pragma once

#include "cli/cli.h"

/* FILE: 0 and silent if good, else 1. FILE is a policy's name, too, as in run. */
int wdr_cmd_policy_check(const struct wdr_command *c, int argc, char **argv);
/* FILE [overrides]: the normal form. */
int wdr_cmd_policy_show(const struct wdr_command *c, int argc, char **argv);
/* FILE DEST... [overrides]: "DEST allow|deny WHY", a line each. */
int wdr_cmd_policy_explain(const struct wdr_command *c, int argc, char **argv);

extern const struct wdr_option wdr_explain_options[];
