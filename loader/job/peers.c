/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnetlink(7) tells of each link the index of the other end (IFLA_LINK), and of one whose other end
 * is in another namespace also which (IFLA_LINK_NETNSID, a number that the asking namespace has for
 * it). A macvlan tells the same of the host's own card: only of a veth the other end is the
 * container's alone.
 */
#include "job/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define BUF_BYTES 32768 /* netlink(7): larger than any message of the kernel's dumps */
#define MAX_VETHS 64

struct peer {
	unsigned int index;
	int nsid;
};

struct links {
	struct peer peers[MAX_VETHS];
	unsigned int n;
	struct wdr_err *err;
};

/* What a message says of a link. */
struct link {
	const char *name, *kind; /* NULL: it does not say */
	const unsigned int *peer;
	const int *nsid; /* NULL: the other end is in the same namespace */
};

/* A socket that belongs to @netns; this process comes back at once. */
static int open_there(const char *netns, int home, struct wdr_err *err)
{
	wdr_close_ int there = open(netns, O_RDONLY | O_CLOEXEC);
	int r = 0, fd;

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

/* Which number the namespace of @fd has for @netns_fd. */
static int ask_for_nsid(int fd, int netns_fd)
{
	struct {
		struct nlmsghdr h;
		struct rtgenmsg g;
		char pad[NLMSG_ALIGN(sizeof(struct rtgenmsg)) - sizeof(struct rtgenmsg)];
		struct rtattr a;
		int netns_fd;
	} m = { .h = { .nlmsg_len = sizeof(m),
		       .nlmsg_type = RTM_GETNSID,
		       .nlmsg_flags = NLM_F_REQUEST },
		.a = { .rta_len = RTA_LENGTH(sizeof(int)), .rta_type = NETNSA_FD },
		.netns_fd = netns_fd };

	return send(fd, &m, sizeof(m), 0) == (ssize_t)sizeof(m) ? 0 : -errno;
}

static const char *find_kind(const struct rtattr *info)
{
	int len = (int)RTA_PAYLOAD(info);

	for (struct rtattr *a = RTA_DATA(info); RTA_OK(a, len); a = RTA_NEXT(a, len))
		if (a->rta_type == IFLA_INFO_KIND)
			return RTA_DATA(a);
	return NULL;
}

static struct link read_link(struct nlmsghdr *h)
{
	struct ifinfomsg *i = NLMSG_DATA(h);
	int len = (int)IFLA_PAYLOAD(h);
	struct link l = { 0 };

	for (struct rtattr *a = IFLA_RTA(i); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == IFLA_IFNAME)
			l.name = RTA_DATA(a);
		if (a->rta_type == IFLA_LINKINFO)
			l.kind = find_kind(a);
		if (a->rta_type == IFLA_LINK && RTA_PAYLOAD(a) == sizeof(*l.peer))
			l.peer = RTA_DATA(a);
		if (a->rta_type == IFLA_LINK_NETNSID && RTA_PAYLOAD(a) == sizeof(*l.nsid))
			l.nsid = RTA_DATA(a);
	}
	return l;
}

/* What comes out of it comes out of another link of the namespace, or nowhere. */
static bool stays_inside(const struct link *l, unsigned int flags)
{
	if (flags & IFF_LOOPBACK)
		return true;
	if (l->peer && *l->peer)
		return !l->nsid;
	return l->kind && (!strcmp(l->kind, "dummy") || !strcmp(l->kind, "bridge"));
}

static int take_link(struct nlmsghdr *h, struct links *all)
{
	unsigned int flags = ((struct ifinfomsg *)NLMSG_DATA(h))->ifi_flags;
	struct link l = read_link(h);

	if (stays_inside(&l, flags))
		return 0;
	if (l.kind && !strcmp(l.kind, "veth") && l.peer && l.nsid) {
		if (all->n == MAX_VETHS)
			return wdr_err_set(all->err, -E2BIG, "more than %d interfaces", MAX_VETHS);
		all->peers[all->n++] = (struct peer){ *l.peer, *l.nsid };
		return 0;
	}
	/* Fallback devices of tunnels are in every namespace, and are down. */
	if (!(flags & IFF_UP))
		return 0;
	return wdr_err_set(all->err, -EOPNOTSUPP,
			   "interface %s (%s): only what goes through a veth can be judged",
			   l.name ? l.name : "?", l.kind ? l.kind : "hardware");
}

