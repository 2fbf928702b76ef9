/* SPDX-License-Identifier: Apache-2.0 */
/* The native backend: a job in Linux namespaces of its own, no other program involved. */
#pragma once

#include "model/backend.h"

extern const struct wdr_backend_ops wdr_native_ops;
