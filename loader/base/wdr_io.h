/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and whole writes, bounded, with every short count and EINTR dealt with. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/wdr_cleanup.h"

/*
 * Read all of @path below @dirfd (AT_FDCWD: the working directory) into a new string, NUL behind
 * its *ret_n bytes. The caller frees it. Meant for small files, those of /proc and /sys as well,
 * whose st_size is 0. Returns 0; -EFBIG if there are more than @max bytes; -EISDIR, -ENOMEM or the
 * -errno of openat, read. @ret_n may be NULL.
 */
int wdr_read_file(int dirfd, const char *path, size_t max, char **ret,
		  size_t *ret_n) wdr_must_check;

/* Write @text to the existing @path below @dirfd in one write(2), as control files want it. */
int wdr_write_file(int dirfd, const char *path, const char *text) wdr_must_check;

/*
 * Write all @n bytes to @fd. Waits with poll(2) where @fd is non-blocking and full. Returns 0 or
 * the -errno of write: -EPIPE (SIGPIPE is the caller's to ignore), -ENOSPC...
 */
int wdr_write_all(int fd, const void *buf, size_t n) wdr_must_check;

/* Read exactly @n bytes at @offset. -ENODATA if the file ends before. */
int wdr_pread_all(int fd, void *buf, size_t n, off_t offset) wdr_must_check;

/*
 * Close every descriptor from 3 on but the @n at @keep, which are sorted in place; entries below 3
 * (-1) and doubles do no harm. For a fork that goes on without an exec. 0 or the -errno of
 * close_range(2).
 */
int wdr_close_except(int *keep, size_t n) wdr_must_check;

/*
 * In a child, before its exec: make descriptor i a copy of src[i] for each of the @n, and let all
 * others close at the exec. Copies are first put at @above, which is at least @n, or higher, out of
 * each other's way. 0 or the -errno of fcntl(2), dup2(2), close_range(2).
 */
int wdr_place_fds(int *src, int n, int above) wdr_must_check;
