/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams over a unix socket, with descriptors beside the bytes (unix(7), SCM_RIGHTS). */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/wdr_cleanup.h"

#define WDR_MSG_MAX_FDS 4

/*
 * Send @n bytes and the @n_fds descriptors of @fds, which stay the caller's, in one message. Never
 * raises SIGPIPE. @flags of sendmsg(2). Returns 0, or the -errno of sendmsg: -EPIPE, -EAGAIN...;
 * -EMSGSIZE if not all of it went.
 */
int wdr_msg_send(int sock, const void *buf, size_t n, const int *fds, size_t n_fds,
		 int flags) wdr_must_check;

/*
 * Receive at most @size bytes. A descriptor that comes along is *ret_fd, the caller's, else -1;
 * more than one are closed, and the message refused. Returns the number of bytes, 0 at end of
 * file; -EMSGSIZE for a message that was longer; -EPROTO for descriptors that can't be; else the
 * -errno of recvmsg, -EPIPE in place of -ECONNRESET.
 */
ssize_t wdr_msg_recv(int sock, void *buf, size_t size, int *ret_fd, int flags) wdr_must_check;
