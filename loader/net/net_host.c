/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host's routes say: which ranges are free, and which interfaces a job's packets can
 * leave by. Every address of the host is a route too (table local), so one dump tells all.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "net_nl_priv.h"
#include "net_priv.h"

#define MTU_DEFAULT 1500
#define MTU_MIN	    1280 /* RFC 8200 section 5 */
#define MTU_MAX	    65535

static unsigned int full_len(int family)
{
	return family == AF_INET ? 32 : 128;
}

static bool overlap(const struct wdr_prefix *a, const struct wdr_prefix *b)
{
	return wdr_prefix_contains(a, b) || wdr_prefix_contains(b, a);
}

static void judge(struct wdr_net_host *h, const struct wdr_prefix *to)
{
	for (unsigned int i = 0; i < h->n_candidates; i++) {
		struct wdr_net_candidate *c = &h->candidates[i];
		int slot;

		if (to->len == full_len(to->family)) {
			slot = wdr_net_range_find(&c->range, to);
			/* Candidates of one family: what is taken in one is unused in the next. */
			if (slot >= 0)
				h->taken[slot / 8] |= (uint8_t)(1U << (slot % 8));
			continue;
		}
		if (c->clash || !overlap(&c->range, to))
			continue;
		c->clash = true;
		c->with = *to;
	}
}

static void add_uplink(struct wdr_net_host *h, unsigned int ifindex, bool is_default)
{
	unsigned int i = 0;

	while (i < h->n_uplinks && h->uplinks[i].ifindex != ifindex)
		i++;
	if (i == WDR_NET_MAX_UPLINKS) {
		h->too_many = true;
		return;
	}
	if (i == h->n_uplinks)
		h->uplinks[h->n_uplinks++] = (struct wdr_net_uplink){ .ifindex = ifindex };
	h->uplinks[i].is_default |= is_default;
}

/* The interfaces of a route: one, or those of its next hops. */
static void add_uplinks(struct wdr_net_host *h, const void *attrs, size_t n, bool is_default)
{
	size_t n_hops = 0;
	const uint32_t *oif = wdr_nl_find(attrs, n, RTA_OIF, sizeof(*oif), NULL);
	const struct rtnexthop *hop = wdr_nl_find(attrs, n, RTA_MULTIPATH, sizeof(*hop), &n_hops);

	if (oif)
		add_uplink(h, *oif, is_default);
	while (hop && n_hops >= sizeof(*hop) && hop->rtnh_len >= sizeof(*hop) &&
	       hop->rtnh_len <= n_hops) {
		add_uplink(h, (unsigned int)hop->rtnh_ifindex, is_default);
		if ((size_t)RTNH_ALIGN(hop->rtnh_len) >= n_hops)
			break;
		n_hops -= RTNH_ALIGN(hop->rtnh_len);
		hop = RTNH_NEXT(hop);
	}
}

static int take_route(const struct nlmsghdr *msg, void *userdata)
{
	const struct rtmsg *rt = NLMSG_DATA(msg);
	struct wdr_net_host *h = userdata;
	struct wdr_prefix to = { 0 };
	size_t n = 0, n_dst = 0;
	const void *attrs, *dst;

	if (msg->nlmsg_type != RTM_NEWROUTE || msg->nlmsg_len < NLMSG_LENGTH(sizeof(*rt)))
		return 0;
	if (rt->rtm_family != AF_INET && rt->rtm_family != AF_INET6)
		return 0;
	attrs = wdr_nl_attrs(msg, sizeof(*rt), &n);
	dst = wdr_nl_find(attrs, n, RTA_DST, full_len(rt->rtm_family) / 8, &n_dst);
	to.family = rt->rtm_family;
	to.len = rt->rtm_dst_len;
	if (dst)
		memcpy(to.addr, dst, n_dst <= sizeof(to.addr) ? n_dst : sizeof(to.addr));
	/* A default route overlaps everything and owns nothing. */
	if (dst && to.len)
		judge(h, &to);
	/* Full length: a neighbour on some container's veth, ours included; no way to the world. */
	if (rt->rtm_type == RTN_UNICAST && to.len < full_len(to.family))
		add_uplinks(h, attrs, n, !to.len);
	return 0;
}

static int take_link(const struct nlmsghdr *msg, void *userdata)
{
	const struct ifinfomsg *i = NLMSG_DATA(msg);
	struct wdr_net_uplink *u = userdata;
	size_t n = 0, n_name = 0;
	const uint32_t *mtu;
	const void *attrs;
	const char *name;

	if (msg->nlmsg_type != RTM_NEWLINK || msg->nlmsg_len < NLMSG_LENGTH(sizeof(*i)))
		return 0;
	attrs = wdr_nl_attrs(msg, sizeof(*i), &n);
	name = wdr_nl_find(attrs, n, IFLA_IFNAME, 2, &n_name);
	mtu = wdr_nl_find(attrs, n, IFLA_MTU, sizeof(*mtu), NULL);
	if (!name || !mtu || (i->ifi_flags & IFF_LOOPBACK) || n_name > sizeof(u->name) ||
	    wdr_net_link_number(name) >= 0)
		return 0;
	memcpy(u->name, name, n_name);
	u->mtu = *mtu;
	return 0;
}

/* Names and MTUs of the uplinks; loopback and ends of slots drop out. */
static int name_uplinks(int nl_fd, struct wdr_net_host *h)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < h->n_uplinks; i++) {
		struct wdr_net_uplink u = h->uplinks[i];
		struct ifinfomsg head = { .ifi_index = (int)u.ifindex };
		struct wdr_nl_msg m;
		int r;

		wdr_nl_start(&m, RTM_GETLINK, 0, &head, sizeof(head));
		wdr_nl_put_u32(&m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
		r = wdr_nl_ask(nl_fd, &m, take_link, &u);
		if (r < 0 && r != -ENODEV)
			return r;
		if (r == 0 && u.name[0])
			h->uplinks[n++] = u;
	}
	h->n_uplinks = n;
	return 0;
}

