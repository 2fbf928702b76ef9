/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process of a guest a packet on the sandbox's wire is of. The sandbox tells of connect(2),
 * with process, address and time, but not of what is sent without: a packet is joined with the
 * connects to its destination shortly before it. Only what can be nobody else's has a name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/wdr_cleanup.h"
#include "wdr_abi_egress.h"

/* Kept at once, and how long after a connect a packet may be its (a SYN waits for a neighbour). */
#define WDR_GUEST_FLOWS_MAX   256
#define WDR_GUEST_FLOW_AGE_NS UINT64_C(10000000000)
/* The sandbox's clock and the kernel's are read apart. */
#define WDR_GUEST_FLOW_SKEW_NS UINT64_C(20000000)

/* A process, as the guest has it. */
struct wdr_guest_who {
	int32_t pid;   /* 0: not said */
	char comm[16]; /* "": not known */
};

struct wdr_guest_flow {
	struct wdr_guest_who who;
	uint8_t addr[16]; /* mapped, as in wdr_deny_key */
	uint16_t port;
	uint64_t time_ns; /* CLOCK_REALTIME */
};

/* The last of them, in a ring. Start it zeroed. */
struct wdr_guest_flows {
	struct wdr_guest_flow flow[WDR_GUEST_FLOWS_MAX];
	unsigned int n; /* since the start */
	struct wdr_guest_who sole;
	bool crowd;	  /* there has been more than one process */
	uint64_t lost;	  /* messages, as last told */
	uint64_t lost_ns; /* when they last grew, CLOCK_REALTIME */
};

/* A process did something, or came to be. */
void wdr_guest_flows_see(struct wdr_guest_flows *fs, const struct wdr_guest_who *who);
/* And this was a connect(2), of whatever kind of socket. */
void wdr_guest_flows_add(struct wdr_guest_flows *fs, const struct wdr_guest_flow *f);
/* So many messages in all were lost by @time_ns: what they told is not known. */
void wdr_guest_flows_lose(struct wdr_guest_flows *fs, uint64_t lost, uint64_t time_ns);

/*
 * Whose the packet is that was denied as @key at @time_ns (CLOCK_REALTIME), when all that the
 * sandbox told until then has been added. NULL: not known. Stays @fs's.
 *
 * Of a guest that has only ever had one process it is that one. Else a TCP packet is of the one
 * process that connected to that address and port in the time before; of none if it was more than
 * one, if messages were lost in that time, or if connects are more than are kept. A packet of any
 * other protocol may have been sent without a connect, and by whom is not told.
 */
const struct wdr_guest_who *wdr_guest_flows_find(const struct wdr_guest_flows *fs,
						 const struct wdr_deny_key *key, uint64_t time_ns);
