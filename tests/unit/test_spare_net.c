/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of counters say that nothing was ever done in a network namespace. */
#include "wdr_test.h"

#include "native/spare_net_priv.h"

#define DEV                                                                                    \
	"Inter-|   Receive                                                |  Transmit\n"       \
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n" \
	"    lo:       "

static const struct {
	const char *text;
	bool zero;
} rows[] = {
	{ "", true },
	{ DEV "0       0    0    0    0     0          0         0        0       0\n", true },
	{ DEV "84      1    0    0    0     0          0         0        0       0\n", false },
	{ DEV "0       0    0    0    0     0          0         0        0       1\n", false },
	{ "Ip: Forwarding DefaultTTL InReceives OutNoRoutes\nIp: 2 64 0 0\n", true },
	{ "Ip: Forwarding DefaultTTL InReceives OutNoRoutes\nIp: 2 64 0 1\n", false },
	{ "Ip: Forwarding DefaultTTL InReceives OutNoRoutes\nIp: 2 64 3 0\n", false },
	{ "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens\nTcp: 1 200 120000 -1 0\n", true },
	{ "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens\nTcp: 1 200 120000 -1 1\n", false },
	{ "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn X\nTcp: 1 200 120000 -1 -1\n", false },
	{ "Udp: InDatagrams NoPorts\nUdp: 0 0\nUdp: 0 7\n", false },
	{ "IcmpMsg: InType3 OutType3\nIcmpMsg: 1 1\n", false },
	{ "Ip6InReceives                   \t0\nIp6OutNoRoutes                  \t0\n", true },
	{ "Ip6InReceives                   \t0\nIp6OutNoRoutes                  \t12\n", false },
	{ "Ip6InReceives                   \t00\n", false }, /* not what a kernel writes */
	{ "Ip6InReceives                   \t0\nIp6OutNoRoutes                  \t1", false },
};

static void only_zeroes_are_unused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (wdr_spare_net_is_zero(rows[i].text) != rows[i].zero)
			fail_msg("row %zu: want %d", i, rows[i].zero);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(only_zeroes_are_unused) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
