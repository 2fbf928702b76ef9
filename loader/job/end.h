/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One side of a pump: a descriptor of any kind, read and written without ever waiting in it. What the
 * caller gave us may be shared with others, whom O_NONBLOCK on it would surprise.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/wdr_err.h"

struct wdr_end {
	int fd; /* owned; -1: nowhere */
	bool is_socket, is_terminal;
	bool blocks; /* poll it before each read and write */
};

/* Take @fd over, and see what it is. */
void wdr_end_set(struct wdr_end *e, int fd);

/*
 * Of an end that is ready; at least one byte, 0 at the end of a source, which nowhere always is.
 * Returns -errno: -EAGAIN, -EPIPE and the like of read(2), write(2).
 */
ssize_t wdr_end_read(const struct wdr_end *e, void *buf, size_t n);
ssize_t wdr_end_write(const struct wdr_end *e, const void *buf, size_t n);

/* Whether an -errno says that who is at the other side has left, and not that something broke. */
bool wdr_end_is_gone(const struct wdr_end *e, int error);

/*
 * A descriptor for the same file as the caller's @fd, which stays his: of a description of our own
 * that does not block where the file allows it, else a duplicate. *ret is -1 for -1. Returns
 * 0 or the -errno of fcntl(2): -EMFILE.
 */
int wdr_end_open(int fd, int access_mode, int *ret) wdr_must_check;
