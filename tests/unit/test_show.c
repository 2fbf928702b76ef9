/* SPDX-License-Identifier: Apache-2.0 */
/* The normal form: complete, the same for what means the same, and its own normal form. */
#include "wdr_test.h"

#include <fcntl.h>

#include "base/wdr_io.h"
#include "policy/policy.h"

#define ROUNDS 3000

static struct wdr_policy *parse(const char *text)
{
	struct wdr_policy *p = NULL;
	struct wdr_err err = { 0 };

	if (wdr_policy_parse("t.json", text, strlen(text), &p, &err) < 0)
		fail_msg("%s: %s\n%s", err.where, err.msg, text);
	return p;
}

static char *show(const char *policy)
{
	wdr_policy_ struct wdr_policy *p = parse(policy);
	char *text = NULL;

	assert_ok(wdr_policy_show_text(p, &text));
	return text;
}

static void check_same(const char *a, const char *b)
{
	wdr_free_ char *x = show(a);
	wdr_free_ char *y = show(b);

	assert_string_equal(x, y);
}

/* Good values, a row a key: the key's pointer without its first slash, then JSON texts. */
static const struct {
	const char *at;
	const char *values[8];
} keys[] = {
	{ "name", { "\"a\"", "\"A-1.b_c\"" } },
	{ "backend", { "\"auto\"", "\"runsc\"", "\"native\"" } },
	{ "user/uid", { "0", "1000", "4294967294" } },
	{ "user/gid", { "0", "5" } },
	{ "workdir", { "\"/\"", "\"/a/b\"", "\"/\xc3\xa9\"" } },
	{ "env", { "{}", "{\"B\":\"2\",\"A\":\"\\n\\\"\"}", "{\"_\":\"\"}" } },
	{ "limits/wall",
	  { "0.001", "1", "1.5", "\"500ms\"", "\"90s\"", "\"1.5m\"", "\"unlimited\"" } },
	{ "limits/cpu", { "60", "\"1h\"", "\"99999.999h\"", "999999999" } },
	{ "limits/cpus", { "0.1", "0.123456789012345678", "1", "8192", "\"unlimited\"", "0.01" } },
	{ "limits/memory", { "1", "4096", "\"1024K\"", "\"1G\"", "\"999T\"", "\"unlimited\"" } },
	{ "limits/swap", { "0", "\"0M\"", "\"64M\"", "\"unlimited\"" } },
	{ "limits/pids", { "1", "4194304", "\"unlimited\"" } },
	{ "limits/files", { "3", "\"unlimited\"" } },
	{ "limits/file_size", { "999999999999999", "\"999999999999K\"" } },
	{ "limits/disk", { "\"1T\"", "\"00512M\"" } },
	{ "limits/stdout", { "1", "\"10M\"" } },
	{ "limits/stderr", { "\"1023\"", "\"64K\"" } },
	{ "limits/on_output", { "\"kill\"", "\"truncate\"" } },
	{ "filesystem/root", { "\"host\"", "\"./r\"", "\"/r\"", "\"..\"" } },
	{ "filesystem/readonly", { "true", "false" } },
	{ "filesystem/tmpfs", { "[]", "[\"/b\",\"/a\"]" } },
	{ "filesystem/mounts",
	  { "[]", "[{\"source\":\"a\",\"target\":\"/b\"}]",
	    "[{\"source\":\"./a\",\"target\":\"/b\",\"readonly\":false},"
	    "{\"source\":\"/c\",\"target\":\"/a\"}]" } },
	{ "privileges/capabilities", { "[]", "[\"CAP_NET_RAW\",\"CAP_CHOWN\"]" } },
	{ "privileges/no_new_privs", { "true" } },
	{ "syscalls/profile", { "\"default\"", "\"strict\"" } },
	{ "syscalls/allow", { "[]", "[\"write\",\"read\"]" } },
	{ "syscalls/deny", { "[\"chroot\"]" } },
	{ "syscalls/on_deny", { "\"errno\"", "\"kill\"" } },
	{ "syscalls/count", { "true", "false" } },
	{ "network/mode", { "\"egress\"", "\"host\"" } },
	{ "network/default", { "\"allow\"", "\"deny\"" } },
	{ "network/private", { "\"allow\"", "\"deny\"" } },
	{ "network/dns", { "[]", "[\"192.0.2.53\",\"2001:DB8::53\"]", "[\"::ffff:192.0.2.1\"]" } },
	{ "network/on_deny", { "\"reject\"", "\"drop\"", "\"kill\"" } },
	{ "detect/cpu/action", { "\"off\"", "\"throttle\"", "\"kill\"" } },
	{ "detect/cpu/above", { "0.95", "1", "1e-3" } },
	{ "detect/cpu/for", { "20", "\"500ms\"" } },
	{ "detect/mining/action", { "\"alert\"", "\"off\"" } },
	{ "detect/mining/threshold", { "0.3333333333333333", "1" } },
	{ "audit/events", { "[]", "[\"file\",\"exec\"]", "[\"egress\"]" } },
	{ "on_supervisor_loss", { "\"kill\"", "\"contain\"" } },
};

