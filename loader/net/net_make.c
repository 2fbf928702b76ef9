/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child that makes a slot: it can move between network namespaces, load libnftables (0.5 ms)
 * and wait for locks while its parent goes on. What the parent is to have comes in one message,
 * with the descriptors in it. A child that dies takes its locks and its namespace along.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/wdr_io.h"
#include "base/wdr_log.h"
#include "net_nl_priv.h"
#include "net_priv.h"

#define SELF_NETNS "/proc/self/ns/net"

/* What the child has open for as long as it lives. */
struct maker {
	const struct wdr_net_pool *pool; /* NULL: an empty namespace */
	const struct wdr_net_slot_spec *spec;
	int host_nl, nf_fd; /* in the host's namespace */
	int job_nl, watch_fd;
	int home_fd; /* the host's namespace, once it was left */
	bool recorded;
	struct wdr_net_made made;
};

/* The first number that nothing speaks against. Locks it. */
static int pick_number(struct maker *k, const struct wdr_net_table *t, const struct wdr_net_host *h,
		       struct wdr_err *err)
{
	unsigned int n = wdr_net_ranges_slots(&t->head.ranges);
	char text[WDR_PREFIX_TEXT_MAX];

	for (unsigned int i = 0; i < n; i++) {
		char link[IFNAMSIZ];
		int r;

		if (i < t->n_records && (t->records[i].flags & WDR_NET_RECORD_USED))
			continue;
		/* A link of that name is one that the kernel is still taking down. */
		wdr_net_link_name(i, link);
		if (wdr_net_host_taken(h, i) || wdr_net_link_index(k->host_nl, link) > 0)
			continue;
		r = wdr_net_table_take(k->pool->dir_fd, i, &k->made.lock_fd);
		if (r == -EBUSY)
			continue;
		if (r < 0)
			return wdr_err_wrap(err, r, "lock network slot %u", i);
		wdr_net_slot_fill(&t->head.ranges, i, h->mtu, &k->made.info);
		return 0;
	}
	return wdr_err_set(err, -ENOSPC,
			   "the address pool %s is used up: all %u slots are taken; give "
			   "WARDER_NET_POOL4 a larger range",
			   wdr_prefix_text(&t->head.ranges.v4, text), n);
}

static int record(struct maker *k, struct wdr_net_table *t, struct wdr_err *err)
{
	struct wdr_net_record rec;
	int r = wdr_net_table_write_head(t);

	wdr_net_slot_record(k->spec, k->made.info.mtu, &rec);
	if (r == 0)
		r = wdr_net_table_write(t, k->made.info.number, &rec);
	if (r < 0)
		return wdr_err_wrap(err, r, "record network slot %u", k->made.info.number);
	k->recorded = true;
	return 0;
}

/* Number, addresses, and what all slots share, under the table's lock. */
static int reserve(struct maker *k, struct wdr_err *err)
{
	const struct wdr_net_shared s = { .dir_fd = k->pool->dir_fd,
					  .proc_fd = k->pool->proc_fd,
					  .nf_fd = k->nf_fd,
					  .leave_open = true };
	wdr_net_table_ struct wdr_net_table t = { .fd = -1 };
	wdr_free_ struct wdr_net_host *h = calloc(1, sizeof(*h));
	struct wdr_net_head *head = &t.head;
	int r;

	if (!h)
		return -ENOMEM;
	r = wdr_net_table_open(k->pool->dir_fd, &t, err);
	if (r < 0)
		return r;
	r = wdr_net_host_choose(k->host_nl, s.proc_fd, head->has_ranges ? &head->ranges : NULL, h,
				&head->ranges, err);
	head->has_ranges = true;
	if (r == 0)
		r = pick_number(k, &t, h, err);
	if (r == 0)
		r = record(k, &t, err);
	if (r == 0)
		r = wdr_net_shared_up(&s, &t, h, err);
	return r < 0 ? r : 0;
}

/*
 * What a namespace is set to from inside, beside what it inherits: nobody may tell it routes; low
 * ports and ping are no privilege where all ports are the job's own.
 */
static int set_inside(void)
{
	static const struct {
		const char *path, *value;
	} rows[] = { { "ipv4/ip_unprivileged_port_start", "0" },
		     { "ipv4/ping_group_range", "0 2147483647" },
		     { "ipv6/conf/all/accept_ra", "0" },
		     { "ipv6/conf/default/accept_ra", "0" } };
	wdr_close_ int fd = open("/proc/sys/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		r = wdr_write_file(fd, rows[i].path, rows[i].value);
		if (r < 0 && r != -ENOENT) /* a kernel without IPv6 */
			return r;
	}
	return 0;
}

/* In the job's namespace: what can only be made there. */
static int furnish(struct maker *k, struct wdr_err *err)
{
	int r = wdr_nl_open(NETLINK_ROUTE, &k->job_nl);

	if (r == 0)
		r = wdr_net_ready_watch(&k->watch_fd);
	if (r == 0)
		r = set_inside();
	if (r < 0)
		return wdr_err_wrap(err, r, "set up the job's network namespace");
	if (k->pool) {
		k->made.tcp4 = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		k->made.tcp6 = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	}
	return wdr_net_link_loopback(k->job_nl, err);
}

