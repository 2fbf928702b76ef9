/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <sys/socket.h>

#include "policy/etc.h"

static struct wdr_prefix dns[WDR_POLICY_MAX_DNS];

static const struct {
	uint32_t uid, gid;
	size_t n_dns;
	const char *name, *text;
} cases[] = {
	{ 1000, 1000, 0, "passwd",
	  "root:x:0:0:root:/root:/usr/sbin/nologin\nuser:x:1000:1000:user:/home/user:/bin/sh\n"
	  "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" },
	{ 0, 0, 0, "passwd",
	  "root:x:0:0:root:/home/user:/bin/sh\n"
	  "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" },
	{ 1000, 1001, 0, "group", "root:x:0:\nuser:x:1001:\nnogroup:x:65534:\n" },
	{ 0, 0, 0, "group", "root:x:0:\nnogroup:x:65534:\n" },
	{ 1000, 1000, 0, "resolv.conf", "" },
	{ 1000, 1000, 2, "resolv.conf", "nameserver 192.0.2.53\nnameserver 2001:db8::\n" },
	{ 1000, 1000, 0, "hostname", "warder\n" },
	{ 1000, 1000, 0, "hosts", "127.0.0.1 localhost warder\n::1 localhost ip6-localhost\n" },
};

static int find(const struct wdr_policy *p, const char *want, char *text)
{
	const char *name = NULL;

	for (unsigned int i = 0; wdr_etc_text(p, i, &name, text) == 0; i++)
		if (!strcmp(name, want))
			return 0;
	return -ENOENT;
}

static void writes_what_the_policy_says(void **state)
{
	char text[WDR_ETC_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wdr_policy p = { .user = { cases[i].uid, cases[i].gid } };

		dns[0] = (struct wdr_prefix){ .family = AF_INET,
					      .len = 32,
					      .addr = { 192, 0, 2, 53 } };
		dns[1] = (struct wdr_prefix){ .family = AF_INET6,
					      .len = 128,
					      .addr = { 0x20, 0x01, 0x0d, 0xb8 } };
		p.net.dns = dns;
		p.net.n_dns = cases[i].n_dns;
		assert_ok(find(&p, cases[i].name, text));
		assert_string_equal(text, cases[i].text);
	}
}

static void the_longest_resolver_fits(void **state)
{
	struct wdr_policy p = { .net = { .dns = dns, .n_dns = WDR_POLICY_MAX_DNS } };
	char text[WDR_ETC_TEXT_MAX];
	size_t lines = 0;

	(void)state;
	for (size_t i = 0; i < WDR_POLICY_MAX_DNS; i++) {
		dns[i] = (struct wdr_prefix){ .family = AF_INET6, .len = 128 };
		memset(dns[i].addr, 0xab, sizeof(dns[i].addr));
	}
	assert_ok(find(&p, "resolv.conf", text));
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, WDR_POLICY_MAX_DNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_what_the_policy_says),
		cmocka_unit_test(the_longest_resolver_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
