/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * One packet, read once: who sends what to whom. What can't be read with certainty is WDR_PKT_BAD:
 * IPv4 options and routing headers (they name other destinations), first fragments without their
 * whole transport header (RFC 1858, RFC 7112), lengths that lie, link layers other than Ethernet.
 */
#pragma once

#include "lib/judge.bpf.h"

#define WDR_EXT_MAX 6 /* IPv6 extension headers in a packet */

#define TCP_HEADER   20
#define IP6_HOPOPTS  0
#define IP6_ROUTING  43
#define IP6_FRAGMENT 44
#define IP6_DSTOPTS  60

enum wdr_pkt_kind {
	WDR_PKT_BAD,
	WDR_PKT_IP,	   /* src, dst, proto, ports */
	WDR_PKT_LATER,	   /* a fragment past the first: frag_id */
	WDR_PKT_ERROR,	   /* ICMP error: in_* are of the packet it is about */
	WDR_PKT_NEIGHBOUR, /* ARP, and neighbour discovery */
	WDR_PKT_CHATTER, /* what a kernel says to its link by itself: router search, multicast lists */
};

/* Starts zeroed. Ports in host order; an ICMP echo's identifier is the sender's port. */
struct wdr_pkt {
	__u8 src[16];
	__u8 dst[16];
	__u8 in_peer[16]; /* of an ICMP error's packet: the end that is not the error's receiver */
	__u32 frag_id;	  /* IPv4: identification; IPv6: of the fragment header */
	__u32 bytes;	  /* of IP, as on the wire: a super-packet's headers once a packet */
	__u32 n;	  /* packets: more than one in a super-packet */
	__u16 sport;
	__u16 dport;
	__u16 in_sport;
	__u16 in_dport;
	__u8 l3; /* offset of the IP header: 14, or 0 without a link layer */
	__u8 l4; /* offset of the transport header */
	__u8 in_proto;
	__u8 proto; /* as on the wire */
	__u8 icmp_type;
	__u8 kind;  /* WDR_PKT_* */
	__u8 first; /* 1: the first of several fragments */
	__u8 hops;  /* IPv6 hop limit */
};

struct wdr_ip4 {
	__u8 version_ihl;
	__u8 tos;
	__be16 tot_len;
	__be16 id;
	__be16 frag_off;
	__u8 ttl;
	__u8 protocol;
	__be16 check;
	__be32 saddr;
	__be32 daddr;
};

struct wdr_ip6 {
	__be32 version_class_flow;
	__be16 payload_len;
	__u8 nexthdr;
	__u8 hop_limit;
	__u8 saddr[16];
	__u8 daddr[16];
};

struct wdr_ip6_frag {
	__u8 nexthdr;
	__u8 zero;
	__be16 off_more;
	__be32 id;
};

/* The first bytes of TCP, UDP and of those that keep their ports in the same place. */
struct wdr_l4 {
	__be16 sport;
	__be16 dport;
	__u8 rest[4];
};

WDR_INLINE bool wdr_icmp_is_error(const struct wdr_pkt *p)
{
	if (p->proto == PROTO_ICMP6)
		return p->icmp_type >= 1 && p->icmp_type <= 4;
	return p->icmp_type == 3 || p->icmp_type == 11 || p->icmp_type == 12;
}

/* Echo request and reply, timestamp request and reply carry an identifier; others match none. */
WDR_INLINE bool wdr_icmp_has_id(__u8 proto, __u8 type)
{
	if (proto == PROTO_ICMP6)
		return type == 128 || type == 129;
	return type == 0 || type == 8 || type == 13 || type == 14;
}

/* Read the packet inside of an ICMP error at p->l4. @to_job: the error comes from outside. */
WDR_INLINE void read_inside(struct __sk_buff *skb, struct wdr_pkt *p, bool to_job)
{
	__u32 at = p->l4 + 8;
	struct wdr_ip4 ip4;
	struct wdr_ip6 ip6;
	struct wdr_l4 l4;

	p->kind = WDR_PKT_BAD;
	if (p->proto == IPPROTO_ICMP) {
		if (bpf_skb_load_bytes(skb, at, &ip4, sizeof(ip4)) || ip4.version_ihl != 0x45 ||
		    ip4.frag_off & bpf_htons(0x1fff))
			return;
		wdr_addr_map4(p->in_peer, to_job ? ip4.daddr : ip4.saddr);
		p->in_proto = ip4.protocol;
		at += sizeof(ip4);
	} else {
		if (bpf_skb_load_bytes(skb, at, &ip6, sizeof(ip6)))
			return;
		__builtin_memcpy(p->in_peer, to_job ? ip6.daddr : ip6.saddr, 16);
		p->in_proto = ip6.nexthdr;
		at += sizeof(ip6);
	}
	if (bpf_skb_load_bytes(skb, at, &l4, sizeof(l4)))
		return;
	p->kind = WDR_PKT_ERROR;
	if (wdr_egress_has_ports(p->in_proto)) {
		p->in_sport = bpf_ntohs(l4.sport);
		p->in_dport = bpf_ntohs(l4.dport);
	} else if (p->in_proto == p->proto) {
		/* An echo's identifier: the port of the end that asked. */
		__u16 id = l4.rest[0] << 8 | l4.rest[1];

		p->in_sport = to_job ? id : 0;
		p->in_dport = to_job ? 0 : id;
	}
}

