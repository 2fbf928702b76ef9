/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "wdr_num.h"
#include "wdr_text.h"

#define MAPPED_BITS 96 /* ::ffff:0:0/96, RFC 4291 section 2.5.5.2 */

static int fail(struct wdr_err *err, const char *s, const char *what, const char *want)
{
	char shown[64];

	return wdr_err_set(err, -EINVAL, "%s \"%s\": %s", what,
			   wdr_text_escape(s, strlen(s), shown, sizeof(shown)), want);
}

static unsigned int full_length(const struct wdr_prefix *p)
{
	return p->family == AF_INET ? 32 : 128;
}

/* The bits of @p behind its first p->len. */
static void clear_host_bits(struct wdr_prefix *p)
{
	for (unsigned int bit = p->len; bit < full_length(p); bit++)
		p->addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
}

static void unmap(struct wdr_prefix *p)
{
	static const uint8_t head[12] = { [10] = 0xff, [11] = 0xff };

	if (p->family != AF_INET6 || p->len < MAPPED_BITS || memcmp(p->addr, head, sizeof(head)))
		return;
	memmove(p->addr, p->addr + 12, 4);
	memset(p->addr + 4, 0, 12);
	p->family = AF_INET;
	p->len = (uint8_t)(p->len - MAPPED_BITS);
}

/* @n bytes of @s as an address; @ret gets the full length. inet_pton(3) takes no leading zeros. */
static int read_addr(const char *s, size_t n, struct wdr_prefix *ret)
{
	char text[INET6_ADDRSTRLEN];

	if (n >= sizeof(text))
		return -EINVAL;
	memcpy(text, s, n);
	text[n] = '\0';
	*ret = (struct wdr_prefix){ .family = strchr(text, ':') ? AF_INET6 : AF_INET };
	ret->len = (uint8_t)full_length(ret);
	return inet_pton(ret->family, text, ret->addr) == 1 ? 0 : -EINVAL;
}

static int fail_addr(struct wdr_err *err, const char *s)
{
	if (*s == '[')
		return fail(err, s, "not an address:", "want no brackets here: 2001:db8::/32");
	return fail(err, s, "not an address:",
		    "want ADDR or ADDR/LEN, such as 198.51.100.0/24 or 2001:db8::/32; "
		    "names are not looked up, and numbers have no leading zeros");
}

/* The length behind the slash: 0..@max. */
static int read_len(const char *s, unsigned int max, uint8_t *ret)
{
	uint64_t n;

	if (wdr_num_integer(s, 0, max, &n, NULL) < 0)
		return -EINVAL;
	*ret = (uint8_t)n;
	return 0;
}

static int fail_len(struct wdr_err *err, const char *s, const struct wdr_prefix *p)
{
	if (p->family == AF_INET)
		return fail(err, s, "not a prefix length of IPv4:",
			    "want 0..32; a protocol comes after it, as in 192.0.2.1/32/132");
	return fail(err, s, "not a prefix length of IPv6:", "want 0..128");
}

/* @p has its address as written and its length: refuse host bits, naming what would be right. */
static int check_host_bits(const char *s, struct wdr_prefix *p, struct wdr_err *err)
{
	char want[64 + WDR_PREFIX_TEXT_MAX], text[WDR_PREFIX_TEXT_MAX];
	struct wdr_prefix net = *p;

	clear_host_bits(&net);
	if (!memcmp(net.addr, p->addr, sizeof(net.addr)))
		return 0;
	(void)snprintf(want, sizeof(want), "did you mean \"%s\"?", wdr_prefix_text(&net, text));
	return fail(err, s, "host bits are set in", want);
}

int wdr_addr_prefix(const char *s, struct wdr_prefix *ret, struct wdr_err *err)
{
	size_t n = strcspn(s, "/");
	struct wdr_prefix p;
	int r;

	if (read_addr(s, n, &p) < 0)
		return fail_addr(err, s);
	if (s[n] && read_len(s + n + 1, full_length(&p), &p.len) < 0)
		return fail_len(err, s + n + 1, &p);
	r = check_host_bits(s, &p, err);
	if (r < 0)
		return r;
	unmap(&p);
	*ret = p;
	return 0;
}

