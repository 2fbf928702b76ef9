/* SPDX-License-Identifier: Apache-2.0 */
/* `warder check`: run every module's probe, say what came of it. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/wdr_err.h"
#include "base/wdr_json.h"
#include "model/probe.h"

#define WDR_CHECK_DEADLINE_MS 5000

/*
 * Run the NULL-terminated @probes side by side, each in a process of its own, until all have ended
 * or @deadline_ms have passed. They add to *report, in which every row has then been said: by its
 * probe, by the runner for a probe that hung, died or kept silent, and for a protection that no probe covers. Rows in
 * @disabled (WDR_PROT_BIT()s) are "no" whatever the machine can do.
 * Returns 0 or the -errno of mmap, fork.
 */
int wdr_check_run(const struct wdr_probe *const probes[], int deadline_ms, uint64_t disabled,
		  struct wdr_check_report *report, struct wdr_err *err) wdr_must_check;

/* How many rows are "no". */
unsigned int wdr_check_missing(const struct wdr_check_report *rep);
/* A table for people. */
void wdr_check_print(const struct wdr_check_report *rep, FILE *f);
/* {"version": 1, "all": BOOL, "protections": [...], "facts": {...}}; NULL: no memory. */
json_t *wdr_check_json(const struct wdr_check_report *rep);

/* Whether the supervisor can hold a job to its CPU seconds. */
extern const struct wdr_probe wdr_cpu_probe;
