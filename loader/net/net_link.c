/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The veth pair of a slot. Each end knows the other's hardware address for good, so that nothing
 * waits for ARP or neighbour discovery and no firewall has to let it pass; and has no link-local
 * IPv6 address, so that none has to be checked for duplicates.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <string.h>

#include "base/wdr_io.h"
#include "net_nl_priv.h"
#include "net_priv.h"

#define MAC_BYTES 6

static size_t addr_bytes(const struct wdr_prefix *a)
{
	return a->family == AF_INET ? 4 : 16;
}

static void put_end(struct wdr_nl_msg *m, const char *name, const uint8_t mac[MAC_BYTES],
		    unsigned int mtu)
{
	wdr_nl_put_text(m, IFLA_IFNAME, name);
	wdr_nl_put(m, IFLA_ADDRESS, mac, MAC_BYTES);
	wdr_nl_put_u32(m, IFLA_MTU, mtu);
	/* By default a queue for each possible CPU: memory for nothing, a veth has no hardware. */
	wdr_nl_put_u32(m, IFLA_NUM_TX_QUEUES, 1);
	wdr_nl_put_u32(m, IFLA_NUM_RX_QUEUES, 1);
}

int wdr_net_link_create(int nl_fd, const struct wdr_net_slot_info *info, int netns_fd,
			struct wdr_err *err)
{
	const struct ifinfomsg head = { 0 };
	size_t link, data, peer;
	struct wdr_nl_msg m;
	int r;

