/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include "base/wdr_num.h"

#define MS UINT64_C(1000000)
#define S  (1000 * MS)
#define K  UINT64_C(1024)

struct row {
	const char *text;
	int code;
	uint64_t value;
	const char *msg; /* part of the refusal */
};

static const struct row durations[] = {
	{ "0", 0, 0, NULL },
	{ "60", 0, 60 * S, NULL },
	{ "500ms", 0, 500 * MS, NULL },
	{ "10s", 0, 10 * S, NULL },
	{ "5m", 0, 300 * S, NULL },
	{ "1h", 0, 3600 * S, NULL },
	{ "0.5", 0, 500 * MS, NULL },
	{ "1.5s", 0, 1500 * MS, NULL },
	{ "0.001s", 0, MS, NULL },
	{ "0.001h", 0, 3600 * MS, NULL },
	{ "1.250m", 0, 75 * S, NULL },
	{ "007s", 0, 7 * S, NULL },
	{ "999999999s", 0, 999999999 * S, NULL },
	{ "99999h", 0, 99999 * 3600 * S, NULL },
	{ "999999999999ms", 0, 999999999999 * MS, NULL },
	{ "1000000000", -EINVAL, 0, "at most 999999999s" },
	{ "100000h", -EINVAL, 0, "at most" },
	{ "99999999999999999999999999h", -EINVAL, 0, "too long" },
	{ "", -EINVAL, 0, "not a duration: \"\"" },
	{ "s", -EINVAL, 0, "500ms, 10s, 5m, 1h" },
	{ "10x", -EINVAL, 0, "\"10x\"" },
	{ "10 s", -EINVAL, 0, "not a duration" },
	{ " 10s", -EINVAL, 0, "not a duration" },
	{ "10s ", -EINVAL, 0, "not a duration" },
	{ "10S", -EINVAL, 0, "not a duration" },
	{ "-1s", -EINVAL, 0, "not a duration" },
	{ "+1s", -EINVAL, 0, "not a duration" },
	{ "1.s", -EINVAL, 0, "not a duration" },
	{ ".5s", -EINVAL, 0, "not a duration" },
	{ "1.2345s", -EINVAL, 0, "not a duration" },
	{ "1.5ms", -EINVAL, 0, "not a duration" },
	{ "1e3", -EINVAL, 0, "not a duration" },
	{ "0x10", -EINVAL, 0, "not a duration" },
	{ "1d", -EINVAL, 0, "not a duration" },
	{ "10s\n", -EINVAL, 0, "\"10s\\n\"" },
	{ "unlimited", -EINVAL, 0, "not a duration" },
};

static const struct row sizes[] = {
	{ "0", 0, 0, NULL },
	{ "1", 0, 1, NULL },
	{ "4K", 0, 4 * K, NULL },
	{ "512M", 0, 512 * K *K, NULL },
	{ "2G", 0, 2 * K *K *K, NULL },
	{ "999T", 0, 999 * K *K *K *K, NULL },
	{ "999999999999999", 0, 999999999999999, NULL },
	{ "1000000000000000", -EINVAL, 0, "at most 999T" },
	{ "1000T", -EINVAL, 0, "too large" },
	{ "99999999999999999999999999999", -EINVAL, 0, "too large" },
	{ "", -EINVAL, 0, "not a size: \"\"" },
	{ "M", -EINVAL, 0, "such as 512M or 2G" },
	{ "512m", -EINVAL, 0, "not a size" },
	{ "512MB", -EINVAL, 0, "not a size" },
	{ "512MiB", -EINVAL, 0, "not a size" },
	{ "1.5G", -EINVAL, 0, "not a size" },
	{ "-1", -EINVAL, 0, "not a size" },
	{ "1 G", -EINVAL, 0, "not a size" },
	{ "1P", -EINVAL, 0, "not a size" },
};

static void check_rows(const struct row *rows, size_t n,
		       int (*read)(const char *, uint64_t *, struct wdr_err *))
{
	for (size_t i = 0; i < n; i++) {
		struct wdr_err err = { 0 };
		uint64_t v = 77;

		if (read(rows[i].text, &v, &err) != rows[i].code)
			fail_msg("\"%s\": code %d, want %d", rows[i].text, err.code, rows[i].code);
		assert_int_equal(v, rows[i].code ? 77 : rows[i].value);
		assert_int_equal(err.code, rows[i].code);
		if (rows[i].msg && !strstr(err.msg, rows[i].msg))
			fail_msg("\"%s\": \"%s\" is not in \"%s\"", rows[i].text, rows[i].msg,
				 err.msg);
		assert_int_equal(read(rows[i].text, &v, NULL), rows[i].code);
	}
}

