/* SPDX-License-Identifier: Apache-2.0 */
/* runsc as the shim's child or successor, and errors as engines expect them of it. */
#pragma once

#include <stddef.h>

#include "base/wdr_err.h"
#include "shim/argv.h"

/* What runsc exits with where it could not do what it was told (runsc/cmd/util, Fatalf). */
#define WDR_SHIM_FATAL 128

/*
 * The real runsc: @named (may be NULL), else WARDER_RUNSC, else the first `runsc` on PATH that is
 * not the running program itself. Into @path of @size. -ENOENT, -EACCES.
 */
int wdr_shim_find_runsc(const char *named, char *path, size_t size,
			struct wdr_err *err) wdr_must_check;

/* Become it. Returns only a failure. */
int wdr_shim_exec(const char *path, char **argv, struct wdr_err *err) wdr_must_check;

/*
 * Run it and wait; signals that come to us go to it, and it dies with us. *ret_status is wait(2)'s.
 * @started (or NULL) is called once it has this process' cgroup. 0 or the -errno of fork(2).
 */
int wdr_shim_spawn(const char *path, char **argv, void (*started)(void), int *ret_status,
		   struct wdr_err *err) wdr_must_check;

/* End as the child did: with its exit status, or by its signal. Returns what to exit with. */
int wdr_shim_end_as(int status);

/* Tell the engine: to the file of --log as one JSON object, and to stderr. */
void wdr_shim_report(const struct wdr_shim_args *a, const struct wdr_err *err);