/*
 * Neighbour discovery that stays on the link: RFC 4861 wants a hop limit of 255, which nothing that
 * was routed has; what a job sends must be for the link or for this machine, which won't route it.
 */
WDR_INLINE __u8 sort_discovery(const struct wdr_pkt *p, bool to_job)
{
	const __u8 *d = p->dst;
	struct wdr_egress_addr to;

	if (p->icmp_type == 130 || p->icmp_type == 131 || p->icmp_type == 132 ||
	    p->icmp_type == 133 || p->icmp_type == 143)
		return WDR_PKT_CHATTER;
	if ((p->icmp_type != 135 && p->icmp_type != 136) || p->hops != 255)
		return WDR_PKT_IP;
	if (to_job || (d[0] == 0xfe && (d[1] & 0xc0) == 0x80) || (d[0] == 0xff && d[1] == 0x02))
		return WDR_PKT_NEIGHBOUR;
	__builtin_memcpy(to.addr, d, sizeof(to.addr));
	return bpf_map_lookup_elem(&wdr_hosts, &to) ? WDR_PKT_NEIGHBOUR : WDR_PKT_IP;
}

/* @l4 is the transport header at p->l4, with @room bytes of the packet from there on. */
WDR_INLINE void sort_l4(struct __sk_buff *skb, struct wdr_pkt *p, const struct wdr_l4 *l4,
			__u32 room, bool to_job)
{
	__u16 id;

	if (wdr_egress_has_ports(p->proto)) {
		if (room < (p->proto == IPPROTO_TCP ? TCP_HEADER : sizeof(*l4)))
			return;
		p->kind = WDR_PKT_IP;
		p->sport = bpf_ntohs(l4->sport);
		p->dport = bpf_ntohs(l4->dport);
		return;
	}
	if (p->proto != IPPROTO_ICMP && p->proto != PROTO_ICMP6) {
		p->kind = WDR_PKT_IP;
		return;
	}
	if (room < sizeof(*l4))
		return;
	p->kind = WDR_PKT_IP;
	p->icmp_type = bpf_ntohs(l4->sport) >> 8;
	if (wdr_icmp_is_error(p)) {
		read_inside(skb, p, to_job);
		return;
	}
	id = wdr_icmp_has_id(p->proto, p->icmp_type) ? l4->rest[0] << 8 | l4->rest[1] : 0;
	if (to_job)
		p->dport = id;
	else
		p->sport = id;
	if (p->proto == PROTO_ICMP6)
		p->kind = sort_discovery(p, to_job);
}

/* Packets and bytes of a super-packet are those that will be on the wire. */
WDR_INLINE void count_segments(struct __sk_buff *skb, struct wdr_pkt *p, __u32 len)
{
	__u32 size = skb->gso_size, head = p->l4 - p->l3;
	__u8 offset;

	p->n = 1;
	p->bytes = len;
	if (!size)
		return;
	if (p->proto == IPPROTO_TCP) {
		if (bpf_skb_load_bytes(skb, p->l4 + 12, &offset, 1))
			return;
		head += (offset >> 4) * 4;
	} else {
		head += 8;
	}
	if (len <= head)
		return;
	p->n = (len - head + size - 1) / size;
	p->bytes = len + (p->n - 1) * head;
}

