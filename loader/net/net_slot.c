/* SPDX-License-Identifier: Apache-2.0 */
/* A slot's life as its supervisor sees it: begin, finish, remove. */
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>

#include "base/wdr_log.h"
#include "net_nl_priv.h"
#include "net_priv.h"

#define END_MS 2000 /* a killed one waits for a grace period of nftables at most */

void wdr_net_slot_fill(const struct wdr_net_ranges *r, unsigned int number, unsigned int mtu,
		       struct wdr_net_slot_info *ret)
{
	/* Locally administered (the 2 of the first byte), after it "WD" and which end. */
	const uint8_t mac[6] = { 0x02, 'W', 'D', 0, (uint8_t)(number >> 8), (uint8_t)number };

	*ret = (struct wdr_net_slot_info){ .number = number, .has6 = r->has6, .mtu = mtu };
	wdr_net_link_name(number, ret->link);
	wdr_net_range_address(&r->v4, number, WDR_NET_HOST_ADDR, &ret->host4);
	wdr_net_range_address(&r->v4, number, WDR_NET_JOB_ADDR, &ret->job4);
	if (r->has6) {
		wdr_net_range_address(&r->v6, number, WDR_NET_HOST_ADDR, &ret->host6);
		wdr_net_range_address(&r->v6, number, WDR_NET_JOB_ADDR, &ret->job6);
	}
	memcpy(ret->job_mac, mac, sizeof(mac));
	memcpy(ret->host_mac, mac, sizeof(mac));
	ret->host_mac[3] = 1;
}

void wdr_net_slot_record(const struct wdr_net_slot_spec *spec, unsigned int mtu,
			 struct wdr_net_record *ret)
{
	*ret = (struct wdr_net_record){ .flags = WDR_NET_RECORD_USED, .mtu = mtu };
	if (spec->contain)
		ret->flags |= WDR_NET_RECORD_CONTAIN;
	if (spec->job)
		(void)snprintf(ret->job, sizeof(ret->job), "%s", spec->job);
}

static int new_slot(struct wdr_net_pool *p, const struct wdr_net_slot_spec *spec,
		    struct wdr_net_slot **ret, struct wdr_err *err)
{
	wdr_net_slot_ struct wdr_net_slot *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->pool_ref = p;
	s->spec = *spec;
	s->ahead = p && !spec->job;
	s->sock = s->pidfd = -1;
	s->made = (struct wdr_net_made)WDR_NET_MADE_NONE;
	r = wdr_net_make_start(p, spec, &s->sock, &s->pidfd, err);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(s);
	return 0;
}

int wdr_net_slot_begin(struct wdr_net_pool *p, const struct wdr_net_slot_spec *spec,
		       struct wdr_net_slot **ret, struct wdr_err *err)
{
	wdr_net_pool_reap(p, -1);
	if (!spec->job || spec->netns_fd >= 0 || !p->n_ahead)
		return new_slot(p, spec, ret, err);
	*ret = p->ahead[--p->n_ahead];
	(*ret)->spec = *spec;
	return 0;
}

int wdr_net_slot_begin_empty(struct wdr_net_slot **ret, struct wdr_err *err)
{
	const struct wdr_net_slot_spec spec = { .netns_fd = -1 };

	return new_slot(NULL, &spec, ret, err);
}

int wdr_net_slot_wait_fd(const struct wdr_net_slot *s)
{
	return s->sock;
}

/* A slot that was made for nobody becomes spec.job's; the host may have changed in between. */
static int assign(struct wdr_net_slot *s, struct wdr_err *err)
{
	const struct wdr_net_slot_info *info = &s->made.info;
	wdr_close_ int nl_fd = -1, nf_fd = -1;
	struct wdr_net_record rec;
	char alias[64];
	int r = wdr_nl_open(NETLINK_ROUTE, &nl_fd);

	wdr_net_slot_record(&s->spec, info->mtu, &rec);
	(void)snprintf(alias, sizeof(alias), "warder %.48s", s->spec.job);
	if (r == 0)
		r = wdr_nl_open(NETLINK_NETFILTER, &nf_fd);
	if (r == 0)
		r = wdr_net_table_write_own(s->made.lock_fd, info->number, &rec);
	if (r == 0)
		r = wdr_net_link_alias(nl_fd, info->ifindex, alias);
	if (r < 0)
		return wdr_err_wrap(err, r, "give network slot %u to a job", info->number);
	r = wdr_net_refresh(s->pool_ref, nf_fd, err);
	return r < 0 ? r : wdr_net_reach(nl_fd, nf_fd, s->made.tcp4, s->made.tcp6, info, err);
}

