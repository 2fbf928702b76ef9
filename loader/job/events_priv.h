/* SPDX-License-Identifier: Apache-2.0 */
/* How a line of --events is put together: for the files that write them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/wdr_json.h"

struct wdr_job;

/* Time, job and name of the event. The caller's. */
json_t *wdr_job_new_line(const struct wdr_job *j, const char *event, struct timespec when);
/* Text of the job's: any bytes, and at most @size of them. */
void wdr_job_put_text(json_t *o, const char *key, const char *s, size_t size);
void wdr_job_put_number(json_t *o, const char *key, uint64_t value);
void wdr_job_write_line(struct wdr_job *j, json_t *o);
