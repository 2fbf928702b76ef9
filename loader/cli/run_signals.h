/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of `warder run`: what they mean for the job, and when they mean only ourselves. */
#pragma once

#include "base/wdr_event.h"
#include "job/job.h"

#define WDR_RUN_N_SIGNALS 9

/* First of all: how the caller had set them was meant for something else. 0 or -errno of signal(2). */
int wdr_run_signals_reset(struct wdr_err *err) wdr_must_check;
/*
 * From here on they wait for wdr_run_signals_watch(). Not earlier: until there is a job a signal may
 * end us, be it while we read a policy that does not come. 0 or -errno.
 */
int wdr_run_signals_block(struct wdr_err *err) wdr_must_check;
/* Those that end the job, those that only its program understands, and the terminal's size. */
int wdr_run_signals_watch(struct wdr_event *event, struct wdr_job *job,
			  struct wdr_source *srcs[WDR_RUN_N_SIGNALS]) wdr_must_check;
/*
 * The job is over and a reader of its result may be slow: from here on a signal ends us. Those that
 * came while it ran, and were not read, are forgotten: they were meant for the job.
 */
void wdr_run_signals_unblock(void);
