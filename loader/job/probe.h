/* SPDX-License-Identifier: Apache-2.0 */
/* What only a job can find out for `warder check`. */
#pragma once

#include "model/probe.h"

/*
 * Has the kernel side do, for a cgroup without processes, what each protection of its asks of it. That
 * its programs are loaded is not enough: whoever could load them may not be the one who runs now.
 */
extern const struct wdr_probe wdr_job_kernel_probe;
