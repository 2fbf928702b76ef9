/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows that the host tracks for a job outlive it by up to five days (established TCP), and the
 * next job with its address would get what still comes in for them.
 *
 * They are found by a mark that our rules give them (WDR_NET_FLOW_MARK): a deletion by mark looks at
 * used buckets only, 0.3 ms for a table of 262144. By address it needs Linux 6.11, and is inverted for
 * IPv6 (ctnetlink_filter_match_tuple, 6.18): it takes everybody else's flows.
 */
#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <string.h>

#include "net_nl_priv.h"
#include "net_priv.h"

static void start(struct wdr_nl_msg *m, int type)
{
	const struct nfgenmsg head = { .version = NFNETLINK_V0 }; /* both families */

	wdr_nl_start(m, (uint16_t)(NFNL_SUBSYS_CTNETLINK << 8 | type), 0, &head, sizeof(head));
}

static int take_total(const struct nlmsghdr *h, void *userdata)
{
	size_t n = 0;
	const void *attrs = wdr_nl_attrs(h, sizeof(struct nfgenmsg), &n);
	const uint32_t *total =
		wdr_nl_find(attrs, n, CTA_STATS_GLOBAL_ENTRIES, sizeof(*total), NULL);

	if (total)
		*(uint32_t *)userdata = ntohl(*total);
	return 0;
}

/* @mark: as the attribute has it, most significant byte first. */
static int forget_mark(int nf_fd, const uint8_t mark[4])
{
	static const uint8_t all[4] = { 0xff, 0xff, 0xff, 0xff };
	struct wdr_nl_msg m;

	start(&m, IPCTNL_MSG_CT_DELETE);
	wdr_nl_put(&m, CTA_MARK, mark, 4);
	wdr_nl_put(&m, CTA_MARK_MASK, all, sizeof(all));
	return wdr_nl_call(nf_fd, &m, NULL);
}

/* Versions of nftables differ in whether they turn the bytes around: one of two marks is ours. */
static int forget_family(int nf_fd, uint32_t magic, const uint8_t *low)
{
	const uint8_t as_is[4] = { (uint8_t)(magic >> 24), (uint8_t)(magic >> 16), low[0], low[1] };
	const uint8_t turned[4] = { low[1], low[0], (uint8_t)(magic >> 16),
				    (uint8_t)(magic >> 24) };
	int r = forget_mark(nf_fd, as_is);

	return r < 0 ? r : forget_mark(nf_fd, turned);
}

int wdr_net_flows_forget(int nf_fd, const struct wdr_net_slot_info *info)
{
	struct wdr_nl_msg m;
	uint32_t total = 1;
	int r;

	start(&m, IPCTNL_MSG_CT_GET_STATS);
	r = wdr_nl_ask(nf_fd, &m, take_total, &total);
	if (r < 0 || !total)
		return r;
	r = forget_family(nf_fd, WDR_NET_FLOW_MARK4, info->job4.addr + 2);
	if (r == 0 && info->has6)
		r = forget_family(nf_fd, WDR_NET_FLOW_MARK6, info->job6.addr + 14);
	return r;
}
