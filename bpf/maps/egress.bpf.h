/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Loaded policies, allowed flows, counted denials. Sizes come from the ABI. */
#pragma once

#include "lib/core.bpf.h"

#include "include/wdr_abi_egress.h"
#include "include/wdr_abi_slot.h"

/* Sizes and not types: clang 14 leaves a struct that only an inner map names out of BTF. */
struct wdr_trie_t {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, WDR_EGRESS_MAX_ENTRIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(key_size, sizeof(struct wdr_egress_key));
	__uint(value_size, sizeof(struct wdr_egress_entry));
};

/*
 * Policy number -> its prefixes. An update here waits for RCU, 8 to 16 ms: so empty ones are put
 * in by the dozen, filled when a policy gets the number, and emptied again.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WDR_SLOTS_MAX);
	__type(key, __u32);
	__array(values, struct wdr_trie_t);
} wdr_tries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WDR_EGRESS_MAX_ROWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wdr_egress_row_key);
	__type(value, struct wdr_egress_row);
} wdr_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WDR_SLOTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct wdr_egress_policy);
} wdr_policies SEC(".maps");

/* Every address of this machine, mapped. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WDR_EGRESS_MAX_HOSTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wdr_egress_addr);
	__type(value, __u32);
} wdr_hosts SEC(".maps");

/* What a job was allowed to send to, so that the answers get in. Full: the oldest goes. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WDR_FLOWS_MAX);
	__type(key, struct wdr_flow_key);
	__type(value, __u64); /* when it began, WDR_FLOW_* */
} wdr_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WDR_FRAGS_MAX);
	__type(key, struct wdr_frag_key);
	__type(value, __u64); /* when it was, WDR_FLOW_* */
} wdr_frags SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WDR_DENIALS_ALL);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wdr_deny_key);
	__type(value, struct wdr_deny_val);
} wdr_denials SEC(".maps");

/* A slot's denials by number, so that they are found without walking through everybody's. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WDR_DENIALS_ALL);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wdr_deny_index);
	__type(value, struct wdr_deny_key);
} wdr_denial_keys SEC(".maps");
