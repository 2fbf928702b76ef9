/* SPDX-License-Identifier: Apache-2.0 */
/* The runsc backend: a job inside gVisor, behind the same table as a native one. */
#pragma once

#include "model/backend.h"

extern const struct wdr_backend_ops wdr_runsc_ops;
