/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy may say, and how it is refused: one row a case. */
#include "wdr_test.h"

#include "policy/policy.h"

#define V "{\"version\":1,"

static int parse(const char *text, struct wdr_policy **ret, struct wdr_err *err)
{
	return wdr_policy_parse("t.json", text, strlen(text), ret, err);
}

static void only_version_is_required(void **state)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	assert_ok(parse("{\"version\": 1}", &p, &err));
	assert_string_equal(p->name, "t");
	assert_string_equal(p->workdir, "/home/user");
	assert_string_equal(p->syscalls.profile, "default");
	assert_int_equal(p->backend, WDR_BACKEND_AUTO);
	assert_int_equal(p->user.uid, 1000);
	assert_int_equal(p->user.gid, 1000);
	assert_int_equal(p->limits.wall_ns, 60 * UINT64_C(1000000000));
	assert_true(p->limits.cpus == 0.5);
	assert_int_equal(p->limits.memory_bytes, 512 << 20);
	assert_int_equal(p->limits.swap_bytes, 0);
	assert_int_equal(p->limits.pids, 100);
	assert_int_equal(p->limits.stdout_bytes, 10 << 20);
	assert_int_equal(p->limits.stderr_bytes, 10 << 20);
	assert_int_equal(p->limits.on_output, WDR_ON_OUTPUT_KILL);
	assert_null(p->fs.root);
	assert_true(p->fs.readonly);
	assert_int_equal(p->fs.n_tmpfs, 2);
	assert_int_equal(p->capabilities, 0);
	assert_int_equal(p->net.mode, WDR_NET_NONE);
	assert_int_equal(p->net.def, WDR_VERDICT_DENY);
	assert_int_equal(p->net.private, WDR_VERDICT_DENY);
	assert_int_equal(p->on_loss, WDR_ON_LOSS_KILL);
	assert_int_equal(err.code, 0);
}

static const char everything[] = V
	"\"name\":\"all\",\"backend\":\"native\",\"user\":{\"uid\":0,\"gid\":5},\"workdir\":\"/\","
	"\"env\":{\"B\":\"2\",\"A\":\"\\n\\u00e9\"},"
	"\"limits\":{\"wall\":1.5,\"cpu\":30,\"cpus\":\"unlimited\",\"memory\":4096,"
	"\"swap\":\"unlimited\",\"pids\":\"unlimited\",\"files\":64,\"file_size\":\"unlimited\","
	"\"disk\":\"1K\",\"stdout\":1,\"stderr\":\"2T\",\"on_output\":\"truncate\"},"
	"\"filesystem\":{\"root\":\"./r\",\"readonly\":false,\"tmpfs\":[],\"mounts\":["
	"{\"source\":\"../d\",\"target\":\"/d\",\"readonly\":false},"
	"{\"source\":\"/e\",\"target\":\"/e/f\"}]},"
	"\"privileges\":{\"capabilities\":[\"CAP_NET_RAW\",\"CAP_CHOWN\"],\"no_new_privs\":true},"
	"\"syscalls\":{\"profile\":\"strict\",\"allow\":[\"_sysctl\"],\"deny\":[\"chroot\"],"
	"\"on_deny\":\"kill\",\"count\":true},"
	"\"network\":{\"mode\":\"host\",\"default\":\"allow\",\"private\":\"allow\","
	"\"dns\":[\"192.0.2.53\",\"::ffff:192.0.2.54\",\"2001:db8::53\"],\"rules\":["
	"{\"action\":\"deny\",\"to\":\"::ffff:10.0.0.0/104\",\"ports\":[\"443\",80,\"8000-8100\"],"
	"\"proto\":\"tcp\",\"name\":\"one\"},"
	"{\"to\":\"2001:db8::/32\",\"action\":\"allow\",\"proto\":132},"
	"{\"action\":\"allow\",\"list\":\"l.txt\",\"proto\":\"icmp\"},"
	"{\"action\":\"allow\",\"to\":\"192.0.2.1\",\"proto\":17,\"ports\":[53]}],"
	"\"on_deny\":\"kill\"},"
	"\"detect\":{\"cpu\":{\"action\":\"throttle\",\"above\":1,\"for\":\"500ms\"},"
	"\"mining\":{\"action\":\"alert\",\"threshold\":0.25}},"
	"\"audit\":{\"events\":[\"file\",\"exec\"]},\"on_supervisor_loss\":\"contain\"}";

