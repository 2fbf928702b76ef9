/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report: a file of JSON lines, one for each container that had a policy, written when it is
 * gone. docs/engines.md says what is in a line.
 */
#pragma once

#include <stdbool.h>

#include "base/wdr_json.h"
#include "model/result.h"
#include "policy/policy.h"
#include "shim/record.h"

/* Past this size the file becomes FILE.1, of which there is one, and a new one begins. */
#define WDR_SHIM_REPORT_MAX (64 << 20)

#define WDR_SHIM_MARK_MAX 17

/* What the report explains by a policy, in a few characters: alike only if that did not change. */
void wdr_shim_report_mark(const struct wdr_policy *p, char mark[WDR_SHIM_MARK_MAX]);

/* Can a line be written to @file, which is made if need be? 0; -EINVAL for what is no regular
 * file, without waiting for it; or the -errno of open(2). */
int wdr_shim_report_check(const char *file, struct wdr_err *err) wdr_must_check;

/*
 * The line: @how the container ended ("deleted", "ended" for one that was run attached, "failed" to
 * be made, "swept"), @again: such a line may be there already, @same: its policy is what it was; at
 * the time @now. *ret is the caller's, NULL: no memory.
 */
json_t *wdr_shim_report_line(const struct wdr_shim_record *r, const char *how, bool again,
			     bool same, const struct wdr_result *facts, const struct timespec *made,
			     const struct timespec *now);

/* Append @line. Whole or not at all, whoever else writes. 0; -EFBIG; -errno. */
int wdr_shim_report_write(const char *file, json_t *line, off_t max_bytes) wdr_must_check;