static const char *const rules[] = {
	"{\"action\":\"allow\",\"to\":\"10.0.0.0/8\"}",
	"{\"action\":\"deny\",\"to\":\"::ffff:10.0.0.0/104\",\"proto\":\"icmp\"}",
	"{\"action\":\"allow\",\"to\":\"2001:DB8:0::/48\",\"ports\":[443,\"8000-8100\",\"7-7\"]}",
	"{\"to\":\"192.0.2.1\",\"action\":\"deny\",\"proto\":132,\"name\":\"sctp\"}",
	"{\"action\":\"allow\",\"to\":\"::/0\",\"proto\":6,\"ports\":[\"1-65535\"]}",
	"{\"action\":\"allow\",\"list\":\"l.txt\",\"proto\":\"udp\"}",
};

#define N(a) (sizeof(a) / sizeof((a)[0]))

static size_t below(size_t n)
{
	return (size_t)random() % n;
}

/* The object at @path of @root, made on the way; *ret_key is the last word. */
static json_t *descend(json_t *root, const char *path, char ret_key[64])
{
	const char *slash;

	while ((slash = strchr(path, '/'))) {
		json_t *next;

		(void)snprintf(ret_key, 64, "%.*s", (int)(slash - path), path);
		next = json_object_get(root, ret_key);
		if (!next) {
			next = json_object();
			assert_ok(json_object_set_new(root, ret_key, next));
		}
		root = next;
		path = slash + 1;
	}
	(void)snprintf(ret_key, 64, "%s", path);
	return root;
}

static void set_key(json_t *root, const char *path, const char *text)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);
	char key[64];
	json_t *obj = descend(root, path, key);

	if (!v)
		fail_msg("not JSON: %s", text);
	assert_ok(json_object_set_new(obj, key, v));
}

static char *random_policy(void)
{
	wdr_json_ json_t *root = json_pack("{s:i}", "version", 1);
	wdr_json_ json_t *list = json_array();
	size_t start = below(N(keys));

	for (size_t i = 0; i < N(keys); i++) {
		size_t at = (start + i) % N(keys), n = 0;

		while (n < N(keys[at].values) && keys[at].values[n])
			n++;
		if (below(2))
			set_key(root, keys[at].at, keys[at].values[below(n)]);
	}
	for (size_t i = below(4); i; i--)
		assert_ok(json_array_append_new(list, json_loads(rules[below(N(rules))], 0, NULL)));
	if (json_array_size(list) && json_object_get(json_object_get(root, "network"), "mode"))
		assert_ok(json_object_set(json_object_get(root, "network"), "rules", list));
	return json_dumps(root, 0);
}

