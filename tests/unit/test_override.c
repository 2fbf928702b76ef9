/* SPDX-License-Identifier: Apache-2.0 */
/* What each option of run does to a policy, and how a wrong value is refused. */
#include "wdr_test.h"

#include <unistd.h>

#include "policy/policy.h"

struct given {
	const char *option, *value;
};

static const char base[] =
	"{\"version\":1,\"name\":\"t\",\"network\":{\"mode\":\"egress\",\"rules\":["
	"{\"action\":\"allow\",\"to\":\"192.0.2.0/24\"}]}}";

static int apply(const char *text, const struct given *g, size_t n, struct wdr_policy **ret,
		 struct wdr_err *err)
{
	int r = 0;

	assert_ok(wdr_policy_parse("t.json", text, strlen(text), ret, NULL));
	for (size_t i = 0; i < n && g[i].option && r == 0; i++)
		r = wdr_policy_override(*ret, g[i].option, g[i].value, err);
	return r < 0 ? r : wdr_policy_finish(*ret, err);
}

/* One line of the normal form, white space taken out. */
static char *show_dense(const struct wdr_policy *p)
{
	wdr_json_ json_t *o = NULL;
	char *text;

	assert_ok(wdr_policy_show(p, &o));
	text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(15));
	assert_non_null(text);
	return text;
}

static const struct {
	struct given given[3];
	const char *shown; /* part of the normal form */
} good[] = {
	{ { { "timeout", "5" } }, "\"wall\":\"5s\"" },
	{ { { "timeout", "500ms" } }, "\"wall\":\"500ms\"" },
	{ { { "timeout", "unlimited" } }, "\"wall\":\"unlimited\"" },
	{ { { "cpu-time", "1.5s" } }, "\"cpu\":\"1500ms\"" },
	{ { { "cpus", "0.25" } }, "\"cpus\":0.25" },
	{ { { "cpus", "2" } }, "\"cpus\":2," },
	{ { { "cpus", "unlimited" } }, "\"cpus\":\"unlimited\"" },
	{ { { "memory", "1G" } }, "\"memory\":\"1G\"" },
	{ { { "pids", "7" } }, "\"pids\":7" },
	{ { { "pids", "unlimited" } }, "\"pids\":\"unlimited\"" },
	{ { { "disk", "1M" } }, "\"disk\":\"1M\"" },
	{ { { "output", "1K" } }, "\"stdout\":\"1K\",\"stderr\":\"1K\"" },
	{ { { "net", "host" } }, "\"mode\":\"host\"" },
	{ { { "net", "none" } },
	  "\"mode\":\"none\",\"default\":\"deny\",\"private\":\"deny\","
	  "\"dns\":[],\"rules\":[]" },
	{ { { "deny", "192.0.2.1:443/tcp" }, { "allow", "[2001:db8::]/32" } },
	  "\"rules\":[{\"action\":\"deny\",\"to\":\"192.0.2.1/32\",\"ports\":[\"443\"],"
	  "\"proto\":\"tcp\"},{\"action\":\"allow\",\"to\":\"2001:db8::/32\"},"
	  "{\"action\":\"allow\",\"to\":\"192.0.2.0/24\"}]" },
	{ { { "mount", "/a:/b" } }, "[{\"source\":\"/a\",\"target\":\"/b\",\"readonly\":true}]" },
	{ { { "mount", "/a:/b:rw" } }, "\"readonly\":false}]" },
	{ { { "mount", "/a:c:/b//d/:ro" } }, "{\"source\":\"/a:c\",\"target\":\"/b/d\"," },
	{ { { "mount", "/a:/b" }, { "mount", "/c:/b:rw" } },
	  "[{\"source\":\"/c\",\"target\":\"/b\",\"readonly\":false}]" },
	{ { { "root", "/r" } }, "\"root\":\"/r\"" },
	{ { { "root", "/r" }, { "root", "host" } }, "\"root\":\"host\"" },
	{ { { "workdir", "/w/" } }, "\"workdir\":\"/w\"" },
	{ { { "workdir", "/" } }, "\"workdir\":\"/\"" },
	{ { { "env", "A=1=2" } }, "\"env\":{\"A\":\"1=2\"}" },
	{ { { "env", "A=" } }, "\"env\":{\"A\":\"\"}" },
	{ { { "env", "A=1" }, { "env", "A=2" } }, "\"env\":{\"A\":\"2\"}" },
	{ { { "env", "WDR_TEST_INHERITED" } }, "\"env\":{\"WDR_TEST_INHERITED\":\"yes\"}" },
	{ { { "user", "0" } }, "\"uid\":0,\"gid\":0" },
	{ { { "user", "7:8" } }, "\"uid\":7,\"gid\":8" },
	{ { { "syscalls", NULL } }, "\"count\":true" },
	{ { { "backend", "native" } }, "\"backend\":\"native\"" },
};

