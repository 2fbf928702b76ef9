/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_text.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "wdr_utf8.h"

#define MAX_WORD 32 /* longer words have no near ones */

struct unit {
	const char *suffix;
	uint64_t size;
};

/*
 * Print @value in the largest of @units that it fills, @decimals places at most, never more than
 * it is: rounding 1023.9M up to "1024M" would name a limit that was not set.
 */
static const char *print_unit(uint64_t value, const struct unit *units, unsigned int decimals,
			      char buf[WDR_TEXT_UNIT_MAX])
{
	const struct unit *u = units;
	uint64_t scale = 1, rest;
	size_t n;

	while (u->size > 1 && value < u->size)
		u++;
	for (unsigned int i = 0; i < decimals; i++)
		scale *= 10;
	/* value % size is below 2^60 and scale at most 1000: not to be multiplied in 64 bits */
	rest = (uint64_t)((unsigned __int128)(value % u->size) * scale / u->size);
	n = (size_t)snprintf(buf, WDR_TEXT_UNIT_MAX, "%llu.%0*llu",
			     (unsigned long long)(value / u->size), (int)decimals,
			     (unsigned long long)rest);
	while (n && buf[n - 1] == '0')
		n--;
	if (n && buf[n - 1] == '.')
		n--;
	(void)snprintf(buf + n, WDR_TEXT_UNIT_MAX - n, "%s", u->suffix);
	return buf;
}

const char *wdr_text_size(uint64_t bytes, char buf[WDR_TEXT_UNIT_MAX])
{
	static const struct unit units[] = { { "T", UINT64_C(1) << 40 },
					     { "G", UINT64_C(1) << 30 },
					     { "M", UINT64_C(1) << 20 },
					     { "K", UINT64_C(1) << 10 },
					     { "", 1 } };

	return print_unit(bytes, units, 2, buf);
}

/* Minutes and hours only where nothing is left over: 90s, not 1.5m. */
const char *wdr_text_duration(uint64_t ns, char buf[WDR_TEXT_UNIT_MAX])
{
	static const struct unit whole[] = { { "h", UINT64_C(3600000000000) },
					     { "m", UINT64_C(60000000000) } };
	static const struct unit units[] = {
		{ "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 }
	};

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		if (!ns || ns % whole[i].size)
			continue;
		(void)snprintf(buf, WDR_TEXT_UNIT_MAX, "%llu%s",
			       (unsigned long long)(ns / whole[i].size), whole[i].suffix);
		return buf;
	}
	return ns ? print_unit(ns, units, 3, buf) : strcpy(buf, "0s");
}

const char *wdr_text_signal(int sig, char buf[WDR_TEXT_UNIT_MAX])
{
	const char *name = sigabbrev_np(sig);

	if (name)
		(void)snprintf(buf, WDR_TEXT_UNIT_MAX, "SIG%s", name);
	else if (sig == SIGRTMIN)
		(void)snprintf(buf, WDR_TEXT_UNIT_MAX, "SIGRTMIN");
	else if (sig > SIGRTMIN && sig <= SIGRTMAX)
		(void)snprintf(buf, WDR_TEXT_UNIT_MAX, "SIGRTMIN+%d", sig - SIGRTMIN);
	else
		(void)snprintf(buf, WDR_TEXT_UNIT_MAX, "signal %d", sig);
	return buf;
}

/* C1 controls (U+0080..U+009F) and the line and paragraph separators drive terminals and logs too. */
static bool printable(const unsigned char *s, size_t n)
{
	if (n == 1)
		return s[0] >= 0x20 && s[0] != 0x7f;
	if (n == 2)
		return s[0] != 0xc2 || s[1] >= 0xa0;
	return n != 3 || memcmp(s, "\xe2\x80", 2) || (s[2] & 0xfe) != 0xa8;
}

/*
 * One character or bad byte of @s as it will be shown: what is in map[0] by its letter in map[1].
 * Sets *ret_used to what it took.
 */
static size_t escape_one(const unsigned char *s, size_t n, const char *const map[2], char out[8],
			 size_t *ret_used)
{
	size_t len = wdr_utf8_char(s, n);
	const char *at = s[0] ? strchr(map[0], s[0]) : NULL;

	*ret_used = 1;
	if (at)
		return (size_t)snprintf(out, 8, "\\%c", map[1][at - map[0]]);
	if (!len || !printable(s, len))
		return (size_t)snprintf(out, 8, "\\x%02x", s[0]);
	*ret_used = len;
	memcpy(out, s, len);
	return len;
}

static const char *escape(const unsigned char *s, size_t n, const char *const map[2], char *out,
			  size_t size)
{
	size_t used = 0;
	size_t safe = 0; /* where "..." would still fit */

	if (!size)
		return out;
	while (n) {
		char piece[8];
		size_t took;
		size_t len = escape_one(s, n, map, piece, &took);

		if (used + len >= size) {
			(void)snprintf(out + safe, size - safe, "...");
			return out;
		}
		memcpy(out + used, piece, len);
		used += len;
		if (used + sizeof("...") <= size)
			safe = used;
		s += took;
		n -= took;
	}
	out[used] = '\0';
	return out;
}

const char *wdr_text_escape(const void *in, size_t n, char *out, size_t size)
{
	static const char *const map[2] = { "\n\r\t\"\\", "nrt\"\\" };

	return escape(in, n, map, out, size);
}

const char *wdr_text_printable(const void *in, size_t n, char *out, size_t size)
{
	static const char *const map[2] = { "\n\r\t", "nrt" };

	return escape(in, n, map, out, size);
}

const char *wdr_text_copy(char *out, size_t size, const char *in)
{
	size_t n = strlen(in);

	if (!size)
		return out;
	if (n >= size) {
		n = size - 1;
		/* Back to a character's first byte, if one is cut. */
		for (size_t back = 0; back < 3 && n && ((unsigned char)in[n] & 0xc0) == 0x80;
		     back++)
			n--;
	}
	memcpy(out, in, n);
	out[n] = '\0';
	return out;
}

/* Edits (insert, delete, replace, swap neighbours) from @a to @b; both at most MAX_WORD long. */
static unsigned int distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned int d[MAX_WORD + 1][MAX_WORD + 1];

	for (unsigned int i = 0; i <= n; i++)
		d[i][0] = i;
	for (unsigned int j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			unsigned int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			best = best < d[i - 1][j] + 1 ? best : d[i - 1][j] + 1;
			best = best < d[i][j - 1] + 1 ? best : d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[n][m];
}

void wdr_nearest_offer(struct wdr_nearest *n, const char *candidate)
{
	size_t len = strlen(n->word);
	unsigned int d;

	if (!len || len > MAX_WORD || strlen(candidate) > MAX_WORD)
		return;
	/* A word cut short is meant as well: "mem" for "memory". */
	if (len >= 3 && !strncmp(candidate, n->word, len))
		d = 1;
	else
		d = distance(n->word, candidate);
	if (d > 1 + len / 4 || d >= len || (n->best && d >= n->distance))
		return;
	n->best = candidate;
	n->distance = d;
}

const char *wdr_text_instant(struct timespec t, char buf[WDR_TEXT_INSTANT_MAX])
{
	char day[32];
	struct tm tm;

	if (!gmtime_r(&t.tv_sec, &tm) || !strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm))
		day[0] = '\0';
	buf[0] = '\0';
	if (day[0])
		(void)snprintf(buf, WDR_TEXT_INSTANT_MAX, "%s.%03uZ", day,
			       (unsigned int)(t.tv_nsec / 1000000) % 1000);
	return buf;
}
