/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <netinet/in.h>

#include "base/wdr_addr.h"

struct row {
	const char *text;
	const char *shown; /* how it is printed again; NULL: refused */
	const char *msg;   /* part of the refusal */
};

static const struct row prefixes[] = {
	{ "10.0.0.0/8", "10.0.0.0/8", NULL },
	{ "198.51.100.7", "198.51.100.7/32", NULL },
	{ "0.0.0.0/0", "0.0.0.0/0", NULL },
	{ "255.255.255.255/32", "255.255.255.255/32", NULL },
	{ "2001:db8::/32", "2001:db8::/32", NULL },
	{ "2001:DB8:0:0:0:0:0:1", "2001:db8::1/128", NULL },
	{ "::/0", "::/0", NULL },
	{ "64:ff9b::192.0.2.1", "64:ff9b::c000:201/128", NULL },
	{ "::ffff:192.0.2.1", "192.0.2.1/32", NULL },
	{ "::ffff:10.0.0.0/104", "10.0.0.0/8", NULL },
	{ "::ffff:0:0/96", "0.0.0.0/0", NULL },
	{ "::fffe:0:0/95", "::fffe:0:0/95", NULL },
	{ "10.0.0.1/8", NULL, "did you mean \"10.0.0.0/8\"?" },
	{ "2001:db8::1/32", NULL, "did you mean \"2001:db8::/32\"?" },
	{ "::ffff:10.0.0.1/104", NULL, "host bits" },
	{ "::ffff:0:0/95", NULL, "host bits" },
	{ "10.0.0.0/33", NULL, "want 0..32" },
	{ "::/129", NULL, "want 0..128" },
	{ "10.0.0.0/", NULL, "not a prefix length" },
	{ "10.0.0.0/08", NULL, "not a prefix length" },
	{ "10.0.0.0/-1", NULL, "not a prefix length" },
	{ "10.0.0.0/8/8", NULL, "not a prefix length" },
	{ "10.0.0.0/255.0.0.0", NULL, "not a prefix length" },
	{ "010.0.0.1", NULL, "no leading zeros" },
	{ "10.0.1", NULL, "not an address" },
	{ "10", NULL, "not an address" },
	{ "0x7f.0.0.1", NULL, "not an address" },
	{ "1.2.3.4.5", NULL, "not an address" },
	{ "256.0.0.1", NULL, "not an address" },
	{ "example.org", NULL, "names are not looked up" },
	{ "localhost", NULL, "names are not looked up" },
	{ "fe80::1%eth0", NULL, "not an address" },
	{ "[::1]", NULL, "want no brackets here" },
	{ "::1::", NULL, "not an address" },
	{ "1:2:3:4:5:6:7:8:9", NULL, "not an address" },
	{ "::ffff:1.2.3.04", NULL, "not an address" },
	{ " 10.0.0.1", NULL, "not an address" },
	{ "10.0.0.1 ", NULL, "not an address" },
	{ "10.0.0.1\n", NULL, "\\n" },
	{ "", NULL, "not an address" },
	{ "/8", NULL, "not an address" },
};

static void reads_prefixes_strictly(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const struct row *row = &prefixes[i];
		char buf[WDR_PREFIX_TEXT_MAX];
		struct wdr_err err = { 0 };
		struct wdr_prefix p;
		int r = wdr_addr_prefix(row->text, &p, &err);

		if (r != (row->shown ? 0 : -EINVAL))
			fail_msg("\"%s\": %d %s", row->text, r, err.msg);
		if (row->shown)
			assert_string_equal(wdr_prefix_text(&p, buf), row->shown);
		else if (!strstr(err.msg, row->msg))
			fail_msg("\"%s\": \"%s\" is not in \"%s\"", row->text, row->msg, err.msg);
	}
}

