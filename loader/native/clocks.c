/* SPDX-License-Identifier: Apache-2.0 */
/* How long the host has been up is not the job's to know: its monotonic clocks begin with it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <time.h>

#include "base/wdr_io.h"
#include "native/native_priv.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080 /* linux/sched.h, 5.6 */
#endif

int wdr_native_start_clocks(void)
{
	struct timespec mono;
	struct timespec boot;
	char offsets[96];

	if (unshare(CLONE_NEWTIME) < 0)
		return -errno;
	(void)clock_gettime(CLOCK_MONOTONIC, &mono);
	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	/* Whole seconds: the kernel takes no offset that would make a clock negative. */
	(void)snprintf(offsets, sizeof(offsets), "monotonic -%lld 0\nboottime -%lld 0\n",
		       (long long)mono.tv_sec, (long long)boot.tv_sec);
	return wdr_write_file(AT_FDCWD, "/proc/self/timens_offsets", offsets);
}
