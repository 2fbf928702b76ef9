/* SPDX-License-Identifier: Apache-2.0 */
/* The captured texts in the result object: any bytes, any length, any trouble on the way out. */
#include "wdr_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/wdr_io.h"
#include "base/wdr_json.h"
#include "model/result.h"

#define BIG (16 << 20)

static char *const command[] = { (char *)"true", NULL };

static struct wdr_result new_result(void)
{
	struct wdr_result r = WDR_RESULT_INIT;

	(void)strcpy(r.job, "j-1");
	r.backend = "native";
	r.command_ref = command;
	return r;
}

static int make_file(const void *bytes, size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_ok(wdr_write_all(fd, bytes, n));
	return fd;
}

/* Write @r, parse what came out. jansson refuses invalid UTF-8 and bad escapes by itself. */
static json_t *write_and_parse(const struct wdr_result *r)
{
	wdr_close_ int fd = make_file("", 0);
	json_error_t e;
	json_t *o;

	assert_ok(wdr_result_write(r, fd, NULL));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	o = json_loadfd(fd, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &e);
	if (!o)
		fail_msg("%s", e.text);
	return o;
}

static const char *member(json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

static void chooses_text_or_base64_by_the_bytes(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		bool truncated;
		const char *encoding;
		const char *want;
		size_t n_want;
	} cases[] = {
		{ "", 0, false, "utf-8", "", 0 },
		{ "a\"\\/\b\f\n\r\t\x1b\x7f", 11, false, "utf-8", "a\"\\/\b\f\n\r\t\x1b\x7f", 11 },
		{ "nul\0inside", 10, false, "utf-8", "nul\0inside", 10 },
		{ "\xc2\x9b\xc2\xa0\xf0\x9f\x98\x80", 8, false, "utf-8",
		  "\xc2\x9b\xc2\xa0\xf0\x9f\x98\x80", 8 },
		{ "abc\xe2\x82", 5, true, "utf-8", "abc", 3 },
		{ "\xf0\x9f\x98", 3, true, "utf-8", "", 0 },
		{ "abc\xe2\x82", 5, false, "base64", "YWJj4oI=", 8 },
		{ "\xff", 1, false, "base64", "/w==", 4 },
		{ "\xff\xfe\xfd", 3, false, "base64", "//79", 4 },
		{ "\xff"
		  "a\xe2\x82",
		  4, true, "base64", "/2Higg==", 8 }, /* all of it: bytes have no characters */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wdr_result_ struct wdr_result r = new_result();
		wdr_json_ json_t *o = NULL;

		r.err = (struct wdr_capture){ make_file(cases[i].bytes, cases[i].n), cases[i].n, 99,
					      cases[i].truncated };
		o = write_and_parse(&r);
		assert_string_equal(member(o, "stderr_encoding"), cases[i].encoding);
		assert_int_equal(json_string_length(json_object_get(o, "stderr")), cases[i].n_want);
		assert_memory_equal(member(o, "stderr"), cases[i].want, cases[i].n_want);
		assert_int_equal(json_integer_value(json_object_get(o, "stderr_bytes")), 99);
		assert_int_equal(json_is_true(json_object_get(o, "stderr_truncated")),
				 cases[i].truncated);
		assert_string_equal(member(o, "stdout"), "");
	}
}