static void check_rest(const struct wdr_policy *p)
{
	assert_int_equal(p->fs.n_tmpfs, 0);
	assert_int_equal(p->fs.n_mounts, 2);
	assert_string_equal(p->fs.root, "./r");
	assert_false(p->fs.mounts[0].readonly);
	assert_true(p->fs.mounts[1].readonly);
	assert_int_equal(p->capabilities, 1 << 13 | 1);
	assert_true(p->syscalls.count);
	assert_int_equal(p->syscalls.on_deny, WDR_ON_SYSCALL_KILL);
	assert_int_equal(p->detect.cpu_action, WDR_DETECT_THROTTLE);
	assert_int_equal(p->detect.mining_action, WDR_DETECT_ALERT);
	assert_int_equal(p->detect.cpu_for_ns, 500000000);
	assert_true(p->detect.mining_threshold == 0.25);
	assert_int_equal(p->audit_events, WDR_AUDIT_EXEC | WDR_AUDIT_FILE);
	assert_int_equal(p->on_loss, WDR_ON_LOSS_CONTAIN);
}

static void reads_every_key(void **state)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	struct wdr_err err = { 0 };
	const struct wdr_rule *rule;

	(void)state;
	if (parse(everything, &p, &err) < 0)
		fail_msg("%s: %s", err.where, err.msg);
	assert_string_equal(p->name, "all");
	assert_int_equal(p->backend, WDR_BACKEND_NATIVE);
	assert_int_equal(p->user.uid, 0);
	assert_int_equal(p->user.gid, 5);
	assert_string_equal(p->env[1].value, "\n\303\251");
	assert_int_equal(p->limits.wall_ns, 1500000000);
	assert_int_equal(p->limits.cpu_ns, 30 * UINT64_C(1000000000));
	assert_true(p->limits.cpus == 0);
	assert_int_equal(p->limits.memory_bytes, 4096);
	assert_true(p->limits.swap_bytes == WDR_UNLIMITED);
	assert_true(p->limits.pids == WDR_UNLIMITED);
	assert_int_equal(p->limits.disk_bytes, 1024);
	assert_int_equal(p->limits.stdout_bytes, 1);
	assert_int_equal(p->net.n_dns, 3);
	assert_int_equal(p->net.dns[1].family, 2);
	assert_int_equal(p->net.n_rules, 4);
	rule = &p->net.rules[0];
	assert_int_equal(rule->action, WDR_VERDICT_DENY);
	assert_int_equal(rule->to->len, 8);
	assert_int_equal(rule->to->family, 2);
	assert_int_equal(rule->n_ports, 3);
	assert_int_equal(rule->ports[1].max, 80);
	assert_int_equal(rule->ports[2].max, 8100);
	assert_int_equal(rule->proto, 6);
	assert_int_equal(p->net.rules[1].proto, 132);
	assert_string_equal(p->net.rules[2].list, "l.txt");
	assert_int_equal(p->net.rules[2].proto, 1);
	check_rest(p);
}

struct bad {
	const char *text;
	const char *where;
	const char *msg;
};

#define NET(rules) V "\"network\":{\"mode\":\"egress\",\"rules\":[" rules "]}}"

