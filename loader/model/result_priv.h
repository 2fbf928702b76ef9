/* SPDX-License-Identifier: Apache-2.0 */
/* The result object but for the two captured texts, which are never in memory as a whole. */
#pragma once

#include "base/wdr_json.h"
#include "model/result.h"

/* The members before the captures. NULL: no memory. */
json_t *wdr_result_head(const struct wdr_result *r);