/*
 * The smallest of the interfaces that default routes lead to. Narrower ways off to the side (a
 * VPN) are found out by path MTU discovery, and slow nobody else down.
 */
static unsigned int choose_mtu(const struct wdr_net_host *h)
{
	unsigned int mtu = 0;

	for (unsigned int i = 0; i < h->n_uplinks; i++)
		if (h->uplinks[i].is_default && (!mtu || h->uplinks[i].mtu < mtu))
			mtu = h->uplinks[i].mtu;
	mtu = mtu ? mtu : MTU_DEFAULT;
	mtu = mtu < MTU_MIN ? MTU_MIN : mtu;
	return mtu > MTU_MAX ? MTU_MAX : mtu;
}

int wdr_net_host_scan(int nl_fd, struct wdr_net_host *h, struct wdr_err *err)
{
	struct rtmsg head = { .rtm_family = AF_UNSPEC };
	struct wdr_nl_msg m;
	int r;

	wdr_nl_start(&m, RTM_GETROUTE, NLM_F_DUMP, &head, sizeof(head));
	r = wdr_nl_ask(nl_fd, &m, take_route, h);
	if (r == 0)
		r = name_uplinks(nl_fd, h);
	if (r < 0)
		return wdr_err_wrap(err, r, "read the host's routes");
	h->mtu = choose_mtu(h);
	return 0;
}

bool wdr_net_host_taken(const struct wdr_net_host *h, unsigned int slot)
{
	return h->taken[slot / 8] & (1U << (slot % 8));
}

bool wdr_net_host_has6(int proc_fd)
{
	char all[16], def[16];

	return wdr_net_sysctl_read(proc_fd, "ipv6/conf/all/disable_ipv6", all, sizeof(all)) == 0 &&
	       wdr_net_sysctl_read(proc_fd, "ipv6/conf/default/disable_ipv6", def, sizeof(def)) ==
		       0 &&
	       !strcmp(all, "0") && !strcmp(def, "0");
}

static void add_candidate(struct wdr_net_host *h, const struct wdr_prefix *range)
{
	if (h->n_candidates < WDR_NET_MAX_CANDIDATES)
		h->candidates[h->n_candidates++] = (struct wdr_net_candidate){ .range = *range };
}

/* The candidates of one family: what the environment says, or the list. *ret_off: "none". */
static int add_candidates(struct wdr_net_host *h, int family, bool *ret_off, struct wdr_err *err)
{
	const char *env = getenv(family == AF_INET ? "WARDER_NET_POOL4" : "WARDER_NET_POOL6");
	struct wdr_prefix range;
	const char *const *list;
	size_t n = 0;
	int r;

	*ret_off = false;
	list = wdr_net_range_defaults(family, &n);
	if (env && *env) {
		list = &env;
		n = 1;
	}
	for (size_t i = 0; i < n; i++) {
		r = wdr_net_range_parse(family, list[i], &range, ret_off, err);
		if (r < 0 || *ret_off)
			return r;
		add_candidate(h, &range);
	}
	return 0;
}

static int pick(const struct wdr_net_host *h, int family, struct wdr_prefix *ret,
		struct wdr_err *err)
{
	const struct wdr_net_candidate *first = NULL;
	char range[WDR_PREFIX_TEXT_MAX], with[WDR_PREFIX_TEXT_MAX];
	unsigned int n = 0;

	for (unsigned int i = 0; i < h->n_candidates; i++) {
		const struct wdr_net_candidate *c = &h->candidates[i];

		if (c->range.family != family)
			continue;
		if (!c->clash) {
			*ret = c->range;
			return 0;
		}
		first = first ? first : c;
		n++;
	}
	if (!first)
		return -ENOENT;
	(void)wdr_prefix_text(&first->range, range);
	(void)wdr_prefix_text(&first->with, with);
	if (n == 1)
		return wdr_err_set(err, -EADDRINUSE,
				   "address pool %s overlaps the host's route to %s: set "
				   "WARDER_NET_POOL%d to a free range",
				   range, with, family == AF_INET ? 4 : 6);
	return wdr_err_set(
		err, -EADDRNOTAVAIL,
		"no private range is free of the host's routes (%s overlaps %s, and so on "
		"for %u): set WARDER_NET_POOL%d",
		range, with, n, family == AF_INET ? 4 : 6);
}

int wdr_net_host_choose(int nl_fd, int proc_fd, const struct wdr_net_ranges *fixed,
			struct wdr_net_host *h, struct wdr_net_ranges *ret, struct wdr_err *err)
{
	struct wdr_net_ranges got = { 0 };
	bool off4 = false, off6 = false;
	int r = 0;

	if (fixed) {
		add_candidate(h, &fixed->v4);
		off6 = !fixed->has6;
		if (fixed->has6)
			add_candidate(h, &fixed->v6);
	} else {
		r = add_candidates(h, AF_INET, &off4, err);
		off6 = !wdr_net_host_has6(proc_fd);
		if (r == 0 && !off6)
			r = add_candidates(h, AF_INET6, &off6, err);
	}
	if (r == 0)
		r = wdr_net_host_scan(nl_fd, h, err);
	if (r == 0)
		r = pick(h, AF_INET, &got.v4, err);
	if (r == 0 && !off6)
		r = pick(h, AF_INET6, &got.v6, err);
	if (r < 0)
		return r;
	got.has6 = !off6;
	*ret = got;
	return 0;
}
