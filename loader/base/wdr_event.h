/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place that waits: a loop over descriptors, timers and signals, on epoll.
 *
 * Its shape is sd-event's, and sd-event was here first: libsystemd and the six libraries it brings
 * cost each start 0.5 ms of loading and 1 ms of CPU, a sixth of a job (docs/performance.md). What
 * needs libsystemd for more than a loop loads it then (wdr_systemd.h).
 *
 * Callbacks handle their own failures. In one, any source may be freed, the callback's own too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "wdr_err.h"

struct wdr_event;  /* the loop */
struct wdr_source; /* something it waits for, owned by who added it */

typedef void (*wdr_io_fn)(struct wdr_source *s, int fd, uint32_t revents, void *userdata);
typedef void (*wdr_time_fn)(struct wdr_source *s, uint64_t now_ns, void *userdata);
typedef void (*wdr_signal_fn)(struct wdr_source *s, const struct signalfd_siginfo *si,
			      void *userdata);
typedef void (*wdr_defer_fn)(struct wdr_source *s, void *userdata);

/* CLOCK_MONOTONIC: what times of this loop are. */
uint64_t wdr_now_ns(void);

int wdr_event_new(struct wdr_event **ret, struct wdr_err *err) wdr_must_check;
/* The sources must be gone. */
void wdr_event_freep(struct wdr_event **e);

/* Dispatch until wdr_event_exit(). Returns its code, or the -errno of epoll_pwait2(2). */
int wdr_event_loop(struct wdr_event *e) wdr_must_check;
void wdr_event_exit(struct wdr_event *e, int code);

/*
 * Level-triggered: EPOLLIN, EPOLLOUT, EPOLLPRI; EPOLLERR and EPOLLHUP always come. @fd stays the
 * caller's and must be open as long as the source lives. -EPERM: a file that epoll can't watch
 * because it is always ready.
 */
int wdr_event_add_io(struct wdr_event *e, struct wdr_source **ret, int fd, uint32_t events,
		     wdr_io_fn fn, void *userdata) wdr_must_check;
/* Once, when wdr_now_ns() has reached @at_ns; then it is off until it is set again. */
int wdr_event_add_time(struct wdr_event *e, struct wdr_source **ret, uint64_t at_ns, wdr_time_fn fn,
		       void *userdata) wdr_must_check;
/* The signal must be blocked. One source a signal. */
int wdr_event_add_signal(struct wdr_event *e, struct wdr_source **ret, int signo, wdr_signal_fn fn,
			 void *userdata) wdr_must_check;
/* Once, before the loop next waits; then it is off until it is enabled again. */
int wdr_event_add_defer(struct wdr_event *e, struct wdr_source **ret, wdr_defer_fn fn,
			void *userdata) wdr_must_check;

/* Returns 0, or the -errno of epoll_ctl(2). */
int wdr_source_enable(struct wdr_source *s, bool on) wdr_must_check;
/* Set a timer anew, and on. */
void wdr_source_set_time(struct wdr_source *s, uint64_t at_ns);
/* Its callback will not come any more. */
void wdr_source_freep(struct wdr_source **s);

#define wdr_event_  wdr_cleanup(wdr_event_freep)
#define wdr_source_ wdr_cleanup(wdr_source_freep)