static void log_left(const struct wdr_net_slot *s, int r, const struct wdr_err *err)
{
	if (r < 0)
		wdr_debug("step=net_undo slot=%u err=\"%s\"", s->made.info.number, err->msg);
}

static int give_back(struct wdr_net_slot *s, struct wdr_err *err)
{
	struct wdr_net_ending e = { .nf_fd = -1 };
	bool rules_gone = false;
	int r = 0;

	if (s->recorded)
		r = wdr_nl_open(NETLINK_NETFILTER, &e.nf_fd);
	if (r < 0)
		return wdr_err_wrap(err, r, "open netlink");
	e.netns_fd = WDR_TAKE_FD(s->made.netns_fd);
	if (s->recorded) {
		s->recorded = false;
		r = wdr_net_release(s->pool_ref, e.nf_fd, &s->made.info, &s->made.lock_fd,
				    &rules_gone, err);
		e.slot = &s->made.info;
		wdr_net_pool_reap(s->pool_ref, wdr_net_end_aside(&e));
	}
	wdr_closep(&e.nf_fd);
	wdr_closep(&e.netns_fd);
	return r;
}

/* Whoever made it, or still does, is heard no more: what it holds is free when this returns. */
static void end_maker(int pidfd)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	(void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
	(void)poll(&end, 1, END_MS);
}

/* Take what the child sends. If it died before, what it left is for the sweep. */
static int receive(struct wdr_net_slot *s, struct wdr_err *err)
{
	struct wdr_err left = { 0 };
	int r = wdr_net_report_receive(s->sock, &s->made, err);

	wdr_closep(&s->sock);
	s->recorded = s->pool_ref && r == 0;
	if (r == -ECHILD && s->pidfd >= 0)
		end_maker(s->pidfd);
	wdr_net_pool_reap(s->pool_ref, WDR_TAKE_FD(s->pidfd));
	if (r == -ECHILD && s->pool_ref)
		log_left(s, wdr_net_sweep(s->pool_ref, &left), &left);
	return r;
}

int wdr_net_slot_finish(struct wdr_net_slot *s, struct wdr_err *err)
{
	struct wdr_err left = { 0 };
	int r = receive(s, err);

	if (r == 0 && s->ahead && s->spec.job)
		r = assign(s, err);
	wdr_closep(&s->made.tcp4);
	wdr_closep(&s->made.tcp6);
	if (r < 0)
		log_left(s, give_back(s, &left), &left);
	return r;
}

int wdr_net_slot_new(struct wdr_net_pool *p, const struct wdr_net_slot_spec *spec,
		     struct wdr_net_slot **ret, struct wdr_err *err)
{
	wdr_net_slot_ struct wdr_net_slot *s = NULL;
	int r = wdr_net_slot_begin(p, spec, &s, err);

	if (r == 0)
		r = wdr_net_slot_finish(s, err);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(s);
	return 0;
}

const struct wdr_net_slot_info *wdr_net_slot_info(const struct wdr_net_slot *s)
{
	return &s->made.info;
}

int wdr_net_slot_netns_fd(const struct wdr_net_slot *s)
{
	return s->made.netns_fd;
}

/* Stop a child that is not wanted any more, or take what it has already made. */
static void cancel(struct wdr_net_slot *s)
{
	if (s->sock < 0)
		return;
	(void)pidfd_send_signal(s->pidfd, SIGKILL, NULL, 0);
	(void)!receive(s, NULL);
	wdr_closep(&s->made.tcp4);
	wdr_closep(&s->made.tcp6);
}

int wdr_net_slot_remove(struct wdr_net_slot *s, struct wdr_err *err)
{
	cancel(s);
	return give_back(s, err);
}

void wdr_net_slot_freep(struct wdr_net_slot **s)
{
	if (!*s)
		return;
	cancel(*s);
	wdr_closep(&(*s)->made.lock_fd);
	wdr_closep(&(*s)->made.netns_fd);
	wdr_freep(s);
}