static void the_normal_form_is_its_own_normal_form(void **state)
{
	(void)state;
	srandom(11);
	for (int i = 0; i < ROUNDS; i++) {
		wdr_free_ char *text = random_policy();
		wdr_free_ char *once = show(text);
		wdr_free_ char *twice = show(once);

		if (strcmp(once, twice) != 0)
			fail_msg("%s\n%s\n%s", text, once, twice);
	}
}

/* Every key of the normal form is there, whatever was left out: compared with a full one. */
static void same_keys(const json_t *a, const json_t *b, const char *where)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)a, key, v) {
		const json_t *other = json_object_get(b, key);

		if (!other)
			fail_msg("%s: \"%s\" is not shown", where, key);
		if (json_is_object(v) && strcmp(key, "env") != 0)
			same_keys(v, other, key);
	}
}

static void every_default_is_written_out(void **state)
{
	wdr_json_ json_t *full = json_pack("{s:i}", "version", 1);
	wdr_policy_ struct wdr_policy *p = parse("{\"version\":1}");
	wdr_json_ json_t *shown = NULL;

	(void)state;
	for (size_t i = 0; i < N(keys); i++)
		set_key(full, keys[i].at, keys[i].values[0]);
	set_key(full, "network/rules", "[]");
	assert_ok(wdr_policy_show(p, &shown));
	same_keys(full, shown, "");
	same_keys(shown, full, "keys[]");
}

#define V "{\"version\":1,\"name\":\"x\","

static void what_means_the_same_reads_the_same(void **state)
{
	(void)state;
	check_same(V "\"limits\":{\"wall\":60}}", V "\"limits\":{\"wall\":\"1m\"}}");
	check_same(V "\"limits\":{\"memory\":\"1G\"}}", V "\"limits\":{\"memory\":1073741824}}");
	check_same(V "\"env\":{\"A\":\"1\",\"B\":\"2\"}}", V "\"env\":{\"B\":\"2\",\"A\":\"1\"}}");
	check_same(V "\"privileges\":{\"capabilities\":[\"CAP_KILL\",\"CAP_CHOWN\"]}}",
		   V "\"privileges\":{\"capabilities\":[\"CAP_CHOWN\",\"CAP_KILL\"]}}");
	check_same(V "\"syscalls\":{\"deny\":[\"a\",\"b\"]}}",
		   V "\"syscalls\":{\"deny\":[\"b\",\"a\"]}}");
	check_same(V "\"network\":{\"dns\":[\"::ffff:192.0.2.1\"]}}",
		   V "\"network\":{\"dns\":[\"192.0.2.1\"]}}");
	check_same(V "\"network\":{\"mode\":\"host\",\"rules\":[{\"action\":\"deny\","
		     "\"to\":\"192.0.2.1\",\"ports\":[\"80-80\"],\"proto\":6}]}}",
		   V "\"network\":{\"rules\":[{\"ports\":[80],\"proto\":\"tcp\","
		     "\"to\":\"192.0.2.1/32\",\"action\":\"deny\"}],\"mode\":\"host\"}}");
}

static char *read_policy(const char *path)
{
	char *text = NULL;

	assert_ok(wdr_read_file(AT_FDCWD, path, WDR_POLICY_MAX_BYTES, &text, NULL));
	return text;
}

static void the_file_default_is_the_compiled_in_one(void **state)
{
	wdr_free_ char *file = read_policy("policies/default.json");
	wdr_policy_ struct wdr_policy *p = NULL;
	wdr_free_ char *from_file = show(file);
	wdr_free_ char *from_code = NULL;

	(void)state;
	assert_ok(wdr_policy_default(&p));
	assert_ok(wdr_policy_show_text(p, &from_code));
	assert_string_equal(from_file, from_code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_normal_form_is_its_own_normal_form),
		cmocka_unit_test(every_default_is_written_out),
		cmocka_unit_test(what_means_the_same_reads_the_same),
		cmocka_unit_test(the_file_default_is_the_compiled_in_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
