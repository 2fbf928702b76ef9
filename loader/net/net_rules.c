/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules that all slots share, as text for nftables. They name no slot and no address: a slot
 * is a link called wdrN, and its own address is the one that is routed to it.
 */
#include <byteswap.h>
#include <errno.h>
#include <string.h>

#include "base/wdr_hash.h"
#include "net_priv.h"

#define TEXT_MAX 16384

/*
 * What every system says by itself (MLD, router solicitations) is dropped without counting.
 *
 * from_job stands before connection tracking and before anybody's DNAT, so that a port published
 * on the host's address is as unreachable as the address. Neighbour discovery is all that the host
 * itself answers. `fib saddr . iif oif` is strict reverse path: only wdrN's own peer address is
 * routed to wdrN.
 *
 * A flow's mark ends in the low half of the job's address (net_flows.c); it gets the mark when it
 * is counted, so what has one passes: counting looks up every flow of the job, and until there is
 * an answer each packet of a flow is "new". (Versions of nftables differ in whether they turn the
 * mark's bytes around.) An answer is a packet of a flow that began inside.
 * Packets that fit no flow are not translated: they would leave with the job's own address.
 *
 * The probe chain is the last of all forward chains: a probe that gets there was let through by
 * everybody's, and is answered there (net_reach.c). Masquerading comes first in its hook for what
 * comes from a job, whatever others do at the same priority.
 */
static const char rules[] =
	"table inet warder {\n"
	"  counter spoofed {}\n"
	"  counter to_host {}\n"
	"  counter to_job {}\n"
	"  counter inbound {}\n"
	"  counter invalid {}\n"
	"  counter flows {}\n"
	"  counter transit {}\n"
	"  counter probe {}\n"
	"  set flows4 { type ipv4_addr; size 16384; flags dynamic; }\n"
	"  set flows6 { type ipv6_addr; size 16384; flags dynamic; }\n"
	"  chain refuse {\n"
	"    meta l4proto tcp reject with tcp reset\n"
	"    reject with icmpx type admin-prohibited\n"
	"  }\n"
	"  chain from_job {\n"
	"    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255"
	" fib daddr type { local, multicast } accept\n"
	"    icmpv6 type { mld-listener-query, mld-listener-report, mld-listener-done,"
	" mld2-listener-report, nd-router-solicit } drop\n"
	"    fib saddr . iif oif missing counter name spoofed drop\n"
	"    meta mark %#x accept\n"
	"    fib daddr type local counter name to_host goto refuse\n"
	"    fib daddr type { broadcast, anycast, multicast } counter name to_host drop\n"
	"    ip6 daddr fe80::/10 counter name to_host drop\n"
	"  }\n"
	"  chain prerouting {\n"
	"    type filter hook prerouting priority raw; policy accept;\n"
	"    iifname \"wdr*\" jump from_job\n"
	"  }\n"
	"  chain input {\n"
	"    type filter hook input priority filter; policy accept;\n"
	"    iifname != \"wdr*\" accept\n"
	"    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept\n"
	"    meta mark %#x accept\n"
	"    counter name to_host drop\n"
	"  }\n"
	"  chain forward {\n"
	"    type filter hook forward priority filter; policy accept;\n"
	"    iifname \"wdr*\" oifname \"wdr*\" counter name to_job goto refuse\n"
	"    iifname \"wdr*\" ct state invalid counter name invalid drop\n"
	"    iifname \"wdr*\" ct mark & 0xffff0000 { %#x, %#x } accept\n"
	"    iifname \"wdr*\" ct mark & 0xffff { %#x, %#x } accept\n"
	"    iifname \"wdr*\" ct state new add @flows4 { ip saddr ct count over %d }"
	" counter name flows goto refuse\n"
	"    iifname \"wdr*\" ct state new add @flows6 { ip6 saddr ct count over %d }"
	" counter name flows goto refuse\n"
	"    iifname \"wdr*\" meta nfproto ipv4 ct state new"
	" ct mark set (@nh,96,32 & 0xffff) | %#x accept\n"
	"    iifname \"wdr*\" meta nfproto ipv6 ct state new"
	" ct mark set (@nh,160,32 & 0xffff) | %#x accept\n"
	"    iifname \"wdr*\" accept\n"
	"    ct state established,related accept\n"
	"    oifname \"wdr*\" counter name inbound drop\n"
	"    ct status dnat accept\n"
	"%s"
	"  }\n"
	"  chain probe {\n"
	"    type filter hook forward priority 2147483647; policy accept;\n"
	"    iifname \"wdr*\" tcp dport %d ip daddr " WDR_NET_PROBE_TO4
	" counter name probe reject with tcp reset\n"
	"    iifname \"wdr*\" tcp dport %d ip6 daddr " WDR_NET_PROBE_TO6
	" counter name probe reject with tcp reset\n"
	"  }\n"
	"  chain postrouting {\n"
	"    type nat hook postrouting priority srcnat - 1; policy accept;\n"
	"    iifname \"wdr*\" masquerade\n"
	"  }\n"
	"}\n";

static void guard_lines(char *text, size_t size, const char *family, const unsigned int *ifindex,
			unsigned int n)
{
	size_t at = strlen(text);

	/* By number: a name may hold anything but spaces and slashes. */
	for (unsigned int i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(text + at, size - at,
				       "    meta nfproto %s iif %u counter name transit drop\n",
				       family, ifindex[i]);
}

int wdr_net_rules_text(const struct wdr_net_guard *g, char **ret)
{
	wdr_free_ char *guard = calloc(1, TEXT_MAX);
	char *text = NULL;
	int n;

	if (!guard)
		return -ENOMEM;
	guard_lines(guard, TEXT_MAX, "ipv4", g->v4, g->n4);
	if (g->all6)
		(void)snprintf(guard + strlen(guard), TEXT_MAX - strlen(guard),
			       "    meta nfproto ipv6 counter name transit drop\n");
	else
		guard_lines(guard, TEXT_MAX, "ipv6", g->v6, g->n6);
	n = asprintf(&text, rules, WDR_NET_MARK_LOCAL, WDR_NET_MARK_LOCAL, WDR_NET_FLOW_MARK4,
		     WDR_NET_FLOW_MARK6, bswap_32(WDR_NET_FLOW_MARK4), bswap_32(WDR_NET_FLOW_MARK6),
		     WDR_NET_MAX_FLOWS, WDR_NET_MAX_FLOWS, WDR_NET_FLOW_MARK4, WDR_NET_FLOW_MARK6,
		     guard, WDR_NET_PROBE_PORT, WDR_NET_PROBE_PORT);
	if (n < 0)
		return -ENOMEM;
	*ret = text;
	return 0;
}

uint64_t wdr_net_rules_hash(const char *text)
{
	uint64_t h = wdr_hash_add(WDR_HASH_START, text, strlen(text));

	return h ? h : 1;
}
