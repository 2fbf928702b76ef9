/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include "model/probe.h"
#include "model/protection.h"

static void every_protection_has_a_name_a_purpose_and_a_remedy(void **state)
{
	(void)state;
	for (enum wdr_protection p = 0; p < _WDR_PROT_MAX; p++) {
		assert_non_null(wdr_protection_name(p));
		assert_true(strlen(wdr_protection_what(p)) > 10);
		assert_true(strlen(wdr_protection_remedy(p)) > 10);
		assert_int_equal(wdr_protection_find(wdr_protection_name(p)), p);
	}
	assert_int_equal(wdr_protection_find("firewall"), -ENOENT);
	assert_int_equal(wdr_protection_find(""), -ENOENT);
}

static void reads_lists_of_names(void **state)
{
	static const struct {
		const char *list;
		uint64_t want;
	} good[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ "seccomp", WDR_PROT_BIT(WDR_PROT_SECCOMP) },
		{ "seccomp,user_ns",
		  WDR_PROT_BIT(WDR_PROT_SECCOMP) | WDR_PROT_BIT(WDR_PROT_USER_NS) },
		{ " audit , audit ", WDR_PROT_BIT(WDR_PROT_AUDIT) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct wdr_err err = { 0 };
		uint64_t set = 77;

		assert_ok(wdr_protection_parse(good[i].list, &set, &err));
		assert_int_equal(set, good[i].want);
	}
}

static void refuses_an_unknown_name_and_offers_the_nearest(void **state)
{
	static const struct {
		const char *list;
		const char *message;
	} bad[] = {
		{ "secomp", "unknown protection \"secomp\", did you mean \"seccomp\"?" },
		{ "audit,memory", "unknown protection \"memory\", did you mean \"memory_limit\"?" },
		{ "firewall", "unknown protection \"firewall\": warder check lists them" },
		{ "\x1b[2J", "unknown protection \"\\x1b[2J\": warder check lists them" },
		{ ",audit", "an empty name: want protections with commas between" },
		{ "audit,", "an empty name: want protections with commas between" },
		{ "audit,,seccomp", "an empty name: want protections with commas between" },
		{ " ", "an empty name: want protections with commas between" },
		{ "SECCOMP", "unknown protection \"SECCOMP\": warder check lists them" },
		{ "a-name-so-long-that-it-is-cut-before-its-end",
		  "unknown protection \"a-name-so-long-that-it-is-cut-be\": warder check lists them" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct wdr_err err = { 0 };
		uint64_t set = 77;

		assert_int_equal(wdr_protection_parse(bad[i].list, &set, &err), -EINVAL);
		assert_string_equal(err.msg, bad[i].message);
		assert_int_equal(set, 77);
	}
}

static void lists_names_within_the_buffer(void **state)
{
	char buf[20];

	(void)state;
	assert_string_equal(wdr_protection_list(0, buf, sizeof(buf)), "");
	assert_string_equal(
		wdr_protection_list(WDR_PROT_BIT(WDR_PROT_AUDIT) | WDR_PROT_BIT(WDR_PROT_USER_NS),
				    buf, sizeof(buf)),
		"user_ns, audit");
	assert_string_equal(wdr_protection_list(UINT64_MAX, buf, sizeof(buf)),
			    "user_ns, mount_n...");
}

static void a_probe_answers_in_its_row(void **state)
{
	static struct wdr_check_report rep;

	(void)state;
	wdr_check_yes(&rep, WDR_PROT_LANDLOCK, "ABI %d", 7);
	wdr_check_no(&rep, WDR_PROT_KEYRING, "%300s", "long");
	assert_true(rep.rows[WDR_PROT_LANDLOCK].said && rep.rows[WDR_PROT_LANDLOCK].yes);
	assert_string_equal(rep.rows[WDR_PROT_LANDLOCK].why, "ABI 7");
	assert_true(rep.rows[WDR_PROT_KEYRING].said && !rep.rows[WDR_PROT_KEYRING].yes);
	assert_int_equal(strlen(rep.rows[WDR_PROT_KEYRING].why), sizeof(rep.rows[0].why) - 1);
	assert_false(rep.rows[WDR_PROT_AUDIT].said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_protection_has_a_name_a_purpose_and_a_remedy),
		cmocka_unit_test(reads_lists_of_names),
		cmocka_unit_test(refuses_an_unknown_name_and_offers_the_nearest),
		cmocka_unit_test(lists_names_within_the_buffer),
		cmocka_unit_test(a_probe_answers_in_its_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
