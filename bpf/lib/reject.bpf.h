/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Turn a refused packet round: TCP gets a reset, everything else "administratively prohibited", as
 * if the destination had answered, so that the job's connect fails now and not at its timeout. The
 * answer goes straight into the peer of the veth (bpf_redirect_peer), past the program that guards
 * the way to the job. Never an error about an error, nor to a fragment without ports.
 */
#pragma once

#include "lib/packet.bpf.h"

#define ICMP4_UNREACHABLE 3
#define ICMP4_PROHIBITED  13
#define ICMP6_UNREACHABLE 1
#define ICMP6_PROHIBITED  1
#define TCP_FIN		  1
#define TCP_SYN		  2
#define TCP_RST		  4
#define TCP_ACK		  16

struct wdr_tcp {
	__be16 sport;
	__be16 dport;
	__be32 seq;
	__be32 ack;
	__u8 off;
	__u8 flags;
	__be16 window;
	__be16 check;
	__be16 urgent;
};

struct wdr_icmp {
	__u8 type;
	__u8 code;
	__be16 check;
	__be32 rest;
};

/* What of the refused packet an ICMP error quotes: its IP header and 8 bytes. */
struct wdr_quote4 {
	struct wdr_icmp icmp;
	__u8 packet[28];
};

struct wdr_quote6 {
	struct wdr_icmp icmp;
	__u8 packet[48];
};

WDR_INLINE __u16 fold(__s64 sum)
{
	__u32 s = (__u32)sum;

	s = (s & 0xffff) + (s >> 16);
	s = (s & 0xffff) + (s >> 16);
	return ~s;
}

/* Sum of the pseudo header of RFC 9293 and RFC 8200, to go on from. */
WDR_INLINE __s64 sum_pseudo(const struct wdr_pkt *p, __u16 len, __u8 proto)
{
	struct {
		__u8 dst[16];
		__u8 src[16];
		__be32 len;
		__be32 proto;
	} h = { .len = bpf_htonl(len), .proto = bpf_htonl(proto) };

	/* The mapped prefix would count: for IPv4 only the last four bytes are summed. */
	__builtin_memcpy(h.dst, p->dst, 16);
	__builtin_memcpy(h.src, p->src, 16);
	if (wdr_addr_is4(p->dst)) {
		__builtin_memset(h.dst, 0, 12);
		__builtin_memset(h.src, 0, 12);
	}
	return bpf_csum_diff(NULL, 0, (__be32 *)&h, sizeof(h), 0);
}

/* Ethernet and IP headers of an answer with @len bytes of @proto behind them. */
WDR_INLINE int answer_ip4(struct __sk_buff *skb, const struct wdr_pkt *p, __u16 len, __u8 proto)
{
	struct wdr_ip4 ip = {
		.version_ihl = 0x45,
		.tot_len = bpf_htons(sizeof(ip) + len),
		.frag_off = bpf_htons(0x4000),
		.ttl = 64,
		.protocol = proto,
	};

	__builtin_memcpy(&ip.saddr, p->dst + 12, 4);
	__builtin_memcpy(&ip.daddr, p->src + 12, 4);
	ip.check = fold(bpf_csum_diff(NULL, 0, (__be32 *)&ip, sizeof(ip), 0));
	if (bpf_skb_change_tail(skb, ETH_HLEN + sizeof(ip) + len, 0))
		return -1;
	return bpf_skb_store_bytes(skb, ETH_HLEN, &ip, sizeof(ip), 0);
}

WDR_INLINE int answer_ip6(struct __sk_buff *skb, const struct wdr_pkt *p, __u16 len, __u8 proto)
{
	struct wdr_ip6 ip = {
		.version_class_flow = bpf_htonl(0x60000000),
		.payload_len = bpf_htons(len),
		.nexthdr = proto,
		.hop_limit = 64,
	};

	__builtin_memcpy(ip.saddr, p->dst, 16);
	__builtin_memcpy(ip.daddr, p->src, 16);
	if (bpf_skb_change_tail(skb, ETH_HLEN + sizeof(ip) + len, 0))
		return -1;
	return bpf_skb_store_bytes(skb, ETH_HLEN, &ip, sizeof(ip), 0);
}