/* ADDR[/LEN][:PORT[-PORT]][/PROTO]: shown as PREFIX PORTS PROTO. */
static const struct row dests[] = {
	{ "192.0.2.1", "192.0.2.1/32 - 0", NULL },
	{ "10.0.0.0/8", "10.0.0.0/8 - 0", NULL },
	{ "192.0.2.1:443", "192.0.2.1/32 443-443 0", NULL },
	{ "192.0.2.1:443/tcp", "192.0.2.1/32 443-443 6", NULL },
	{ "192.0.2.1:8000-8100/udp", "192.0.2.1/32 8000-8100 17", NULL },
	{ "192.0.2.1/tcp", "192.0.2.1/32 - 6", NULL },
	{ "192.0.2.1/icmp", "192.0.2.1/32 - 1", NULL },
	{ "10.0.0.0/8:53/udp", "10.0.0.0/8 53-53 17", NULL },
	{ "10.0.0.0/8/132", "10.0.0.0/8 - 132", NULL },
	{ "192.0.2.1/32/47", "192.0.2.1/32 - 47", NULL },
	{ "192.0.2.1:443/6", "192.0.2.1/32 443-443 6", NULL },
	{ "[2001:db8::]/32:443", "2001:db8::/32 443-443 0", NULL },
	{ "[2001:db8::1]:443/tcp", "2001:db8::1/128 443-443 6", NULL },
	{ "[2001:db8::1]", "2001:db8::1/128 - 0", NULL },
	{ "[::ffff:192.0.2.1]:80", "192.0.2.1/32 80-80 0", NULL },
	{ "[::]/0/132", "::/0 - 132", NULL },
	{ "2001:db8::1", NULL, "IPv6 in brackets" },
	{ "2001:db8::/32:443", NULL, "IPv6 in brackets" },
	{ "[192.0.2.1]:80", NULL, "an IPv6 address between [ and ]" },
	{ "[2001:db8::1", NULL, "between [ and ]" },
	{ "[2001:db8::1]x", NULL, "nothing but" },
	{ "[2001:db8::1]443", NULL, "nothing but" },
	{ "192.0.2.1/132", NULL, "192.0.2.1/32/132" },
	{ "192.0.2.1/58", NULL, "not a prefix length" },
	{ "192.0.2.1/32/58", NULL, "want icmp" },
	{ "192.0.2.1/32/1", NULL, "want icmp" },
	{ "192.0.2.1/32/0", NULL, "2..255" },
	{ "192.0.2.1/32/256", NULL, "2..255" },
	{ "192.0.2.1/sctp", NULL, "not a protocol: \"sctp\"" },
	{ "192.0.2.1:443/icmp", NULL, "no port" },
	{ "192.0.2.1:443/132", NULL, "no port" },
	{ "192.0.2.1:0", NULL, "want 1..65535" },
	{ "192.0.2.1:65536", NULL, "want 1..65535" },
	{ "192.0.2.1:", NULL, "not a port" },
	{ "192.0.2.1:http", NULL, "not a port: \"http\"" },
	{ "192.0.2.1:080", NULL, "not a port" },
	{ "192.0.2.1:9-8", NULL, "the lower port comes first" },
	{ "192.0.2.1:8-", NULL, "not a port range" },
	{ "192.0.2.1:1-2-3", NULL, "not a port range" },
	{ "192.0.2.1:80:80", NULL, "IPv6 in brackets" },
	{ "192.0.2.1/tcp:80", NULL, "the protocol last" },
	{ "192.0.2.1/", NULL, "not a prefix length" },
	{ "192.0.2.1:80/", NULL, "not a protocol" },
	{ "10.0.0.1/8:80", NULL, "did you mean \"10.0.0.0/8\"?" },
	{ "", NULL, "not an address" },
	{ ":80", NULL, "not an address" },
	{ "example.org:443", NULL, "names are not looked up" },
	{ "*", NULL, "not an address" },
};

