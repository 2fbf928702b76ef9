/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of a job's stdio. A pump holds at most one buffer: when the reader is slow it
 * stops reading, and so the job stops writing. Where nothing has to be kept the bytes go from pipe
 * to pipe inside the kernel (splice(2)).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/wdr_err.h"
#include "base/wdr_event.h"

struct wdr_pump;

struct wdr_pump_opts {
	const char *name; /* "stdout" */
	int src_fd;	  /* taken over */
	int dst_fd;	  /* taken over; -1: nowhere */
	bool from_job;	  /* the source is the job's: it may be drained once that is dead */
	bool capture;	  /* keep what is read, in memory that is not ours to hold resident */
	uint64_t limit;	  /* bytes passed on and kept; what comes after is only counted */
	int end_byte;	  /* >= 0: written at the end of the source, a pty's end of file */
	/* Once each, from the loop. The pump must not be freed in them. */
	void (*on_limit)(struct wdr_pump *p, void *userdata);
	void (*on_end)(struct wdr_pump *p, void *userdata);
	void *userdata;
};

/*
 * The two descriptors are taken over, also on failure. The flags of neither are changed: see
 * wdr_end_open() for what may be shared with others.
 */
int wdr_pump_new(struct wdr_event *event, const struct wdr_pump_opts *o, struct wdr_pump **ret,
		 struct wdr_err *err) wdr_must_check;
void wdr_pump_freep(struct wdr_pump **p);

/* The writers are dead: what is in the pipe now is all. */
void wdr_pump_drain(struct wdr_pump *p);
/* Stop at once, whatever is left. on_end does not come any more. */
void wdr_pump_stop(struct wdr_pump *p);

bool wdr_pump_ended(const struct wdr_pump *p);
/* -errno if one of the two failed by something else than going away (-EPIPE), else 0. */
int wdr_pump_error(const struct wdr_pump *p);
const char *wdr_pump_name(const struct wdr_pump *p);
/* All that was read. */
uint64_t wdr_pump_bytes(const struct wdr_pump *p);
/* The descriptor of what was kept, of wdr_pump_kept() bytes; -1: nothing. The caller owns it. */
int wdr_pump_take_capture(struct wdr_pump *p);
uint64_t wdr_pump_kept(const struct wdr_pump *p);

#define wdr_pump_ wdr_cleanup(wdr_pump_freep)
