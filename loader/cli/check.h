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

/* Whether a job can be given a network: its part of EGRESS_PACKET, and the addresses as a fact. */
extern const struct wdr_probe wdr_net_probe_row;
/* Facts alone: which runsc there is, and whether a sandbox starts under it. */
extern const struct wdr_probe wdr_runsc_probe_row;

/* One program of the kernel side, loaded by itself: --verbose. */
struct wdr_check_program {
	char name[16];
	uint64_t protections; /* WDR_PROT_BIT()s that are gone without it; 0: good to have */
	int error;	      /* 0, or the kernel's -errno */
	char *log;	      /* owned: what the verifier said, or "" */
};

#define WDR_CHECK_MAX_PROGRAMS 64

struct wdr_check_programs {
	struct wdr_check_program p[WDR_CHECK_MAX_PROGRAMS];
	size_t n;
	bool no_memory; /* some are not in it */
};

/* Load them all. 0, or -errno if none could be tried. Free with _done in any case. */
int wdr_check_programs(struct wdr_check_programs *ret, struct wdr_err *err) wdr_must_check;
void wdr_check_programs_done(struct wdr_check_programs *ps);
void wdr_check_programs_print(const struct wdr_check_programs *ps, FILE *f);
/* [{"name", "ok", "error", "protections": [...], "log"}, ...]; NULL: no memory. */
json_t *wdr_check_programs_json(const struct wdr_check_programs *ps);
