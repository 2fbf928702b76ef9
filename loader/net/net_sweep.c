/* SPDX-License-Identifier: Apache-2.0 */
/* After others: what dead supervisors left, what a flush took, and what the rules have seen. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <string.h>

#include "net_nl_priv.h"
#include "net_priv.h"

/* Links go through @nl_fd, which waits for each: there are only any if a job outlived its end. */
static int sweep_one(struct wdr_net_table *t, unsigned int slot, int nl_fd, int nf_fd,
		     struct wdr_err *err)
{
	struct wdr_net_slot_info info;
	int r;

	wdr_net_slot_fill(&t->head.ranges, slot, 0, &info);
	r = wdr_net_link_delete(nl_fd, info.link, err);
	if (r < 0)
		return r;
	r = wdr_net_flows_forget(nf_fd, &info);
	if (r < 0)
		return wdr_err_wrap(err, r, "forget the flows of network slot %u", slot);
	return wdr_net_end_record(t, slot, err);
}

static bool any_alive(const struct wdr_net_table *t)
{
	for (unsigned int i = 0; i < t->n_records; i++)
		if (wdr_net_table_alive(t, i))
			return true;
	return false;
}

static bool is_dead(const struct wdr_net_table *t, unsigned int slot)
{
	return (t->records[slot].flags & WDR_NET_RECORD_USED) && !wdr_net_table_alive(t, slot);
}

/*
 * Whether there may be anything to remove. The table is filled before anything is made and emptied
 * after all is gone; a crash can also come between the last slot's end and that of what all shared.
 */
static bool is_due(const struct wdr_net_pool *p, const struct wdr_net_table *t)
{
	for (unsigned int i = 0; i < t->n_records; i++)
		if (is_dead(t, i))
			return true;
	if (any_alive(t))
		return false;
	return t->head.has_ranges || faccessat(p->dir_fd, "sysctls", F_OK, 0) == 0;
}

static int sweep_all(struct wdr_net_pool *p, struct wdr_net_table *t, int nf_fd, int *ret_removed,
		     struct wdr_err *err)
{
	const struct wdr_net_shared s = { .dir_fd = p->dir_fd,
					  .proc_fd = p->proc_fd,
					  .nf_fd = nf_fd };
	wdr_close_ int nl_fd = -1;
	int n = 0;
	int r = wdr_net_pool_at_home(p, err);

	if (r < 0)
		return r;
	r = wdr_nl_open(NETLINK_ROUTE, &nl_fd);
	if (r < 0)
		return wdr_err_wrap(err, r, "open netlink");
	for (unsigned int i = 0; i < t->n_records; i++) {
		if (!is_dead(t, i))
			continue;
		r = sweep_one(t, i, nl_fd, nf_fd, err);
		if (r < 0)
			return r;
		n++;
	}
	*ret_removed = wdr_net_shared_down(&s, t, err);
	return *ret_removed < 0 ? *ret_removed : n;
}

int wdr_net_sweep(struct wdr_net_pool *p, struct wdr_err *err)
{
	wdr_net_table_ struct wdr_net_table t = { .fd = -1 };
	struct wdr_net_ending e = { .netns_fd = -1, .nf_fd = -1 };
	int removed = 0;
	int r = wdr_net_table_open(p->dir_fd, &t, err);

	/* Not even a socket of nfnetlink for nothing: closing it may wait for others' changes. */
	if (r < 0 || !is_due(p, &t))
		return r;
	r = wdr_nl_open(NETLINK_NETFILTER, &e.nf_fd);
	if (r < 0)
		return wdr_err_wrap(err, r, "open netlink");
	r = sweep_all(p, &t, e.nf_fd, &removed, err);
	wdr_net_table_close(&t);
	if (removed > 0)
		wdr_net_pool_reap(p, wdr_net_end_aside(&e));
	wdr_closep(&e.nf_fd);
	return r;
}

int wdr_net_refresh(struct wdr_net_pool *p, int nf_fd, struct wdr_err *err)
{
	const struct wdr_net_shared s = { .dir_fd = p->dir_fd,
					  .proc_fd = p->proc_fd,
					  .nf_fd = nf_fd };
	wdr_net_table_ struct wdr_net_table t = { .fd = -1 };
	wdr_free_ struct wdr_net_host *h = calloc(1, sizeof(*h));
	struct wdr_net_ranges same;
	wdr_close_ int nl_fd = -1;
	int r;

	if (!h)
		return -ENOMEM;
	r = wdr_net_table_open(p->dir_fd, &t, err);
	if (r < 0 || !any_alive(&t))
		return r;
	r = wdr_nl_open(NETLINK_ROUTE, &nl_fd);
	if (r < 0)
		return wdr_err_wrap(err, r, "open netlink");
	r = wdr_net_host_choose(nl_fd, p->proc_fd, &t.head.ranges, h, &same, err);
	return r < 0 ? r : wdr_net_shared_up(&s, &t, h, err);
}

int wdr_net_mend(struct wdr_net_pool *p, struct wdr_err *err)
{
	wdr_close_ int nf_fd = -1;
	int r = wdr_nl_open(NETLINK_NETFILTER, &nf_fd);

	if (r == 0)
		r = wdr_net_nft_exists(nf_fd);
	if (r < 0)
		return wdr_err_wrap(err, r, "ask nftables for table inet " WDR_NET_TABLE);
	return r ? 0 : wdr_net_refresh(p, nf_fd, err);
}

int wdr_net_slot_adopt(struct wdr_net_pool *p, const char *job, struct wdr_net_slot **ret,
		       struct wdr_err *err)
{
	wdr_net_table_ struct wdr_net_table t = { .fd = -1 };
	wdr_net_slot_ struct wdr_net_slot *s = calloc(1, sizeof(*s));
	unsigned int i;
	int r;

	if (!s)
		return -ENOMEM;
	s->made = (struct wdr_net_made)WDR_NET_MADE_NONE;
	s->sock = s->pidfd = -1;
	s->pool_ref = p;
	r = wdr_net_table_open(p->dir_fd, &t, err);
	if (r < 0)
		return r;
	for (i = 0; i < t.n_records; i++)
		if ((t.records[i].flags & WDR_NET_RECORD_CONTAIN) &&
		    !strncmp(t.records[i].job, job, sizeof(t.records[i].job)))
			break;
	if (i == t.n_records)
		return wdr_err_set(err, -ENOENT, "job %.60s has no network slot to take over", job);
	r = wdr_net_table_take(p->dir_fd, i, &s->made.lock_fd);
	if (r < 0)
		return wdr_err_wrap(err, r, "take over the network slot of %.60s", job);
	wdr_net_slot_fill(&t.head.ranges, i, t.records[i].mtu, &s->made.info);
	s->made.info.ifindex = if_nametoindex(s->made.info.link);
	s->recorded = true;
	*ret = WDR_TAKE_PTR(s);
	return 0;
}

int wdr_net_drops(struct wdr_net_drops *ret)
{
	struct wdr_net_drops d = { 0 };
	const struct {
		const char *name;
		uint64_t *to;
	} rows[] = { { "spoofed", &d.spoofed }, { "to_host", &d.to_host }, { "to_job", &d.to_job },
		     { "inbound", &d.inbound }, { "invalid", &d.invalid }, { "flows", &d.flows },
		     { "transit", &d.transit } };
	wdr_close_ int nf_fd = -1;
	int r = wdr_nl_open(NETLINK_NETFILTER, &nf_fd);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && r == 0; i++)
		r = wdr_net_nft_counter(nf_fd, rows[i].name, rows[i].to);
	if (r == 0)
		*ret = d;
	return r;
}