static void each_option_sets_its_field(void **state)
{
	(void)state;
	assert_ok(setenv("WDR_TEST_INHERITED", "yes", 1));
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		wdr_policy_ struct wdr_policy *p = NULL;
		struct wdr_err err = { 0 };
		wdr_free_ char *shown = NULL;

		if (apply(base, good[i].given, 3, &p, &err) < 0)
			fail_msg("--%s %s: %s: %s", good[i].given[0].option, good[i].given[0].value,
				 err.where, err.msg);
		shown = show_dense(p);
		if (!strstr(shown, good[i].shown))
			fail_msg("--%s %s: %s is not in %s", good[i].given[0].option,
				 good[i].given[0].value, good[i].shown, shown);
	}
}

static const struct {
	struct given given[3];
	const char *where, *msg;
} bad[] = {
	{ { { "timeout", "0" } }, "--timeout", "0 is no limit" },
	{ { { "timeout", "5x" } }, "--timeout", "not a duration: \"5x\"" },
	{ { { "timeout", "" } }, "--timeout", "not a duration" },
	{ { { "cpu-time", "-1" } }, "--cpu-time", "not a duration" },
	{ { { "cpus", "0" } }, "--cpus", "want 0.01..8192" },
	{ { { "cpus", "half" } }, "--cpus", "such as 0.5 or 2" },
	{ { { "memory", "512m" } }, "--memory", "such as 512M" },
	{ { { "memory", "0" } }, "--memory", "0 is no limit" },
	{ { { "pids", "0" } }, "--pids", "0 is no limit" },
	{ { { "pids", "many" } }, "--pids", "a whole number of 1..4194304" },
	{ { { "disk", "0K" } }, "--disk", "0 is no limit" },
	{ { { "output", "unlimited" } }, "--output", "can't be unlimited" },
	{ { { "net", "egres" } }, "--net", "did you mean \"egress\"?" },
	{ { { "allow", "example.org:443" } }, "--allow", "names are not looked up" },
	{ { { "allow", "10.0.0.1/8" } }, "--allow", "did you mean \"10.0.0.0/8\"?" },
	{ { { "deny", "2001:db8::1" } }, "--deny", "IPv6 in brackets" },
	{ { { "net", "none" }, { "allow", "192.0.2.1" } }, "--net", "want egress or host" },
	{ { { "deny", "192.0.2.1" }, { "net", "none" } }, "--net", "want egress or host" },
	{ { { "mount", "/a" } }, "--mount", "want SRC:DST[:ro|rw]" },
	{ { { "mount", "/a:b" } }, "--mount", "want SRC:DST[:ro|rw]" },
	{ { { "mount", ":/b" } }, "--mount", "want SRC:DST[:ro|rw]" },
	{ { { "mount", "/a:/b:rx" } }, "--mount", "want SRC:DST[:ro|rw]" },
	{ { { "mount", "/a:/b:" } }, "--mount", "want SRC:DST[:ro|rw]" },
	{ { { "mount", "/a:/" } }, "--mount", "can't be mounted over" },
	{ { { "mount", "/a:/sys/x" } }, "--mount", "can't be mounted over" },
	{ { { "mount", "/a:/b/../c" } }, "--mount", "no \"..\"" },
	{ { { "root", "" } }, "--root", "empty" },
	{ { { "workdir", "w" } }, "--workdir", "one that starts with /" },
	{ { { "env", "1=2" } }, "--env", "not the name of a variable" },
	{ { { "env", "=2" } }, "--env", "not the name of a variable" },
	{ { { "env", "WDR_TEST_UNSET" } }, "--env", "\"WDR_TEST_UNSET\" is not set here" },
	{ { { "env", "A=\377" } }, "--env", "not UTF-8 at character 1" },
	{ { { "user", "root" } }, "--user", "want UID[:GID]" },
	{ { { "user", "0:" } }, "--user", "want UID[:GID]" },
	{ { { "user", "4294967295" } }, "--user", "0..4294967294" },
	{ { { "backend", "docker" } }, "--backend", "want auto, runsc or native" },
};

