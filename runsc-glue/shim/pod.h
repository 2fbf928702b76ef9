/* SPDX-License-Identifier: Apache-2.0 */
/* Containers that join the sandbox of a pod, as those of Kubernetes do. */
#pragma once

#include "shim/choice.h"
#include "shim/record.h"

/*
 * May the container of @b, which joins another's sandbox, be made below @root? The sandbox has the
 * network and the cgroup: what it was given, as its note in @dir (WDR_SHIM_DIR) says, holds for all
 * in it, and nothing else can. 0; -EPERM if the container would be held to less or to something else
 * than @b or @s ask for, or if the sandbox was never finished; -EINVAL for what is no name of a
 * policy; as wdr_shim_record_read() for a note that can't be read.
 */
int wdr_shim_pod_check(const char *dir, const char *root, const struct wdr_shim_settings *s,
		       const struct wdr_shim_bundle *b, struct wdr_err *err) wdr_must_check;
