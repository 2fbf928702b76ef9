/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox tells of its guest, by way of a reader without rights (runsc-glue/feed.h). A
 * reader that dies, stalls, lies or floods costs what it would have told, is named, and nothing
 * else: no verdict hangs on it, and no one waits for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kern/kern.h"

struct wdr_job;

/* Start a reader of the listening socket @fd, which is taken over. */
int wdr_job_guest_listen(struct wdr_job *j, int fd, struct wdr_err *err) wdr_must_check;
/* What was decided on the sandbox's wire: its line is written when the reader has told what came before. */
void wdr_job_guest_verdict(struct wdr_job *j, const struct wdr_ev_verdict *ev);
/* The job is dead: ask for the last of it. */
void wdr_job_guest_finish(struct wdr_job *j);
/* Whether that is still to come; wdr_job_maybe_done() is called when it has, or is lost. */
bool wdr_job_guest_is_busy(const struct wdr_job *j);
/* The guest's system calls into the result. */
void wdr_job_guest_collect(struct wdr_job *j);
/* What was dropped, suppressed, no message, or at least one if it is not known what was lost. */
uint64_t wdr_job_guest_lost(const struct wdr_job *j);
void wdr_job_guest_stop(struct wdr_job *j);
