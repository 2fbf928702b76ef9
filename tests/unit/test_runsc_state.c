/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include "state.h"

static int parse(const char *text, struct wdr_runsc_state *s)
{
	return wdr_runsc_state_parse(text, strlen(text), s);
}

static void reads_both_ages(void **state)
{
	struct wdr_runsc_state s;

	(void)state;
	assert_ok(parse("{\"id\":\"j\",\"bundleDir\":\"/b\",\"status\":\"running\",\"goferPid\":8,"
			"\"sandbox\":{\"id\":\"j\",\"pid\":9,\"controlSocketPath\":\"/s/x.sock\"},"
			"\"later\":[1]}",
			&s));
	assert_string_equal(s.status, "running");
	assert_string_equal(s.bundle, "/b");
	assert_string_equal(s.control, "/s/x.sock");
	assert_int_equal(s.gofer_pid, 8);
	assert_int_equal(s.sentry_pid, 9);
	assert_ok(parse("{\"status\":\"stopped\",\"goferPid\":0,\"sandbox\":null}", &s));
	assert_string_equal(s.control, "");
	assert_int_equal(s.sentry_pid, 0);
	assert_ok(parse("{}", &s));
}

static void refuses_everything_else(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"7",
		"{\"status\":1}",
		"{\"status\":\"0123456789abcdef\"}",
		"{\"status\":\"run\\u0000ning\"}",
		"{\"goferPid\":-1}",
		"{\"goferPid\":4294967296}",
		"{\"goferPid\":1.5}",
		"{\"goferPid\":\"8\"}",
		"{\"sandbox\":[]}",
		"{\"sandbox\":{\"pid\":99999999999999999999}}",
		"{\"sandbox\":{\"controlSocketPath\":{}}}",
		"{\"status\":\"running\"",
	};
	struct wdr_runsc_state s = { .gofer_pid = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i], &s), -EPROTO);
	assert_int_equal(s.gofer_pid, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_both_ages),
		cmocka_unit_test(refuses_everything_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
