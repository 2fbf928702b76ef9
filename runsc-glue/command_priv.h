/* SPDX-License-Identifier: Apache-2.0 */
/* Between the two halves of a command: command.c keeps it, command_child.c starts it. */
#pragma once

#include "command.h"

/* Both ends of every pipe of one command, ours and the child's; -1 where there is none. */
struct wdr_command_pipes {
	int gate[2], fail[2], out[2], err[2];
};

/* What a child that could not become the command says before it ends. */
struct wdr_command_failure {
	int32_t code; /* -errno */
	int32_t step; /* index into preps, or WDR_STEP_* */
};

enum {
	WDR_STEP_SETUP = -1,
	WDR_STEP_EXEC = -2
};

/* 0 or -errno; what was opened stays for wdr_command_pipes_close(). */
int wdr_command_pipes_open(const struct wdr_command_spec *spec, struct wdr_command_pipes *p);
void wdr_command_pipes_close(struct wdr_command_pipes *p);
/* The new pid in the parent, or -errno. The child does not return. */
pid_t wdr_command_clone(const struct wdr_command_spec *spec, struct wdr_command_pipes *p,
			int *ret_pid_fd);
