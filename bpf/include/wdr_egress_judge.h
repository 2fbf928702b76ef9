/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * How a compiled policy is read: the one decision, compiled into the BPF programs and into
 * `policy explain`. It lives beside the ABI because it is the meaning of it.
 *
 * The caller finds the entry by longest prefix, takes wdr_egress_private_bits(), and asks its
 * records in order: the first with wdr_egress_rec_decides() gives action, reason and rule, else
 * wdr_egress_unmatched() does. NAT64 and 6to4 addresses are judged twice, first the IPv4 address
 * inside: both must be allowed, and a refusal of the one inside is reported as such.
 * Everywhere @port is in host order, and @proto is WDR_EGRESS_PROTO_ICMP for both ICMPs.
 */
#pragma once

#include "wdr_abi_egress.h"

struct wdr_egress_verdict {
	__u32 rule;  /* WDR_EGRESS_NO_RULE unless reason is WDR_REASON_RULE */
	__u8 action; /* WDR_ACT_* */
	__u8 reason; /* WDR_REASON_* */
	__u8 zero[2];
};
WDR_ABI_SIZE(wdr_egress_verdict, 8);

/* TCP, UDP, DCCP, SCTP and UDP-Lite have their ports in the same place; others have port 0. */
WDR_ABI_INLINE int wdr_egress_has_ports(__u8 proto)
{
	return proto == 6 || proto == 17 || proto == 33 || proto == 132 || proto == 136;
}

/* How long an allow rule's prefix must be. @is_host: the address is one of this machine's own. */
WDR_ABI_INLINE __u8 wdr_egress_private_bits(const struct wdr_egress_head *head,
					    const struct wdr_egress_entry *entry, int is_host)
{
	if (head->private != WDR_ACT_DENY)
		return 0;
	return is_host ? WDR_EGRESS_HOST_BITS : entry->private_bits;
}

/* Does this record decide? The first one of the entry that does has the last word. */
WDR_ABI_INLINE int wdr_egress_rec_decides(const struct wdr_egress_rec *r, __u8 private_bits,
					  __u16 port, __u8 proto)
{
	if (r->proto ? r->proto != proto : proto != 6 && proto != 17)
		return 0;
	if (port < r->port_min || port > r->port_max)
		return 0;
	return r->action != WDR_ACT_ALLOW || r->bits >= private_bits;
}

/* The verdict when no record decides. */
WDR_ABI_INLINE struct wdr_egress_verdict wdr_egress_unmatched(const struct wdr_egress_head *head,
							      __u8 private_bits, __u8 proto)
{
	struct wdr_egress_verdict v = { .rule = WDR_EGRESS_NO_RULE, .action = WDR_ACT_DENY };

	if (private_bits) {
		v.reason = WDR_REASON_PRIVATE;
	} else if (proto != 6 && proto != 17) {
		v.reason = WDR_REASON_PROTOCOL;
	} else {
		v.reason = WDR_REASON_DEFAULT;
		v.action = head->def;
	}
	return v;
}

/*
 * Where in @addr a NAT64 (64:ff9b::/96, RFC 6052) or 6to4 (2002::/16, RFC 3056) address holds its
 * IPv4 address: the offset in bytes, 0 for any other address.
 */
WDR_ABI_INLINE __u32 wdr_egress_inside(const __u8 *addr)
{
	__u32 i;

	if (addr[0] == 0x20 && addr[1] == 0x02)
		return 2;
	if (addr[0] != 0x00 || addr[1] != 0x64 || addr[2] != 0xff || addr[3] != 0x9b)
		return 0;
	for (i = 4; i < 12; i++)
		if (addr[i])
			return 0;
	return 12;
}