int wdr_addr_host(const char *s, struct wdr_prefix *ret, struct wdr_err *err)
{
	struct wdr_prefix p;

	if (read_addr(s, strlen(s), &p) < 0)
		return fail(err, s, "not an address:",
			    "want one, such as 192.0.2.53 or "
			    "2001:db8::53; names are not looked up");
	unmap(&p);
	*ret = p;
	return 0;
}

int wdr_addr_ports(const char *s, struct wdr_port_range *ret, struct wdr_err *err)
{
	size_t n = strcspn(s, "-");
	char low[8] = "";
	uint64_t min, max;

	if (n < sizeof(low))
		memcpy(low, s, n);
	if (wdr_num_integer(low, 1, UINT16_MAX, &min, NULL) < 0)
		return fail(err, s, "not a port:", "want 1..65535, or a range such as 8000-8100");
	max = min;
	if (s[n] && wdr_num_integer(s + n + 1, 1, UINT16_MAX, &max, NULL) < 0)
		return fail(err, s, "not a port range:", "want such as 8000-8100");
	if (max < min)
		return fail(err, s, "not a port range:", "the lower port comes first");
	*ret = (struct wdr_port_range){ .min = (uint16_t)min, .max = (uint16_t)max };
	return 0;
}

int wdr_addr_proto_number(int64_t n, uint8_t *ret, struct wdr_err *err)
{
	if (n == IPPROTO_ICMP || n == IPPROTO_ICMPV6)
		return wdr_err_set(err, -EINVAL, "protocol %d goes by its name: want icmp", (int)n);
	if (n < 2 || n > 255)
		return wdr_err_set(err, -EINVAL,
				   "not a protocol: want tcp, udp, icmp or a number of 2..255");
	*ret = (uint8_t)n;
	return 0;
}

int wdr_addr_proto(const char *s, uint8_t *ret, struct wdr_err *err)
{
	static const struct {
		const char *name;
		uint8_t proto;
	} names[] = { { "tcp", IPPROTO_TCP }, { "udp", IPPROTO_UDP }, { "icmp", IPPROTO_ICMP } };
	uint64_t n;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i].name, s))
			continue;
		*ret = names[i].proto;
		return 0;
	}
	if (wdr_num_integer(s, 0, INT32_MAX, &n, NULL) < 0)
		return fail(err, s, "not a protocol:", "want tcp, udp, icmp or a number of 2..255");
	return wdr_addr_proto_number((int64_t)n, ret, err);
}

static unsigned int bit_at(const uint8_t *addr, unsigned int bit)
{
	return addr[bit / 8] >> (7 - bit % 8) & 1;
}

bool wdr_prefix_contains(const struct wdr_prefix *outer, const struct wdr_prefix *inner)
{
	unsigned int whole = outer->len / 8;

	if (outer->family != inner->family || outer->len > inner->len ||
	    memcmp(outer->addr, inner->addr, whole))
		return false;
	for (unsigned int bit = whole * 8; bit < outer->len; bit++)
		if (bit_at(outer->addr, bit) != bit_at(inner->addr, bit))
			return false;
	return true;
}

int wdr_prefix_cmp(const struct wdr_prefix *a, const struct wdr_prefix *b)
{
	int r;

	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	r = memcmp(a->addr, b->addr, sizeof(a->addr));
	return r ? r : (int)a->len - (int)b->len;
}

const char *wdr_prefix_addr_text(const struct wdr_prefix *p, char buf[WDR_PREFIX_TEXT_MAX])
{
	if (!inet_ntop(p->family, p->addr, buf, WDR_PREFIX_TEXT_MAX))
		(void)strcpy(buf, "?");
	return buf;
}

const char *wdr_prefix_text(const struct wdr_prefix *p, char buf[WDR_PREFIX_TEXT_MAX])
{
	size_t n = strlen(wdr_prefix_addr_text(p, buf));

	(void)snprintf(buf + n, WDR_PREFIX_TEXT_MAX - n, "/%u", p->len);
	return buf;
}

const char *wdr_proto_text(uint8_t proto, char buf[8])
{
	if (proto == IPPROTO_TCP || proto == IPPROTO_UDP)
		return strcpy(buf, proto == IPPROTO_TCP ? "tcp" : "udp");
	if (proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6)
		return strcpy(buf, "icmp");
	(void)snprintf(buf, 8, "%u", proto);
	return buf;
}
