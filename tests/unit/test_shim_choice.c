/* SPDX-License-Identifier: Apache-2.0 */
/* Settings, bundles, and which policy comes of the two. */
#include "wdr_test.h"

#include "shim/choice.h"

static const struct {
	const char *text, *where, *msg;
} bad_settings[] = {
	{ "{", "s.json:1:1", "" },
	{ "[]", "s.json", "" },
	{ "{}", "s.json", "" },
	{ "{\"version\": 2}", "s.json:/version", "not known: want 1" },
	{ "{\"version\": 1, \"runsc\": \"runsc\"}", "s.json:/runsc", "not an absolute path" },
	{ "{\"version\": 1, \"runcs\": \"/x\"}", "s.json", "" },
	{ "{\"version\": 1, \"default\": \"../x\"}", "s.json:/default", "" },
	{ "{\"version\": 1, \"default\": null}", "s.json:/default", "" },
	{ "{\"version\": 1, \"policies\": [\"a\", \"/etc/b\"]}", "s.json:/policies/1", "" },
	{ "{\"version\": 1, \"policies\": [1]}", "s.json:/policies/0", "" },
	{ "{\"version\": 1, \"report\": \"log\"}", "s.json:/report", "not an absolute path" },
	{ "{\"version\": 1, \"version\": 1}", "s.json:1:24", "" },
};

static void refuses_settings_with_a_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_settings) / sizeof(bad_settings[0]); i++) {
		struct wdr_shim_settings *s = NULL;
		struct wdr_err err = { 0 };

		assert_int_equal(wdr_shim_settings_parse("s.json", bad_settings[i].text,
							 strlen(bad_settings[i].text), &s, &err),
				 -EINVAL);
		assert_null(s);
		if (strncmp(err.where, bad_settings[i].where, strlen(bad_settings[i].where)) != 0)
			fail_msg("%s: place %s, want %s", bad_settings[i].text, err.where,
				 bad_settings[i].where);
		assert_true(err.msg[0]);
		if (bad_settings[i].msg[0])
			assert_string_equal(err.msg, bad_settings[i].msg);
	}
}

static void says_nothing_without_a_file(void **state)
{
	wdr_shim_settings_ struct wdr_shim_settings *s = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	assert_ok(wdr_shim_settings_load("/nonexistent/warder/runsc.json", &s, &err));
	assert_null(s->runsc);
	assert_null(s->default_name);
	assert_true(s->any_name);
}

static struct wdr_shim_bundle *parse_bundle(const char *text)
{
	struct wdr_shim_bundle *b = NULL;
	struct wdr_err err = { 0 };

	assert_ok(wdr_shim_bundle_parse(text, strlen(text), &b, &err));
	return b;
}

static void reads_what_it_needs_of_a_bundle(void **state)
{
	wdr_shim_bundle_ struct wdr_shim_bundle *b = NULL;

	(void)state;
	b = parse_bundle("{\"ociVersion\":\"1.1.0\",\"process\":{\"args\":[\"x\"]},\"annotations\":"
			 "{\"a\":\"b\",\"dev.warder.policy\":\"agent\"},\"linux\":{\"cgroupsPath\":"
			 "\"/kubepods/x\",\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"network\","
			 "\"path\":\"/run/netns/n\"}]}}");
	assert_string_equal(b->policy, "agent");
	assert_string_equal(b->cgroup, "/kubepods/x");
	assert_string_equal(b->netns, "/run/netns/n");
	assert_true(b->has_netns);
	assert_false(b->joins);
	wdr_shim_bundle_freep(&b);
	b = parse_bundle("{\"linux\":{\"namespaces\":[{\"type\":\"network\"}]}}");
	assert_null(b->policy);
	assert_null(b->cgroup);
	assert_null(b->netns);
	assert_true(b->has_netns);
	wdr_shim_bundle_freep(&b);
	b = parse_bundle("{\"annotations\":{\"io.kubernetes.cri.container-type\":\"container\"}}");
	assert_true(b->joins);
	assert_null(b->sandbox);
	wdr_shim_bundle_freep(&b);
	b = parse_bundle("{\"annotations\":{\"io.kubernetes.cri-o.ContainerType\":\"container\","
			 "\"io.kubernetes.cri-o.SandboxID\":\"p1\"}}");
	assert_true(b->joins);
	assert_string_equal(b->sandbox, "p1");
	wdr_shim_bundle_freep(&b);
	b = parse_bundle("{\"annotations\":{\"io.kubernetes.cri.container-type\":\"container\","
			 "\"io.kubernetes.cri.sandbox-id\":\"p2\","
			 "\"io.kubernetes.cri-o.SandboxID\":\"p1\"}}");
	assert_string_equal(b->sandbox, "p2");
	wdr_shim_bundle_freep(&b);
	/* The first of the two decides, as for runsc: else the other one would get round a default. */
	b = parse_bundle("{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\","
			 "\"io.kubernetes.cri-o.ContainerType\":\"container\"}}");
	assert_false(b->joins);
	assert_false(b->has_hooks);
	wdr_shim_bundle_freep(&b);
	b = parse_bundle("{\"hooks\":{\"prestart\":[{\"path\":\"/x\"}]}}");
	assert_true(b->has_hooks);
	wdr_shim_bundle_freep(&b);
	b = parse_bundle("{\"hooks\":{\"createRuntime\":[],\"poststop\":[{\"path\":\"/x\"}]}}");
	assert_false(b->has_hooks);
	wdr_shim_bundle_freep(&b);
	b = parse_bundle("{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\"},"
			 "\"linux\":7}");
	assert_false(b->joins);
	assert_false(b->has_netns);
}

