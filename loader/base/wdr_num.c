/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_num.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "wdr_text.h"

/* How many digits a number may have says how large it may be: a JSON Schema pattern can say it too. */
struct unit {
	const char *suffix;
	uint64_t size;
	unsigned int digits;
	unsigned int decimals;
};

/* Largest first, which is what printing wants; the last one also stands for no suffix at all. */
static const struct unit time_units[] = {
	{ "h", UINT64_C(3600000000000), 5, 3 },
	{ "m", UINT64_C(60000000000), 7, 3 },
	{ "s", 1000000000, 9, 3 },
	{ "ms", 1000000, 12, 0 },
	{ NULL, 1000000000, 9, 3 },
};
static const struct unit size_units[] = {
	{ "T", UINT64_C(1) << 40, 3, 0 },
	{ "G", UINT64_C(1) << 30, 6, 0 },
	{ "M", UINT64_C(1) << 20, 9, 0 },
	{ "K", UINT64_C(1) << 10, 12, 0 },
	{ NULL, 1, 15, 0 },
};

/* A number as it stands in the text, not yet scaled. */
struct number {
	size_t n_digits;
	uint64_t whole;
	size_t n_decimals;
	uint64_t fraction;
	const char *rest;
};

/* @s from its first digit to the first character that is not part of a number. */
static int split_number(const char *s, struct number *n)
{
	*n = (struct number){ .rest = s };
	for (; isdigit((unsigned char)*n->rest); n->rest++, n->n_digits++)
		if (n->n_digits < 18)
			n->whole = n->whole * 10 + (uint64_t)(*n->rest - '0');
	if (!n->n_digits || *n->rest != '.')
		return n->n_digits ? 0 : -EINVAL;
	for (n->rest++; isdigit((unsigned char)*n->rest); n->rest++, n->n_decimals++)
		if (n->n_decimals < 18)
			n->fraction = n->fraction * 10 + (uint64_t)(*n->rest - '0');
	return n->n_decimals ? 0 : -EINVAL;
}

static int fail(struct wdr_err *err, const char *s, const char *what, const char *want)
{
	char shown[48];

	return wdr_err_set(err, -EINVAL, "%s \"%s\": want %s", what,
			   wdr_text_escape(s, strlen(s), shown, sizeof(shown)), want);
}

static const struct unit *find_unit(const struct unit *u, const char *suffix)
{
	while (u->suffix && strcmp(u->suffix, suffix))
		u++;
	return u->suffix || !*suffix ? u : NULL;
}

static int read_units(const char *s, const struct unit *units, uint64_t *ret)
{
	const struct unit *u;
	uint64_t scale = 1;
	struct number n;

	if (split_number(s, &n) < 0)
		return -EINVAL;
	u = find_unit(units, n.rest);
	if (!u || n.n_decimals > u->decimals)
		return -EINVAL;
	if (n.n_digits > u->digits)
		return -ERANGE;
	for (size_t i = 0; i < n.n_decimals; i++)
		scale *= 10;
	*ret = n.whole * u->size + n.fraction * (u->size / scale);
	return 0;
}

int wdr_num_duration(const char *s, uint64_t *ret_ns, struct wdr_err *err)
{
	int r = read_units(s, time_units, ret_ns);

	if (r == -ERANGE)
		return fail(err, s, "too long:", "at most 999999999s, 9999999m or 99999h");
	if (r < 0)
		return fail(err, s, "not a duration:",
			    "a number and ms, s, m or h, such as 500ms, 10s, 5m, 1h");
	return 0;
}

int wdr_num_size(const char *s, uint64_t *ret_bytes, struct wdr_err *err)
{
	int r = read_units(s, size_units, ret_bytes);

	if (r == -ERANGE)
		return fail(err, s, "too large:", "at most 999T");
	if (r < 0)
		return fail(err, s, "not a size:",
			    "a whole number of bytes, K, M, G or T, such as 512M or 2G");
	return 0;
}

int wdr_num_integer(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct wdr_err *err)
{
	char want[64];
	struct number n;

	(void)snprintf(want, sizeof(want), "a whole number of %llu..%llu", (unsigned long long)min,
		       (unsigned long long)max);
	if (split_number(s, &n) < 0 || n.n_decimals || *n.rest || (*s == '0' && s[1]))
		return fail(err, s, "not a number:", want);
	if (n.n_digits > 18 || n.whole < min || n.whole > max)
		return fail(err, s, "out of range:", want);
	*ret = n.whole;
	return 0;
}

int wdr_num_decimal(const char *s, double *ret, struct wdr_err *err)
{
	uint64_t scale = 1;
	struct number n;

	if (split_number(s, &n) < 0 || *n.rest || n.n_digits > 9 || n.n_decimals > 6)
		return fail(err, s, "not a number:", "such as 0.5 or 2");
	for (size_t i = 0; i < n.n_decimals; i++)
		scale *= 10;
	/* Both are exact below 2^53, so this is the double nearest to the text. */
	*ret = (double)(n.whole * scale + n.fraction) / (double)scale;
	return 0;
}

/* Whether @value is so many of @u, and no more than reading takes. */
static bool fits(uint64_t value, const struct unit *u)
{
	uint64_t most = 1;

	for (unsigned int i = 0; i < u->digits; i++)
		most *= 10;
	return value && value % u->size == 0 && value / u->size < most;
}

static const char *print_units(uint64_t value, const struct unit *u, char buf[WDR_NUM_TEXT_MAX])
{
	while (u->suffix && !fits(value, u))
		u++;
	(void)snprintf(buf, WDR_NUM_TEXT_MAX, "%llu%s", (unsigned long long)(value / u->size),
		       u->suffix ? u->suffix : "");
	return buf;
}

const char *wdr_num_duration_text(uint64_t ns, char buf[WDR_NUM_TEXT_MAX])
{
	if (!ns)
		return strcpy(buf, "0s");
	return print_units(ns, time_units, buf);
}

const char *wdr_num_size_text(uint64_t bytes, char buf[WDR_NUM_TEXT_MAX])
{
	return print_units(bytes, size_units, buf);
}