	wdr_nl_start(&m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
	put_end(&m, info->link, info->host_mac, info->mtu);
	link = wdr_nl_nest(&m, IFLA_LINKINFO);
	wdr_nl_put(&m, IFLA_INFO_KIND, "veth", 4);
	data = wdr_nl_nest(&m, IFLA_INFO_DATA);
	peer = wdr_nl_nest(&m, VETH_INFO_PEER);
	wdr_nl_put_raw(&m, &head, sizeof(head));
	put_end(&m, WDR_NET_JOB_LINK, info->job_mac, info->mtu);
	wdr_nl_put_u32(&m, IFLA_NET_NS_FD, (uint32_t)netns_fd);
	wdr_nl_end(&m, peer);
	wdr_nl_end(&m, data);
	wdr_nl_end(&m, link);
	r = wdr_nl_call(nl_fd, &m, err);
	return r < 0 ? wdr_err_wrap(err, r, "make veth pair %s", info->link) : 0;
}

static int take_index(const struct nlmsghdr *h, void *userdata)
{
	const struct ifinfomsg *i = NLMSG_DATA(h);

	if (h->nlmsg_len >= NLMSG_LENGTH(sizeof(*i)))
		*(int *)userdata = i->ifi_index;
	return 0;
}

int wdr_net_link_index(int nl_fd, const char *name)
{
	const struct ifinfomsg head = { 0 };
	struct wdr_nl_msg m;
	int index = 0;
	int r;

	wdr_nl_start(&m, RTM_GETLINK, 0, &head, sizeof(head));
	wdr_nl_put_text(&m, IFLA_IFNAME, name);
	wdr_nl_put_u32(&m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	r = wdr_nl_ask(nl_fd, &m, take_index, &index);
	if (r < 0)
		return r;
	return index > 0 ? index : -ENODEV;
}

static int set_up(int nl_fd, unsigned int ifindex)
{
	const struct ifinfomsg head = { .ifi_index = (int)ifindex,
					.ifi_flags = IFF_UP,
					.ifi_change = IFF_UP };
	struct wdr_nl_msg m;

	wdr_nl_start(&m, RTM_NEWLINK, 0, &head, sizeof(head));
	return wdr_nl_call(nl_fd, &m, NULL);
}

int wdr_net_link_loopback(int nl_fd, struct wdr_err *err)
{
	int r = set_up(nl_fd, 1); /* lo is the first link of every namespace: net/core/dev.c */

	return r < 0 ? wdr_err_wrap(err, r, "set loopback up") : 0;
}

/* IPv4 settings of the host's end. */
static void put_conf4(struct wdr_nl_msg *m)
{
	static const struct {
		uint16_t what;
		uint32_t value;
	} rows[] = {
		{ IPV4_DEVCONF_FORWARDING, 1 },	    { IPV4_DEVCONF_RP_FILTER, 1 },
		{ IPV4_DEVCONF_ARP_IGNORE, 1 },	    { IPV4_DEVCONF_ACCEPT_REDIRECTS, 0 },
		{ IPV4_DEVCONF_SEND_REDIRECTS, 0 }, { IPV4_DEVCONF_ACCEPT_SOURCE_ROUTE, 0 },
		{ IPV4_DEVCONF_PROXY_ARP, 0 },
	};
	size_t family = wdr_nl_nest(m, AF_INET);
	size_t conf = wdr_nl_nest(m, IFLA_INET_CONF);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		wdr_nl_put_u32(m, rows[i].what, rows[i].value);
	wdr_nl_end(m, conf);
	wdr_nl_end(m, family);
}

static int set_spec(int nl_fd, unsigned int ifindex, bool conf4, bool no_link_local)
{
	const struct ifinfomsg head = { .ifi_index = (int)ifindex };
	struct wdr_nl_msg m;
	size_t spec, family;

	wdr_nl_start(&m, RTM_NEWLINK, 0, &head, sizeof(head));
	spec = wdr_nl_nest(&m, IFLA_AF_SPEC);
	if (conf4)
		put_conf4(&m);
	if (no_link_local) {
		family = wdr_nl_nest(&m, AF_INET6);
		wdr_nl_put_u8(&m, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
		wdr_nl_end(&m, family);
	}
	wdr_nl_end(&m, spec);
	return wdr_nl_call(nl_fd, &m, NULL);
}

/* What a link is before it is up. Where there is no IPv6 at all, none has to be kept off it. */
static int configure(int nl_fd, unsigned int ifindex, bool conf4)
{
	int r = set_spec(nl_fd, ifindex, conf4, true);

	return r == -EAFNOSUPPORT ? set_spec(nl_fd, ifindex, conf4, false) : r;
}

/* With the slot's network as a connected route for the job, with no route for the host. */
static int add_address(int nl_fd, unsigned int ifindex, const struct wdr_prefix *local, bool host)
{
	uint32_t flags = IFA_F_PERMANENT | IFA_F_NODAD | (host ? IFA_F_NOPREFIXROUTE : 0);
	const struct ifaddrmsg head = { .ifa_family = local->family,
					.ifa_prefixlen = (uint8_t)(local->len - (host ? 0 : 2)),
					.ifa_index = ifindex };
	struct wdr_nl_msg m;

	wdr_nl_start(&m, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
	wdr_nl_put(&m, IFA_LOCAL, local->addr, addr_bytes(local));
	wdr_nl_put(&m, IFA_ADDRESS, local->addr, addr_bytes(local));
	wdr_nl_put_u32(&m, IFA_FLAGS, flags);
	return wdr_nl_call(nl_fd, &m, NULL);
}

static int add_neighbour(int nl_fd, unsigned int ifindex, const struct wdr_prefix *who,
			 const uint8_t mac[MAC_BYTES])
{
	const struct ndmsg head = { .ndm_family = who->family,
				    .ndm_ifindex = (int)ifindex,
				    .ndm_state = NUD_PERMANENT };
	struct wdr_nl_msg m;

	wdr_nl_start(&m, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &head, sizeof(head));
	wdr_nl_put(&m, NDA_DST, who->addr, addr_bytes(who));
	wdr_nl_put(&m, NDA_LLADDR, mac, MAC_BYTES);
	return wdr_nl_call(nl_fd, &m, NULL);
}

/* To @to over the link itself, or a default route through @via. */
static int add_route(int nl_fd, unsigned int ifindex, const struct wdr_prefix *to,
		     const struct wdr_prefix *via)
{
	const struct rtmsg head = { .rtm_family = to ? to->family : via->family,
				    .rtm_dst_len = to ? to->len : 0,
				    .rtm_table = RT_TABLE_MAIN,
				    .rtm_protocol = RTPROT_STATIC,
				    .rtm_scope = to ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
				    .rtm_type = RTN_UNICAST };
	struct wdr_nl_msg m;

	wdr_nl_start(&m, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
	if (to)
		wdr_nl_put(&m, RTA_DST, to->addr, addr_bytes(to));
	if (via)
		wdr_nl_put(&m, RTA_GATEWAY, via->addr, addr_bytes(via));
	wdr_nl_put_u32(&m, RTA_OIF, ifindex);
	return wdr_nl_call(nl_fd, &m, NULL);
}

/*
 * What netlink can't set. Without accept_ra=0 a job could give the host a default route, should
 * our nftables table ever be flushed. force_forwarding is Linux 6.17; before it, IPv6 forwards
 * on all links or none, and net_shared.c has seen to that.
 */
static int set_host6(int proc_fd, const char *link, bool has6)
{
	static const struct {
		const char *what, *value;
		bool optional;
	} rows[] = { { "accept_ra", "0", false },
		     { "accept_redirects", "0", false },
		     { "force_forwarding", "1", true } };
	char path[64];
	int r;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(path, sizeof(path), "ipv6/conf/%s/%s", link, rows[i].what);
		if (rows[i].optional && !has6)
			continue;
		r = wdr_write_file(proc_fd, path, rows[i].value);
		if (r < 0 && !(r == -ENOENT && (rows[i].optional || !has6)))
			return r;
	}
	return 0;
}

/*
 * The host's end of one family. The route to the job's one address is ours: with a peer address
 * the kernel would make it, but for IPv6 from a work queue, some time later (addrconf_dad_work).
 */
static int add_host_family(int nl_fd, const struct wdr_net_slot_info *info,
			   const struct wdr_prefix *host, const struct wdr_prefix *job)
{
	int r = add_address(nl_fd, info->ifindex, host, true);

	if (r == 0)
		r = add_neighbour(nl_fd, info->ifindex, job, info->job_mac);
	if (r == 0)
		r = add_route(nl_fd, info->ifindex, job, NULL);
	return r;
}

int wdr_net_link_host(int nl_fd, int proc_fd, const struct wdr_net_slot_info *info,
		      const char *alias, struct wdr_err *err)
{
	int r = configure(nl_fd, info->ifindex, true);

	if (r == 0)
		r = set_host6(proc_fd, info->link, info->has6);
	if (r == 0)
		r = wdr_net_link_alias(nl_fd, info->ifindex, alias);
	if (r == 0)
		r = set_up(nl_fd, info->ifindex);
	if (r == 0)
		r = add_host_family(nl_fd, info, &info->host4, &info->job4);
	if (r == 0 && info->has6)
		r = add_host_family(nl_fd, info, &info->host6, &info->job6);
	return r < 0 ? wdr_err_wrap(err, r, "set %s up on the host", info->link) : 0;
}

static int add_job_family(int nl_fd, unsigned int ifindex, const struct wdr_net_slot_info *info,
			  const struct wdr_prefix *job, const struct wdr_prefix *host)
{
	int r = add_address(nl_fd, ifindex, job, false);

	if (r == 0)
		r = add_neighbour(nl_fd, ifindex, host, info->host_mac);
	if (r == 0)
		r = add_route(nl_fd, ifindex, NULL, host);
	return r;
}

static int set_job_up(int nl_fd, const struct wdr_net_slot_info *info)
{
	int index = wdr_net_link_index(nl_fd, WDR_NET_JOB_LINK);
	int r;

	if (index < 0)
		return index;
	r = configure(nl_fd, (unsigned int)index, false);
	if (r == 0)
		r = set_up(nl_fd, (unsigned int)index);
	if (r == 0)
		r = add_job_family(nl_fd, (unsigned int)index, info, &info->job4, &info->host4);
	if (r == 0 && info->has6)
		r = add_job_family(nl_fd, (unsigned int)index, info, &info->job6, &info->host6);
	return r;
}

int wdr_net_link_job(int nl_fd, const struct wdr_net_slot_info *info, struct wdr_err *err)
{
	int r = set_job_up(nl_fd, info);

	return r < 0 ? wdr_err_wrap(err, r, "set " WDR_NET_JOB_LINK " up for the job") : 0;
}

int wdr_net_link_alias(int nl_fd, unsigned int ifindex, const char *alias)
{
	const struct ifinfomsg head = { .ifi_index = (int)ifindex };
	struct wdr_nl_msg m;

	wdr_nl_start(&m, RTM_NEWLINK, 0, &head, sizeof(head));
	wdr_nl_put(&m, IFLA_IFALIAS, alias, strlen(alias));
	return wdr_nl_call(nl_fd, &m, NULL);
}

static int cut_family(int nl_fd, unsigned int ifindex, const struct wdr_prefix *job)
{
	const struct rtmsg head = { .rtm_family = job->family,
				    .rtm_dst_len = job->len,
				    .rtm_table = RT_TABLE_MAIN,
				    .rtm_scope = RT_SCOPE_NOWHERE };
	struct wdr_nl_msg m;
	int r;

	wdr_nl_start(&m, RTM_DELROUTE, 0, &head, sizeof(head));
	wdr_nl_put(&m, RTA_DST, job->addr, addr_bytes(job));
	wdr_nl_put_u32(&m, RTA_OIF, ifindex);
	r = wdr_nl_call(nl_fd, &m, NULL);
	/* Gone already, with its link. */
	return r == -ESRCH || r == -ENODEV || r == -ENOENT ? 0 : r;
}

int wdr_net_link_cut(int nl_fd, int proc_fd, const struct wdr_net_slot_info *info,
		     struct wdr_err *err)
{
	char path[64];
	int r = cut_family(nl_fd, info->ifindex, &info->job4);

	if (r == 0 && info->has6)
		r = cut_family(nl_fd, info->ifindex, &info->job6);
	if (r < 0)
		return wdr_err_wrap(err, r, "cut %s off", info->link);
	if (!info->has6)
		return 0;
	(void)snprintf(path, sizeof(path), "ipv6/conf/%s/force_forwarding", info->link);
	r = wdr_write_file(proc_fd, path, "0");
	return r < 0 && r != -ENOENT ? wdr_err_wrap(err, r, "cut %s off", info->link) : 0;
}

int wdr_net_link_delete(int nl_fd, const char *name, struct wdr_err *err)
{
	const struct ifinfomsg head = { 0 };
	struct wdr_nl_msg m;
	int r;

	wdr_nl_start(&m, RTM_DELLINK, 0, &head, sizeof(head));
	wdr_nl_put_text(&m, IFLA_IFNAME, name);
	r = wdr_nl_call(nl_fd, &m, err);
	if (r == -ENODEV)
		return 0;
	return r < 0 ? wdr_err_wrap(err, r, "remove %s", name) : 0;
}
