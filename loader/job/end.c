/* SPDX-License-Identifier: Apache-2.0 */
#include "job/end.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* What polls writable takes this much without blocking: PIPE_BUF, pipe(7). */
#define SHARED_WRITE_BYTES 4096

void wdr_end_set(struct wdr_end *e, int fd)
{
	struct stat st;

	*e = (struct wdr_end){ .fd = fd };
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	e->is_socket = S_ISSOCK(st.st_mode);
	e->is_terminal = S_ISCHR(st.st_mode) && isatty(fd);
	e->blocks = !e->is_socket && !S_ISREG(st.st_mode) && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

ssize_t wdr_end_read(const struct wdr_end *e, void *buf, size_t n)
{
	ssize_t got;

	if (e->fd < 0)
		return 0;
	do
		got = e->is_socket ? recv(e->fd, buf, n, MSG_DONTWAIT) : read(e->fd, buf, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

ssize_t wdr_end_write(const struct wdr_end *e, const void *buf, size_t n)
{
	ssize_t put;

	if (e->blocks && n > SHARED_WRITE_BYTES)
		n = SHARED_WRITE_BYTES;
	do
		put = e->is_socket ? send(e->fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL) :
				     write(e->fd, buf, n);
	while (put < 0 && errno == EINTR);
	return put < 0 ? -errno : put;
}

/* EIO: a terminal that was hung up (tty_io.c, hung_up_tty_write). */
bool wdr_end_is_gone(const struct wdr_end *e, int error)
{
	return error == -EPIPE || error == -ECONNRESET || (error == -EIO && e->is_terminal);
}

int wdr_end_open(int fd, int access_mode, int *ret)
{
	char path[32];
	struct stat st;
	int own = -1;

	*ret = -1;
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		own = open(path, access_mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	if (own < 0)
		own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (own < 0)
		return -errno;
	*ret = own;
	return 0;
}
