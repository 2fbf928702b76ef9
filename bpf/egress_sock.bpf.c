// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Decide every connection and datagram of a job at the system call, so that a refusal is EPERM at
 * once and costs no packet.
 *
 * Attached by kern to the cgroup that is the parent of jobs, once, and pinned; a job is found by
 * its cgroup. Default is deny: a task below the parent that belongs to no job, a policy that is not
 * there. Sockets made before their process joined the cgroup, and packet sockets, pass by here:
 * the packet programs see them. bind(2) decides nothing: what a bound socket sends is judged then.
 */
#include "lib/core.bpf.h"

#include "lib/deny.bpf.h"
#include "lib/flow.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define OK     1
#define REFUSE 0

/* The current task's job by the cgroups above its own. A function of its own: few come so far. */
int wdr_slot_above(void);

__noinline int wdr_slot_above(void)
{
	int level = bpf_get_current_task_btf()->cgroups->dfl_cgrp->level, i;
	__u32 n;

	for (i = 0; i < WDR_LEVELS_BELOW && --level >= WDR_LEVEL_MIN; i++) {
		n = wdr_slot_of(bpf_get_current_ancestor_cgroup_id(level));
		if (n)
			return n;
	}
	return 0;
}

/* A container's engine may make cgroups below its job's. */
WDR_INLINE __u32 find_slot(void)
{
	__u32 n = wdr_slot_current();

	return n ? n : wdr_slot_above();
}

WDR_INLINE bool is_zero(const __u8 addr[16])
{
	const __u32 *a = (const __u32 *)addr;

	return !a[0] && !a[1] && !a[2] && !a[3];
}

/*
 * Does this stay inside of the job's own network namespace? Its loopback, its own addresses, and
 * 0.0.0.0 and ::, which connect(2) takes for loopback.
 */
WDR_INLINE bool stays_inside(const struct wdr_slot *slot, const __u8 addr[16])
{
	const __u32 *a = (const __u32 *)addr;

	if (!(slot->flags & WDR_SLOT_NETNS))
		return false;
	if (!(slot->flags & WDR_SLOT_EGRESS))
		return true; /* there is nothing but loopback */
	if (wdr_addr_is4(addr) ? addr[12] == 127 || !a[3] : is_zero(addr))
		return true;
	if (!a[0] && !a[1] && !a[2] && a[3] == bpf_htonl(1))
		return true;
	return wdr_addr_equal(addr, slot->self[0]) || wdr_addr_equal(addr, slot->self[1]);
}

/*
 * Is this a datagram of a flow that was allowed to begin? The packet programs know it by the port
 * it is sent from, and a job's policy does not change. 0: the socket has none yet.
 */
WDR_INLINE bool is_known(const struct wdr_ctx *c, const struct wdr_query *q, __u16 local_port)
{
	struct wdr_flow_key k = { .job = c->slot->job };

	if (!local_port || q->proto != IPPROTO_UDP)
		return false;
	k.proto = IPPROTO_UDP;
	k.local_port = local_port;
	k.remote_port = q->port;
	__builtin_memcpy(k.remote, q->addr, sizeof(k.remote));
	return wdr_flow_find(&k);
}

/* With the process: it is the one that called. */
int tell_allowed(struct wdr_query *q, __u32 slot, __u8 proto);

__noinline int tell_allowed(struct wdr_query *q, __u32 slot, __u8 proto)
{
	struct wdr_ev_verdict *ev = q ? wdr_allow_event(q, slot, proto, WDR_DENY_SOCKET) : NULL;

	if (ev) {
		wdr_ev_current(&ev->hdr);
		bpf_ringbuf_submit(ev, 0);
	}
	return 0;
}

/*
 * Judge q->addr, q->port, q->proto (as on the wire) for the current task. @local_port: of the
 * socket, where it sends without being connected; host order.
 */
