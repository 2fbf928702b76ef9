/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include "base/wdr_utf8.h"

/* Good: whole; Open: the beginning of a character at its end; bad: never. */
enum verdict {
	GOOD,
	OPEN,
	BAD
};

static const struct {
	const char *bytes;
	enum verdict want;
} cases[] = {
	{ "", GOOD },
	{ "all of it is ASCII, and long enough for words of eight", GOOD },
	{ "\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xef\xbf\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf", GOOD },
	{ "\xed\x9f\xbf \xee\x80\x80", GOOD },
	{ "12345678\xc3", OPEN },
	{ "\xe2\x82", OPEN },
	{ "\xf0\x9f\x98", OPEN },
	{ "\x80", BAD },
	{ "\xc0\x80", BAD }, /* overlong, two, three and four bytes */
	{ "\xc1\xbf", BAD },
	{ "\xe0\x9f\xbf", BAD },
	{ "\xf0\x8f\xbf\xbf", BAD },
	{ "\xed\xa0\x80", BAD },     /* surrogate */
	{ "\xf4\x90\x80\x80", BAD }, /* past U+10FFFF */
	{ "\xf5\x80\x80\x80", BAD },
	{ "\xff", BAD },
	{ "\xe2\x82 ", BAD },
	{ "\xc3\xc3\xbc", BAD },
};

static enum verdict judge(const char *s, size_t n, size_t step)
{
	struct wdr_utf8 u = { 0 };

	for (size_t i = 0; i < n; i += step)
		if (!wdr_utf8_feed(&u, s + i, n - i < step ? n - i : step))
			return BAD;
	return u.want ? OPEN : GOOD;
}

static void judges_the_same_whatever_the_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t step = 1; step <= 9; step++)
			assert_int_equal(judge(cases[i].bytes, strlen(cases[i].bytes), step),
					 cases[i].want);
}

static void stays_bad(void **state)
{
	struct wdr_utf8 u = { 0 };

	(void)state;
	assert_false(wdr_utf8_feed(&u, "\xff", 1));
	assert_false(wdr_utf8_feed(&u, "good", 4));
}

static void counts_the_bytes_of_an_open_character(void **state)
{
	struct wdr_utf8 u = { 0 };

	(void)state;
	assert_true(wdr_utf8_feed(&u, "ab\xf0\x9f", 4));
	assert_int_equal(u.have, 2);
	assert_true(wdr_utf8_feed(&u, "\x98", 1));
	assert_int_equal(u.have, 3);
	assert_true(wdr_utf8_feed(&u, "\x80", 1));
	assert_int_equal(u.have, 0);
	assert_int_equal(u.want, 0);
}

static void measures_one_character(void **state)
{
	(void)state;
	assert_int_equal(wdr_utf8_char("a\xff", 2), 1);
	assert_int_equal(wdr_utf8_char("", 1), 1); /* NUL */
	assert_int_equal(wdr_utf8_char("\xf0\x9f\x98\x80", 4), 4);
	assert_int_equal(wdr_utf8_char("\xf0\x9f\x98\x80", 3), 0);
	assert_int_equal(wdr_utf8_char("\xbf", 1), 0);
	assert_int_equal(wdr_utf8_char("a", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judges_the_same_whatever_the_pieces),
		cmocka_unit_test(stays_bad),
		cmocka_unit_test(counts_the_bytes_of_an_open_character),
		cmocka_unit_test(measures_one_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
