/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks by which warder-runsc enforces a policy's network section and CPU limits, without a daemon. */
#pragma once

#include "shim/shim.h"

extern const struct wdr_shim_hooks wdr_shim_enforce;
