/* SPDX-License-Identifier: Apache-2.0 */
#include "job/guest_flow.h"

#include <string.h>

void wdr_guest_flows_add(struct wdr_guest_flows *fs, const struct wdr_guest_flow *f)
{
	fs->flow[fs->n++ % WDR_GUEST_FLOWS_MAX] = *f;
}

const struct wdr_guest_flow *wdr_guest_flows_find(const struct wdr_guest_flows *fs,
						  const struct wdr_deny_key *key, uint64_t now_ns)
{
	for (unsigned int i = 0; i < WDR_GUEST_FLOWS_MAX && i < fs->n; i++) {
		const struct wdr_guest_flow *f = &fs->flow[(fs->n - 1 - i) % WDR_GUEST_FLOWS_MAX];

		if (now_ns - f->seen_ns > WDR_GUEST_FLOW_AGE_NS)
			return NULL;
		if (f->port == key->port && !memcmp(f->addr, key->addr, sizeof(f->addr)))
			return f;
	}
	return NULL;
}
