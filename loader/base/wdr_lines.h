/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole lines to a file that others read while it grows: a regular file, a pipe, a device.
 *
 * A line is there to its newline or not at all, whatever becomes of the disk or of the reader: of a
 * regular file the beginning of a line that did not fit is cut off again; where nothing can be cut,
 * the rest is kept and goes out before anything else does. Every line that is not there is counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wdr_cleanup.h"

struct wdr_lines {
	int fd;		/* the caller's */
	bool is_file;	/* a regular one */
	uint64_t bytes; /* of whole lines in it */
	uint64_t lost;	/* lines; one of which a part is out is not among them */
	int error;	/* for which the last was lost: -errno */
	char *rest;	/* of the line of which a part is out; owned */
	size_t n_rest, rest_off;
};

/* Write to @fd, non-blocking where that means something. It stays the caller's and outlives @l. */
void wdr_lines_init(struct wdr_lines *l, int fd);
void wdr_lines_done(struct wdr_lines *l);

/*
 * Write @line, its @n bytes ending in a newline; NULL stands for one that there was no memory for.
 * It becomes @l's, to be freed. A regular file takes it only if @l->bytes stay within @max_bytes,
 * else it is lost with -EFBIG: others have no size. Waits for nothing.
 */
void wdr_lines_put(struct wdr_lines *l, char *line, size_t n, uint64_t max_bytes);

/*
 * Wait until what was kept is out and a line of up to PIPE_BUF bytes would go into @l, at most until
 * @deadline_ns of CLOCK_MONOTONIC. Returns 0; -ETIMEDOUT; the -errno of write(2).
 */
int wdr_lines_wait(struct wdr_lines *l, uint64_t deadline_ns) wdr_must_check;

/* How many are not there whole, if nothing more is written. */
uint64_t wdr_lines_lost(const struct wdr_lines *l);
