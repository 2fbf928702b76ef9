/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses, prefixes and destinations as people write them. Strict: no names, no leading zeros,
 * no host bits, no zone. A mapped IPv6 address or prefix (::ffff:a.b.c.d) becomes the IPv4 one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wdr_err.h"

/* Network byte order. An IPv4 address is in addr[0..3], the rest is zero. */
struct wdr_prefix {
	uint8_t addr[16];
	uint8_t family; /* AF_INET or AF_INET6; a mapped IPv6 prefix has become AF_INET */
	uint8_t len;	/* 0..32 or 0..128 */
};

struct wdr_port_range {
	uint16_t min, max; /* inclusive */
};

#define WDR_PREFIX_TEXT_MAX 52 /* the longest IPv6 address, "/128" and NUL */

/* What a rule is for: DEST of --allow and --deny, and of `policy explain`. */
struct wdr_dest {
	struct wdr_prefix to;
	bool has_ports;
	struct wdr_port_range ports;
	uint8_t proto; /* IPPROTO_*; 0: none was named; `icmp` is IPPROTO_ICMP in both families */
};

/* ADDR[/LEN]. The last three return 0 or -EINVAL, and say what would be right. */
int wdr_addr_prefix(const char *s, struct wdr_prefix *ret, struct wdr_err *err) wdr_must_check;
/* ADDR, as a prefix of full length. */
int wdr_addr_host(const char *s, struct wdr_prefix *ret, struct wdr_err *err) wdr_must_check;
/* "443" or "8000-8100": 1..65535. */
int wdr_addr_ports(const char *s, struct wdr_port_range *ret, struct wdr_err *err) wdr_must_check;
/* "tcp", "udp", "icmp", or the number of another protocol. */
int wdr_addr_proto(const char *s, uint8_t *ret, struct wdr_err *err) wdr_must_check;
/* A protocol's number by itself: 2..255 without 58, which is icmp. */
int wdr_addr_proto_number(int64_t n, uint8_t *ret, struct wdr_err *err) wdr_must_check;

/* ADDR[/LEN][:PORT[-PORT]][/PROTO], IPv6 in brackets: [2001:db8::]/32:443/tcp. */
int wdr_addr_dest(const char *s, struct wdr_dest *ret, struct wdr_err *err) wdr_must_check;
/* ADDR:PORT[/tcp|udp], ADDR/icmp, ADDR/NUMBER: one address; no proto means tcp. */
int wdr_addr_target(const char *s, struct wdr_dest *ret, struct wdr_err *err) wdr_must_check;

/* Whether every address of @inner is one of @outer. */
bool wdr_prefix_contains(const struct wdr_prefix *outer, const struct wdr_prefix *inner);
/* By family, then address, then length: a prefix stands before those it contains. For qsort. */
int wdr_prefix_cmp(const struct wdr_prefix *a, const struct wdr_prefix *b);
/* "10.0.0.0/8", "2001:db8::/32". Returns @buf. */
const char *wdr_prefix_text(const struct wdr_prefix *p, char buf[WDR_PREFIX_TEXT_MAX]);
/* Without the length: "10.0.0.1". Returns @buf. */
const char *wdr_prefix_addr_text(const struct wdr_prefix *p, char buf[WDR_PREFIX_TEXT_MAX]);
/* "tcp", "udp", "icmp", else the number. Returns @buf. */
const char *wdr_proto_text(uint8_t proto, char buf[8]);
