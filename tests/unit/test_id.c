/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include "base/wdr_id.h"

static void draws_a_new_id_each_time(void **state)
{
	char seen[64][WDR_JOB_ID_SIZE];

	(void)state;
	for (size_t i = 0; i < 64; i++) {
		assert_ok(wdr_job_id(seen[i]));
		assert_memory_equal(seen[i], "j-", 2);
		assert_int_equal(strlen(seen[i]), 12);
		assert_int_equal(strspn(seen[i] + 2, "0123456789abcdefghjkmnpqrstvwxyz"), 10);
		assert_true(wdr_job_label_ok(seen[i]));
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(seen[i], seen[j]);
	}
}

static void takes_labels_and_refuses_the_rest(void **state)
{
	static const char *const good[] = {
		"a", "0", "Z.9_-", "build-7",
		"123456789012345678901234567890123456789012345678901234567890123"
	};
	static const char *const bad[] = {
		"",    ".a",
		"-a",  "_a",
		"a b", "a/b",
		"a\n", "\xc3\xbc",
		"a:b", "1234567890123456789012345678901234567890123456789012345678901234"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(wdr_job_label_ok(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(wdr_job_label_ok(bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draws_a_new_id_each_time),
		cmocka_unit_test(takes_labels_and_refuses_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
