/* SPDX-License-Identifier: Apache-2.0 */
/* What may join the sandbox of a pod: never what would be held to less than was asked for. */
#include "wdr_test.h"

#include <unistd.h>

#include "shim/pod.h"

#define S(text) ((char *)(uintptr_t)(text))
#define ROOT	"/run/runsc"

static char dir[128];

static int start(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	(void)snprintf(dir, sizeof(dir), "%.80s/wdr-pod-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	return rmdir(dir);
}

static const struct {
	const char *settings;
	const char *pod;   /* the policy of p1, NULL: it has none */
	const char *other; /* of p1 below another root */
	const char *own;   /* the container's annotation */
	const char *joins; /* the sandbox that it names */
	bool undone;	   /* the creation of p1 was interrupted */
	int code;
	const char *msg;
} cases[] = {
	{ "{\"version\":1}", NULL, NULL, NULL, "p1", false, 0, NULL },
	{ "{\"version\":1}", "agent", NULL, NULL, "p1", false, 0, NULL },
	{ "{\"version\":1}", "agent", NULL, "agent", "p1", false, 0, NULL },
	{ "{\"version\":1}", NULL, NULL, NULL, NULL, false, 0, NULL }, /* runsc refuses it */
	{ "{\"version\":1,\"default\":\"strict\"}", "agent", NULL, NULL, "p1", false, 0, NULL },
	{ "{\"version\":1}", "agent", NULL, "open", "p1", false, -EPERM,
	  "policy \"open\" can't hold in a pod that has \"agent\": all of a pod has one" },
	{ "{\"version\":1}", NULL, NULL, "agent", "p1", false, -EPERM,
	  "policy \"agent\" can't hold in a pod that was made without one: give it to the pod" },
	{ "{\"version\":1}", NULL, NULL, "agent", NULL, false, -EPERM,
	  "policy \"agent\" can't hold in a pod that was made without one: give it to the pod" },
	{ "{\"version\":1}", "agent", NULL, "agent", "p2", false, -EPERM,
	  "policy \"agent\" can't hold in a pod that was made without one: give it to the pod" },
	{ "{\"version\":1}", NULL, "agent", "agent", "p1", false, -EPERM,
	  "policy \"agent\" can't hold in a pod that was made without one: give it to the pod" },
	{ "{\"version\":1,\"default\":\"strict\"}", NULL, NULL, NULL, "p1", false, -EPERM,
	  "policy \"strict\" can't hold in a pod that was made without one: give it to the pod" },
	{ "{\"version\":1}", "agent", NULL, NULL, "p1", true, -EPERM,
	  "the creation of its pod was interrupted: delete that" },
	{ "{\"version\":1,\"policies\":[\"a\"]}", "agent", NULL, "agent", "p1", false, -EPERM,
	  NULL },
	{ "{\"version\":1}", "agent", NULL, "../agent", "p1", false, -EINVAL, NULL },
};

static void remember(const char *root, const char *policy, bool done)
{
	const struct wdr_shim_record r = { .id = S("p1"),
					   .root = S(root),
					   .policy = S(policy),
					   .cgroup = S(""),
					   .netns = S(""),
					   .done = done,
					   .place = S(""),
					   .rules = S("") };

	if (policy)
		assert_ok(wdr_shim_record_write(dir, &r));
}

static void lets_in_what_the_pod_holds_and_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wdr_shim_settings_ struct wdr_shim_settings *s = NULL;
		const struct wdr_shim_bundle b = { .policy = S(cases[i].own),
						   .joins = true,
						   .sandbox = S(cases[i].joins) };
		struct wdr_err err = { 0 };

		assert_ok(wdr_shim_settings_parse("s", cases[i].settings, strlen(cases[i].settings),
						  &s, &err));
		remember(ROOT, cases[i].pod, !cases[i].undone);
		remember("/run/other", cases[i].other, true);
		if (wdr_shim_pod_check(dir, ROOT, s, &b, &err) != cases[i].code)
			fail_msg("case %zu: %s", i, err.msg);
		if (cases[i].msg)
			assert_string_equal(err.msg, cases[i].msg);
		assert_ok(wdr_shim_record_remove(dir, ROOT, "p1"));
		assert_ok(wdr_shim_record_remove(dir, "/run/other", "p1"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lets_in_what_the_pod_holds_and_nothing_else, start,
						stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