/* RFC 9293 section 3.5.2: what a closed port answers. */
WDR_INLINE int answer_reset(struct __sk_buff *skb, const struct wdr_pkt *p, bool is4)
{
	__u32 seen = p->bytes - (p->l4 - p->l3), at;
	struct wdr_tcp in, out = { .off = 5 << 4, .flags = TCP_RST };

	if (bpf_skb_load_bytes(skb, p->l4, &in, sizeof(in)) || in.flags & TCP_RST)
		return -1;
	out.sport = in.dport;
	out.dport = in.sport;
	if (in.flags & TCP_ACK) {
		out.seq = in.ack;
	} else {
		seen -= (in.off >> 4) * 4;
		seen += !!(in.flags & TCP_SYN) + !!(in.flags & TCP_FIN);
		out.ack = bpf_htonl(bpf_ntohl(in.seq) + seen);
		out.flags |= TCP_ACK;
	}
	out.check = fold(bpf_csum_diff(NULL, 0, (__be32 *)&out, sizeof(out),
				       sum_pseudo(p, sizeof(out), IPPROTO_TCP)));
	if (is4 ? answer_ip4(skb, p, sizeof(out), IPPROTO_TCP) :
		  answer_ip6(skb, p, sizeof(out), IPPROTO_TCP))
		return -1;
	at = is4 ? ETH_HLEN + sizeof(struct wdr_ip4) : ETH_HLEN + sizeof(struct wdr_ip6);
	return bpf_skb_store_bytes(skb, at, &out, sizeof(out), 0);
}

WDR_INLINE int answer_icmp4(struct __sk_buff *skb, const struct wdr_pkt *p)
{
	struct wdr_quote4 q = {
		.icmp = { .type = ICMP4_UNREACHABLE, .code = ICMP4_PROHIBITED },
	};

	if (bpf_skb_load_bytes(skb, ETH_HLEN, q.packet, sizeof(q.packet)))
		return -1;
	q.icmp.check = fold(bpf_csum_diff(NULL, 0, (__be32 *)&q, sizeof(q), 0));
	if (answer_ip4(skb, p, sizeof(q), IPPROTO_ICMP))
		return -1;
	return bpf_skb_store_bytes(skb, ETH_HLEN + sizeof(struct wdr_ip4), &q, sizeof(q), 0);
}

WDR_INLINE int answer_icmp6(struct __sk_buff *skb, const struct wdr_pkt *p)
{
	struct wdr_quote6 q = {
		.icmp = { .type = ICMP6_UNREACHABLE, .code = ICMP6_PROHIBITED },
	};

	if (bpf_skb_load_bytes(skb, ETH_HLEN, q.packet, sizeof(q.packet)))
		return -1;
	q.icmp.check = fold(bpf_csum_diff(NULL, 0, (__be32 *)&q, sizeof(q),
					  sum_pseudo(p, sizeof(q), PROTO_ICMP6)));
	if (answer_ip6(skb, p, sizeof(q), PROTO_ICMP6))
		return -1;
	return bpf_skb_store_bytes(skb, ETH_HLEN + sizeof(struct wdr_ip6), &q, sizeof(q), 0);
}

/* The packet in @skb was refused: what the tc program returns for it. */
int wdr_reject(struct __sk_buff *skb, const struct wdr_pkt *p);

__noinline int wdr_reject(struct __sk_buff *skb, const struct wdr_pkt *p)
{
	bool is4;
	__u8 mac[12], back[12];
	int r;

	if (!p || p->kind != WDR_PKT_IP || p->l3 != ETH_HLEN || (p->dst[0] == 0xff))
		return TC_ACT_SHOT;
	is4 = wdr_addr_is4(p->dst);
	if (is4 && (p->dst[12] >= 224))
		return TC_ACT_SHOT;
	if (bpf_skb_load_bytes(skb, 0, mac, sizeof(mac)))
		return TC_ACT_SHOT;
	__builtin_memcpy(back, mac + 6, 6);
	__builtin_memcpy(back + 6, mac, 6);
	if (p->proto == IPPROTO_TCP)
		r = answer_reset(skb, p, is4);
	else
		r = is4 ? answer_icmp4(skb, p) : answer_icmp6(skb, p);
	if (r || bpf_skb_store_bytes(skb, 0, back, sizeof(back), 0))
		return TC_ACT_SHOT;
	return bpf_redirect_peer(skb->ifindex, 0);
}
