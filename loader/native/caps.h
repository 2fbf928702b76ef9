/* SPDX-License-Identifier: Apache-2.0 */
/* Giving capabilities up: for jobs, and for roles of our own. Sets are bits by number. */
#pragma once

#include <stdint.h>

#include "base/wdr_cleanup.h"

/*
 * Drop all but @keep from the bounding set, for good. Needs CAP_SETPCAP. 0 or the -errno of
 * prctl(2).
 */
int wdr_caps_bound(uint64_t keep) wdr_must_check;
/*
 * Have those of @keep and no others in every other set, raised to ambient. 0 or the -errno of
 * capset(2), prctl(2).
 */
int wdr_caps_set(uint64_t keep) wdr_must_check;
/* Both. */
int wdr_caps_drop(uint64_t keep) wdr_must_check;
