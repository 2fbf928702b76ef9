// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Decide every packet of the sockets of a job that shares the host's network.
 *
 * Attached by kern to the job's own cgroup, and pinned; a job with a network namespace of its own
 * is judged at its veth instead and pays nothing here. Default is deny: a socket below the cgroup
 * whose job is not known, a policy that is not there, a packet that can't be read. Refused packets
 * fail with EPERM at the sender.
 */
#include "lib/core.bpf.h"

#include "lib/traffic.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PASS 1
#define DROP 0

SEC("cgroup_skb/egress")
int wdr_skb_out(struct __sk_buff *skb)
{
	struct wdr_query q = { 0 };
	struct wdr_pkt p = { 0 };
	struct wdr_ctx c;

	if (!wdr_ctx_of(&c, wdr_slot_skb(skb))) {
		if (c.live)
			__sync_fetch_and_add(&c.live->out_denied, 1);
		return DROP;
	}
	if (c.live->killed)
		return DROP;
	wdr_packet_read(skb, &p, false);
	/* Of a raw socket: the kernel's own belong to no job. */
	if (p.kind == WDR_PKT_CHATTER || p.kind == WDR_PKT_NEIGHBOUR)
		p.kind = WDR_PKT_BAD;
	if (wdr_traffic_out(&c, &p, &q, bpf_ktime_get_coarse_ns()))
		return PASS;
	wdr_deny_record(&q, c.n, p.n ? p.n : 1, p.proto, WDR_DENY_PACKET);
	return DROP;
}

SEC("cgroup_skb/ingress")
int wdr_skb_in(struct __sk_buff *skb)
{
	struct wdr_pkt p = { 0 };
	struct wdr_ctx c;

	if (!wdr_ctx_of(&c, wdr_slot_skb(skb))) {
		if (c.live)
			__sync_fetch_and_add(&c.live->in_denied, 1);
		return DROP;
	}
	wdr_packet_read(skb, &p, true);
	if (p.kind == WDR_PKT_CHATTER || p.kind == WDR_PKT_NEIGHBOUR)
		p.kind = WDR_PKT_BAD;
	return wdr_traffic_in(&c, &p, bpf_ktime_get_coarse_ns()) ? PASS : DROP;
}
