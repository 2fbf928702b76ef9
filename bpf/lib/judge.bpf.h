/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The one decision about a destination: the maps' side of include/wdr_egress_judge.h. */
#pragma once

#include "lib/core.bpf.h"

#include "include/wdr_egress_judge.h"
#include "maps/egress.bpf.h"

/* A destination, and what was decided. Starts zeroed. */
struct wdr_query {
	__u8 addr[16]; /* mapped */
	__u32 policy;
	__u16 port; /* host order */
	__u8 proto; /* WDR_EGRESS_PROTO_ICMP for both ICMPs */
	__u8 local; /* found: 1 if it is an address of this machine */
	struct wdr_egress_verdict v;
};

/* A protocol's number as policies know it. */
WDR_INLINE __u8 wdr_proto_of(__u8 wire)
{
	return wire == PROTO_ICMP6 ? WDR_EGRESS_PROTO_ICMP : wire;
}

WDR_INLINE void wdr_addr_map4(__u8 addr[16], __be32 ip)
{
	__builtin_memset(addr, 0, 10);
	addr[10] = 0xff;
	addr[11] = 0xff;
	__builtin_memcpy(addr + 12, &ip, sizeof(ip));
}

WDR_INLINE bool wdr_addr_is4(const __u8 addr[16])
{
	const __u32 *a = (const __u32 *)addr;

	return !a[0] && !a[1] && a[2] == bpf_htonl(0xffff);
}

WDR_INLINE bool wdr_addr_equal(const __u8 a[16], const __u8 b[16])
{
	const __u32 *x = (const __u32 *)a, *y = (const __u32 *)b;

	return x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && x[3] == y[3];
}

/*
 * Judge q->addr as it stands, into q->v. A policy that is not there, or has no entry for the
 * address, denies. A function of its own: verified once a program, whatever calls it.
 */
int wdr_judge_plain(struct wdr_query *q);

__noinline int wdr_judge_plain(struct wdr_query *q)
{
	struct wdr_egress_row_key rk = { 0 };
	struct wdr_egress_key key = { .prefixlen = WDR_EGRESS_HOST_BITS };
	struct wdr_egress_policy *pol;
	struct wdr_egress_entry *e;
	__u32 i, n, policy;
	__u8 bits;
	void *trie;

	if (!q)
		return 0;
	policy = q->policy;
	q->v.rule = WDR_EGRESS_NO_RULE;
	q->v.action = WDR_ACT_DENY;
	q->v.reason = WDR_REASON_DEFAULT;
	pol = bpf_map_lookup_elem(&wdr_policies, &policy);
	trie = bpf_map_lookup_elem(&wdr_tries, &policy);
	if (!policy || !pol || pol->state != WDR_POLICY_READY || !trie)
		return 0;
	__builtin_memcpy(key.addr, q->addr, sizeof(key.addr));
	e = bpf_map_lookup_elem(trie, &key);
	if (!e)
		return 0;
	q->local = bpf_map_lookup_elem(&wdr_hosts, key.addr) != NULL;
	bits = wdr_egress_private_bits(&pol->head, e, q->local);
	rk.policy = policy;
	rk.row = e->row;
	n = e->n;
	for (i = 0; i < WDR_EGRESS_MAX_DEPTH / WDR_EGRESS_ROW; i++) {
		struct wdr_egress_row *row;
		__u32 k;

		if (i * WDR_EGRESS_ROW >= n)
			break;
		row = bpf_map_lookup_elem(&wdr_rows, &rk);
		if (!row)
			return 0;
		for (k = 0; k < WDR_EGRESS_ROW; k++) {
			struct wdr_egress_rec *r = &row->rec[k];

			if (i * WDR_EGRESS_ROW + k >= n)
				break;
			if (!wdr_egress_rec_decides(r, bits, q->port, q->proto))
				continue;
			q->v.rule = r->rule;
			q->v.action = r->action;
			q->v.reason = r->reason;
			return 0;
		}
		rk.row++;
	}
	q->v = wdr_egress_unmatched(&pol->head, bits, q->proto);
	return 0;
}

/* As wdr_judge_plain, and for the IPv4 address inside of NAT64 and 6to4 first. */
WDR_INLINE void wdr_judge(struct wdr_query *q)
{
	__u32 at = wdr_egress_inside(q->addr);
	struct wdr_query in;
	__be32 ip;

	if (!at) {
		wdr_judge_plain(q);
		return;
	}
	in = *q;
	__builtin_memcpy(&ip, at == 2 ? q->addr + 2 : q->addr + 12, sizeof(ip));
	wdr_addr_map4(in.addr, ip);
	wdr_judge_plain(&in);
	if (in.v.action == WDR_ACT_ALLOW)
		wdr_judge_plain(q);
	else
		q->v = in.v;
}
