/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a packet is: the right name or none, never a wrong one. */
#include "wdr_test.h"

#include <netinet/in.h>

#include "job/guest_flow.h"

#define S   UINT64_C(1000000000)
#define NOW (100 * S)
#define V4(a, b, c, d)                                               \
	{                                                            \
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d \
	}
#define V6(last)                                                          \
	{                                                                 \
		0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last \
	}
#define A V4(192, 0, 2, 1)
#define B V4(192, 0, 2, 2)

struct went {
	int32_t pid;
	uint8_t addr[16];
	uint16_t port;
	double ago; /* seconds before the packet */
};

/* In a guest of several processes. */
static const struct {
	const char *what;
	struct went went[4];
	uint8_t proto, addr[16];
	uint16_t port;
	double lost_ago; /* 0: nothing was lost */
	int32_t want;	 /* 0: not known */
} rows[] = {
	{ "one connect", { { 5, A, 80, 0.001 } }, IPPROTO_TCP, A, 80, 0, 5 },
	{ "one of IPv6", { { 5, V6(1), 80, 0.001 } }, IPPROTO_TCP, V6(1), 80, 0, 5 },
	{ "nobody", { { 0 } }, IPPROTO_TCP, A, 80, 0, 0 },
	{ "another address", { { 5, B, 80, 0.001 } }, IPPROTO_TCP, A, 80, 0, 0 },
	{ "another address of IPv6", { { 5, V6(2), 80, 0.001 } }, IPPROTO_TCP, V6(1), 80, 0, 0 },
	{ "another port", { { 5, A, 81, 0.001 } }, IPPROTO_TCP, A, 80, 0, 0 },
	{ "IPv4 is not IPv6", { { 5, V6(1), 80, 0.001 } }, IPPROTO_TCP, A, 80, 0, 0 },
	{ "who waits for a neighbour", { { 5, A, 80, 3 } }, IPPROTO_TCP, A, 80, 0, 5 },
	{ "long ago", { { 5, A, 80, 11 } }, IPPROTO_TCP, A, 80, 0, 0 },
	{ "afterwards", { { 5, A, 80, -0.1 } }, IPPROTO_TCP, A, 80, 0, 0 },
	{ "at once, by another clock", { { 5, A, 80, -0.01 } }, IPPROTO_TCP, A, 80, 0, 5 },
	{ "the same once more", { { 5, A, 80, 1 }, { 5, A, 80, 0.1 } }, IPPROTO_TCP, A, 80, 0, 5 },
	{ "two of them", { { 5, A, 80, 1 }, { 6, A, 80, 0.1 } }, IPPROTO_TCP, A, 80, 0, 0 },
	{ "two, one too early", { { 5, A, 80, 12 }, { 6, A, 80, 0.1 } }, IPPROTO_TCP, A, 80, 0, 6 },
	{ "two, one too late", { { 5, A, 80, 0.1 }, { 6, A, 80, -1 } }, IPPROTO_TCP, A, 80, 0, 5 },
	{ "two to two", { { 5, A, 80, 0.1 }, { 6, B, 80, 0.1 } }, IPPROTO_TCP, B, 80, 0, 6 },
	{ "nobody who is named",
	  { { 0, A, 80, 0.1 }, { 6, A, 80, 0.1 } },
	  IPPROTO_TCP,
	  A,
	  80,
	  0,
	  0 },
	/* sendto(2) needs no connect: another may have sent it */
	{ "a datagram", { { 5, A, 53, 0.001 } }, IPPROTO_UDP, A, 53, 0, 0 },
	{ "a ping", { { 5, A, 0, 0.001 } }, IPPROTO_ICMP, A, 0, 0, 0 },
	{ "another protocol", { { 5, A, 0, 0.001 } }, IPPROTO_SCTP, A, 0, 0, 0 },
	{ "while messages are lost", { { 5, A, 80, 0.1 } }, IPPROTO_TCP, A, 80, 2, 0 },
	{ "long after some were", { { 5, A, 80, 0.1 } }, IPPROTO_TCP, A, 80, 12, 5 },
};