static void escapes_what_drives_a_terminal(void **state)
{
	wdr_result_ struct wdr_result r = new_result();
	wdr_close_ int fd = make_file("", 0);
	char line[8192] = "";

	(void)state;
	r.out = (struct wdr_capture){ make_file("\x1b[2J\x7f\xc2\x9b", 7), 7, 7, false };
	assert_ok(wdr_result_write(&r, fd, NULL));
	assert_true(pread(fd, line, sizeof(line) - 1, 0) > 0);
	assert_non_null(strstr(line, "\"stdout\": \"\\u001b[2J\\u007f\\u009b\""));
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

/* Characters of every length at every offset from the seams between the pieces read. */
static void carries_characters_across_pieces(void **state)
{
	static const char *const chars[] = { "x", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
	const size_t n = 200000;

	(void)state;
	for (size_t i = 0; i < sizeof(chars) / sizeof(chars[0]); i++) {
		for (size_t shift = 0; shift < 4; shift++) {
			wdr_result_ struct wdr_result r = new_result();
			wdr_free_ char *text = malloc(n);
			wdr_json_ json_t *o = NULL;
			size_t len = strlen(chars[i]);
			size_t used = shift;

			assert_non_null(text);
			memset(text, '"', shift);
			for (; used + len <= n; used += len)
				memcpy(text + used, chars[i], len);
			r.out = (struct wdr_capture){ make_file(text, used), used, used, false };
			o = write_and_parse(&r);
			assert_string_equal(member(o, "stdout_encoding"), "utf-8");
			assert_int_equal(json_string_length(json_object_get(o, "stdout")), used);
			assert_memory_equal(member(o, "stdout"), text, used);
		}
	}
}

/* The last byte decides about all that was read before it. */
static void looks_at_all_of_it_before_it_chooses(void **state)
{
	wdr_result_ struct wdr_result r = new_result();
	wdr_free_ char *text = calloc(1, 300001);
	wdr_json_ json_t *o = NULL;

	(void)state;
	assert_non_null(text);
	text[300000] = (char)0x80;
	r.out = (struct wdr_capture){ make_file(text, 300001), 300001, 300001, false };
	o = write_and_parse(&r);
	assert_string_equal(member(o, "stdout_encoding"), "base64");
	assert_int_equal(json_string_length(json_object_get(o, "stdout")), 400004);
}

static long peak_kb(void)
{
	struct rusage u;

	assert_ok(getrusage(RUSAGE_SELF, &u));
	return u.ru_maxrss;
}

static void needs_no_memory_for_large_output(void **state)
{
	wdr_result_ struct wdr_result r = new_result();
	wdr_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	/* a sparse file: BIG zeros, of which no page is ours */
	int fd = make_file("", 0);
	long before;

	(void)state;
	assert_ok(ftruncate(fd, BIG));
	r.out = (struct wdr_capture){ fd, BIG, BIG, false };
	before = peak_kb();
	assert_ok(wdr_result_write(&r, null, NULL));
	assert_true(peak_kb() - before < 1024);
}

static void tells_of_trouble_on_the_way_out(void **state)
{
	wdr_result_ struct wdr_result r = new_result();
	wdr_close_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct wdr_err err = { 0 };
	int fds[2];

	(void)state;
	assert_int_equal(wdr_result_write(&r, full, &err), -ENOSPC);
	assert_string_equal(err.msg, "write the result: No space left on device");
	(void)signal(SIGPIPE, SIG_IGN);
	assert_ok(pipe2(fds, O_CLOEXEC));
	assert_ok(close(fds[0]));
	err = (struct wdr_err){ 0 };
	assert_int_equal(wdr_result_write(&r, fds[1], &err), -EPIPE);
	assert_ok(close(fds[1]));
}

static void tells_of_a_capture_that_shrank(void **state)
{
	wdr_result_ struct wdr_result r = new_result();
	wdr_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)state;
	r.out = (struct wdr_capture){ make_file("abc", 3), 4, 4, false };
	assert_int_equal(wdr_result_write(&r, null, NULL), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chooses_text_or_base64_by_the_bytes),
		cmocka_unit_test(escapes_what_drives_a_terminal),
		cmocka_unit_test(carries_characters_across_pieces),
		cmocka_unit_test(looks_at_all_of_it_before_it_chooses),
		cmocka_unit_test(needs_no_memory_for_large_output),
		cmocka_unit_test(tells_of_trouble_on_the_way_out),
		cmocka_unit_test(tells_of_a_capture_that_shrank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
