/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <linux/rtnetlink.h>

#include "net/net_nl_priv.h"

static void attributes_are_found_where_they_were_put(void **state)
{
	const struct ifinfomsg head = { .ifi_index = 7 };
	const uint8_t *byte;
	const uint32_t *word;
	struct wdr_nl_msg m;
	size_t nest, n = 0;
	const void *attrs;

	(void)state;
	wdr_nl_start(&m, RTM_NEWLINK, NLM_F_CREATE, &head, sizeof(head));
	wdr_nl_put_text(&m, IFLA_IFNAME, "wdr7");
	nest = wdr_nl_nest(&m, IFLA_LINKINFO);
	wdr_nl_put_u8(&m, 1, 200);
	wdr_nl_put_u32(&m, 2, 70000);
	wdr_nl_end(&m, nest);
	wdr_nl_put_u32(&m, IFLA_MTU, 1400);
	m.hdr.nlmsg_len = (uint32_t)m.len;
	assert_false(m.full);
	assert_int_equal(m.hdr.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE);

	attrs = wdr_nl_attrs(&m.hdr, sizeof(head), &n);
	word = wdr_nl_find(attrs, n, IFLA_MTU, sizeof(*word), NULL);
	assert_int_equal(*word, 1400);
	assert_string_equal(wdr_nl_find(attrs, n, IFLA_IFNAME, 1, NULL), "wdr7");
	assert_null(wdr_nl_find(attrs, n, IFLA_MTU, 5, NULL));
	assert_null(wdr_nl_find(attrs, n, IFLA_ADDRESS, 0, NULL));
	attrs = wdr_nl_find(attrs, n, IFLA_LINKINFO, 0, &n);
	byte = wdr_nl_find(attrs, n, 1, 1, NULL);
	assert_int_equal(*byte, 200);
	word = wdr_nl_find(attrs, n, 2, 4, NULL);
	assert_int_equal(*word, 70000);
}

/* What comes back may be anything: nothing outside the buffer is looked at. */
static void broken_attributes_end_the_search(void **state)
{
	static const uint16_t lengths[] = { 0, 1, 3, 9, 200, 65535 };

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct nlattr *a = calloc(1, 8);

		assert_non_null(a);
		a->nla_len = lengths[i];
		a->nla_type = 1;
		assert_null(wdr_nl_find(a, 8, 2, 0, NULL));
		assert_null(wdr_nl_find(a, 8, 1, 5, NULL));
		assert_null(wdr_nl_find(a, 3, 1, 0, NULL));
		free(a);
	}
}

static void an_answer_shorter_than_its_head_has_no_attributes(void **state)
{
	struct nlmsghdr h = { .nlmsg_len = NLMSG_LENGTH(0) };
	size_t n = 1;

	(void)state;
	(void)wdr_nl_attrs(&h, sizeof(struct ifinfomsg), &n);
	assert_int_equal(n, 0);
}

static void what_does_not_fit_is_not_sent(void **state)
{
	static const char big[WDR_NL_MSG_MAX];
	const struct ifinfomsg head = { 0 };
	struct wdr_nl_msg m;
	int fd = -1;

	(void)state;
	wdr_nl_start(&m, RTM_GETLINK, 0, &head, sizeof(head));
	wdr_nl_put(&m, IFLA_ADDRESS, big, sizeof(big));
	wdr_nl_put_u32(&m, IFLA_MTU, 1);
	assert_true(m.full);
	assert_ok(wdr_nl_open(NETLINK_ROUTE, &fd));
	assert_int_equal(wdr_nl_call(fd, &m, NULL), -EMSGSIZE);
	wdr_closep(&fd);
}

static void the_kernels_refusal_has_its_words(void **state)
{
	const struct ifinfomsg head = { 0 };
	struct wdr_err err = { 0 };
	struct wdr_nl_msg m;
	int fd = -1;

	(void)state;
	assert_ok(wdr_nl_open(NETLINK_ROUTE, &fd));
	wdr_nl_start(&m, RTM_GETLINK, 0, &head, sizeof(head));
	wdr_nl_put_text(&m, IFLA_IFNAME, "no-such-link");
	assert_int_equal(wdr_nl_call(fd, &m, &err), -ENODEV);
	assert_int_equal(err.code, -ENODEV);
	assert_non_null(strstr(err.msg, strerror(ENODEV)));
	wdr_closep(&fd);
}

static int count(const struct nlmsghdr *h, void *userdata)
{
	assert_int_equal(h->nlmsg_type, RTM_NEWLINK);
	++*(int *)userdata;
	return -EXFULL; /* the first such is the result, the rest comes all the same */
}

static void a_dump_is_read_to_its_end(void **state)
{
	const struct ifinfomsg head = { 0 };
	struct wdr_nl_msg m;
	int fd = -1, n = 0;

	(void)state;
	assert_ok(wdr_nl_open(NETLINK_ROUTE, &fd));
	for (int i = 0; i < 2; i++) {
		n = 0;
		wdr_nl_start(&m, RTM_GETLINK, NLM_F_DUMP, &head, sizeof(head));
		assert_int_equal(wdr_nl_ask(fd, &m, count, &n), -EXFULL);
		assert_true(n >= 1);
	}
	wdr_closep(&fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_are_found_where_they_were_put),
		cmocka_unit_test(broken_attributes_end_the_search),
		cmocka_unit_test(an_answer_shorter_than_its_head_has_no_attributes),
		cmocka_unit_test(what_does_not_fit_is_not_sent),
		cmocka_unit_test(the_kernels_refusal_has_its_words),
		cmocka_unit_test(a_dump_is_read_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
