/* SPDX-License-Identifier: Apache-2.0 */
/* How a role gives its rights up. */
#pragma once

#include <stdint.h>

#include "base/wdr_err.h"

/* Of address space, for good: a role gets its memory before it is confined. */
#define WDR_PROC_MEMORY (16u << 20)
#define WDR_PROC_FILES	16

/*
 * Live as @uid, of which there is no other process, with no capability, no new privileges, no file
 * to be opened or made, no process to be started, WDR_PROC_MEMORY, and the system calls of @calls
 * (words, each followed by a space) only. Needs root. 0, or -errno and the step that failed.
 */
int wdr_proc_confine(uint32_t uid, const char *calls, struct wdr_err *err) wdr_must_check;
