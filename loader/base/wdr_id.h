/* SPDX-License-Identifier: Apache-2.0 */
/* Names for jobs: short enough to type, random enough to stay unique in years of audit records. */
#pragma once

#include <stdbool.h>

#include "base/wdr_cleanup.h"

#define WDR_JOB_ID_SIZE	  24 /* "j-7f3k2q9xw4" and its NUL, with room to grow */
#define WDR_JOB_LABEL_MAX 63 /* --name, without NUL */

/*
 * A new id: "j-" and ten of 32 letters and digits (none that look alike), 50 bits of getrandom(2).
 * Who makes the job's folders must still treat EEXIST as a reason to draw again.
 * Returns 0 or the -errno of getrandom.
 */
int wdr_job_id(char ret[WDR_JOB_ID_SIZE]) wdr_must_check;

/* Whether @s may be a job's name: [A-Za-z0-9][A-Za-z0-9._-]{0,62} */
bool wdr_job_label_ok(const char *s);
