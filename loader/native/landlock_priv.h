/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "native/landlock.h"

/*
 * wdr_landlock_restrict() with the rights and scopes of ABI @abi, which the kernel must have: what
 * a test climbs the ladder with.
 */
int wdr_landlock_restrict_abi(int abi, const struct wdr_landlock_rule *rules,
			      size_t n) wdr_must_check;