/* 1: more to come; 0: that was all. */
static int take_links(struct nlmsghdr *h, ssize_t n, struct links *all)
{
	int r;

	for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR)
			return -EIO;
		r = h->nlmsg_type == RTM_NEWLINK ? take_link(h, all) : 0;
		if (r < 0)
			return r;
	}
	return 1;
}

static int read_links(int fd, char *buf, struct links *all)
{
	int r = ask_for_links(fd);

	if (r == 0)
		r = 1;
	while (r == 1) {
		ssize_t n = recv(fd, buf, BUF_BYTES, 0);

		r = n < 0 ? -errno : take_links((struct nlmsghdr *)buf, n, all);
	}
	return r;
}

static int read_nsid(int fd, int netns_fd, char *buf, int *ret)
{
	struct nlmsghdr *h = (struct nlmsghdr *)buf;
	int r = ask_for_nsid(fd, netns_fd);
	ssize_t n = r < 0 ? r : recv(fd, buf, BUF_BYTES, 0);
	struct rtattr *a;
	int len;

	if (n < 0)
		return r < 0 ? r : -errno;
	if (!NLMSG_OK(h, n) || h->nlmsg_type != RTM_NEWNSID)
		return -EIO;
	len = (int)NLMSG_PAYLOAD(h, sizeof(struct rtgenmsg));
	a = (struct rtattr *)((char *)NLMSG_DATA(h) + NLMSG_ALIGN(sizeof(struct rtgenmsg)));
	for (; RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == NETNSA_NSID && RTA_PAYLOAD(a) == sizeof(*ret)) {
			memcpy(ret, RTA_DATA(a), sizeof(*ret));
			return 0;
		}
	}
	return -EIO;
}

/* The number is asked for last: the kernel makes one when it first has to tell of a link. */
static int find_peers(int fd, int home, struct links *all)
{
	wdr_free_ char *buf = malloc(BUF_BYTES);
	int nsid = -1;
	int r;

	if (!buf)
		return -ENOMEM;
	r = read_links(fd, buf, all);
	if (r == 0 && all->n)
		r = read_nsid(fd, home, buf, &nsid);
	for (unsigned int i = 0; r == 0 && i < all->n; i++)
		if (all->peers[i].nsid != nsid)
			r = wdr_err_set(all->err, -EXDEV,
					"the other end of a veth (index %u) is in a third "
					"network namespace, where it can't be judged",
					all->peers[i].index);
	return r;
}

int wdr_job_find_peers(const char *netns, unsigned int *ret, unsigned int max, struct wdr_err *err)
{
	wdr_close_ int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	wdr_close_ int fd = open_there(netns, home, err);
	struct links all = { .err = err };
	int r;

	if (fd < 0)
		return fd;
	r = find_peers(fd, home, &all);
	if (r == 0 && all.n > max)
		r = -E2BIG;
	if (r < 0)
		return wdr_err_wrap(err, r, "network namespace %.100s", netns);
	for (unsigned int i = 0; i < all.n; i++)
		ret[i] = all.peers[i].index;
	return (int)all.n;
}

bool wdr_job_netns_is_empty(const char *netns)
{
	glob_t tasks = { 0 };
	struct stat want, st;
	bool empty;

	if (stat(netns, &want) < 0)
		return false;
	empty = glob("/proc/[0-9]*/task/[0-9]*/ns/net", GLOB_NOSORT, NULL, &tasks) == 0;
	for (size_t i = 0; i < tasks.gl_pathc && empty; i++)
		empty = stat(tasks.gl_pathv[i], &st) < 0 || st.st_dev != want.st_dev ||
			st.st_ino != want.st_ino;
	globfree(&tasks);
	return empty;
}
