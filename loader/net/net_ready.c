/* SPDX-License-Identifier: Apache-2.0 */
/* When a job's end of its veth pair can really be used. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>

#include "net_nl_priv.h"
#include "net_priv.h"

#define OPER_UP	      6 /* IF_OPER_UP (RFC 2863) of linux/if.h, which can't stand beside net/if.h */
#define READY_WAIT_MS 2000 /* the work queue of links is at most one second late */

int wdr_net_ready_watch(int *ret_fd)
{
	static const int groups[] = { RTNLGRP_LINK, RTNLGRP_IPV6_ROUTE };
	const struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	wdr_close_ int fd = -1;
	int r = wdr_nl_open(NETLINK_ROUTE, &fd);

	if (r < 0)
		return r;
	/* A socket without a number of its own is taken for the kernel's, which needs no telling. */
	if (bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &groups[i],
			       sizeof(groups[i])) < 0)
			return -errno;
	*ret_fd = WDR_TAKE_FD(fd);
	return 0;
}

static int take_state(const struct nlmsghdr *h, void *userdata)
{
	size_t n = 0;
	const void *attrs = wdr_nl_attrs(h, sizeof(struct ifinfomsg), &n);
	const uint8_t *state = wdr_nl_find(attrs, n, IFLA_OPERSTATE, sizeof(*state), NULL);

	*(bool *)userdata = state && *state == OPER_UP;
	return 0;
}

static int take_type(const struct nlmsghdr *h, void *userdata)
{
	const struct rtmsg *rt = NLMSG_DATA(h);

	*(bool *)userdata = h->nlmsg_len >= NLMSG_LENGTH(sizeof(*rt)) && rt->rtm_type == RTN_LOCAL;
	return 0;
}

/* 1: what is sent leaves, and what comes for the job's IPv6 address is taken. */
static int is_ready(int nl_fd, const struct wdr_net_slot_info *info)
{
	const struct ifinfomsg link = { 0 };
	const struct rtmsg route = { .rtm_family = AF_INET6, .rtm_dst_len = 128 };
	struct wdr_nl_msg m;
	bool yes = false;
	int r;

	wdr_nl_start(&m, RTM_GETLINK, 0, &link, sizeof(link));
	wdr_nl_put_text(&m, IFLA_IFNAME, WDR_NET_JOB_LINK);
	r = wdr_nl_ask(nl_fd, &m, take_state, &yes);
	if (r < 0 || !yes || !info->has6)
		return r < 0 ? r : yes;
	wdr_nl_start(&m, RTM_GETROUTE, 0, &route, sizeof(route));
	wdr_nl_put(&m, RTA_DST, info->job6.addr, sizeof(info->job6.addr));
	r = wdr_nl_ask(nl_fd, &m, take_type, &yes);
	return r < 0 ? r : yes;
}

/*
 * Two things come from work queues of the kernel. The end that was set up first learns late that
 * the other is up, too, and drops what is sent until then (net/core/link_watch.c; from Linux 6.8 a
 * question for the link makes up for it, rtnl_getlink). And an IPv6 address gets its local route
 * where duplicate detection would be over, even if there is none (addrconf_dad_work).
 */
int wdr_net_ready_wait(int nl_fd, int watch_fd, const struct wdr_net_slot_info *info,
		       struct wdr_err *err)
{
	struct pollfd p = { .fd = watch_fd, .events = POLLIN };
	char ignored[4096];
	int r = is_ready(nl_fd, info);

	while (r == 0) {
		r = poll(&p, 1, READY_WAIT_MS);
		if (r == 0)
			return wdr_err_set(err, -ETIMEDOUT,
					   "the job's end of %s is not ready after %d ms",
					   info->link, READY_WAIT_MS);
		if (r < 0 && errno != EINTR)
			return wdr_err_wrap(err, -errno, "wait for %s", info->link);
		while (recv(watch_fd, ignored, sizeof(ignored), MSG_DONTWAIT) > 0)
			;
		r = is_ready(nl_fd, info);
	}
	return r < 0 ? wdr_err_wrap(err, r, "wait for %s", info->link) : 0;
}
