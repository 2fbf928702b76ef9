/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a slot, in its order: cut off, forgotten, given back, and after the last all else. */
#include <linux/netlink.h>

#include "net_nl_priv.h"
#include "net_priv.h"

int wdr_net_end_record(struct wdr_net_table *t, unsigned int slot, struct wdr_err *err)
{
	const struct wdr_net_record none = { .flags = 0 };
	int r = wdr_net_table_write(t, slot, &none);

	return r < 0 ? wdr_err_wrap(err, r, "free network slot %u", slot) : 0;
}

/* No route to the job: its packets are dropped as spoofed, before they could make new flows. */
static int cut(const struct wdr_net_pool *p, const struct wdr_net_slot_info *info,
	       struct wdr_err *err)
{
	wdr_close_ int nl_fd = -1;
	int r = wdr_nl_open(NETLINK_ROUTE, &nl_fd);

	if (r < 0)
		return wdr_err_wrap(err, r, "open netlink");
	return info->ifindex ? wdr_net_link_cut(nl_fd, p->proc_fd, info, err) : 0;
}

int wdr_net_release(const struct wdr_net_pool *p, int nf_fd, const struct wdr_net_slot_info *info,
		    int *lock_fd, bool *ret_rules_gone, struct wdr_err *err)
{
	const struct wdr_net_shared s = { .dir_fd = p->dir_fd,
					  .proc_fd = p->proc_fd,
					  .nf_fd = nf_fd };
	wdr_net_table_ struct wdr_net_table t = { .fd = -1 };
	struct wdr_err first = { 0 };
	int r = wdr_net_pool_at_home(p, err), before;

	*ret_rules_gone = false;
	if (r < 0)
		return r;
	before = cut(p, info, &first);
	r = wdr_net_table_open(p->dir_fd, &t, err);
	if (r == 0)
		r = wdr_net_end_record(&t, info->number, err);
	if (r < 0)
		return r;
	wdr_closep(lock_fd);
	r = wdr_net_shared_down(&s, &t, err);
	*ret_rules_gone = r > 0;
	if (r >= 0 && before < 0 && err)
		*err = first;
	return r < 0 ? r : before;
}