static void reads_how_many_cpus_the_engine_gives(void **state)
{
	static const struct {
		const char *cpu;
		double quota;
	} cases[] = {
		{ "{\"quota\":150000,\"period\":100000}", 1.5 },
		{ "{\"quota\":-1,\"period\":100000}", 0 },
		{ "{\"quota\":50000}", 0 },
		{ "{\"quota\":\"1\",\"period\":0}", 0 },
		{ "{\"shares\":1024}", 0 },
		{ "7", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wdr_shim_bundle_ struct wdr_shim_bundle *b = NULL;
		char text[200];

		(void)snprintf(text, sizeof(text), "{\"linux\":{\"resources\":{\"cpu\":%s}}}",
			       cases[i].cpu);
		b = parse_bundle(text);
		if (b->quota != cases[i].quota)
			fail_msg("%s: %g", text, b->quota);
	}
}

static void refuses_what_is_no_bundle(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{\"annotations\":",
		"{\"annotations\":{\"dev.warder.policy\":7}}",
		"{\"annotations\":{\"dev.warder.policy\":\"a\\u0000b\"}}",
		"{\"linux\":{\"cgroupsPath\":\"/a\\u0000b\"}}",
		/* what Go would read otherwise */
		"{\"linux\":{},\"linux\":{}}",
		"{\"Linux\":{\"namespaces\":[]}}",
		"{\"linux\":{\"Namespaces\":[]}}",
		"{\"linux\":{\"namespace\xc5\xbf\":[]}}",
		"{\"linux\":{\"cgroupspath\":\"/a\"}}",
		"{\"linux\":{\"namespaces\":[{\"Type\":\"network\"}]}}",
		"{\"linux\":{\"namespaces\":[{\"type\":\"network\",\"PATH\":\"/a\"}]}}",
		"{\"linux\":{\"namespaces\":[{\"type\":\"network\"},"
		"{\"type\":\"network\",\"path\":\"/a\"}]}}",
		"{\"Annotations\":{\"dev.warder.policy\":\"a\"}}",
		"{\"HOOKS\":{}}",
		"{\"linux\":{\"Resources\":{}}}",
		"{\"linux\":{\"resources\":{\"CPU\":{}}}}",
		"{\"linux\":{\"resources\":{\"cpu\":{\"Quota\":1}}}}",
		"{\"hooks\":{\"createruntime\":[]}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct wdr_shim_bundle *b = NULL;
		struct wdr_err err = { 0 };

		assert_int_equal(wdr_shim_bundle_parse(bad[i], strlen(bad[i]), &b, &err), -EINVAL);
		assert_null(b);
		assert_memory_equal(err.msg, "config.json: ", 13);
	}
}

static void chooses_by_annotation_then_default(void **state)
{
	static const struct {
		const char *settings, *annotation; /* NULL: none */
		int code;
		const char *name; /* NULL: nothing to enforce */
	} cases[] = {
		{ "{\"version\":1}", NULL, 0, NULL },
		{ "{\"version\":1}", "agent", 0, "agent" },
		{ "{\"version\":1,\"default\":\"strict\"}", NULL, 0, "strict" },
		{ "{\"version\":1,\"default\":\"strict\"}", "agent", 0, "agent" },
		{ "{\"version\":1,\"policies\":[\"agent\"]}", "agent", 0, "agent" },
		{ "{\"version\":1,\"policies\":[\"agent\"]}", "open", -EPERM, NULL },
		{ "{\"version\":1,\"policies\":[]}", "agent", -EPERM, NULL },
		{ "{\"version\":1,\"policies\":[],\"default\":\"strict\"}", NULL, 0, "strict" },
		{ "{\"version\":1}", "../../tmp/x", -EINVAL, NULL },
		{ "{\"version\":1}", "/tmp/x.json", -EINVAL, NULL },
		{ "{\"version\":1}", "", -EINVAL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wdr_shim_settings_ struct wdr_shim_settings *s = NULL;
		char *annotation = (char *)(uintptr_t)cases[i].annotation;
		struct wdr_shim_bundle b = { .policy = annotation };
		const char *name = NULL;
		struct wdr_err err = { 0 };

		assert_ok(wdr_shim_settings_parse("s", cases[i].settings, strlen(cases[i].settings),
						  &s, &err));
		assert_int_equal(wdr_shim_choose(s, &b, &name, &err), cases[i].code);
		if (cases[i].code == 0 &&
		    (!name != !cases[i].name || (name && strcmp(name, cases[i].name) != 0)))
			fail_msg("%s with %s: %s", cases[i].settings, annotation, name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_settings_with_a_place),
		cmocka_unit_test(says_nothing_without_a_file),
		cmocka_unit_test(reads_what_it_needs_of_a_bundle),
		cmocka_unit_test(reads_how_many_cpus_the_engine_gives),
		cmocka_unit_test(refuses_what_is_no_bundle),
		cmocka_unit_test(chooses_by_annotation_then_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