WDR_INLINE int decide(struct wdr_query *q, __u16 local_port)
{
	__u8 proto = q->proto;
	struct wdr_ctx c;

	if (!wdr_ctx_of(&c, find_slot())) {
		if (c.live)
			__sync_fetch_and_add(&c.live->out_denied, 1);
		return REFUSE;
	}
	if (c.live->killed)
		return REFUSE;
	if (stays_inside(c.slot, q->addr))
		return OK;
	q->policy = c.slot->policy;
	q->proto = wdr_proto_of(proto);
	if (!wdr_egress_has_ports(proto))
		q->port = 0;
	if (wdr_slot_lost(c.slot, bpf_ktime_get_coarse_ns())) {
		q->v.rule = WDR_EGRESS_NO_RULE;
		q->v.reason = WDR_REASON_SUPERVISOR_LOST;
	} else {
		if (is_known(&c, q, local_port))
			return OK;
		wdr_judge(q);
		if (q->v.action == WDR_ACT_ALLOW) {
			if (c.slot->flags & WDR_SLOT_TELL_SOCKETS)
				tell_allowed(q, c.n, proto);
			return OK;
		}
	}
	wdr_deny_record(q, c.n, 1, proto, WDR_DENY_SOCKET);
	return REFUSE;
}

WDR_INLINE __u16 port_of(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	return sk ? sk->src_port : 0;
}

WDR_INLINE int decide4(struct bpf_sock_addr *ctx, __u16 local_port)
{
	struct wdr_query q = { 0 };
	__be32 ip = ctx->user_ip4;
	__u32 port = ctx->user_port, proto = ctx->protocol;

	wdr_addr_map4(q.addr, ip);
	q.port = bpf_ntohs(port);
	q.proto = proto;
	return decide(&q, local_port);
}

WDR_INLINE int decide6(struct bpf_sock_addr *ctx, __u16 local_port)
{
	struct wdr_query q = { 0 };
	__u32 port = ctx->user_port, proto = ctx->protocol;
	__u32 *a = (__u32 *)q.addr;

	a[0] = ctx->user_ip6[0];
	a[1] = ctx->user_ip6[1];
	a[2] = ctx->user_ip6[2];
	a[3] = ctx->user_ip6[3];
	q.port = bpf_ntohs(port);
	q.proto = proto;
	return decide(&q, local_port);
}

SEC("cgroup/connect4")
int wdr_connect4(struct bpf_sock_addr *ctx)
{
	return decide4(ctx, 0);
}

SEC("cgroup/connect6")
int wdr_connect6(struct bpf_sock_addr *ctx)
{
	return decide6(ctx, 0);
}

SEC("cgroup/sendmsg4")
int wdr_sendmsg4(struct bpf_sock_addr *ctx)
{
	return decide4(ctx, port_of(ctx));
}

SEC("cgroup/sendmsg6")
int wdr_sendmsg6(struct bpf_sock_addr *ctx)
{
	return decide6(ctx, port_of(ctx));
}

/*
 * TCP and UDP sockets are free, raw ones need the policy's CAP_NET_RAW, others a rule that names
 * their protocol. Only AF_INET and AF_INET6 come by here: other families are seccomp's business.
 */
SEC("cgroup/sock_create")
int wdr_sock_create(struct bpf_sock *ctx)
{
	__u32 type = ctx->type, proto = ctx->protocol, family = ctx->family;
	struct wdr_query q = { 0 };
	struct wdr_egress_policy *pol;
	struct wdr_ctx c;
	__u32 n;

	if (!wdr_ctx_of(&c, find_slot())) {
		if (c.live)
			__sync_fetch_and_add(&c.live->out_denied, 1);
		return REFUSE;
	}
	if (type == SOCK_RAW)
		return !!(c.slot->flags & WDR_SLOT_RAW);
	if (proto == IPPROTO_TCP || proto == IPPROTO_UDP)
		return OK;
	if (proto == PROTO_ICMP6)
		proto = WDR_EGRESS_PROTO_ICMP;
	if (proto > 255) /* MPTCP: its subflows could not be judged; libraries go on with TCP */
		return REFUSE;
	n = c.slot->policy;
	pol = bpf_map_lookup_elem(&wdr_policies, &n);
	if (n && pol && pol->head.protos[(proto >> 6) & 3] & 1ull << (proto & 63))
		return OK;
	if (family == AF_INET)
		wdr_addr_map4(q.addr, 0);
	q.v.rule = WDR_EGRESS_NO_RULE;
	q.v.reason = WDR_REASON_PROTOCOL;
	wdr_deny_record(&q, c.n, 1, ctx->protocol, WDR_DENY_SOCKET);
	return REFUSE;
}
