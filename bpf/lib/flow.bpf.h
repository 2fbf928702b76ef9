/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Flows that a job was allowed to begin. They let the answers in, and spare the packets that
 * follow the longest-prefix lookup. One table serves all jobs, so a job may begin only so many a
 * second: one that floods loses answers of its own and pushes nobody's flows out.
 */
#pragma once

#include "lib/slot.bpf.h"
#include "maps/egress.bpf.h"

#define WDR_FLOW_BURST	4096 /* new flows at once */
#define WDR_FLOW_PER_MS 1    /* and in each millisecond from then on */
#define WDR_FRAG_NS	2000000000ull

/* May one more flow begin? Two CPUs at once may take the same token: it is a bound, not a count. */
WDR_INLINE bool wdr_flow_token(struct wdr_live *live, __u64 now)
{
	__u64 ms = (now - live->flow_ns) / 1000000;
	__u64 tokens = live->flow_tokens;

	if (ms) {
		tokens += ms * WDR_FLOW_PER_MS;
		if (!live->flow_ns || tokens > WDR_FLOW_BURST)
			tokens = WDR_FLOW_BURST;
		live->flow_ns = now;
	}
	live->flow_tokens = tokens ? tokens - 1 : 0;
	return tokens;
}

/* NULL if it was not allowed, or is forgotten; else WDR_FLOW_* */
WDR_INLINE __u64 *wdr_flow_find(const struct wdr_flow_key *key)
{
	return bpf_map_lookup_elem(&wdr_flows, key);
}

WDR_INLINE void wdr_flow_begin(struct wdr_live *live, const struct wdr_flow_key *key, __u64 now,
			       bool local)
{
	__u64 val = (now & ~WDR_FLOW_LOCAL) | (local ? WDR_FLOW_LOCAL : 0);

	if (!wdr_flow_token(live, now) || bpf_map_update_elem(&wdr_flows, key, &val, BPF_ANY))
		__sync_fetch_and_add(&live->flows_lost, 1);
}

/* The first fragment of this packet, if it was let through, and not long ago. */
WDR_INLINE __u64 *wdr_frag_find(const struct wdr_frag_key *key, __u64 now)
{
	__u64 *val = bpf_map_lookup_elem(&wdr_frags, key);

	return val && now - *val < WDR_FRAG_NS ? val : NULL;
}

WDR_INLINE void wdr_frag_begin(const struct wdr_frag_key *key, __u64 now, bool local)
{
	__u64 val = (now & ~WDR_FLOW_LOCAL) | (local ? WDR_FLOW_LOCAL : 0);

	(void)bpf_map_update_elem(&wdr_frags, key, &val, BPF_ANY);
}
