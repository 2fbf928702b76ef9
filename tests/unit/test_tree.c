/* SPDX-License-Identifier: Apache-2.0 */
/* Maps as text; that mounts obey them is the integration tests' to see. */
#include "wdr_test.h"

#include "base/wdr_tree.h"

static void swaps_two_ids_and_keeps_the_others(void **state)
{
	static const struct {
		uint32_t a, b;
		const char *text;
	} cases[] = {
		{ 1234, 1000,
		  "0 0 1000\n1000 1234 1\n1001 1001 233\n1234 1000 1\n1235 1235 4294966060\n" },
		{ 0, 1000, "0 1000 1\n1 1 999\n1000 0 1\n1001 1001 4294966294\n" },
		{ 0, 1, "0 1 1\n1 0 1\n2 2 4294967293\n" },
		{ 0, 0, "0 0 1\n1 1 4294967294\n" },
		{ 7, 7, "0 0 7\n7 7 1\n8 8 4294967287\n" },
		{ 4294967294U, 0, "0 4294967294 1\n1 1 4294967293\n4294967294 0 1\n" },
		{ 4294967294U, 4000000000U,
		  "0 0 4000000000\n4000000000 4294967294 1\n4000000001 4000000001 294967293\n"
		  "4294967294 4000000000 1\n" },
	};
	char text[WDR_IDMAP_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(wdr_idmap_swap_text(cases[i].a, cases[i].b, text),
				    cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(swaps_two_ids_and_keeps_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
