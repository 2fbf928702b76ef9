/* SPDX-License-Identifier: Apache-2.0 */
/* rtnetlink(7) tells of each link the index of the other end (IFLA_LINK) in that end's namespace. */
#include "job/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#define BUF_BYTES 32768 /* netlink(7): larger than any message of the kernel's dumps */

/* A socket that belongs to @netns; this process comes back at once. */
static int open_there(const char *netns, struct wdr_err *err)
{
	wdr_close_ int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	wdr_close_ int there = open(netns, O_RDONLY | O_CLOEXEC);
	int fd;
	int r = 0;

	if (home < 0 || there < 0 || setns(there, CLONE_NEWNET) < 0)
		return wdr_err_set(err, -errno, "enter network namespace %.100s: %s", netns,
				   strerror(errno));
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		r = -errno;
	if (setns(home, CLONE_NEWNET) < 0) {
		r = -errno;
		wdr_closep(&fd);
	}
	return r < 0 ? wdr_err_set(err, r, "netlink in %.100s: %s", netns, strerror(-r)) : fd;
}

static int ask_for_links(int fd)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg i;
	} m = { .h = { .nlmsg_len = sizeof(m),
		       .nlmsg_type = RTM_GETLINK,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.i = { .ifi_family = AF_UNSPEC } };

	return send(fd, &m, sizeof(m), 0) == (ssize_t)sizeof(m) ? 0 : -errno;
}

/* Index of the other end, 0 for a link that has none in another namespace. */
static unsigned int peer_of(struct nlmsghdr *h)
{
	struct ifinfomsg *i = NLMSG_DATA(h);
	int len = (int)IFLA_PAYLOAD(h);
	unsigned int link = 0;
	bool elsewhere = false;

	for (struct rtattr *a = IFLA_RTA(i); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == IFLA_LINK && RTA_PAYLOAD(a) >= sizeof(link))
			memcpy(&link, RTA_DATA(a), sizeof(link));
		if (a->rta_type == IFLA_LINK_NETNSID)
			elsewhere = true;
	}
	return elsewhere ? link : 0;
}

/* 1: more to come; 0: that was all. */
static int take_links(struct nlmsghdr *h, ssize_t n, unsigned int *ret, unsigned int max,
		      unsigned int *n_ret)
{
	for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
		unsigned int peer;

		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR)
			return -EIO;
		peer = h->nlmsg_type == RTM_NEWLINK ? peer_of(h) : 0;
		if (!peer)
			continue;
		if (*n_ret == max)
			return -E2BIG;
		ret[(*n_ret)++] = peer;
	}
	return 1;
}

int wdr_job_find_peers(const char *netns, unsigned int *ret, unsigned int max, struct wdr_err *err)
{
	wdr_close_ int fd = open_there(netns, err);
	wdr_free_ char *buf = malloc(BUF_BYTES);
	unsigned int found = 0;
	int r;

	if (fd < 0)
		return fd;
	if (!buf)
		return -ENOMEM;
	r = ask_for_links(fd);
	if (r == 0)
		r = 1;
	while (r == 1) {
		ssize_t n = recv(fd, buf, BUF_BYTES, 0);

		r = n < 0 ? -errno : take_links((struct nlmsghdr *)buf, n, ret, max, &found);
	}
	if (r < 0)
		return wdr_err_set(err, r, "links of network namespace %.100s: %s", netns,
				   strerror(-r));
	return (int)found;
}
