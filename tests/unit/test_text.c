/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include "base/wdr_text.h"

#define G (UINT64_C(1) << 30)
#define S UINT64_C(1000000000)

static void prints_sizes_and_durations_as_a_policy_spells_them(void **state)
{
	static const struct {
		const char *(*print)(uint64_t, char *);
		uint64_t value;
		const char *want;
	} cases[] = {
		{ wdr_text_size, 0, "0" },
		{ wdr_text_size, 1023, "1023" },
		{ wdr_text_size, 1024, "1K" },
		{ wdr_text_size, 512 << 20, "512M" },
		{ wdr_text_size, 3 * G / 2, "1.5G" },
		{ wdr_text_size, G - 1, "1023.99M" }, /* never up to a limit that was not set */
		{ wdr_text_size, 100 * G, "100G" },
		{ wdr_text_size, UINT64_MAX, "16777215.99T" },
		{ wdr_text_duration, 0, "0s" },
		{ wdr_text_duration, 1, "1ns" },
		{ wdr_text_duration, 1500, "1.5us" },
		{ wdr_text_duration, 500000000, "500ms" },
		{ wdr_text_duration, 2 * S, "2s" },
		{ wdr_text_duration, 30004 * S / 1000, "30.004s" },
		{ wdr_text_duration, 60 * S, "1m" },
		{ wdr_text_duration, 90 * S, "90s" },
		{ wdr_text_duration, 7200 * S, "2h" },
		{ wdr_text_duration, UINT64_MAX, "18446744073.709s" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char buf[WDR_TEXT_UNIT_MAX];

		assert_string_equal(cases[i].print(cases[i].value, buf), cases[i].want);
	}
}

static void names_every_signal(void **state)
{
	char buf[WDR_TEXT_UNIT_MAX];

	(void)state;
	assert_string_equal(wdr_text_signal(9, buf), "SIGKILL");
	assert_string_equal(wdr_text_signal(34, buf), "SIGRTMIN");
	assert_string_equal(wdr_text_signal(37, buf), "SIGRTMIN+3");
	assert_string_equal(wdr_text_signal(99, buf), "signal 99");
	assert_string_equal(wdr_text_signal(0, buf), "signal 0");
}

static void leaves_nothing_that_drives_a_terminal_or_ends_a_line(void **state)
{
	static const struct {
		const char *in;
		size_t n;
		size_t size;
		const char *want;
	} cases[] = {
		{ "plain text", 10, 64, "plain text" },
		{ "", 0, 64, "" },
		{ "a\nb\r\t\"\\", 7, 64, "a\\nb\\r\\t\\\"\\\\" },
		{ "\x1b[2J\x7f\0", 6, 64, "\\x1b[2J\\x7f\\x00" },
		{ "gr\xc3\xbc\xc3\x9f", 6, 64, "gr\xc3\xbc\xc3\x9f" },
		{ "\xc2\x9b"
		  "31m",
		  5, 64, "\\xc2\\x9b31m" }, /* CSI as a C1 control */
		{ "a\xe2\x80\xa8"
		  "b",
		  5, 64,
		  "a\\xe2\\x80\\xa8"
		  "b" }, /* line separator */
		{ "\xff\xfe", 2, 64, "\\xff\\xfe" },
		{ "\xed\xa0\x80", 3, 64, "\\xed\\xa0\\x80" }, /* a surrogate */
		{ "0123456789", 10, 11, "0123456789" },
		{ "0123456789", 10, 10, "012345..." },
		{ "0123\xe2\x82\xac"
		  "789",
		  10, 10, "0123..." }, /* the euro sign is not cut */
		{ "\n\n\n\n\n\n", 6, 10, "\\n\\n\\n..." },
		{ "abc", 3, 4, "abc" },
		{ "abcd", 4, 4, "..." },
		{ "abcd", 4, 3, ".." },
		{ "abcd", 4, 1, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char buf[64];

		memset(buf, '!', sizeof(buf));
		(void)wdr_text_escape(cases[i].in, cases[i].n, buf, cases[i].size);
		assert_string_equal(buf, cases[i].want);
		if (cases[i].size < sizeof(buf))
			assert_int_equal(buf[cases[i].size], '!');
	}
}

static void leaves_the_quotes_of_a_sentence(void **state)
{
	char buf[32];

	(void)state;
	assert_string_equal(wdr_text_printable("no \"a\\b\"\n\x1b", 9, buf, sizeof(buf)),
			    "no \"a\\b\"\\n");
	assert_string_equal(wdr_text_printable("\x1b\xff", 2, buf, sizeof(buf)), "\\x1b\\xff");
}

static void copies_cut_between_characters(void **state)
{
	char buf[8];

	(void)state;
	assert_string_equal(wdr_text_copy(buf, sizeof(buf), "1234567"), "1234567");
	assert_string_equal(wdr_text_copy(buf, sizeof(buf), "12345678"), "1234567");
	assert_string_equal(wdr_text_copy(buf, sizeof(buf), "123456\xc3\xbc"), "123456");
	assert_string_equal(wdr_text_copy(buf, sizeof(buf), "1234\xf0\x9f\x98\x80"), "1234");
	assert_string_equal(wdr_text_copy(buf, 1, "1"), "");
	/* What is no UTF-8 is no reason to lose more than a character's worth. */
	assert_string_equal(wdr_text_copy(buf, sizeof(buf), "\x80\x80\x80\x80\x80\x80\x80\x80"),
			    "\x80\x80\x80\x80");
}

static void offers_the_word_that_was_meant_or_none(void **state)
{
	static const char *const words[] = { "memory", "timeout", "pids",
					     "mount",  "cpus",	  "cpu-time" };
	static const struct {
		const char *word;
		const char *want;
	} cases[] = {
		{ "memry", "memory" },
		{ "mem", "memory" },
		{ "tiemout", "timeout" },
		{ "time-out", "timeout" },
		{ "pid", "pids" },
		{ "cpu", "cpus" },
		{ "cpu-tiem", "cpu-time" },
		{ "network", NULL },
		{ "x", NULL },
		{ "", NULL },
		{ "a-word-far-longer-than-any-option-can-be", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wdr_nearest n = { .word = cases[i].word };

		for (size_t j = 0; j < sizeof(words) / sizeof(words[0]); j++)
			wdr_nearest_offer(&n, words[j]);
		if (cases[i].want)
			assert_string_equal(n.best ? n.best : "none", cases[i].want);
		else
			assert_null(n.best);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_sizes_and_durations_as_a_policy_spells_them),
		cmocka_unit_test(names_every_signal),
		cmocka_unit_test(leaves_nothing_that_drives_a_terminal_or_ends_a_line),
		cmocka_unit_test(leaves_the_quotes_of_a_sentence),
		cmocka_unit_test(copies_cut_between_characters),
		cmocka_unit_test(offers_the_word_that_was_meant_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
