/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wdr_msg.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

union control {
	struct cmsghdr h;
	char space[CMSG_SPACE(WDR_MSG_MAX_FDS * sizeof(int))];
};

int wdr_msg_send(int sock, const void *buf, size_t n, const int *fds, size_t n_fds, int flags)
{
	union control control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = n };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t sent;

	if (n_fds > WDR_MSG_MAX_FDS)
		return -E2BIG;
	if (n_fds) {
		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	do
		sent = sendmsg(sock, &h, MSG_NOSIGNAL | flags);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	return (size_t)sent == n ? 0 : -EMSGSIZE;
}

/* The one descriptor of @h, or none; any other number is refused. */
static int take_fd(struct msghdr *h, int *ret_fd)
{
	int fds[WDR_MSG_MAX_FDS];
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
		    n + bytes / sizeof(int) > WDR_MSG_MAX_FDS)
			continue;
		memcpy(fds + n, CMSG_DATA(c), bytes);
		n += bytes / sizeof(int);
	}
	if (n == 1 && !(h->msg_flags & MSG_CTRUNC)) {
		*ret_fd = fds[0];
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		wdr_closep(&fds[i]);
	return n || h->msg_flags & MSG_CTRUNC ? -EPROTO : 0;
}

ssize_t wdr_msg_recv(int sock, void *buf, size_t size, int *ret_fd, int flags)
{
	union control control = { 0 };
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct msghdr h = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	wdr_close_ int fd = -1;
	ssize_t n;
	int r;

	*ret_fd = -1;
	do
		n = recvmsg(sock, &h, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	r = take_fd(&h, &fd);
	if (r < 0)
		return r;
	if (h.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	*ret_fd = WDR_TAKE_FD(fd);
	return n;
}
