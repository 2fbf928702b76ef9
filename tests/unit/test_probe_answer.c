/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include "probe.h"

static const char old_flags[] =
	"  -overlay\n    \tDEPRECATED: use --overlay2=all:memory to achieve the same effect\n"
	"  -overlay2 value\n    \twrap mounts with overlayfs. 'none' will turn overlay mode off.\n"
	"  -oci-seccomp\n    \tEnables loading OCI seccomp filters inside the sandbox.\n"
	"  -pod-init-config string\n    \tpath to configuration file.\n";
static const char new_flags[] =
	"  -overlay2 value\n    \twrap mounts with overlayfs. Format is\n"
	"    \t* {mount}:{medium}[,size={size}], where\n"
	"    \t    'medium' can be 'memory', 'self' or 'dir=/abs/dir/path'\n"
	"  -pod-init-config string\n    \tpath to configuration file.\n"
	"  -oci-seccomp\n    \tEnables loading OCI seccomp filters inside the sandbox.\n";

static void reads_the_flags_of_both_ages(void **state)
{
	static const struct {
		const char *text;
		unsigned int features;
	} cases[] = {
		{ old_flags, WDR_RUNSC_OVERLAY2 | WDR_RUNSC_OCI_SECCOMP | WDR_RUNSC_TRACE },
		{ new_flags, _WDR_RUNSC_FEATURES },
		{ "", 0 },
		{ "  -overlay2x value\n", 0 },
		{ "  -debug\n    \tsee   -overlay2 value\n", 0 }, /* in another's help */
		{ "  -overlay2 value\n    \tx\n  -z\n    \tdir=\n", WDR_RUNSC_OVERLAY2 },
		{ "garbage\x01\xff  -", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(wdr_runsc_features(cases[i].text), cases[i].features);
}

static void sees_who_takes_the_program_from_us(void **state)
{
	static const struct {
		const char *text;
		bool holds;
	} cases[] = {
		{ "run [flags]\n  -exec-fd int\n    \tx\n  -pass-fd value\n    \ty\n", true },
		{ "run [flags]\n  -exec-fd int\n    \tsee -pass-fd\n", false },
		{ "run [flags]\n  -pass-fd value\n", false },
		{ "run [flags]\n  -bundle string\n", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(wdr_runsc_holds(cases[i].text), cases[i].holds);
}

static void reads_a_version_and_nothing_else(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *version;
	} cases[] = {
		{ "runsc version 0.0~20221219.0\nspec: 1.0.2-dev\n", 0, "0.0~20221219.0" },
		{ "runsc version VERSION_MISSING\nspec: 1.1.0-rc.1\n", 0, "VERSION_MISSING" },
		{ "runc version 1.1.5\n", -EPROTO, "" },
		{ "runsc version \n", -EPROTO, "" },
		{ "runsc version a b\n", -EPROTO, "" },
		{ "runsc version \x1b[1m\n", -EPROTO, "" },
		{ "runsc version 123456789012345678901234567890\n", -EPROTO, "" },
		{ "", -EPROTO, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char version[24] = "";

		assert_int_equal(wdr_runsc_version(cases[i].text, version, sizeof(version)),
				 cases[i].code);
		assert_string_equal(version, cases[i].version);
	}
}

static const struct wdr_runsc_key key = { .boot = "a-boot",
					  .path = "/usr/bin/runsc",
					  .dev = 2049,
					  .ino = UINT64_C(1) << 40,
					  .size_bytes = 32231586,
					  .mtime_ns = INT64_C(1680998400000000001) };

static struct wdr_runsc answer(bool works)
{
	struct wdr_runsc r = { .path = "/usr/bin/runsc",
			       .version = "VERSION_MISSING",
			       .features = WDR_RUNSC_OVERLAY2 | WDR_RUNSC_TRACE,
			       .works = works,
			       .platform = WDR_RUNSC_PTRACE };

	if (!works)
		(void)snprintf(r.why, sizeof(r.why), "systrap: did not start within 15 s");
	return r;
}

static void remembers_an_answer(void **state)
{
	(void)state;
	for (int works = 0; works < 2; works++) {
		struct wdr_runsc r = answer(works), got;
		wdr_json_ json_t *o = wdr_runsc_to_json(&r, &key, 1000);

		memset(&got, 0xee, sizeof(got));
		assert_ok(wdr_runsc_from_json(o, &key, 1000, &got));
		assert_string_equal(got.path, r.path);
		assert_string_equal(got.version, r.version);
		assert_string_equal(got.why, r.why);
		assert_int_equal(got.features, r.features);
		assert_int_equal(got.works, works);
		assert_int_equal(got.platform, r.platform);
	}
}

static void forgets_it_when_the_question_is_another(void **state)
{
	struct wdr_runsc yes = answer(true), no = answer(false), got = { .features = 77 };
	wdr_json_ json_t *o = wdr_runsc_to_json(&yes, &key, 1000);
	wdr_json_ json_t *old = wdr_runsc_to_json(&no, &key, 1000);
	struct wdr_runsc_key k[5] = { key, key, key, key, key };

	(void)state;
	(void)snprintf(k[0].boot, sizeof(k[0].boot), "another");
	k[1].ino++;
	k[2].mtime_ns--;
	k[3].size_bytes++;
	k[4].dev++;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(wdr_runsc_from_json(o, &k[i], 1000, &got), -ESTALE);
	/* a yes holds as long as the boot, a no is asked again */
	assert_int_equal(wdr_runsc_from_json(old, &key, 1001 + WDR_RUNSC_RETRY_S, &got), -ESTALE);
	assert_int_equal(wdr_runsc_from_json(old, &key, 999, &got), -ESTALE);
	assert_int_equal(got.features, 77);
	assert_ok(wdr_runsc_from_json(o, &key, 1001 + WDR_RUNSC_RETRY_S, &got));
	assert_ok(wdr_runsc_from_json(old, &key, 1000 + WDR_RUNSC_RETRY_S, &got));
}

static void refuses_what_it_did_not_write(void **state)
{
	static const struct {
		const char *name, *json;
	} changes[] = {
		{ "format", "99" },	 { "features", "-1" },
		{ "features", "65536" }, { "platform", "\"gvisor\"" },
		{ "works", "1" },	 { "extra", "1" },
		{ "boot", "7" },	 { "ino", "1.5" },
	};
	struct wdr_runsc yes = answer(true), got;

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		wdr_json_ json_t *o = wdr_runsc_to_json(&yes, &key, 1000);
		json_t *v = json_loads(changes[i].json, JSON_DECODE_ANY, NULL);

		assert_ok(json_object_set_new(o, changes[i].name, v));
		assert_int_equal(wdr_runsc_from_json(o, &key, 1000, &got), -EPROTO);
		assert_ok(json_object_clear(o));
		assert_int_equal(wdr_runsc_from_json(o, &key, 1000, &got), -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_flags_of_both_ages),
		cmocka_unit_test(sees_who_takes_the_program_from_us),
		cmocka_unit_test(reads_a_version_and_nothing_else),
		cmocka_unit_test(remembers_an_answer),
		cmocka_unit_test(forgets_it_when_the_question_is_another),
		cmocka_unit_test(refuses_what_it_did_not_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
