/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* May this packet pass? The same for tc and for cgroup_skb, which differ in what a refusal does. */
#pragma once

#include "lib/deny.bpf.h"
#include "lib/flow.bpf.h"
#include "lib/packet.bpf.h"

WDR_INLINE void wdr_flow_key_of(struct wdr_flow_key *k, const struct wdr_ctx *c,
				const struct wdr_pkt *p, bool to_job)
{
	__builtin_memset(k, 0, sizeof(*k));
	k->job = c->slot->job;
	k->proto = wdr_proto_of(p->proto);
	__builtin_memcpy(k->remote, to_job ? p->src : p->dst, sizeof(k->remote));
	k->local_port = to_job ? p->dport : p->sport;
	k->remote_port = to_job ? p->sport : p->dport;
}

/* The known flow that this ICMP error is about. */
WDR_INLINE __u64 *wdr_error_find(const struct wdr_ctx *c, const struct wdr_pkt *p, bool to_job)
{
	struct wdr_flow_key k = { .job = c->slot->job, .proto = wdr_proto_of(p->in_proto) };

	__builtin_memcpy(k.remote, p->in_peer, sizeof(k.remote));
	k.local_port = to_job ? p->in_sport : p->in_dport;
	k.remote_port = to_job ? p->in_dport : p->in_sport;
	return wdr_flow_find(&k);
}

WDR_INLINE void wdr_frag_key_of(struct wdr_frag_key *k, const struct wdr_ctx *c,
				const struct wdr_pkt *p, bool to_job)
{
	__builtin_memset(k, 0, sizeof(*k));
	k->job = c->slot->job;
	__builtin_memcpy(k->remote, to_job ? p->src : p->dst, sizeof(k->remote));
	k->id = p->frag_id;
	k->proto = wdr_addr_is4(k->remote) ? p->proto : 0;
	k->out = !to_job;
}

/* Does the packet bear an address of the job's own? Link-local ones stay on the link. */
WDR_INLINE bool wdr_source_ours(const struct wdr_slot *slot, const struct wdr_pkt *p)
{
	const __u8 *own = wdr_addr_is4(p->src) ? slot->self[0] : slot->self[1];
	const __u64 *a = (const __u64 *)own;

	return (!a[0] && !a[1]) || wdr_addr_equal(own, p->src);
}

/* Does somebody ask for flows that begin, and was this one not told at its socket? */
WDR_INLINE bool wdr_flow_asked(const struct wdr_ctx *c, __u8 proto)
{
	if (c->slot->flags & WDR_SLOT_TELL_FLOWS)
		return true;
	return c->slot->flags & WDR_SLOT_TELL_SOCKETS && !wdr_egress_has_ports(proto);
}

/* Tell of a flow. Whose turn it is on the wire says nothing, and older kernels do not say it. */
int wdr_flow_tell(struct wdr_query *q, __u32 slot, __u8 proto);

__noinline int wdr_flow_tell(struct wdr_query *q, __u32 slot, __u8 proto)
{
	struct wdr_ev_verdict *ev = q ? wdr_allow_event(q, slot, proto, WDR_DENY_PACKET) : NULL;

	if (ev)
		bpf_ringbuf_submit(ev, 0);
	return 0;
}

/*
 * A packet that the job sends. True: it passes and is counted; q->local says whether it is for
 * this machine. False: q->v says why not; the caller records it. @q is zeroed.
 */
WDR_INLINE bool wdr_traffic_out(const struct wdr_ctx *c, const struct wdr_pkt *p,
				struct wdr_query *q, __u64 now)
{
	struct wdr_frag_key fk;
	struct wdr_flow_key k;
	__u64 *known;

	__builtin_memcpy(q->addr, p->dst, sizeof(q->addr));
	q->policy = c->slot->policy;
	q->proto = wdr_proto_of(p->proto);
	q->port = p->dport;
	q->v.rule = WDR_EGRESS_NO_RULE;
	q->v.action = WDR_ACT_DENY;
	q->v.reason = WDR_REASON_SUPERVISOR_LOST;
	if (wdr_slot_lost(c->slot, now))
		return false;
	q->v.reason = WDR_REASON_MALFORMED;
	if (p->kind == WDR_PKT_BAD || !wdr_source_ours(c->slot, p))
		return false;
	if (p->kind == WDR_PKT_LATER) {
		wdr_frag_key_of(&fk, c, p, false);
		known = wdr_frag_find(&fk, now);
		if (!known)
			return false;
		q->local = *known & WDR_FLOW_LOCAL;
		goto pass;
	}
	if (p->kind == WDR_PKT_ERROR && wdr_addr_equal(p->in_peer, p->dst)) {
		known = wdr_error_find(c, p, false);
		if (known) {
			q->local = *known & WDR_FLOW_LOCAL;
			goto pass;
		}
	}
	wdr_flow_key_of(&k, c, p, false);
	known = wdr_flow_find(&k);
	if (known) {
		q->local = *known & WDR_FLOW_LOCAL;
	} else {
		wdr_judge(q);
		if (q->v.action != WDR_ACT_ALLOW)
			return false;
		wdr_flow_begin(c->live, &k, now, q->local);
		if (wdr_flow_asked(c, p->proto))
			wdr_flow_tell(q, c->n, p->proto);
	}
	if (p->first) {
		wdr_frag_key_of(&fk, c, p, false);
		wdr_frag_begin(&fk, now, q->local);
	}
pass:
	__sync_fetch_and_add(&c->live->out_packets, p->n);
	__sync_fetch_and_add(&c->live->out_bytes, p->bytes);
	return true;
}

/* A packet for the job: passes if it belongs to a flow that was allowed, or is an error about one. */
WDR_INLINE bool wdr_traffic_in(const struct wdr_ctx *c, const struct wdr_pkt *p, __u64 now)
{
	struct wdr_frag_key fk;
	struct wdr_flow_key k;

	if (p->kind == WDR_PKT_BAD || c->live->killed || wdr_slot_lost(c->slot, now))
		goto refuse;
	if (p->kind == WDR_PKT_LATER) {
		wdr_frag_key_of(&fk, c, p, true);
		if (!wdr_frag_find(&fk, now))
			goto refuse;
	} else if (p->kind == WDR_PKT_ERROR) {
		if (!wdr_error_find(c, p, true))
			goto refuse;
	} else {
		wdr_flow_key_of(&k, c, p, true);
		if (!wdr_flow_find(&k))
			goto refuse;
		if (p->first) {
			wdr_frag_key_of(&fk, c, p, true);
			wdr_frag_begin(&fk, now, false);
		}
	}
	__sync_fetch_and_add(&c->live->in_packets, p->n);
	__sync_fetch_and_add(&c->live->in_bytes, p->bytes);
	return true;
refuse:
	__sync_fetch_and_add(&c->live->in_denied, p->n ? p->n : 1);
	return false;
}
