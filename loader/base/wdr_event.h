/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one door to sd-event: its API, and the attributes for locals that own a reference. A
 * callback that returns a negative number turns its source off without a word (sd_event_add_io(3)):
 * ours handle their failures and return 0.
 */
#pragma once

#include <systemd/sd-event.h>

#include "wdr_cleanup.h"

/* sd_event_add_time(3): 0 would mean 250 ms. */
#define WDR_EVENT_ACCURACY_US 1

static inline void wdr_event_putp(sd_event **e)
{
	*e = sd_event_unref(*e);
}

/* A source is off for good once it is unreferenced, whatever else still refers to it. */
static inline void wdr_source_putp(sd_event_source **s)
{
	*s = sd_event_source_disable_unref(*s);
}

#define wdr_event_  wdr_cleanup(wdr_event_putp)
#define wdr_source_ wdr_cleanup(wdr_source_putp)
