/* SPDX-License-Identifier: Apache-2.0 */
/* What `warder check` asks the native backend: can a job here have this? */
#pragma once

#include "model/probe.h"

extern const struct wdr_probe wdr_native_ns_probe;
extern const struct wdr_probe wdr_native_root_probe;
extern const struct wdr_probe wdr_native_exec_probe;