/* The same for `policy explain`: one address, and a protocol by number right behind it. */
static const struct row targets[] = {
	{ "192.0.2.1:443", "192.0.2.1/32 443-443 6", NULL },
	{ "192.0.2.1:53/udp", "192.0.2.1/32 53-53 17", NULL },
	{ "[2001:db8::1]:443", "2001:db8::1/128 443-443 6", NULL },
	{ "192.0.2.1/icmp", "192.0.2.1/32 - 1", NULL },
	{ "192.0.2.1/132", "192.0.2.1/32 - 132", NULL },
	{ "192.0.2.1/32/132", "192.0.2.1/32 - 132", NULL },
	{ "[2001:db8::1]/47", "2001:db8::1/128 - 47", NULL },
	{ "[2001:db8::1]/128:80", "2001:db8::1/128 80-80 6", NULL },
	{ "192.0.2.1", NULL, "want a port" },
	{ "192.0.2.1/tcp", NULL, "want a port" },
	{ "10.0.0.0/8:80", NULL, "one address" },
	{ "192.0.2.1:80-81", NULL, "one port" },
	{ "192.0.2.1:0", NULL, "1..65535" },
	{ "192.0.2.1/1", NULL, "want icmp" },
	{ "2001:db8::1:443", NULL, "IPv6 in brackets" },
};

static void check_dests(const struct row *rows, size_t n,
			int (*read)(const char *, struct wdr_dest *, struct wdr_err *))
{
	for (size_t i = 0; i < n; i++) {
		char shown[128], ports[16] = "-", buf[WDR_PREFIX_TEXT_MAX];
		struct wdr_err err = { 0 };
		struct wdr_dest d;
		int r = read(rows[i].text, &d, &err);

		if (r != (rows[i].shown ? 0 : -EINVAL))
			fail_msg("\"%s\": %d %s", rows[i].text, r, err.msg);
		if (!rows[i].shown) {
			if (!strstr(err.msg, rows[i].msg))
				fail_msg("\"%s\": \"%s\" is not in \"%s\"", rows[i].text,
					 rows[i].msg, err.msg);
			continue;
		}
		if (d.has_ports)
			(void)snprintf(ports, sizeof(ports), "%u-%u", d.ports.min, d.ports.max);
		(void)snprintf(shown, sizeof(shown), "%s %s %u", wdr_prefix_text(&d.to, buf), ports,
			       d.proto);
		assert_string_equal(shown, rows[i].shown);
	}
}

static void reads_the_destination_of_a_rule(void **state)
{
	(void)state;
	check_dests(dests, sizeof(dests) / sizeof(dests[0]), wdr_addr_dest);
}

static void reads_the_destination_to_explain(void **state)
{
	(void)state;
	check_dests(targets, sizeof(targets) / sizeof(targets[0]), wdr_addr_target);
}

static void a_long_destination_is_refused(void **state)
{
	char text[4096];
	struct wdr_err err = { 0 };
	struct wdr_dest d;

	(void)state;
	memset(text, '1', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(wdr_addr_dest(text, &d, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "at most 128 characters"));
}

static void knows_what_contains_what(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool contains;
	} rows[] = {
		{ "10.0.0.0/8", "10.1.2.3", true },
		{ "10.0.0.0/8", "10.0.0.0/8", true },
		{ "10.0.0.0/8", "11.0.0.0/8", false },
		{ "10.0.0.0/9", "10.0.0.0/8", false },
		{ "10.0.0.0/9", "10.128.0.0/9", false },
		{ "0.0.0.0/0", "255.0.0.0/8", true },
		{ "::/0", "10.0.0.0/8", false },
		{ "::/0", "2001:db8::/32", true },
		{ "2001:db8::/33", "2001:db8:8000::/33", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wdr_prefix a, b;

		assert_ok(wdr_addr_prefix(rows[i].outer, &a, NULL));
		assert_ok(wdr_addr_prefix(rows[i].inner, &b, NULL));
		assert_int_equal(wdr_prefix_contains(&a, &b), rows[i].contains);
		if (rows[i].contains)
			assert_true(wdr_prefix_cmp(&a, &b) <= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_prefixes_strictly),
		cmocka_unit_test(reads_the_destination_of_a_rule),
		cmocka_unit_test(reads_the_destination_to_explain),
		cmocka_unit_test(a_long_destination_is_refused),
		cmocka_unit_test(knows_what_contains_what),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
