/* SPDX-License-Identifier: Apache-2.0 */
/* Which process of a guest went for which address: what a packet on the wire is joined with. */
#pragma once

#include <stdint.h>

#include "base/wdr_cleanup.h"
#include "wdr_abi_egress.h"

/* Kept at once, and how long after a connect a packet may be its (a SYN is sent again). */
#define WDR_GUEST_FLOWS_MAX   256
#define WDR_GUEST_FLOW_AGE_NS UINT64_C(10000000000)

struct wdr_guest_flow {
	uint8_t addr[16]; /* mapped, as in wdr_deny_key */
	uint16_t port;
	int32_t pid; /* in the guest */
	char comm[16];
	uint64_t seen_ns;
};

/* The last of them, in a ring. */
struct wdr_guest_flows {
	struct wdr_guest_flow flow[WDR_GUEST_FLOWS_MAX];
	unsigned int n; /* since the start */
};

void wdr_guest_flows_add(struct wdr_guest_flows *fs, const struct wdr_guest_flow *f);
/* Who went for what @key names, by @now_ns; NULL: not known. Stays @fs's until the next add. */
const struct wdr_guest_flow *wdr_guest_flows_find(const struct wdr_guest_flows *fs,
						  const struct wdr_deny_key *key, uint64_t now_ns);
