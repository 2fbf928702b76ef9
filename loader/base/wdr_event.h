/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one door to sd-event: its API, and the attributes for locals that own a reference. A
 * callback that returns a negative number turns its source off without a word (sd_event_add_io(3)):
 * ours handle their failures and return 0.
 *
 * libsystemd is loaded by the first wdr_event_new() (wdr_systemd.h): `warder run` does it while
 * another process builds the sandbox. Until then no sd_event function may be called.
 */
#pragma once

#include <systemd/sd-event.h>

#include "wdr_err.h"

/* sd_event_add_time(3): 0 would mean 250 ms. */
#define WDR_EVENT_ACCURACY_US 1

/* A new loop. -ELIBACC if libsystemd.so.0 can't be loaded; else as sd_event_new(3). */
int wdr_event_new(sd_event **ret, struct wdr_err *err) wdr_must_check;

static inline void wdr_event_putp(sd_event **e)
{
	*e = *e ? sd_event_unref(*e) : NULL;
}

/* A source is off for good once it is unreferenced, whatever else still refers to it. */
static inline void wdr_source_putp(sd_event_source **s)
{
	*s = *s ? sd_event_source_disable_unref(*s) : NULL;
}

#define wdr_event_  wdr_cleanup(wdr_event_putp)
#define wdr_source_ wdr_cleanup(wdr_source_putp)
