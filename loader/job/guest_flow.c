/* SPDX-License-Identifier: Apache-2.0 */
#include "job/guest_flow.h"

#include <netinet/in.h>
#include <string.h>

void wdr_guest_flows_see(struct wdr_guest_flows *fs, const struct wdr_guest_who *who)
{
	if (!who->pid || (fs->sole.pid && fs->sole.pid != who->pid))
		fs->crowd = true;
	else
		fs->sole = *who;
}

void wdr_guest_flows_add(struct wdr_guest_flows *fs, const struct wdr_guest_flow *f)
{
	fs->flow[fs->n++ % WDR_GUEST_FLOWS_MAX] = *f;
}

void wdr_guest_flows_lose(struct wdr_guest_flows *fs, uint64_t lost, uint64_t time_ns)
{
	if (lost == fs->lost)
		return;
	fs->crowd = true; /* one may have been of another process */
	fs->lost = lost;
	fs->lost_ns = time_ns;
}

static uint64_t begin_of(uint64_t time_ns)
{
	return time_ns > WDR_GUEST_FLOW_AGE_NS ? time_ns - WDR_GUEST_FLOW_AGE_NS : 0;
}

const struct wdr_guest_who *wdr_guest_flows_find(const struct wdr_guest_flows *fs,
						 const struct wdr_deny_key *key, uint64_t time_ns)
{
	uint64_t from = begin_of(time_ns), to = time_ns + WDR_GUEST_FLOW_SKEW_NS;
	const struct wdr_guest_who *who = NULL;

	if (fs->sole.pid && !fs->crowd)
		return &fs->sole;
	if (key->proto != IPPROTO_TCP || (fs->lost && fs->lost_ns >= from))
		return NULL;
	/* What made room for newer ones may have been in that time, too. */
	if (fs->n > WDR_GUEST_FLOWS_MAX && fs->flow[fs->n % WDR_GUEST_FLOWS_MAX].time_ns >= from)
		return NULL;
	for (unsigned int i = 0; i < WDR_GUEST_FLOWS_MAX && i < fs->n; i++) {
		const struct wdr_guest_flow *f = &fs->flow[(fs->n - 1 - i) % WDR_GUEST_FLOWS_MAX];

		if (f->time_ns < from || f->time_ns > to || f->port != key->port ||
		    memcmp(f->addr, key->addr, sizeof(f->addr)) != 0)
			continue;
		if (!f->who.pid || (who && who->pid != f->who.pid))
			return NULL;
		if (!who)
			who = &f->who;
	}
	return who;
}
