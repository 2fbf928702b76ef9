/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Who is who: cgroups and interfaces to slots, slots, supervisors. Written by the loader. */
#pragma once

#include "lib/core.bpf.h"

#include "include/wdr_abi_slot.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct wdr_shared);
} wdr_shared SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WDR_SLOTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct wdr_slot);
} wdr_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WDR_SLOTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct wdr_live);
} wdr_live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WDR_SUPS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct wdr_sup);
} wdr_sups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WDR_SLOTS_MAX);
	__type(key, __u64); /* cgroup v2 id */
	__type(value, __u32);
} wdr_cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WDR_SLOTS_MAX);
	__type(key, __u32); /* ifindex of the host end of a veth */
	__type(value, __u32);
} wdr_ifaces SEC(".maps");
