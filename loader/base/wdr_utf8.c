/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_utf8.h"

#include <string.h>

/* What a lead byte asks for: RFC 3629 section 4, the table of UTF8-2, UTF8-3 and UTF8-4. */
static bool open_char(struct wdr_utf8 *u, uint8_t b)
{
	if (b < 0xc2 || b > 0xf4)
		return false;
	u->want = b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
	u->have = 1;
	u->lo = b == 0xe0 ? 0xa0 : b == 0xf0 ? 0x90 : 0x80;
	u->hi = b == 0xed ? 0x9f : b == 0xf4 ? 0x8f : 0xbf;
	return true;
}

static bool take_byte(struct wdr_utf8 *u, uint8_t b)
{
	if (!u->want)
		return b < 0x80 || open_char(u, b);
	if (b < u->lo || b > u->hi)
		return false;
	u->lo = 0x80;
	u->hi = 0xbf;
	u->want--;
	u->have = u->want ? u->have + 1 : 0;
	return true;
}

/* Whether the eight bytes at @p are ASCII: most output is, and this decides the speed. */
static bool ascii8(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return !(word & UINT64_C(0x8080808080808080));
}

bool wdr_utf8_feed(struct wdr_utf8 *u, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	const uint8_t *end = p + n;

	if (u->bad)
		return false;
	while (p < end) {
		if (!u->want && end - p >= 8 && ascii8(p)) {
			p += 8;
			continue;
		}
		if (!take_byte(u, *p++)) {
			u->bad = true;
			return false;
		}
	}
	return true;
}

size_t wdr_utf8_char(const void *s, size_t n)
{
	const uint8_t *p = s;
	struct wdr_utf8 u = { 0 };

	for (size_t i = 0; i < n && i < 4; i++) {
		if (!take_byte(&u, p[i]))
			return 0;
		if (!u.want)
			return i + 1;
	}
	return 0;
}
