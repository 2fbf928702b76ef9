// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Decide every packet of a job on the host end of its veth: the only place that also sees
 * gVisor's network stack, and packet sockets.
 *
 * Attached by kern to clsact when the job gets its network; it lives as long as the interface,
 * whoever dies. Default is deny: an interface that is no job's, a policy that is not there, a
 * packet that can't be read. Passing means "no opinion" (TC_ACT_UNSPEC), so that other filters of
 * the interface have their say. A refused packet is answered into the job's side of the veth.
 */
#include "lib/core.bpf.h"

#include "lib/reject.bpf.h"
#include "lib/traffic.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

WDR_INLINE int refuse(struct __sk_buff *skb, const struct wdr_ctx *c, const struct wdr_pkt *p,
		      struct wdr_query *q)
{
	wdr_deny_record(q, c->n, p->n ? p->n : 1, p->proto, WDR_DENY_PACKET);
	if (c->slot->on_denied == WDR_DENIED_DROP || q->v.reason == WDR_REASON_MALFORMED)
		return TC_ACT_SHOT;
	return wdr_reject(skb, p);
}

/* From the job: clsact ingress. */
SEC("tc")
int wdr_tc_out(struct __sk_buff *skb)
{
	struct wdr_pkt p = { .l3 = ETH_HLEN };
	struct wdr_query q = { 0 };
	struct wdr_ctx c;

	if (!wdr_ctx_of(&c, wdr_slot_iface(skb->ifindex))) {
		if (c.live)
			__sync_fetch_and_add(&c.live->out_denied, 1);
		return TC_ACT_SHOT;
	}
	if (c.live->killed)
		return TC_ACT_SHOT;
	wdr_packet_read(skb, &p, false);
	if (p.kind == WDR_PKT_CHATTER)
		return TC_ACT_SHOT;
	if (p.kind == WDR_PKT_NEIGHBOUR)
		return TC_ACT_UNSPEC;
	if (!wdr_traffic_out(&c, &p, &q, bpf_ktime_get_coarse_ns()))
		return refuse(skb, &c, &p, &q);
	if (q.local) /* the firewall lets nothing else of a job's come to this machine itself */
		skb->mark = WDR_EGRESS_MARK_LOCAL;
	return TC_ACT_UNSPEC;
}

/* To the job: clsact egress. What is refused was never asked for: it is dropped and counted. */
SEC("tc")
int wdr_tc_in(struct __sk_buff *skb)
{
	struct wdr_pkt p = { .l3 = ETH_HLEN };
	struct wdr_ctx c;

	if (!wdr_ctx_of(&c, wdr_slot_iface(skb->ifindex))) {
		if (c.live)
			__sync_fetch_and_add(&c.live->in_denied, 1);
		return TC_ACT_SHOT;
	}
	wdr_packet_read(skb, &p, true);
	if (p.kind == WDR_PKT_CHATTER)
		return TC_ACT_SHOT;
	if (p.kind == WDR_PKT_NEIGHBOUR)
		return TC_ACT_UNSPEC;
	return wdr_traffic_in(&c, &p, bpf_ktime_get_coarse_ns()) ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}
