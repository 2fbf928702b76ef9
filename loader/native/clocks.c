/* SPDX-License-Identifier: Apache-2.0 */
/* How long the host has been up is not the job's to know: its monotonic clocks begin with it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <time.h>

#include "base/wdr_cleanup.h"
#include "base/wdr_io.h"
#include "native/native_priv.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080 /* linux/sched.h, 5.6 */
#endif

int wdr_native_start_clocks(void)
{
	struct timespec mono;
	struct timespec boot;
	wdr_close_ int fd = -1;
	char offsets[96];
	int r;

	if (unshare(CLONE_NEWTIME) < 0)
		return -errno;
	(void)clock_gettime(CLOCK_MONOTONIC, &mono);
	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	/* Whole seconds: the kernel takes no offset that would make a clock negative. */
	(void)snprintf(offsets, sizeof(offsets), "monotonic -%lld 0\nboottime -%lld 0\n",
		       (long long)mono.tv_sec, (long long)boot.tv_sec);
	r = wdr_write_file(AT_FDCWD, "/proc/self/timens_offsets", offsets);
	if (r < 0)
		return r;
	/* A child that shares our memory would stay in ours until 6.2's execve. */
	fd = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
	return fd < 0 || setns(fd, CLONE_NEWTIME) < 0 ? -errno : 0;
}
