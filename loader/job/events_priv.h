/* SPDX-License-Identifier: Apache-2.0 */
/* How a line of --events is put together: for the files that write them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/wdr_json.h"

struct wdr_job;

/*
 * What one job may add to a regular file: 300,000 lines or so. The last of it is kept for lines of
 * which a job can't cause many, so that no number of processes hides a denial; `ended` has no bound.
 */
#define WDR_EVENTS_MAX_BYTES  (64ULL << 20)
#define WDR_EVENTS_KEPT_BYTES (1ULL << 20)
/* How long a pipe that is full at the end is waited for, to hold the last line. */
#define WDR_EVENTS_LAST_WAIT_NS 500000000ULL

/*
 * Room for a text of a guest's with every byte escaped. JSON makes a fourth more of it: with two of
 * them a line is still one that a pipe takes whole or not at all (PIPE_BUF, pipe(7)).
 */
#define WDR_EVENTS_ESCAPED_MAX 1024

enum wdr_event_room {
	WDR_ROOM_MANY,
	WDR_ROOM_FEW,
	WDR_ROOM_LAST
};

/* Time, job and name of the event. The caller's. */
json_t *wdr_job_new_line(const struct wdr_job *j, const char *event, struct timespec when);
/* Text of the job's: any bytes, and at most @size of them. */
void wdr_job_put_text(json_t *o, const char *key, const char *s, size_t size);
/* A text of this line ends where no more of it is kept. */
void wdr_job_put_cut(json_t *o);
void wdr_job_put_number(json_t *o, const char *key, uint64_t value);
/* @o NULL: there was no memory for it. */
void wdr_job_write_line(struct wdr_job *j, json_t *o, enum wdr_event_room room);
