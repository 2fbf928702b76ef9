/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as options and policies spell them, read strictly and printed exactly: what is printed
 * here reads back as the same value (wdr_text.h has the rounded forms for messages).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/wdr_err.h"

#define WDR_NUM_TEXT_MAX 32 /* any of them with its unit and NUL */

/* Largest plain numbers; policies/schema.json has the same. */
#define WDR_NUM_MAX_SECONDS 999999999
#define WDR_NUM_MAX_BYTES   INT64_C(999999999999999)

/*
 * "500ms", "1.5s", "5m", "1h"; a plain number is seconds; at most three decimals, none for ms, so
 * that every duration is whole milliseconds. Zero is read: whether it is good is the caller's
 * question. At most 999999999s, 9999999m, 99999h. *ret_ns is nanoseconds. Returns 0 or -EINVAL.
 */
int wdr_num_duration(const char *s, uint64_t *ret_ns, struct wdr_err *err) wdr_must_check;

/* "512M", "2G", "4096": whole numbers of bytes, K, M, G or T, each 1024 times the one before. */
int wdr_num_size(const char *s, uint64_t *ret_bytes, struct wdr_err *err) wdr_must_check;

/* A whole number of @min..@max: decimal digits, no leading zeros, no more. 0 or -EINVAL. */
int wdr_num_integer(const char *s, uint64_t min, uint64_t max, uint64_t *ret,
		    struct wdr_err *err) wdr_must_check;

/* "0.5", "2": digits, and at most six decimals behind a point, whatever the locale. */
int wdr_num_decimal(const char *s, double *ret, struct wdr_err *err) wdr_must_check;

/*
 * The largest unit that divides and that reading takes as much of: "90s", "1m", "1500ms", "0s".
 * @ns is whole milliseconds.
 */
const char *wdr_num_duration_text(uint64_t ns, char buf[WDR_NUM_TEXT_MAX]);
/* The same: "512M", "1536M", "1000", "0". */
const char *wdr_num_size_text(uint64_t bytes, char buf[WDR_NUM_TEXT_MAX]);