static const struct bad syntax[] = {
	{ "", "t.json:1:1", "'[' or '{' expected near end of file" },
	{ "3", "t.json:1:1", "'[' or '{' expected" },
	{ "{", "t.json:1:1", "'}' expected near end of file" },
	{ "{\"version\": 1}\n}", "t.json:2:1", "end of file expected" },
	{ "{\n  \"version\": 1,\n}", "t.json:3:1", "no comma behind the last entry" },
	{ "{\n// x\n\"version\": 1}", "t.json:2:1", "JSON has no comments" },
	{ "{'version': 1}", "t.json:1:2", "strings are in double quotes" },
	{ V "\"version\":1}", "t.json:1:22", "duplicate object key" },
	{ V "\"\\u0076ersion\":1}", "t.json:1:27", "duplicate object key" },
	{ V "\"env\":{\"A\":\"\",\"\\u0041\":\"\"}}", "t.json:1:35", "duplicate object key" },
	{ V "\"name\":\"\\ud800\"}", "t.json:1:28", "invalid Unicode" },
	{ V "\"name\":\"\\u0000\"}", "t.json:1:28", "\\u0000 is not allowed" },
	{ V "\"name\":\"\377\"}", "t.json:1:22", "not UTF-8" },
	{ V "\"name\":\"a\nb\"}", "t.json:1:22", "unexpected newline" },
	{ V "\"user\":{\"uid\":99999999999999999999}}", "t.json:1:", "too big integer" },
	{ V "\"user\":{\"uid\":-99999999999999999999}}", "t.json:1:", "too big negative integer" },
	{ V "\"limits\":{\"cpus\":1e999}}", "t.json:1:", "real number overflow" },
	{ V "\"limits\":{\"cpus\":NaN}}", "t.json:1:", "invalid token near 'NaN'" },
	{ V "\"limits\":{\"cpus\":01}}", "t.json:1:", "invalid token near '0'" },
	{ "\357\273\277{\"version\": 1}", "t.json:1:1", "byte-order mark" },
	{ "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "t.json:1:33", "deeper than 32 levels" },
};

static const struct bad meaning[] = {
	{ "[]", "t.json", "want an object, found an array" },
	{ "{}", "t.json:/version", "missing: \"version\" is required" },
	{ "{\"version\":2}", "t.json:/version", "version 2 is not known: want 1" },
	{ "{\"version\":\"1\"}", "t.json:/version", "want a whole number, found a string" },
	{ "{\"version\":1.0}", "t.json:/version", "found a number with a point or exponent" },
	{ "{\"version\":null}", "t.json:/version", "found null" },
	{ "{\"vresion\":1}", "t.json:/vresion",
	  "unknown key \"vresion\", did you mean \"version\"?" },
	{ V "\"zzz\":1}", "t.json:/zzz", "unknown key \"zzz\": want version, name, backend" },
	{ V "\"a/b~c\\n\":1}", "t.json:/a~1b~0c\\n", "unknown key" },
	{ V "\"\":1}", "t.json:/", "unknown key \"\"" },
	{ V "\"memory\":1}", "t.json:/memory", "it belongs in \"limits\"" },
	{ V "\"limits\":{\"memry\":1}}", "t.json:/limits/memry",
	  "unknown key \"memry\", did you mean \"memory\"?" },
	{ V "\"limits\":{\"backend\":1}}", "t.json:/limits/backend", "in the outermost object" },
	{ V "\"limits\":[]}", "t.json:/limits", "want an object, found an array" },
	{ V "\"name\":\"\"}", "t.json:/name", "not a name" },
	{ V "\"name\":\"-a\"}", "t.json:/name", "not a name" },
	{ V "\"name\":\"a b\"}", "t.json:/name", "not a name" },
	{ V "\"backend\":\"natve\"}", "t.json:/backend", "did you mean \"native\"?" },
	{ V "\"backend\":\"docker\"}", "t.json:/backend", "want auto, runsc or native" },
	{ V "\"user\":{\"uid\":-1}}", "t.json:/user/uid", "a whole number of 0..4294967294" },
	{ V "\"user\":{\"uid\":4294967295}}", "t.json:/user/uid", "out of range" },
	{ V "\"user\":{\"uid\":1000.0}}", "t.json:/user/uid", "want a whole number" },
	{ V "\"user\":{\"gid\":\"0\"}}", "t.json:/user/gid", "want a whole number" },
	{ V "\"workdir\":\"home\"}", "t.json:/workdir", "one that starts with /" },
	{ V "\"workdir\":\"/a/../b\"}", "t.json:/workdir", "no \"..\"" },
	{ V "\"workdir\":\"/a//b\"}", "t.json:/workdir", "no doubled" },
	{ V "\"workdir\":\"/a/\"}", "t.json:/workdir", "trailing slash" },
	{ V "\"workdir\":\"/a\\u0007\"}", "t.json:/workdir", "a control character at 3" },
	{ V "\"env\":{\"1A\":\"\"}}", "t.json:/env/1A", "not the name of a variable" },
	{ V "\"env\":{\"A=B\":\"\"}}", "t.json:/env/A=B", "not the name of a variable" },
	{ V "\"env\":{\"\":\"\"}}", "t.json:/env/", "not the name of a variable" },
	{ V "\"env\":{\"A\":1}}", "t.json:/env/A", "want a string" },
	{ V "\"limits\":{\"wall\":0}}", "t.json:/limits/wall", "0 is no limit" },
	{ V "\"limits\":{\"wall\":-0}}", "t.json:/limits/wall", "0 is no limit" },
	{ V "\"limits\":{\"wall\":\"0s\"}}", "t.json:/limits/wall", "or \"unlimited\"" },
	{ V "\"limits\":{\"wall\":0.0001}}", "t.json:/limits/wall", "want 0.001..999999999" },
	{ V "\"limits\":{\"wall\":-5}}", "t.json:/limits/wall", "not a duration" },
	{ V "\"limits\":{\"wall\":1e300}}", "t.json:/limits/wall", "not a number of seconds" },
	{ V "\"limits\":{\"wall\":\"1 minute\"}}", "t.json:/limits/wall", "such as 500ms, 10s" },
	{ V "\"limits\":{\"wall\":true}}", "t.json:/limits/wall", "want a string or a number" },
	{ V "\"limits\":{\"cpus\":0}}", "t.json:/limits/cpus", "want 0.01..8192" },
	{ V "\"limits\":{\"cpus\":-0.0}}", "t.json:/limits/cpus", "want 0.01..8192" },
	{ V "\"limits\":{\"cpus\":8193}}", "t.json:/limits/cpus", "want 0.01..8192" },
	{ V "\"limits\":{\"cpus\":\"0.5\"}}", "t.json:/limits/cpus", "a number or \"unlimited\"" },
	{ V "\"limits\":{\"memory\":\"0\"}}", "t.json:/limits/memory", "0 is no limit" },
	{ V "\"limits\":{\"memory\":\"512MB\"}}", "t.json:/limits/memory", "such as 512M or 2G" },
	{ V "\"limits\":{\"memory\":1.5}}", "t.json:/limits/memory",
	  "want a string or a whole number" },
	{ V "\"limits\":{\"memory\":\"unlimted\"}}", "t.json:/limits/memory", "not a size" },
	{ V "\"limits\":{\"pids\":0}}", "t.json:/limits/pids", "0 is no limit" },
	{ V "\"limits\":{\"pids\":4194305}}", "t.json:/limits/pids", "out of range" },
	{ V "\"limits\":{\"pids\":\"100\"}}", "t.json:/limits/pids", "or \"unlimited\"" },
	{ V "\"limits\":{\"stdout\":0}}", "t.json:/limits/stdout", "0 is no limit: want more" },
	{ V "\"limits\":{\"stdout\":\"unlimited\"}}", "t.json:/limits/stdout",
	  "can't be unlimited" },
	{ V "\"limits\":{\"on_output\":\"drop\"}}", "t.json:/limits/on_output",
	  "want kill or truncate" },
	{ V "\"filesystem\":{\"root\":\"hots\"}}", "t.json:/filesystem/root", "\"./hots\"" },
	{ V "\"filesystem\":{\"root\":\"\"}}", "t.json:/filesystem/root", "empty" },
	{ V "\"filesystem\":{\"readonly\":1}}", "t.json:/filesystem/readonly", "true or false" },
	{ V "\"filesystem\":{\"tmpfs\":[\"/a\",\"/a\"]}}", "t.json:/filesystem/tmpfs/1", "twice" },
	{ V "\"filesystem\":{\"tmpfs\":[\"/\"]}}", "t.json:/filesystem/tmpfs/0", "mounted over" },
	{ V "\"filesystem\":{\"tmpfs\":[1]}}", "t.json:/filesystem/tmpfs/0", "want a string" },
	{ V "\"filesystem\":{\"mounts\":[{\"source\":\"a\"}]}}",
	  "t.json:/filesystem/mounts/0/target", "missing" },
	{ V "\"filesystem\":{\"mounts\":[{\"source\":\"\",\"target\":\"/a\"}]}}",
	  "t.json:/filesystem/mounts/0/source", "empty" },
	{ V "\"filesystem\":{\"mounts\":[{\"source\":\"a\",\"target\":\"/proc/x\"}]}}",
	  "t.json:/filesystem/mounts/0/target", "a place other than" },
	{ V "\"filesystem\":{\"mounts\":[{\"source\":\"a\",\"target\":\"/a\"},"
	    "{\"source\":\"b\",\"target\":\"/a\"}]}}",
	  "t.json:/filesystem/mounts/1", "mount 0 has this target already" },
	{ V "\"privileges\":{\"no_new_privs\":false}}", "t.json:/privileges/no_new_privs",
	  "want true" },
	{ V "\"privileges\":{\"capabilities\":[\"net_raw\"]}}", "t.json:/privileges/capabilities/0",
	  "did you mean \"CAP_NET_RAW\"?" },
	{ V "\"privileges\":{\"capabilities\":[\"CAP_NET_ROW\"]}}",
	  "t.json:/privileges/capabilities/0", "did you mean \"CAP_NET_RAW\"?" },
	{ V "\"privileges\":{\"capabilities\":[\"CAP_KILL\",\"CAP_KILL\"]}}",
	  "t.json:/privileges/capabilities/1", "twice" },
	{ V "\"syscalls\":{\"deny\":[\"Chroot\"]}}", "t.json:/syscalls/deny/0",
	  "not a system call" },
	{ V "\"syscalls\":{\"profile\":\"loose\"}}", "t.json:/syscalls/profile",
	  "want default or strict" },
	{ V "\"network\":{\"mode\":\"egres\"}}", "t.json:/network/mode", "\"egress\"?" },
	{ V "\"network\":{\"dns\":[\"192.0.2.0/24\"]}}", "t.json:/network/dns/0",
	  "not an address" },
	{ V "\"network\":{\"dns\":[\"192.0.2.1\",\"192.0.2.1\"]}}", "t.json:/network/dns/1",
	  "twice" },
	{ V "\"network\":{\"rules\":[{\"action\":\"deny\",\"to\":\"10.0.0.0/8\"}]}}",
	  "t.json:/network/rules", "rules without a network" },
	{ NET("{\"to\":\"10.0.0.0/8\"}"), "t.json:/network/rules/0/action", "missing" },
	{ NET("{\"action\":\"allow\"}"), "t.json:/network/rules/0", "\"list\" is required" },
	{ NET("{\"action\":\"allow\",\"to\":\"10.0.0.0/8\",\"list\":\"a\"}"),
	  "t.json:/network/rules/0", "want one of them" },
	{ NET("{\"action\":\"allow\",\"to\":\"10.0.0.1/8\"}"), "t.json:/network/rules/0/to",
	  "did you mean \"10.0.0.0/8\"?" },
	{ NET("{\"action\":\"allow\",\"to\":\"example.org\"}"), "t.json:/network/rules/0/to",
	  "names are not looked up" },
	{ NET("{\"action\":\"allow\",\"list\":\"../a\"}"), "t.json:/network/rules/0/list",
	  "beside the policy" },
	{ NET("{\"action\":\"allow\",\"to\":\"::/0\",\"ports\":[]}"),
	  "t.json:/network/rules/0/ports", "leave \"ports\" out" },
	{ NET("{\"action\":\"allow\",\"to\":\"::/0\",\"ports\":[\"90-80\"]}"),
	  "t.json:/network/rules/0/ports/0", "the lower port comes first" },
	{ NET("{\"action\":\"allow\",\"to\":\"::/0\",\"ports\":[\"1\",65536]}"),
	  "t.json:/network/rules/0/ports/1", "want 1..65535" },
	{ NET("{\"action\":\"allow\",\"to\":\"::/0\",\"proto\":58}"),
	  "t.json:/network/rules/0/proto", "want icmp" },
	{ NET("{\"action\":\"allow\",\"to\":\"::/0\",\"proto\":\"132\"}"),
	  "t.json:/network/rules/0/proto", "want tcp, udp or icmp" },
	{ NET("{\"action\":\"allow\",\"to\":\"::/0\",\"proto\":132,\"ports\":[1]}"),
	  "t.json:/network/rules/0", "other than tcp and udp" },
	{ NET("{\"action\":\"allow\",\"to\":\"::/0\",\"name\":\"a \\\"b\\\"\"}"),
	  "t.json:/network/rules/0/name", "not a name" },
	{ V "\"detect\":{\"cpu\":{\"above\":0}}}", "t.json:/detect/cpu/above", "above 0" },
	{ V "\"detect\":{\"cpu\":{\"above\":1.01}}}", "t.json:/detect/cpu/above", "at most 1" },
	{ V "\"detect\":{\"cpu\":{\"for\":\"unlimited\"}}}", "t.json:/detect/cpu/for",
	  "can't be unlimited" },
	{ V "\"audit\":{\"events\":[\"exce\"]}}", "t.json:/audit/events/0", "\"exec\"?" },
	{ V "\"on_supervisor_loss\":\"ignore\"}", "t.json:/on_supervisor_loss",
	  "want kill or contain" },
};

static void check_bad(const struct bad *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		wdr_policy_ struct wdr_policy *p = NULL;
		struct wdr_err err = { 0 };
		size_t n_where = strlen(rows[i].where);

		if (parse(rows[i].text, &p, &err) != -EINVAL)
			fail_msg("taken: %s", rows[i].text);
		assert_null(p);
		assert_int_equal(err.code, -EINVAL);
		/* A row that ends in a colon leaves the column open. */
		if (strncmp(err.where, rows[i].where, n_where) != 0 ||
		    (err.where[n_where] && rows[i].where[n_where - 1] != ':'))
			fail_msg("%s\nat %s, want %s", rows[i].text, err.where, rows[i].where);
		if (!strstr(err.msg, rows[i].msg))
			fail_msg("%s\n\"%s\" is not in \"%s\"", rows[i].text, rows[i].msg, err.msg);
		assert_int_equal(parse(rows[i].text, &p, NULL), -EINVAL);
	}
}

static void refuses_bad_syntax_with_line_and_column(void **state)
{
	(void)state;
	check_bad(syntax, sizeof(syntax) / sizeof(syntax[0]));
}

static void refuses_bad_meaning_with_a_pointer(void **state)
{
	(void)state;
	check_bad(meaning, sizeof(meaning) / sizeof(meaning[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_version_is_required),
		cmocka_unit_test(reads_every_key),
		cmocka_unit_test(refuses_bad_syntax_with_line_and_column),
		cmocka_unit_test(refuses_bad_meaning_with_a_pointer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
