/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <arpa/inet.h>

#include "net/net_priv.h"

static struct wdr_prefix prefix(const char *s)
{
	struct wdr_prefix p;

	assert_ok(wdr_addr_prefix(s, &p, NULL));
	return p;
}

static const struct {
	int family;
	const char *text;
	const char *says; /* NULL: good */
	unsigned int slots;
} ranges[] = {
	{ AF_INET, "10.213.0.0/16", NULL, 16384 },
	{ AF_INET, "10.0.0.0/8", NULL, 16384 },
	{ AF_INET, "192.168.7.0/30", NULL, 1 },
	{ AF_INET, "192.168.7.0/29", NULL, 2 },
	{ AF_INET, "192.168.0.0/17", NULL, 8192 },
	{ AF_INET, "10.0.0.0/31", "want an IPv4 range of length 8..30", 0 },
	{ AF_INET, "0.0.0.0/0", "want an IPv4 range of length 8..30", 0 },
	{ AF_INET, "fd00::/64", "want an IPv4 range", 0 },
	{ AF_INET, "none", "", 0 },
	{ AF_INET, "10.213.0.1/16", "", 0 },
	{ AF_INET6, "fd00::/112", NULL, 16384 },
	{ AF_INET6, "fd00::/64", NULL, 16384 },
	{ AF_INET6, "fd00::/126", NULL, 1 },
	{ AF_INET6, "fd00::/127", "want an IPv6 range of length 16..126", 0 },
	{ AF_INET6, "10.0.0.0/8", "want an IPv6 range", 0 },
	{ AF_INET6, "off", "", 0 },
};

static void ranges_from_the_environment_are_strict(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		struct wdr_err err = { 0 };
		struct wdr_prefix p;
		bool none = false;
		int r = wdr_net_range_parse(ranges[i].family, ranges[i].text, &p, &none, &err);

		assert_false(none);
		assert_int_equal(r, ranges[i].says ? -EINVAL : 0);
		if (!ranges[i].says) {
			assert_int_equal(wdr_net_range_slots(&p), ranges[i].slots);
			continue;
		}
		assert_string_equal(err.where, ranges[i].family == AF_INET ? "WARDER_NET_POOL4" :
									     "WARDER_NET_POOL6");
		assert_non_null(strstr(err.msg, ranges[i].says));
		assert_true(err.msg[0]);
	}
}

static void ipv6_can_be_turned_off(void **state)
{
	struct wdr_prefix p;
	bool none = false;

	(void)state;
	assert_ok(wdr_net_range_parse(AF_INET6, "none", &p, &none, NULL));
	assert_true(none);
}

static void every_default_range_is_a_good_one(void **state)
{
	static const int families[] = { AF_INET, AF_INET6 };

	(void)state;
	for (int f = 0; f < 2; f++) {
		size_t n = 0;
		const char *const *list = wdr_net_range_defaults(families[f], &n);

		assert_true(n > 1 && n <= WDR_NET_MAX_CANDIDATES);
		for (size_t i = 0; i < n; i++) {
			struct wdr_prefix p;
			bool none;

			assert_ok(wdr_net_range_parse(families[f], list[i], &p, &none, NULL));
			assert_true(wdr_net_range_slots(&p) >= 4096);
		}
	}
}

static const struct {
	const char *range;
	unsigned int slot, offset;
	const char *is;
} addresses[] = {
	{ "10.213.0.0/16", 0, 1, "10.213.0.1/32" },
	{ "10.213.0.0/16", 0, 2, "10.213.0.2/32" },
	{ "10.213.0.0/16", 64, 2, "10.213.1.2/32" },
	{ "10.213.0.0/16", 16383, 3, "10.213.255.255/32" },
	{ "fd00::/112", 0, 2, "fd00::2/128" },
	{ "fd00::/112", 16383, 2, "fd00::fffe/128" },
	{ "fd00::/126", 0, 1, "fd00::1/128" },
};

static void a_slot_has_four_addresses_of_each_range(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		struct wdr_prefix range = prefix(addresses[i].range);
		char text[WDR_PREFIX_TEXT_MAX];
		struct wdr_prefix got;

		wdr_net_range_address(&range, addresses[i].slot, addresses[i].offset, &got);
		assert_string_equal(wdr_prefix_text(&got, text), addresses[i].is);
		assert_int_equal(wdr_net_range_find(&range, &got), addresses[i].slot);
	}
}

static void an_address_outside_belongs_to_no_slot(void **state)
{
	struct wdr_prefix range = prefix("10.213.0.0/30");
	struct wdr_prefix wide = prefix("10.0.0.0/8");
	struct wdr_prefix other = prefix("10.213.0.4/32");
	struct wdr_prefix six = prefix("fd00::1/128");

	(void)state;
	assert_int_equal(wdr_net_range_find(&range, &other), -ENOENT);
	assert_int_equal(wdr_net_range_find(&range, &six), -ENOENT);
	/* Inside a range that has more addresses than slots. */
	assert_int_equal(wdr_net_range_find(&wide, &other), -ENOENT);
}

static void the_smaller_range_decides(void **state)
{
	struct wdr_net_ranges r = { .v4 = prefix("10.0.0.0/16"), .v6 = prefix("fd00::/125") };

	(void)state;
	assert_int_equal(wdr_net_ranges_slots(&r), 16384);
	r.has6 = true;
	assert_int_equal(wdr_net_ranges_slots(&r), 2);
}

static const struct {
	const char *name;
	int number;
} links[] = { { "wdr0", 0 },
	      { "wdr12", 12 },
	      { "wdr16383", 16383 },
	      { "wdr16384", -EINVAL },
	      { "wdr", -EINVAL },
	      { "wdr01", -EINVAL },
	      { "wdr1x", -EINVAL },
	      { "wdr-1", -EINVAL },
	      { "eth0", -EINVAL },
	      { "", -EINVAL },
	      { "wdr99999999999", -EINVAL } };

static void a_link_is_named_by_its_number(void **state)
{
	char name[IFNAMSIZ];

	(void)state;
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		assert_int_equal(wdr_net_link_number(links[i].name), links[i].number);
		if (links[i].number < 0)
			continue;
		wdr_net_link_name((unsigned int)links[i].number, name);
		assert_string_equal(name, links[i].name);
	}
}

static void every_slot_has_hardware_addresses_of_its_own(void **state)
{
	struct wdr_net_ranges r = { .v4 = prefix("10.213.0.0/16") };
	struct wdr_net_slot_info a, b;

	(void)state;
	wdr_net_slot_fill(&r, 1, 1500, &a);
	wdr_net_slot_fill(&r, 257, 1500, &b);
	assert_memory_not_equal(a.job_mac, b.job_mac, 6);
	assert_memory_not_equal(a.job_mac, a.host_mac, 6);
	assert_int_equal(a.job_mac[0] & 3, 2); /* locally administered, not a group */
	assert_false(a.has6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_from_the_environment_are_strict),
		cmocka_unit_test(ipv6_can_be_turned_off),
		cmocka_unit_test(every_default_range_is_a_good_one),
		cmocka_unit_test(a_slot_has_four_addresses_of_each_range),
		cmocka_unit_test(an_address_outside_belongs_to_no_slot),
		cmocka_unit_test(the_smaller_range_decides),
		cmocka_unit_test(a_link_is_named_by_its_number),
		cmocka_unit_test(every_slot_has_hardware_addresses_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
