/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A networked job's namespace and its way out. It is made beside the other steps and taken when it
 * is needed; a job that may make raw sockets has a namespace of its own user namespace instead,
 * which exists only once its process does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>

#include "base/wdr_log.h"
#include "job/job_priv.h"
#include "job/kernel.h"

/* Without the filter there is no way out either, however degraded a job may be. */
static bool has_network(const struct wdr_job *j)
{
	const uint64_t need =
		WDR_PROT_BIT(WDR_PROT_EGRESS_SOCKET) | WDR_PROT_BIT(WDR_PROT_EGRESS_PACKET);

	return j->o.policy->net.mode == WDR_NET_EGRESS && (j->result.prot_on & need) == need;
}

static bool owns_netns(const struct wdr_job *j)
{
	return j->o.policy->capabilities & (UINT64_C(1) << CAP_NET_RAW);
}

int wdr_job_begin_network(struct wdr_job *j, struct wdr_err *err)
{
	const struct wdr_net_slot_spec spec = {
		.job = j->spec.id,
		.netns_fd = -1,
		.contain = j->o.policy->on_loss == WDR_ON_LOSS_CONTAIN,
	};
	int r;

	if (!has_network(j))
		return 0;
	r = wdr_net_pool_new(NULL, &j->pool, err);
	if (r == 0)
		r = wdr_net_sweep(j->pool, err);
	if (r < 0)
		return r;
	return owns_netns(j) ? 0 : wdr_net_slot_begin(j->pool, &spec, &j->net, err);
}

static int filter_link(struct wdr_job *j, struct wdr_err *err)
{
	const struct wdr_net_slot_info *info = wdr_net_slot_info(j->net);
	struct wdr_egress_addr self4;
	struct wdr_egress_addr self6;

	wdr_job_egress_addr(&info->job4, &self4);
	wdr_job_egress_addr(&info->job6, &self6);
	return wdr_kern_slot_link(j->kslot, info->ifindex, &self4, info->has6 ? &self6 : NULL, err);
}

int wdr_job_finish_network(struct wdr_job *j, struct wdr_err *err)
{
	int r;

	if (!j->net)
		return 0;
	r = wdr_net_slot_finish(j->net, err);
	if (r == 0)
		r = filter_link(j, err);
	if (r == 0)
		j->spec.net_fd = wdr_net_slot_netns_fd(j->net);
	return r;
}

int wdr_job_make_raw_network(struct wdr_job *j, struct wdr_err *err)
{
	struct wdr_net_slot_spec spec = {
		.job = j->spec.id,
		.netns_fd = -1,
		.contain = j->o.policy->on_loss == WDR_ON_LOSS_CONTAIN,
	};
	wdr_close_ int netns = -1;
	char path[64];
	int r;

	if (!has_network(j) || !owns_netns(j))
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", j->o.backend->pid(j->b));
	netns = open(path, O_RDONLY | O_CLOEXEC);
	if (netns < 0)
		return wdr_err_set(err, -errno, "%s: %s", path, strerror(errno));
	spec.netns_fd = netns;
	r = wdr_net_slot_new(j->pool, &spec, &j->net, err);
	return r < 0 ? r : filter_link(j, err);
}

void wdr_job_drop_network(struct wdr_job *j)
{
	struct wdr_err err = { 0 };

	if (j->net && wdr_net_slot_remove(j->net, &err) < 0)
		wdr_warn("job=%s step=network err=\"%s\"", j->spec.id, err.msg);
	wdr_net_slot_freep(&j->net);
	wdr_net_pool_freep(&j->pool);
	j->spec.net_fd = -1;
}

void wdr_job_mend_network(struct wdr_job *j)
{
	struct wdr_err err = { 0 };
	int r = j->net ? wdr_net_mend(j->pool, &err) : 0;

	if (r == 0)
		return;
	if (r > 0)
		wdr_warn(
			"job=%s step=network what=\"somebody flushed our nftables rules: made again\"",
			j->spec.id);
	else
		wdr_warn("job=%s step=network err=\"%s\"", j->spec.id, err.msg);
}
