/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that people read: sizes and durations in the units of a policy, words near a misspelt one,
 * and bytes of a job made harmless. Nothing here allocates, every result fits its buffer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/wdr_cleanup.h"

#define WDR_TEXT_UNIT_MAX 32 /* room for any size, duration or signal name, NUL included */

/* @bytes as a policy spells it: "512M", "1.5G", "1000"; at most two decimals. Returns @buf. */
const char *wdr_text_size(uint64_t bytes, char buf[WDR_TEXT_UNIT_MAX]);
/* @ns as a policy spells it: "2s", "1.5s", "500ms", "5m", "3us"; at most three decimals. */
const char *wdr_text_duration(uint64_t ns, char buf[WDR_TEXT_UNIT_MAX]);
/* "SIGKILL", "SIGRTMIN+3"; "signal 99" for a number that is none. */
const char *wdr_text_signal(int sig, char buf[WDR_TEXT_UNIT_MAX]);

#define WDR_TEXT_INSTANT_MAX 48

/* RFC 3339 in UTC, to the millisecond: "2026-11-30T09:00:00.123Z"; "" past year 9999. Returns @buf. */
const char *wdr_text_instant(struct timespec t, char buf[WDR_TEXT_INSTANT_MAX]);

/*
 * Copy @n bytes of @in into @out of @size as one line of printable UTF-8: control characters,
 * quotes, backslashes and bytes that are not UTF-8 become \n, \", \\, \xNN. What does not fit ends
 * in "...", cut between characters. Returns @out.
 */
const char *wdr_text_escape(const void *in, size_t n, char *out, size_t size);

/* The same for a sentence: quotes and backslashes stand for themselves. */
const char *wdr_text_printable(const void *in, size_t n, char *out, size_t size);

/* Copy @in into @out of @size; what is too long is cut between characters. Returns @out. */
const char *wdr_text_copy(char *out, size_t size, const char *in);

/* The known word nearest to a misspelt one. Start with { .word = word }, offer every candidate. */
struct wdr_nearest {
	const char *word;
	const char *best; /* NULL: nothing is near enough to be meant */
	unsigned int distance;
};

void wdr_nearest_offer(struct wdr_nearest *n, const char *candidate);
