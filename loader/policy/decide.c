/* SPDX-License-Identifier: Apache-2.0 */
/* One verdict from the compiled form, as the programs reach it. */
#include <netinet/in.h>
#include <string.h>

#include "compile.h"

/* The last entry that is not behind @addr; the longest match is that one or one around it. */
static size_t find_last(const struct wdr_compiled *c, const __u8 *addr)
{
	size_t low = 0, high = c->n_entries;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (memcmp(c->keys[mid].addr, addr, sizeof(c->keys[mid].addr)) <= 0)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static bool key_matches(const struct wdr_egress_key *key, const __u8 *addr)
{
	struct wdr_prefix outer = { .family = AF_INET6, .len = (uint8_t)key->prefixlen };
	struct wdr_prefix inner = { .family = AF_INET6, .len = WDR_EGRESS_HOST_BITS };

	memcpy(outer.addr, key->addr, sizeof(outer.addr));
	memcpy(inner.addr, addr, sizeof(inner.addr));
	return wdr_prefix_contains(&outer, &inner);
}

static size_t find_entry(const struct wdr_compiled *c, const __u8 *addr)
{
	size_t at = find_last(c, addr);

	while (!key_matches(&c->keys[at], addr) && c->parents[at] != at)
		at = c->parents[at];
	return at;
}

static struct wdr_egress_verdict judge(const struct wdr_compiled *c, const __u8 *addr,
				       uint16_t port, uint8_t proto, bool is_host)
{
	const struct wdr_egress_entry *e = &c->entries[find_entry(c, addr)];
	__u8 private_bits = wdr_egress_private_bits(&c->head, e, is_host);

	for (const struct wdr_egress_rec *rec = wdr_compiled_recs(c, e), *end = rec + e->n;
	     rec < end; rec++) {
		if (wdr_egress_rec_decides(rec, private_bits, port, proto))
			return (struct wdr_egress_verdict){ .rule = rec->rule,
							    .action = rec->action,
							    .reason = rec->reason };
	}
	return wdr_egress_unmatched(&c->head, private_bits, proto);
}

static void map_v4(const uint8_t *v4, __u8 addr[16])
{
	memset(addr, 0, 16);
	addr[10] = addr[11] = 0xff;
	memcpy(addr + 12, v4, 4);
}

static bool is_own(const __u8 *addr, const struct wdr_prefix *own, size_t n_own)
{
	__u8 mapped[16];

	for (size_t i = 0; i < n_own; i++) {
		const __u8 *one = own[i].addr;

		if (own[i].family == AF_INET) {
			map_v4(own[i].addr, mapped);
			one = mapped;
		}
		if (!memcmp(one, addr, sizeof(mapped)))
			return true;
	}
	return false;
}

struct wdr_egress_verdict wdr_compiled_decide(const struct wdr_compiled *c,
					      const struct wdr_dest *to,
					      const struct wdr_prefix *own, size_t n_own)
{
	uint8_t proto = to->proto == IPPROTO_ICMPV6 ? WDR_EGRESS_PROTO_ICMP : to->proto;
	uint16_t port = to->has_ports ? to->ports.min : 0;
	struct wdr_egress_verdict inside;
	__u8 addr[16], v4[16];
	uint32_t at;

	if (to->to.family == AF_INET)
		map_v4(to->to.addr, addr);
	else
		memcpy(addr, to->to.addr, sizeof(addr));
	at = wdr_egress_inside(addr);
	if (at) {
		map_v4(addr + at, v4);
		inside = judge(c, v4, port, proto, is_own(v4, own, n_own));
		if (inside.action != WDR_ACT_ALLOW)
			return inside;
	}
	return judge(c, addr, port, proto, is_own(addr, own, n_own));
}

const char *wdr_reason_name(enum wdr_reason r)
{
	static const char *const names[] = {
		[WDR_REASON_RULE] = "rule",
		[WDR_REASON_DEFAULT] = "default",
		[WDR_REASON_NO_JOB] = "no-job",
		[WDR_REASON_PRIVATE] = "private",
		[WDR_REASON_PROTOCOL] = "protocol",
		[WDR_REASON_MALFORMED] = "malformed",
		[WDR_REASON_SUPERVISOR_LOST] = "supervisor-lost",
		[WDR_REASON_DNS] = "dns",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == _WDR_REASON_MAX, "a name for each");
	return r < _WDR_REASON_MAX && names[r] ? names[r] : "unknown";
}
