/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Reserve and stamp an event in the supervisor's ring; count it where it does not fit. */
#pragma once

#include "lib/slot.bpf.h"
#include "maps/events.bpf.h"

WDR_INLINE void wdr_ev_count_lost(struct wdr_live *live, __u8 type)
{
	if (type < WDR_EV_MAX)
		__sync_fetch_and_add(&live->ev_lost[type], 1);
}

/*
 * Room for an event of @size bytes, header filled but for pid and comm, the rest not; NULL and
 * counted as lost if there is none. Submit it with bpf_ringbuf_submit().
 */
WDR_INLINE void *wdr_ev_reserve(const struct wdr_ctx *c, __u8 type, const __u64 size)
{
	__u32 sup = c->slot->sup;
	void *ring = bpf_map_lookup_elem(&wdr_rings, &sup);
	struct wdr_ev_hdr *h = ring ? bpf_ringbuf_reserve(ring, size, 0) : NULL;

	if (!h) {
		wdr_ev_count_lost(c->live, type);
		return NULL;
	}
	__builtin_memset(h, 0, sizeof(*h));
	h->ts_ns = bpf_ktime_get_ns();
	h->job = c->slot->job;
	h->slot = c->n;
	h->size = size;
	h->type = type;
	h->version = WDR_ABI_VERSION;
	return h;
}

/* For programs that run in the task the event is about. */
WDR_INLINE void wdr_ev_current(struct wdr_ev_hdr *h)
{
	h->pid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(h->comm, sizeof(h->comm));
}