/* Into the namespace, a new one or the job's, and out again; after a failure, maybe not out. */
static int visit(struct maker *k, struct wdr_err *err)
{
	bool mine = k->spec->netns_fd < 0;
	int r;

	k->home_fd = open(SELF_NETNS, O_RDONLY | O_CLOEXEC);
	if (k->home_fd < 0)
		return wdr_err_wrap(err, -errno, "open " SELF_NETNS);
	r = mine ? unshare(CLONE_NEWNET) : setns(k->spec->netns_fd, CLONE_NEWNET);
	if (r < 0)
		return wdr_err_wrap(err, -errno,
				    mine ? "make a network namespace" :
					   "enter the job's network namespace");
	if (mine) {
		k->made.netns_fd = open(SELF_NETNS, O_RDONLY | O_CLOEXEC);
		if (k->made.netns_fd < 0)
			return wdr_err_wrap(err, -errno, "open " SELF_NETNS);
	}
	r = furnish(k, err);
	if (r == 0 && setns(k->home_fd, CLONE_NEWNET) < 0)
		r = wdr_err_wrap(err, -errno, "return to the host's network namespace");
	return r;
}

/* The pair, the job's end first: what is set up last is ready at once (wdr_net_ready_wait). */
static int join(struct maker *k, struct wdr_err *err)
{
	struct wdr_net_slot_info *info = &k->made.info;
	int netns_fd = k->spec->netns_fd < 0 ? k->made.netns_fd : k->spec->netns_fd;
	char alias[64];
	int r = wdr_net_link_create(k->host_nl, info, netns_fd, err);

	if (r < 0)
		return r;
	r = wdr_net_link_index(k->host_nl, info->link);
	if (r < 0)
		return wdr_err_wrap(err, r, "find %s", info->link);
	info->ifindex = (unsigned int)r;
	(void)snprintf(alias, sizeof(alias), "warder %.48s",
		       k->spec->job ? k->spec->job : "(ahead)");
	r = wdr_net_link_job(k->job_nl, info, err);
	if (r == 0)
		r = wdr_net_link_host(k->host_nl, k->pool->proc_fd, info, alias, err);
	if (r == 0)
		r = wdr_net_ready_wait(k->job_nl, k->watch_fd, info, err);
	return r;
}

static int make(struct maker *k, struct wdr_err *err)
{
	int r = 0;

	if (!k->pool)
		return visit(k, err);
	r = wdr_nl_open(NETLINK_ROUTE, &k->host_nl);
	if (r == 0)
		r = wdr_nl_open(NETLINK_NETFILTER, &k->nf_fd);
	if (r < 0)
		return wdr_err_wrap(err, r, "open netlink");
	r = reserve(k, err);
	if (r == 0)
		r = visit(k, err);
	if (r == 0)
		r = join(k, err);
	if (r == 0)
		r = wdr_net_reach(k->host_nl, k->nf_fd, k->made.tcp4, k->made.tcp6, &k->made.info,
				  err);
	return r;
}

/*
 * After a failure, which is what the caller is told of. The rest goes with this process. The answer
 * that failed to come may still wait in the sockets we have, and would be taken for the next one's.
 */
static void undo(struct maker *k)
{
	struct wdr_err err = { 0 };
	bool rules_gone;
	int r;

	if (!k->recorded)
		return;
	r = k->home_fd >= 0 && setns(k->home_fd, CLONE_NEWNET) < 0 ? -errno : 0;
	if (r == 0)
		r = wdr_nl_open(NETLINK_ROUTE, &k->host_nl);
	if (r == 0)
		r = wdr_nl_open(NETLINK_NETFILTER, &k->nf_fd);
	if (r == 0 && k->made.info.ifindex)
		r = wdr_net_link_delete(k->host_nl, k->made.info.link, &err);
	if (r == 0)
		r = wdr_net_release(k->pool, k->nf_fd, &k->made.info, &k->made.lock_fd, &rules_gone,
				    &err);
	if (r < 0)
		wdr_debug("step=net_undo slot=%u err=\"%s\"", k->made.info.number,
			  *err.msg ? err.msg : strerror(-r)); /* it is the sweep's then */
}

static _Noreturn void child(struct maker *k, int sock, pid_t parent)
{
	const struct wdr_net_pool *p = k->pool;
	int keep[] = { sock, k->spec->netns_fd, p ? p->dir_fd : -1, p ? p->proc_fd : -1 };
	struct wdr_err err = { 0 };
	int r;

	/* With the parent gone nobody wants what this one makes, and the sweep removes it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	    wdr_close_except(keep, sizeof(keep) / sizeof(keep[0])) < 0)
		_exit(1);
	r = make(k, &err);
	if (r < 0 && !err.code)
		(void)wdr_err_wrap(&err, r, "make a network slot");
	if (r < 0)
		undo(k);
	r = wdr_net_report_send(sock, r, &k->made, &err);
	/* The end may take a grace period (wdr_net_nft_run): hold nothing until then. */
	wdr_net_made_close(&k->made);
	_exit(r < 0);
}

int wdr_net_make_start(const struct wdr_net_pool *p, const struct wdr_net_slot_spec *spec,
		       int *ret_sock, int *ret_pidfd, struct wdr_err *err)
{
	struct maker k = { .pool = p,
			   .spec = spec,
			   .host_nl = -1,
			   .nf_fd = -1,
			   .job_nl = -1,
			   .home_fd = -1,
			   .watch_fd = -1,
			   .made = WDR_NET_MADE_NONE };
	wdr_close_ int mine = -1, its = -1;
	pid_t parent = getpid();
	int pair[2];
	long pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return wdr_err_wrap(err, -errno, "open a socket to the maker of a network slot");
	mine = pair[0];
	its = pair[1];
	pid = wdr_net_fork(ret_pidfd);
	if (pid == 0)
		child(&k, its, parent);
	if (pid < 0)
		return wdr_err_wrap(err, (int)pid, "start the maker of a network slot");
	*ret_sock = WDR_TAKE_FD(mine);
	return 0;
}