WDR_INLINE void read_ip4(struct __sk_buff *skb, struct wdr_pkt *p, bool to_job)
{
	__u32 have = skb->len - p->l3, len;
	struct {
		struct wdr_ip4 ip;
		struct wdr_l4 l4;
	} h = { 0 };
	struct wdr_ip4 ip;
	__u16 off;

	/* Both headers at once; without 8 bytes behind it, IP's alone. */
	if (bpf_skb_load_bytes(skb, p->l3, &h, sizeof(h)) &&
	    bpf_skb_load_bytes(skb, p->l3, &h.ip, sizeof(h.ip)))
		return;
	ip = h.ip;
	if (ip.version_ihl >> 4 != 4)
		return;
	wdr_addr_map4(p->src, ip.saddr);
	wdr_addr_map4(p->dst, ip.daddr);
	p->proto = ip.protocol;
	if (ip.protocol == PROTO_IGMP) {
		p->kind = WDR_PKT_CHATTER;
		return;
	}
	len = bpf_ntohs(ip.tot_len);
	if (!len && skb->gso_size)
		len = have; /* a super-packet past 64 KiB, since 6.3 */
	if (ip.version_ihl != 0x45 || len < sizeof(ip) || len > have)
		return;
	off = bpf_ntohs(ip.frag_off);
	p->l4 = p->l3 + sizeof(ip);
	p->frag_id = bpf_ntohs(ip.id);
	p->n = 1;
	p->bytes = len;
	if (off & 0x1fff) {
		p->kind = WDR_PKT_LATER;
		return;
	}
	p->first = !!(off & 0x2000);
	sort_l4(skb, p, &h.l4, len - sizeof(ip), to_job);
	count_segments(skb, p, len);
}

WDR_INLINE void read_ip6(struct __sk_buff *skb, struct wdr_pkt *p, bool to_job)
{
	__u32 have = skb->len - p->l3, at = p->l3 + sizeof(struct wdr_ip6), len, i;
	struct wdr_l4 l4 = { 0 };
	struct wdr_ip6_frag ext;
	struct wdr_ip6 ip;
	bool cut = false;

	if (bpf_skb_load_bytes(skb, p->l3, &ip, sizeof(ip)))
		return;
	if ((bpf_ntohl(ip.version_class_flow) >> 28) != 6)
		return;
	__builtin_memcpy(p->src, ip.saddr, 16);
	__builtin_memcpy(p->dst, ip.daddr, 16);
	/* A mapped address is IPv4's: as IPv6 on the wire it would be routed elsewhere. */
	if (wdr_addr_is4(p->src) || wdr_addr_is4(p->dst))
		return;
	p->hops = ip.hop_limit;
	p->proto = ip.nexthdr;
	len = sizeof(ip) + bpf_ntohs(ip.payload_len);
	if (len == sizeof(ip) && skb->gso_size)
		len = have;
	if (len > have)
		return;
	for (i = 0; i < WDR_EXT_MAX; i++) {
		if (p->proto != IP6_HOPOPTS && p->proto != IP6_DSTOPTS && p->proto != IP6_FRAGMENT)
			break;
		if (bpf_skb_load_bytes(skb, at, &ext, sizeof(ext)))
			return;
		if (p->proto == IP6_FRAGMENT) {
			if (cut)
				return;
			cut = true;
			p->frag_id = bpf_ntohl(ext.id);
			if (bpf_ntohs(ext.off_more) >> 3) {
				p->kind = WDR_PKT_LATER;
				p->n = 1;
				p->bytes = len;
				return;
			}
			p->first = bpf_ntohs(ext.off_more) & 1;
			at += sizeof(ext);
		} else {
			at += (ext.zero + 1) * 8;
		}
		p->proto = ext.nexthdr;
	}
	if (p->proto == IP6_HOPOPTS || p->proto == IP6_DSTOPTS || p->proto == IP6_FRAGMENT ||
	    p->proto == IP6_ROUTING || p->proto == IPPROTO_ICMP)
		return;
	if (at > 255 || at > p->l3 + len)
		return;
	p->l4 = at;
	/* What is too short for a transport header is sorted out by its length. */
	(void)bpf_skb_load_bytes(skb, at, &l4, sizeof(l4));
	sort_l4(skb, p, &l4, p->l3 + len - at, to_job);
	count_segments(skb, p, len);
}

/*
 * Read @skb into @p, which is zeroed and has l3 set. @to_job: it comes from outside. A function of
 * its own, so that it is verified once.
 */
int wdr_packet_read(struct __sk_buff *skb, struct wdr_pkt *p, int to_job);

__noinline int wdr_packet_read(struct __sk_buff *skb, struct wdr_pkt *p, int to_job)
{
	__be16 type;

	if (!p)
		return 0;
	if (skb->vlan_present)
		return 0;
	type = skb->protocol; /* as eth_type_trans read it from the frame */
	if (type == bpf_htons(ETH_P_IP))
		read_ip4(skb, p, to_job);
	else if (type == bpf_htons(ETH_P_IPV6))
		read_ip6(skb, p, to_job);
	else if (type == bpf_htons(ETH_P_ARP) && p->l3)
		p->kind = WDR_PKT_NEIGHBOUR;
	return p->kind;
}
