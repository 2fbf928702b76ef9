/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#define FIRST_BYTES 1024 /* most files of /proc and cgroups fit */

/* Room for at least one byte more than @n, at most @max + 1 (the one that is too many) and a NUL. */
static int grow(char **buf, size_t *size, size_t n, size_t max)
{
	size_t want = *size ? 2 * *size : FIRST_BYTES;
	char *p;

	if (n < *size)
		return 0;
	if (want > max + 1)
		want = max + 1;
	p = realloc(*buf, want + 1);
	if (!p)
		return -ENOMEM;
	*buf = p;
	*size = want;
	return 0;
}

int wdr_read_file(int dirfd, const char *path, size_t max, char **ret, size_t *ret_n)
{
	wdr_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	wdr_free_ char *buf = NULL;
	size_t size = 0, n = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t got;
		int r = grow(&buf, &size, n, max);

		if (r < 0)
			return r;
		got = read(fd, buf + n, size - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		n += (size_t)got;
		if (n > max)
			return -EFBIG;
	}
	buf[n] = '\0';
	if (ret_n)
		*ret_n = n;
	*ret = WDR_TAKE_PTR(buf);
	return 0;
}

int wdr_write_file(int dirfd, const char *path, const char *text)
{
	wdr_close_ int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	size_t n = strlen(text);
	ssize_t put;

	if (fd < 0)
		return -errno;
	do {
		put = write(fd, text, n);
	} while (put < 0 && errno == EINTR);
	if (put < 0)
		return -errno;
	return (size_t)put == n ? 0 : -EIO;
}

/* Until @fd takes bytes again; whatever is wrong with it, the next write says. */
static int wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	if (poll(&p, 1, -1) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

int wdr_write_all(int fd, const void *buf, size_t n)
{
	const char *p = buf;

	while (n) {
		ssize_t put = write(fd, p, n);
		int r = 0;

		if (put < 0 && errno == EAGAIN)
			r = wait_writable(fd);
		else if (put < 0 && errno != EINTR)
			r = -errno;
		if (r < 0)
			return r;
		if (put < 0)
			continue;
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

int wdr_pread_all(int fd, void *buf, size_t n, off_t offset)
{
	char *p = buf;

	while (n) {
		ssize_t got = pread(fd, p, n, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -ENODATA;
		p += got;
		n -= (size_t)got;
		offset += got;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	int x = *(const int *)a;
	int y = *(const int *)b;

	return (x > y) - (x < y);
}

int wdr_close_except(int *keep, size_t n)
{
	unsigned int from = 3;

	qsort(keep, n, sizeof(*keep), by_value);
	for (size_t i = 0; i < n; i++) {
		unsigned int fd = (unsigned int)keep[i];

		if (keep[i] < (int)from)
			continue;
		if (fd > from && syscall(SYS_close_range, from, fd - 1, 0) < 0)
			return -errno;
		from = fd + 1;
	}
	return syscall(SYS_close_range, from, ~0U, 0) < 0 ? -errno : 0;
}

int wdr_place_fds(int *src, int n, int above)
{
	for (int i = 0; i < n; i++) {
		src[i] = fcntl(src[i], F_DUPFD_CLOEXEC, above);
		if (src[i] < 0)
			return -errno;
	}
	for (int i = 0; i < n; i++)
		if (dup2(src[i], i) < 0)
			return -errno;
	return syscall(SYS_close_range, n, ~0U, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
}
