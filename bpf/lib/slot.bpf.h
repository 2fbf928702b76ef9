/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Whose is this? From a task, a packet or an interface to a slot. */
#pragma once

#include "lib/core.bpf.h"
#include "maps/slots.bpf.h"

/* What a program knows of the job it decides for. */
struct wdr_ctx {
	__u32 n; /* number of the slot */
	struct wdr_slot *slot;
	struct wdr_live *live;
};

WDR_INLINE struct wdr_live *wdr_live_of(__u32 n)
{
	return bpf_map_lookup_elem(&wdr_live, &n);
}

/* Fill @c for slot @n; false if @n is nobody's: c->live then counts for slot 0. */
WDR_INLINE bool wdr_ctx_of(struct wdr_ctx *c, __u32 n)
{
	c->n = n;
	c->slot = bpf_map_lookup_elem(&wdr_slots, &n);
	c->live = bpf_map_lookup_elem(&wdr_live, &n);
	return n && c->slot && c->live && c->slot->job;
}

/*
 * A job is found by the id of its cgroup, which is the same in every cgroup namespace; how deep it
 * lies is not, so that nothing here goes by a level that the loader has counted.
 */
WDR_INLINE __u32 wdr_slot_of(__u64 cgroup)
{
	__u32 *n = cgroup ? bpf_map_lookup_elem(&wdr_cgroups, &cgroup) : NULL;

	return n ? *n : 0;
}

/*
 * Slot of the current task by its own cgroup; 0 if it is in no job. It serves programs that run in
 * every task of the machine: jobs that ask for those are native ones, which can't make cgroups.
 */
WDR_INLINE __u32 wdr_slot_current(void)
{
	return wdr_slot_of(bpf_get_current_cgroup_id());
}

/* The same of any task. */
WDR_INLINE __u32 wdr_slot_task(struct task_struct *task)
{
	return wdr_slot_of(BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id));
}

/* Slot of the socket that @skb belongs to; 0 if it is no job's. How deep that is can't be asked. */
WDR_INLINE __u32 wdr_slot_skb(struct __sk_buff *skb)
{
	__u32 n = wdr_slot_of(bpf_skb_cgroup_id(skb)), i;
	__u64 id;

	if (n)
		return n;
	for (i = WDR_LEVEL_MIN; i < WDR_LEVEL_MAX; i++) {
		id = bpf_skb_ancestor_cgroup_id(skb, i);
		if (!id)
			break;
		n = wdr_slot_of(id);
		if (n)
			return n;
	}
	return 0;
}

/* Slot behind the interface that a tc program hangs on; 0 if it is no job's. */
WDR_INLINE __u32 wdr_slot_iface(__u32 ifindex)
{
	__u32 *n = bpf_map_lookup_elem(&wdr_ifaces, &ifindex);

	return n ? *n : 0;
}

/* Has the supervisor gone silent, in a job that then may do nothing? @now of the coarse clock. */
WDR_INLINE bool wdr_slot_lost(const struct wdr_slot *slot, __u64 now)
{
	__u32 n = slot->sup;
	struct wdr_sup *sup;

	if (slot->flags & WDR_SLOT_CONTAIN)
		return false;
	sup = bpf_map_lookup_elem(&wdr_sups, &n);
	/* The coarse clock may be a tick behind the beat. */
	return !sup || (__s64)(now - sup->beat_ns) > (__s64)WDR_BEAT_MAX_NS;
}
