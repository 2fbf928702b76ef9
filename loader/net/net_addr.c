/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slot numbers and addresses. Every slot has four addresses in each family, so that its network is
 * a /30 and a /126: a connected /64 would let anybody fill the host's neighbour table (RFC 6583).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "net_priv.h"

#define LEN4_MIN 8
#define LEN4_MAX 30
#define LEN6_MIN 16
#define LEN6_MAX 126

/*
 * A whole /16 each, seldom used, from all three blocks of RFC 1918; then RFC 6598 and RFC 2544,
 * which are nobody's own either. The IPv6 ones are ULA with random global ids (RFC 4193 3.2.2).
 */
static const char *const defaults4[] = { "10.213.0.0/16",    "10.87.0.0/16",   "172.30.0.0/16",
					 "192.168.192.0/18", "100.113.0.0/16", "198.19.0.0/16" };
static const char *const defaults6[] = { "fd3c:9f41:7d2a:5744::/112", "fd81:66c0:b3e5:5744::/112",
					 "fdd7:12a9:40fe:5744::/112" };

_Static_assert(sizeof(defaults4) / sizeof(defaults4[0]) <= WDR_NET_MAX_CANDIDATES, "all fit");

const char *const *wdr_net_range_defaults(int family, size_t *ret_n)
{
	*ret_n = family == AF_INET ? sizeof(defaults4) / sizeof(defaults4[0]) :
				     sizeof(defaults6) / sizeof(defaults6[0]);
	return family == AF_INET ? defaults4 : defaults6;
}

int wdr_net_range_parse(int family, const char *text, struct wdr_prefix *ret, bool *ret_none,
			struct wdr_err *err)
{
	const char *name = family == AF_INET ? "WARDER_NET_POOL4" : "WARDER_NET_POOL6";
	unsigned int min = family == AF_INET ? LEN4_MIN : LEN6_MIN;
	unsigned int max = family == AF_INET ? LEN4_MAX : LEN6_MAX;
	struct wdr_err why = { 0 };
	struct wdr_prefix p = { 0 };

	*ret_none = family == AF_INET6 && !strcmp(text, "none");
	if (*ret_none)
		return 0;
	if (wdr_addr_prefix(text, &p, &why) < 0)
		return wdr_err_at(err, -EINVAL, name, "%s", why.msg);
	if (p.family != family || p.len < min || p.len > max)
		return wdr_err_at(err, -EINVAL, name,
				  "%.60s: want an IPv%d range of length %u..%u, such as %s", text,
				  family == AF_INET ? 4 : 6, min, max,
				  family == AF_INET ? defaults4[0] : defaults6[0]);
	*ret = p;
	return 0;
}

unsigned int wdr_net_range_slots(const struct wdr_prefix *range)
{
	unsigned int max = range->family == AF_INET ? LEN4_MAX : LEN6_MAX;
	unsigned int bits = max - range->len;

	return bits >= 14 ? WDR_NET_MAX_SLOTS : 1U << bits;
}

unsigned int wdr_net_ranges_slots(const struct wdr_net_ranges *r)
{
	unsigned int n4 = wdr_net_range_slots(&r->v4);
	unsigned int n6 = r->has6 ? wdr_net_range_slots(&r->v6) : n4;

	return n4 < n6 ? n4 : n6;
}

/* Where the last 32 bits of an address are. */
static uint8_t *low_bits(struct wdr_prefix *p)
{
	return p->addr + (p->family == AF_INET ? 0 : 12);
}

static uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return ntohl(v);
}

void wdr_net_range_address(const struct wdr_prefix *range, unsigned int slot, unsigned int offset,
			   struct wdr_prefix *ret)
{
	uint32_t v;

	*ret = *range;
	/* No carry: a range is aligned to its size, and slots end within it. */
	v = htonl(load32(low_bits(ret)) + slot * WDR_NET_SLOT_ADDRS + offset);
	memcpy(low_bits(ret), &v, sizeof(v));
	ret->len = range->family == AF_INET ? 32 : 128;
}

int wdr_net_range_find(const struct wdr_prefix *range, const struct wdr_prefix *addr)
{
	struct wdr_prefix first = *range;
	struct wdr_prefix a = *addr;
	unsigned int slot;

	if (!wdr_prefix_contains(range, addr))
		return -ENOENT;
	slot = (load32(low_bits(&a)) - load32(low_bits(&first))) / WDR_NET_SLOT_ADDRS;
	return slot < wdr_net_range_slots(range) ? (int)slot : -ENOENT;
}

void wdr_net_link_name(unsigned int slot, char ret[IFNAMSIZ])
{
	(void)snprintf(ret, IFNAMSIZ, WDR_NET_LINK_PREFIX "%u", slot);
}

int wdr_net_link_number(const char *name)
{
	const size_t n_prefix = strlen(WDR_NET_LINK_PREFIX);
	char same[IFNAMSIZ];
	unsigned int n = 0;

	if (strncmp(name, WDR_NET_LINK_PREFIX, n_prefix))
		return -EINVAL;
	for (const char *c = name + n_prefix; *c >= '0' && *c <= '9' && n < WDR_NET_MAX_SLOTS; c++)
		n = 10 * n + (unsigned int)(*c - '0');
	if (n >= WDR_NET_MAX_SLOTS)
		return -EINVAL;
	/* Whatever else it may have been: leading zeros, no digit, more behind. */
	wdr_net_link_name(n, same);
	return strcmp(same, name) ? -EINVAL : (int)n;
}
