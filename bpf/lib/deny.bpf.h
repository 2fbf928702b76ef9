/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What follows from a verdict. A refusal is counted, told once, and may cost the job its life; what
 * is allowed is told if somebody asks.
 */
#pragma once

#include "lib/judge.bpf.h"
#include "lib/kill.bpf.h"

/* Count @n attempts at @key. Returns true if this is the first of its kind. */
WDR_INLINE bool wdr_deny_count(struct wdr_live *live, const struct wdr_deny_key *key, __u64 n)
{
	__u64 now = bpf_ktime_get_ns();
	struct wdr_deny_val *val = bpf_map_lookup_elem(&wdr_denials, key);
	struct wdr_deny_val first = { .count = n, .first_ns = now, .last_ns = now };
	struct wdr_deny_index at = { .slot = key->slot };

	if (val) {
		__sync_fetch_and_add(&val->count, n);
		val->last_ns = now;
		return false;
	}
	if (live->n_denials < WDR_DENIALS_MAX)
		at.n = __sync_fetch_and_add(&live->n_denials, 1);
	else
		at.n = WDR_DENIALS_MAX;
	/* The number comes first: a key without one would never be found and removed. */
	if (at.n < WDR_DENIALS_MAX && !bpf_map_update_elem(&wdr_denial_keys, &at, key, BPF_ANY) &&
	    !bpf_map_update_elem(&wdr_denials, key, &first, BPF_NOEXIST))
		return true;
	val = bpf_map_lookup_elem(&wdr_denials, key); /* another CPU's, in between */
	__sync_fetch_and_add(val ? &val->count : &live->denials_lost, n);
	return false;
}

/* What q->v says of @proto (as on the wire) to q->addr, found by WDR_DENY_* @kind. */
WDR_INLINE void wdr_deny_key_of(struct wdr_deny_key *key, const struct wdr_query *q, __u32 slot,
				__u8 proto, __u8 kind)
{
	__builtin_memset(key, 0, sizeof(*key));
	key->slot = slot;
	key->rule = q->v.rule;
	key->port = q->port;
	key->proto = proto;
	key->reason = q->v.reason;
	key->kind = kind;
	__builtin_memcpy(key->addr, q->addr, sizeof(key->addr));
}

/*
 * Record that @c was refused q->v at q->addr: @n attempts over @proto (as on the wire), found by
 * WDR_DENY_* @kind. With `on_deny: kill` the job ends. Returns q->v.reason.
 */
int wdr_deny_record(struct wdr_query *q, __u32 slot, __u32 n, __u8 proto, __u8 kind);

__noinline int wdr_deny_record(struct wdr_query *q, __u32 slot, __u32 n, __u8 proto, __u8 kind)
{
	struct wdr_ev_verdict *ev;
	struct wdr_deny_key key;
	struct wdr_ctx c;

	if (!q || !wdr_ctx_of(&c, slot))
		return 0;
	wdr_deny_key_of(&key, q, slot, proto, kind);
	__sync_fetch_and_add(&c.live->out_denied, n);
	if (wdr_deny_count(c.live, &key, n)) {
		ev = wdr_ev_reserve(&c, WDR_EV_DENIED, sizeof(*ev));
		if (ev) {
			ev->key = key;
			bpf_ringbuf_submit(ev, 0);
		}
	}
	if (c.slot->on_denied == WDR_DENIED_KILL)
		wdr_kill(&c, WDR_KILL_EGRESS, 0);
	return key.reason;
}

/* That q->v lets @proto (as on the wire) begin at q->addr; @kind as above. NULL: there is no room. */
WDR_INLINE struct wdr_ev_verdict *wdr_allow_event(const struct wdr_query *q, __u32 slot, __u8 proto,
						  __u8 kind)
{
	struct wdr_ev_verdict *ev;
	struct wdr_ctx c;

	if (!wdr_ctx_of(&c, slot))
		return NULL;
	ev = wdr_ev_reserve(&c, WDR_EV_ALLOWED, sizeof(*ev));
	if (!ev)
		return NULL;
	wdr_deny_key_of(&ev->key, q, slot, proto, kind);
	return ev;
}
