/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Egress: the compiled form of a policy's network section, which policy makes, kern loads and the
 * programs read, and the record of what was denied. wdr_egress_judge.h is how it is read.
 *
 * An address is always 16 bytes: a.b.c.d is ::ffff:a.b.c.d, so that one longest-prefix map holds
 * both families and a mapped address is the IPv4 address. Lengths count in these 128 bits:
 * 10.0.0.0/8 has length 104.
 */
#pragma once

#include "wdr_abi.h"

#define WDR_EGRESS_MAX_ENTRIES 400000 /* prefixes: the rules' and the private ranges' */
#define WDR_EGRESS_MAX_ROWS    65536  /* rows of records, of all loaded policies together */
#define WDR_EGRESS_ROW	       8      /* records in a row */
#define WDR_EGRESS_MAX_DEPTH   128    /* records of one entry: up to 16 rows */
#define WDR_EGRESS_MAX_HOSTS   16384  /* addresses of this machine */
#define WDR_EGRESS_V4_BITS     96     /* a.b.c.d/n has length 96 + n */
#define WDR_EGRESS_HOST_BITS   128
#define WDR_EGRESS_NO_RULE     0xffffffff
#define WDR_EGRESS_MARK_LOCAL  0x57445201 /* skb mark of what may reach this machine itself */
#define WDR_EGRESS_PROTO_ICMP  1	  /* ICMP's number, and ICMPv6's too: 58 is written as 1 */

/* Key of the longest-prefix map; bits past prefixlen are zero. 10.0.0.0/8 is { 104, ::ffff:10.0.0.0 }. */
struct wdr_egress_key {
	__u32 prefixlen;
	__u8 addr[16];
};
WDR_ABI_SIZE(wdr_egress_key, 20);

/*
 * What is known of the addresses whose longest prefix this is: n records from row `row` on, in
 * file order, the name servers' (port 53, bits 128) before all others. There is an entry for each
 * prefix of a rule, for each private range (unless the policy allows private ones), for ::/0 and
 * for ::ffff:0:0/96: a lookup that finds nothing is a fault and denied. Rules of IPv6 prefixes
 * shorter than 96 say nothing of IPv4, and stand in no entry of an IPv4 prefix. Entries with equal
 * records share their rows.
 */
struct wdr_egress_entry {
	__u32 row;
	__u16 n;	   /* 0..WDR_EGRESS_MAX_DEPTH */
	__u8 private_bits; /* length of the narrowest private range around it, 0 for none */
	__u8 zero;
};
WDR_ABI_SIZE(wdr_egress_entry, 8);

/*
 * One rule, port range and prefix that matches every address of the entry. `allow 10.1.0.0/16,
 * ports 80 and 8000-8100` makes { rule, 80, 80, 0, ALLOW, RULE, 112 } and { rule, 8000, 8100, ... }.
 */
struct wdr_egress_rec {
	__u32 rule;	/* index in the effective list; WDR_EGRESS_NO_RULE for a name server */
	__u16 port_min; /* host order, inclusive; 0..65535 for all and for protocols without */
	__u16 port_max;
	__u8 proto;  /* IPPROTO_*; 0: TCP and UDP; WDR_EGRESS_PROTO_ICMP */
	__u8 action; /* WDR_ACT_* */
	__u8 reason; /* WDR_REASON_RULE or WDR_REASON_DNS */
	__u8 bits;   /* length of the rule's own prefix: an allow counts if >= private_bits */
};
WDR_ABI_SIZE(wdr_egress_rec, 12);

/* Records are kept in rows. An entry's first record opens a row; what is left of its last is zero. */
struct wdr_egress_row {
	struct wdr_egress_rec rec[WDR_EGRESS_ROW];
};
WDR_ABI_SIZE(wdr_egress_row, 96);

/* The policy's remaining words. */
struct wdr_egress_head {
	__u8 def;     /* WDR_ACT_*: TCP and UDP that no rule matches */
	__u8 private; /* WDR_ACT_DENY: private_bits and the host's own addresses count */
	__u8 zero[6];
	__u64 protos[4]; /* bit N: a rule names protocol N, so that its sockets may be made */
};
WDR_ABI_SIZE(wdr_egress_head, 40);

/* Where a row is found: rows 0.. of each loaded policy. */
struct wdr_egress_row_key {
	__u32 policy;
	__u32 row;
};
WDR_ABI_SIZE(wdr_egress_row_key, 8);

struct wdr_egress_addr {
	__u8 addr[16];
};
WDR_ABI_SIZE(wdr_egress_addr, 16);

/* A loaded policy, at its number. Equal ones, by the SHA-256 of their compiled form, are one. */
struct wdr_egress_policy {
	struct wdr_egress_head head;
	__u8 sha[32];
	__u32 n_entries;
	__u32 n_rows;
	__u32 state;   /* WDR_POLICY_* */
	__u32 sup;     /* who loads it, for WDR_POLICY_LOADING */
	__u64 used_ns; /* when its last job left, CLOCK_MONOTONIC */
};
WDR_ABI_SIZE(wdr_egress_policy, 96);

enum wdr_policy_state {
	WDR_POLICY_LOADING = 1, /* being filled by who holds the number */
	WDR_POLICY_READY = 2,
	WDR_POLICY_DIRTY = 3, /* nobody's, its trie still has entries */
};

enum wdr_deny_kind {
	WDR_DENY_SOCKET = 1, /* EPERM at a system call */
	WDR_DENY_PACKET = 2, /* dropped or answered on the wire */
};

/* Denials are counted, not listed: at most WDR_DENIALS_MAX different ones a job. */
#define WDR_DENIALS_MAX 256
#define WDR_DENIALS_ALL 65536 /* of all jobs together */

struct wdr_deny_key {
	__u32 slot;
	__u32 rule; /* WDR_EGRESS_NO_RULE unless reason is WDR_REASON_RULE */
	__u8 addr[16];
	__u16 port; /* host order, 0 where the protocol has none */
	__u8 proto; /* IPPROTO_*, as it was on the wire */
	__u8 reason;
	__u8 kind; /* WDR_DENY_* */
	__u8 zero[3];
};
WDR_ABI_SIZE(wdr_deny_key, 32);

struct wdr_deny_index {
	__u32 slot;
	__u32 n; /* 0..WDR_DENIALS_MAX - 1 */
};
WDR_ABI_SIZE(wdr_deny_index, 8);

struct wdr_deny_val {
	__u64 count;	/* attempts, or packets (each of a super-packet) */
	__u64 first_ns; /* bpf_ktime_get_ns(), CLOCK_MONOTONIC */
	__u64 last_ns;
};
WDR_ABI_SIZE(wdr_deny_val, 24);
