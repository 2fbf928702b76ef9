/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 as RFC 3629 section 4 defines it (no overlong forms, no surrogates, nothing past U+10FFFF),
 * checked over a stream of pieces of any size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: at the start of a text. */
struct wdr_utf8 {
	uint8_t want;	/* bytes that the open character still needs */
	uint8_t have;	/* and those seen of it */
	uint8_t lo, hi; /* what the next one may be */
	bool bad;	/* for good: an earlier byte can't be in UTF-8 */
};

/* Take the next @n bytes. Returns false as soon as the text is known not to be UTF-8. */
bool wdr_utf8_feed(struct wdr_utf8 *u, const void *bytes, size_t n);

/* Length of the character that @s (of @n bytes) starts with, 1..4; 0 if it starts with none. */
size_t wdr_utf8_char(const void *s, size_t n);
