/* SPDX-License-Identifier: Apache-2.0 */
/* A child by its pidfd: the number of a process may be another's by now, this never is. */
#pragma once

#include "base/wdr_cleanup.h"

/* SIGKILL. 0 or the -errno of pidfd_send_signal(2): -ESRCH once it has been reaped. */
int wdr_pidfd_kill(int pidfd);
/* SIGKILL to our child, wait for it, close. -1 does no harm. */
void wdr_pidfd_end(int *pidfd);
