/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_lines.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>

#include "base/wdr_event.h"

#define NS_PER_MS 1000000ULL

void wdr_lines_init(struct wdr_lines *l, int fd)
{
	struct stat st;

	*l = (struct wdr_lines){ .fd = fd };
	l->is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

void wdr_lines_done(struct wdr_lines *l)
{
	wdr_freep(&l->rest);
	*l = (struct wdr_lines){ .fd = -1 };
}

uint64_t wdr_lines_lost(const struct wdr_lines *l)
{
	return l->lost + (l->rest ? 1 : 0);
}

static void lose(struct wdr_lines *l, int error)
{
	l->lost++;
	l->error = error;
}

static ssize_t write_some(int fd, const char *p, size_t n)
{
	ssize_t put;

	do
		put = write(fd, p, n);
	while (put < 0 && errno == EINTR);
	return put < 0 ? -errno : put;
}

/*
 * Take the first @n bytes of a line back out of a regular file. Whether they are its last must be
 * looked at: others may append to it, too, and then theirs stand behind. What can't be taken back
 * (an append-only file) must be made whole.
 */
static bool take_back(const struct wdr_lines *l, size_t n)
{
	off_t end = lseek(l->fd, 0, SEEK_CUR);
	struct stat st;

	if (!l->is_file || end < (off_t)n || fstat(l->fd, &st) < 0)
		return false;
	if (st.st_size == end && ftruncate(l->fd, end - (off_t)n) < 0)
		return false;
	return lseek(l->fd, end - (off_t)n, SEEK_SET) >= 0;
}

/* Returns 0 once nothing is kept, else why it still is. */
static int put_rest(struct wdr_lines *l)
{
	while (l->rest) {
		ssize_t put = write_some(l->fd, l->rest + l->rest_off, l->n_rest - l->rest_off);

		if (put <= 0)
			return put < 0 ? (int)put : -EIO;
		l->rest_off += (size_t)put;
		if (l->rest_off == l->n_rest)
			wdr_freep(&l->rest);
	}
	return 0;
}

void wdr_lines_put(struct wdr_lines *l, char *line, size_t n, uint64_t max_bytes)
{
	wdr_free_ char *owned = line;
	ssize_t put = -ENOMEM;

	if (line && l->is_file && n > max_bytes - (l->bytes < max_bytes ? l->bytes : max_bytes)) {
		lose(l, -EFBIG);
		return;
	}
	if (line)
		put = put_rest(l);
	if (line && put == 0)
		put = write_some(l->fd, line, n);
	if (put < 0) {
		lose(l, (int)put);
		return;
	}
	if ((size_t)put == n) {
		l->bytes += n;
		return;
	}
	/* Only the next write would say why. */
	if (put == 0 || take_back(l, (size_t)put)) {
		lose(l, -ENOSPC);
		return;
	}
	l->rest = WDR_TAKE_PTR(owned);
	l->n_rest = n;
	l->rest_off = (size_t)put;
}

int wdr_lines_wait(struct wdr_lines *l, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd p = { .fd = l->fd, .events = POLLOUT };
		uint64_t now = wdr_now_ns();
		int left = now < deadline_ns ? (int)((deadline_ns - now) / NS_PER_MS) : 0;
		int r = put_rest(l);

		if (r < 0 && r != -EAGAIN)
			return r;
		if (poll(&p, 1, left) < 0 && errno != EINTR)
			return -errno;
		if (r == 0 && p.revents)
			return 0;
		if (wdr_now_ns() >= deadline_ns)
			return -ETIMEDOUT;
	}
}
