/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a module tells `warder check` what this machine can do. A probe does the thing: it loads
 * the program, mounts, installs the filter. Each runs in a child of its own with a deadline, so it
 * may change its process as it likes, hang or die, and owes no clean-up of memory or descriptors;
 * what others can see (cgroups, pins, interfaces) it removes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/protection.h"

struct wdr_check_row {
	bool said; /* by the probe; if not, the runner says what became of it */
	bool yes;
	char why[200]; /* yes: a detail ("ABI 7"), may be ""; no: what was tried and what came */
	const char *remedy; /* the runner's; NULL: the protection's own */
	/* Of another probe, which knows a part that the first can't know. */
	bool other_said, other_yes;
	char other_why[200];
};

/* What is worth knowing but protects nothing: versions, which sandbox starts here. */
struct wdr_check_fact {
	char name[32]; /* "runsc_platform" */
	char value[160];
};

#define WDR_CHECK_MAX_FACTS 32

/* One row a protection, in memory that the runner shares with the probes' processes. */
struct wdr_check_report {
	struct wdr_check_row rows[_WDR_PROT_MAX];
	struct wdr_check_fact facts[WDR_CHECK_MAX_FACTS];
	unsigned int n_facts; /* offered, perhaps more than there is room for */
};

struct wdr_probe {
	const char *name;
	uint64_t covers; /* WDR_PROT_BIT()s that it answers for */
	uint64_t bars;	 /* those of other probes that it has a part in: wdr_check_bar() */
	void (*run)(struct wdr_check_report *rep);
};

void wdr_check_yes(struct wdr_check_report *rep, enum wdr_protection p, const char *fmt, ...)
	wdr_printf(3, 4);
void wdr_check_no(struct wdr_check_report *rep, enum wdr_protection p, const char *fmt, ...)
	wdr_printf(3, 4);
/*
 * For one other probe than the one that answers for @p, whichever comes first. Bar: @p needs this
 * part too, so it is "no" whatever its own probe finds. Stand in: where its own probe finds "no",
 * this part gives it all the same.
 */
void wdr_check_bar(struct wdr_check_report *rep, enum wdr_protection p, const char *fmt, ...)
	wdr_printf(3, 4);
void wdr_check_stand_in(struct wdr_check_report *rep, enum wdr_protection p, const char *fmt, ...)
	wdr_printf(3, 4);
/* Facts of one probe stay in order; those of different ones may mix. */
void wdr_check_fact(struct wdr_check_report *rep, const char *name, const char *fmt, ...)
	wdr_printf(3, 4);