static uint64_t at(double ago)
{
	return (uint64_t)((double)NOW - ago * (double)S);
}

static int32_t find(const struct wdr_guest_flows *fs, const uint8_t *addr, uint16_t port,
		    uint8_t proto)
{
	struct wdr_deny_key key = { .port = port, .proto = proto };
	const struct wdr_guest_who *who;

	memcpy(key.addr, addr, sizeof(key.addr));
	who = wdr_guest_flows_find(fs, &key, NOW);
	return who ? who->pid : 0;
}

static void go(struct wdr_guest_flows *fs, const struct went *w)
{
	struct wdr_guest_flow f = { { w->pid, "comm" }, { 0 }, w->port, at(w->ago) };

	memcpy(f.addr, w->addr, sizeof(f.addr));
	wdr_guest_flows_see(fs, &f.who);
	wdr_guest_flows_add(fs, &f);
}

static void names_the_right_process_or_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wdr_guest_flows *fs = calloc(1, sizeof(*fs));
		int32_t got;

		assert_non_null(fs);
		wdr_guest_flows_see(fs, &(struct wdr_guest_who){ 1, "init" });
		wdr_guest_flows_see(fs, &(struct wdr_guest_who){ 2, "other" });
		for (size_t k = 0; k < 4 && rows[i].went[k].port + rows[i].went[k].pid; k++)
			go(fs, &rows[i].went[k]);
		if (rows[i].lost_ago > 0)
			wdr_guest_flows_lose(fs, 7, at(rows[i].lost_ago));
		got = find(fs, rows[i].addr, rows[i].port, rows[i].proto);
		if (got != rows[i].want)
			fail_msg("%s: %d, want %d", rows[i].what, got, rows[i].want);
		free(fs);
	}
}

static void a_guest_of_one_process_has_sent_it_all(void **state)
{
	static const uint8_t a[16] = A;
	struct wdr_guest_flows *fs = calloc(1, sizeof(*fs));

	(void)state;
	assert_non_null(fs);
	assert_int_equal(find(fs, a, 53, IPPROTO_UDP), 0);
	wdr_guest_flows_see(fs, &(struct wdr_guest_who){ 1, "init" });
	assert_int_equal(find(fs, a, 53, IPPROTO_UDP), 1);
	assert_int_equal(find(fs, a, 80, IPPROTO_TCP), 1);
	wdr_guest_flows_lose(fs, 0, NOW);
	assert_int_equal(find(fs, a, 53, IPPROTO_UDP), 1);
	wdr_guest_flows_lose(fs, 1, NOW); /* which may have been of a second */
	assert_int_equal(find(fs, a, 53, IPPROTO_UDP), 0);
	free(fs);
}

static void forgets_none_that_could_be_it(void **state)
{
	static const uint8_t b[16] = B;
	struct wdr_guest_flows *fs = calloc(1, sizeof(*fs));
	struct went w = { 5, A, 80, 1 }, last = { 6, B, 80, 0.5 };

	(void)state;
	assert_non_null(fs);
	go(fs, &last);
	for (unsigned int i = 0; i < WDR_GUEST_FLOWS_MAX; i++)
		go(fs, &w);
	go(fs, &last);
	/* one of those that made room may have been to B, too */
	assert_int_equal(find(fs, b, 80, IPPROTO_TCP), 0);
	w.ago = 20;
	for (unsigned int i = 0; i < WDR_GUEST_FLOWS_MAX; i++)
		go(fs, &w);
	go(fs, &last);
	assert_int_equal(find(fs, b, 80, IPPROTO_TCP), 6);
	free(fs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_the_right_process_or_none),
		cmocka_unit_test(a_guest_of_one_process_has_sent_it_all),
		cmocka_unit_test(forgets_none_that_could_be_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
