/* SPDX-License-Identifier: Apache-2.0 */
/* Which job a sandbox that was made before it can be given. */
#include "wdr_test.h"

#include "policy/policy.h"

struct given {
	const char *option, *value;
};

static struct wdr_policy *make(const char *text, const struct given *g)
{
	struct wdr_policy *p = NULL;

	assert_ok(wdr_policy_parse("t.json", text, strlen(text), &p, NULL));
	for (; g && g->option; g++)
		assert_ok(wdr_policy_override(p, g->option, g->value, NULL));
	assert_ok(wdr_policy_finish(p, NULL));
	return p;
}

static const char plain[] = "{\"version\":1,\"name\":\"t\"}";

static const struct {
	const char *text; /* NULL: the one the sandbox was made with */
	struct given given[3];
	const char *differs; /* NULL: it fits */
} jobs[] = {
	{ NULL, { { 0 } }, NULL },
	{ "{\"version\":1,\"name\":\"other\"}", { { 0 } }, NULL },
	{ NULL, { { "env", "A=b" }, { "workdir", "/tmp" } }, NULL },
	{ NULL, { { "timeout", "5s" }, { "cpus", "2" } }, NULL },
	{ NULL, { { "memory", "2G" }, { "output", "1K" } }, NULL },
	{ NULL, { { "pids", "7" } }, NULL },
	{ "{\"version\":1,\"limits\":{\"swap\":\"1M\",\"files\":7,\"file_size\":\"1M\","
	  "\"on_output\":\"truncate\"}}",
	  { { 0 } },
	  NULL },
	{ NULL, { { "pids", "101" } }, "lower /limits/pids" },
	{ NULL, { { "pids", "unlimited" } }, "lower /limits/pids" },
	{ "{\"version\":1,\"limits\":{\"files\":2000}}", { { 0 } }, "lower /limits/files" },
	{ "{\"version\":1,\"limits\":{\"file_size\":\"1T\"}}",
	  { { 0 } },
	  "lower /limits/file_size" },
	{ NULL, { { "cpu-time", "5s" } }, "/limits/cpu differs" },
	{ NULL, { { "disk", "1M" } }, "/limits/disk differs" },
	{ NULL, { { "user", "7" } }, "/user/uid differs" },
	{ NULL, { { "backend", "runsc" } }, "/backend differs" },
	{ NULL, { { "root", "/srv" } }, "/filesystem/root differs" },
	{ NULL, { { "mount", "/srv:/data" } }, "/filesystem/mounts differs" },
	{ "{\"version\":1,\"filesystem\":{\"readonly\":false}}",
	  { { 0 } },
	  "/filesystem/readonly differs" },
	{ NULL, { { "net", "host" } }, "/network/mode differs" },
	{ NULL, { { "allow", "192.0.2.1:443" } }, "/network/" },
	{ NULL, { { "syscalls", NULL } }, "/syscalls/count differs" },
	{ "{\"version\":1,\"syscalls\":{\"deny\":[\"chroot\"]}}",
	  { { 0 } },
	  "/syscalls/deny differs" },
	{ "{\"version\":1,\"privileges\":{\"capabilities\":[\"CAP_NET_RAW\"]}}",
	  { { 0 } },
	  "/privileges/capabilities differs" },
	{ "{\"version\":1,\"detect\":{\"cpu\":{\"action\":\"kill\"}}}",
	  { { 0 } },
	  "/detect/cpu differs" },
	{ "{\"version\":1,\"audit\":{\"events\":[\"exec\"]}}", { { 0 } }, "/audit/events differs" },
	{ "{\"version\":1,\"on_supervisor_loss\":\"contain\"}",
	  { { 0 } },
	  "/on_supervisor_loss differs" },
};

static void takes_a_job_only_where_nothing_fixed_differs(void **state)
{
	wdr_policy_ struct wdr_policy *made = make(plain, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		wdr_policy_ struct wdr_policy *job =
			make(jobs[i].text ? jobs[i].text : plain, jobs[i].given);
		struct wdr_err err = { 0 };
		int r = wdr_policy_fits(made, job, &err);

		if (r != (jobs[i].differs ? -EXDEV : 0) ||
		    (jobs[i].differs && !strstr(err.msg, jobs[i].differs)))
			fail_msg("row %zu: %d, \"%s\", want \"%s\"", i, r, err.msg,
				 jobs[i].differs ? jobs[i].differs : "");
	}
}

/* A field that is added to policies is fixed until it is said to be late. */
static void knows_every_key_of_the_normal_form(void **state)
{
	static const char *const keys[] = { "version",	  "name",
					    "backend",	  "user",
					    "workdir",	  "env",
					    "limits",	  "filesystem",
					    "privileges", "syscalls",
					    "network",	  "detect",
					    "audit",	  "on_supervisor_loss" };
	wdr_policy_ struct wdr_policy *p = make(plain, NULL);
	wdr_json_ json_t *o = NULL;

	(void)state;
	assert_ok(wdr_policy_show(p, &o));
	assert_int_equal(json_object_size(o), sizeof(keys) / sizeof(keys[0]));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_non_null(json_object_get(o, keys[i]));
	assert_int_equal(json_object_size(json_object_get(o, "limits")), 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_a_job_only_where_nothing_fixed_differs),
		cmocka_unit_test(knows_every_key_of_the_normal_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