static void reads_durations_in_the_units_of_a_policy(void **state)
{
	(void)state;
	check_rows(durations, sizeof(durations) / sizeof(durations[0]), wdr_num_duration);
}

static void reads_sizes_in_binary_units(void **state)
{
	(void)state;
	check_rows(sizes, sizeof(sizes) / sizeof(sizes[0]), wdr_num_size);
}

static int read_port(const char *s, uint64_t *ret, struct wdr_err *err)
{
	return wdr_num_integer(s, 1, 65535, ret, err);
}

static const struct row integers[] = {
	{ "1", 0, 1, NULL },
	{ "65535", 0, 65535, NULL },
	{ "0", -EINVAL, 0, "a whole number of 1..65535" },
	{ "65536", -EINVAL, 0, "out of range: \"65536\"" },
	{ "18446744073709551617", -EINVAL, 0, "out of range" },
	{ "01", -EINVAL, 0, "not a number" },
	{ "1.0", -EINVAL, 0, "not a number" },
	{ "-1", -EINVAL, 0, "not a number" },
	{ "", -EINVAL, 0, "not a number" },
	{ "1k", -EINVAL, 0, "not a number" },
};

static void reads_whole_numbers_within_bounds(void **state)
{
	(void)state;
	check_rows(integers, sizeof(integers) / sizeof(integers[0]), read_port);
}

static void reads_decimals_to_the_nearest_double(void **state)
{
	static const struct {
		const char *text;
		double value;
	} good[] = { { "0", 0 },
		     { "0.5", 0.5 },
		     { "2", 2 },
		     { "0.1", 0.1 },
		     { "0.123456", 0.123456 },
		     { "8192", 8192 },
		     { "3.75", 3.75 },
		     { "999999.999999", 999999.999999 } };
	static const char *const bad[] = { "",	   ".5",  "1.",	 "1e3",	      "nan",	   "inf",
					   "-0.5", "0,5", "0x1", "0.1234567", "1000000000" };
	double v = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_ok(wdr_num_decimal(good[i].text, &v, NULL));
		assert_true(v == good[i].value);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct wdr_err err = { 0 };

		if (wdr_num_decimal(bad[i], &v, &err) != -EINVAL)
			fail_msg("\"%s\" was read", bad[i]);
		assert_non_null(strstr(err.msg, "such as 0.5 or 2"));
	}
}

/* What is printed has to read back as the same value, whatever the value. */
static void prints_what_reads_back_the_same(void **state)
{
	static const struct {
		uint64_t value;
		const char *duration, *size; /* NULL: not such a value */
	} rows[] = {
		{ 0, "0s", "0" },
		{ 60 * S, "1m", NULL },
		{ 90 * S, "90s", NULL },
		{ 3600 * S, "1h", NULL },
		{ 1500 * MS, "1500ms", NULL },
		{ 999000000 * S, "999000000s", NULL }, /* 277500h would not be read */
		{ 359996400 * S, "99999h", NULL },
		{ 360000000 * S, "6000000m", NULL },
		{ 1000, NULL, "1000" },
		{ 1536 * K * K, NULL, "1536M" },
		{ K * K * K, NULL, "1G" },
	};
	char buf[WDR_NUM_TEXT_MAX];
	uint64_t v, back;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].duration)
			assert_string_equal(wdr_num_duration_text(rows[i].value, buf),
					    rows[i].duration);
		if (rows[i].size)
			assert_string_equal(wdr_num_size_text(rows[i].value, buf), rows[i].size);
	}
	srandom(1);
	for (int i = 0; i < 20000; i++) {
		unsigned int shift = (unsigned int)random() % 50;

		v = (((uint64_t)random() << 31) ^ (uint64_t)random()) % 999999999999999 >> shift;
		assert_ok(wdr_num_size(wdr_num_size_text(v, buf), &back, NULL));
		assert_int_equal(back, v);
		v = v % 999999999999 * MS;
		assert_ok(wdr_num_duration(wdr_num_duration_text(v, buf), &back, NULL));
		assert_int_equal(back, v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_durations_in_the_units_of_a_policy),
		cmocka_unit_test(reads_sizes_in_binary_units),
		cmocka_unit_test(reads_whole_numbers_within_bounds),
		cmocka_unit_test(reads_decimals_to_the_nearest_double),
		cmocka_unit_test(prints_what_reads_back_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