static void a_wrong_value_names_its_option(void **state)
{
	(void)state;
	(void)unsetenv("WDR_TEST_UNSET");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		wdr_policy_ struct wdr_policy *p = NULL;
		struct wdr_err err = { 0 };

		if (apply(base, bad[i].given, 3, &p, &err) != -EINVAL)
			fail_msg("--%s %s: taken", bad[i].given[0].option, bad[i].given[0].value);
		if (strcmp(err.where, bad[i].where) != 0 || !strstr(err.msg, bad[i].msg))
			fail_msg("--%s %s: %s: %s", bad[i].given[0].option, bad[i].given[0].value,
				 err.where, err.msg);
		wdr_policy_freep(&p);
		assert_int_equal(apply(base, bad[i].given, 3, &p, NULL), -EINVAL);
	}
}

/* --allow brings a network, --deny does not; a policy without one keeps none. */
static void allow_implies_egress(void **state)
{
	static const struct {
		const char *text;
		struct given given[3];
		int code;
		enum wdr_net_mode mode;
	} rows[] = {
		{ "{\"version\":1}", { { "allow", "192.0.2.1" } }, 0, WDR_NET_EGRESS },
		{ "{\"version\":1}", { { "allow", "192.0.2.1" }, { "deny", "::/0" } }, -EINVAL, 0 },
		{ "{\"version\":1}", { { "deny", "192.0.2.1" } }, -EINVAL, 0 },
		{ "{\"version\":1}",
		  { { "net", "host" }, { "deny", "192.0.2.1" } },
		  0,
		  WDR_NET_HOST },
		{ "{\"version\":1,\"network\":{\"mode\":\"host\"}}",
		  { { "allow", "192.0.2.1" } },
		  0,
		  WDR_NET_HOST },
		{ base, { { "net", "none" } }, 0, WDR_NET_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		wdr_policy_ struct wdr_policy *p = NULL;

		assert_int_equal(apply(rows[i].text, rows[i].given, 3, &p, NULL), rows[i].code);
		if (rows[i].code == 0)
			assert_int_equal(p->net.mode, rows[i].mode);
	}
}

static void an_unknown_option_is_not_taken(void **state)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	assert_ok(wdr_policy_default(&p));
	assert_int_equal(wdr_policy_override(p, "json", "x", &err), -ENOENT);
	assert_int_equal(wdr_policy_override(p, "memory", NULL, NULL), -EINVAL);
}

static void relative_paths_start_from_the_working_directory(void **state)
{
	static const struct given given[] = { { "mount", "./x:/x" },
					      { "root", "r" },
					      { NULL, NULL } };
	wdr_policy_ struct wdr_policy *p = NULL;
	wdr_free_ char *cwd = getcwd(NULL, 0);
	wdr_free_ char *shown = NULL;
	wdr_free_ char *want = NULL;

	(void)state;
	assert_ok(apply(base, given, 3, &p, NULL));
	assert_string_equal(p->fs.mounts[0].source, "./x");
	assert_string_equal(p->fs.mounts[0].base, cwd);
	shown = show_dense(p);
	assert_true(asprintf(&want, "\"source\":\"%s/x\"", cwd) > 0);
	assert_non_null(strstr(shown, want));
	wdr_freep(&want);
	assert_true(asprintf(&want, "\"root\":\"%s/r\"", cwd) > 0);
	assert_non_null(strstr(shown, want));
}

static void the_lists_have_an_end(void **state)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	struct wdr_err err = { 0 };
	char value[64];
	int n, r;

	(void)state;
	assert_ok(wdr_policy_default(&p));
	for (n = 0, r = 0; r == 0; n++) {
		(void)snprintf(value, sizeof(value), "/a:/b%d", n);
		r = wdr_policy_override(p, "mount", value, &err);
	}
	assert_int_equal(n, WDR_POLICY_MAX_MOUNTS + 1);
	assert_non_null(strstr(err.msg, "at most 64"));
	assert_ok(wdr_policy_override(p, "mount", "/c:/b7", NULL));
	for (n = 0, r = 0; r == 0; n++) {
		(void)snprintf(value, sizeof(value), "A%d=", n);
		r = wdr_policy_override(p, "env", value, &err);
	}
	assert_int_equal(n, WDR_POLICY_MAX_ENV + 1);
	assert_ok(wdr_policy_override(p, "env", "A7=x", NULL));
	for (n = 0, r = 0; r == 0; n++)
		r = wdr_policy_override(p, "allow", "192.0.2.1", &err);
	assert_int_equal(n, WDR_POLICY_MAX_OPTION_RULES + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_option_sets_its_field),
		cmocka_unit_test(a_wrong_value_names_its_option),
		cmocka_unit_test(allow_implies_egress),
		cmocka_unit_test(an_unknown_option_is_not_taken),
		cmocka_unit_test(relative_paths_start_from_the_working_directory),
		cmocka_unit_test(the_lists_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
