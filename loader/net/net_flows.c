/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows that the host tracks for a job outlive it by up to five days (established TCP), and the
 * next job with its address would get what still comes in for them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <string.h>

#include "net_nl_priv.h"
#include "net_priv.h"

#define FILTER_SRC_IP 1U /* CTA_FILTER_ORIG_FLAGS: CTA_FILTER_F_CTA_IP_SRC, not in uapi headers */
#define FORGET_BATCH  64

static void start(struct wdr_nl_msg *m, int type, uint16_t flags, int family)
{
	const struct nfgenmsg head = { .nfgen_family = (uint8_t)family, .version = NFNETLINK_V0 };

	wdr_nl_start(m, (uint16_t)(NFNL_SUBSYS_CTNETLINK << 8 | type), flags, &head, sizeof(head));
}

/* Only what began at @addr: since Linux 5.8 for listing, 6.11 for deleting. */
static void put_filter(struct wdr_nl_msg *m, const struct wdr_prefix *addr)
{
	bool v4 = addr->family == AF_INET;
	size_t outer = wdr_nl_nest(m, CTA_TUPLE_ORIG);
	size_t inner = wdr_nl_nest(m, CTA_TUPLE_IP);

	wdr_nl_put(m, v4 ? CTA_IP_V4_SRC : CTA_IP_V6_SRC, addr->addr, v4 ? 4 : 16);
	wdr_nl_end(m, inner);
	wdr_nl_end(m, outer);
	outer = wdr_nl_nest(m, CTA_FILTER);
	wdr_nl_put_u32(m, CTA_FILTER_ORIG_FLAGS, FILTER_SRC_IP);
	wdr_nl_put_u32(m, CTA_FILTER_REPLY_FLAGS, 0);
	wdr_nl_end(m, outer);
}

static int take_total(const struct nlmsghdr *h, void *userdata)
{
	size_t n = 0;
	const void *attrs = wdr_nl_attrs(h, sizeof(struct nfgenmsg), &n);
	const uint32_t *total =
		wdr_nl_find(attrs, n, CTA_STATS_GLOBAL_ENTRIES, sizeof(*total), NULL);

	if (total)
		*(uint32_t *)userdata = ntohl(*total);
	return 0;
}

/* A flow as the kernel wants it back: its first tuple and its id. */
struct flow {
	uint8_t tuple[128];
	size_t n_tuple;
	uint32_t id;
};

struct flows {
	struct flow flow[FORGET_BATCH];
	unsigned int n;
	bool more;
};

static int take_flow(const struct nlmsghdr *h, void *userdata)
{
	struct flows *f = userdata;
	struct flow *to = &f->flow[f->n];
	size_t n = 0, n_tuple = 0;
	const void *attrs = wdr_nl_attrs(h, sizeof(struct nfgenmsg), &n);
	const void *tuple = wdr_nl_find(attrs, n, CTA_TUPLE_ORIG, 0, &n_tuple);
	const uint32_t *id = wdr_nl_find(attrs, n, CTA_ID, sizeof(*id), NULL);

	if (!tuple || !id || n_tuple > sizeof(to->tuple))
		return 0;
	if (f->n == FORGET_BATCH) {
		f->more = true;
		return 0;
	}
	memcpy(to->tuple, tuple, n_tuple);
	to->n_tuple = n_tuple;
	to->id = *id;
	f->n++;
	return 0;
}

/* Before Linux 6.11: list, then delete one by one. A list of a large empty table takes 10 ms. */
static int forget_one_by_one(int fd, const struct wdr_prefix *addr)
{
	struct flows f;
	struct wdr_nl_msg m;
	int r;

	do {
		f.n = 0;
		f.more = false;
		start(&m, IPCTNL_MSG_CT_GET, NLM_F_DUMP, addr->family);
		put_filter(&m, addr);
		r = wdr_nl_ask(fd, &m, take_flow, &f);
		for (unsigned int i = 0; r == 0 && i < f.n; i++) {
			start(&m, IPCTNL_MSG_CT_DELETE, 0, addr->family);
			wdr_nl_put(&m, CTA_TUPLE_ORIG | NLA_F_NESTED, f.flow[i].tuple,
				   f.flow[i].n_tuple);
			wdr_nl_put_u32(&m, CTA_ID, f.flow[i].id);
			r = wdr_nl_call(fd, &m, NULL);
			r = r == -ENOENT ? 0 : r; /* it ended by itself */
		}
	} while (r == 0 && f.more);
	return r;
}

int wdr_net_flows_forget(int nf_fd, const struct wdr_prefix *addr)
{
	struct wdr_nl_msg m;
	uint32_t total = 1;
	int r;

	start(&m, IPCTNL_MSG_CT_GET_STATS, 0, AF_UNSPEC);
	r = wdr_nl_ask(nf_fd, &m, take_total, &total);
	if (r < 0 || !total)
		return r;
	start(&m, IPCTNL_MSG_CT_DELETE, 0, addr->family);
	put_filter(&m, addr);
	r = wdr_nl_call(nf_fd, &m, NULL);
	return r == -EOPNOTSUPP ? forget_one_by_one(nf_fd, addr) : r;
}
