/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include "net/net_priv.h"

static char *text_of(const struct wdr_net_guard *g)
{
	char *text = NULL;

	assert_ok(wdr_net_rules_text(g, &text));
	return text;
}

static void what_forwards_only_for_us_forwards_for_jobs_only(void **state)
{
	struct wdr_net_guard g = { .v4 = { 2, 7 }, .n4 = 2, .v6 = { 7 }, .n6 = 1 };
	char *text = text_of(&g);

	(void)state;
	assert_non_null(strstr(text, "meta nfproto ipv4 iif 2 counter name transit drop\n"));
	assert_non_null(strstr(text, "meta nfproto ipv4 iif 7 counter name transit drop\n"));
	assert_non_null(strstr(text, "meta nfproto ipv6 iif 7 counter name transit drop\n"));
	assert_null(strstr(text, "meta nfproto ipv6 iif 2 "));
	free(text);
	g.all6 = true;
	text = text_of(&g);
	assert_non_null(strstr(text, "meta nfproto ipv6 counter name transit drop\n"));
	assert_null(strstr(text, "meta nfproto ipv6 iif"));
	free(text);
}

static void a_host_that_forwards_by_itself_is_left_to_it(void **state)
{
	const struct wdr_net_guard none = { .n4 = 0 };
	char *text = text_of(&none);

	(void)state;
	assert_null(strstr(text, "counter name transit drop"));
	free(text);
}

static void every_guard_fits(void **state)
{
	struct wdr_net_guard g = { .n4 = WDR_NET_MAX_UPLINKS, .n6 = WDR_NET_MAX_UPLINKS };
	char *text;

	(void)state;
	for (unsigned int i = 0; i < WDR_NET_MAX_UPLINKS; i++)
		g.v4[i] = g.v6[i] = 4294967000U + i;
	text = text_of(&g);
	assert_non_null(strstr(text, "ipv4 iif 4294967063 counter"));
	assert_non_null(strstr(text, "ipv6 iif 4294967063 counter name transit drop\n"));
	free(text);
}

static void what_was_counted_passes_before_counting(void **state)
{
	const struct wdr_net_guard none = { .n4 = 0 };
	char *text = text_of(&none), *count = strstr(text, "ct count over");
	static const char *const known[] = {
		"ct mark & 0xffff0000 { 0x57440000, 0x57460000 } accept",
		"ct mark & 0xffff { 0x4457, 0x4657 } accept"
	};

	(void)state;
	assert_non_null(count);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_non_null(strstr(text, known[i]));
		assert_true(strstr(text, known[i]) < count);
	}
	free(text);
}

static void another_guard_is_another_hash(void **state)
{
	struct wdr_net_guard a = { .v4 = { 2 }, .n4 = 1 };
	struct wdr_net_guard b = { .v4 = { 3 }, .n4 = 1 };
	char *ta = text_of(&a), *tb = text_of(&b), *again = text_of(&a);

	(void)state;
	assert_true(wdr_net_rules_hash(ta) != wdr_net_rules_hash(tb));
	assert_true(wdr_net_rules_hash(ta) == wdr_net_rules_hash(again));
	assert_true(wdr_net_rules_hash("") != 0); /* 0 stands for no rules at all */
	free(ta);
	free(tb);
	free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_forwards_only_for_us_forwards_for_jobs_only),
		cmocka_unit_test(a_host_that_forwards_by_itself_is_left_to_it),
		cmocka_unit_test(every_guard_fits),
		cmocka_unit_test(what_was_counted_passes_before_counting),
		cmocka_unit_test(another_guard_is_another_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
