/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a job: the result object of docs/result.schema.json, before it is JSON. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/wdr_json.h"
#include "model/protection.h"

/* Append only: these become metric labels and audit values. */
enum wdr_exit_reason {
	WDR_EXIT_EXITED,
	WDR_EXIT_SIGNALED,
	WDR_EXIT_TIMEOUT,
	WDR_EXIT_CPU_BUDGET,
	WDR_EXIT_OOM,
	WDR_EXIT_PIDS_LIMIT,
	WDR_EXIT_OUTPUT_LIMIT,
	WDR_EXIT_MINING,
	WDR_EXIT_EGRESS,
	WDR_EXIT_SYSCALL,
	WDR_EXIT_KILLED,
	WDR_EXIT_SUPERVISOR_LOST,
	WDR_EXIT_ERROR,
	_WDR_EXIT_MAX
};

/* "cpu-budget" */
const char *wdr_exit_reason_name(enum wdr_exit_reason r);
