/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Counts of system calls: a row a job that asks, a mark a thread of it. */
#pragma once

#include "lib/core.bpf.h"

#include "include/wdr_abi_slot.h"

/* Sizes and not types: clang 14 leaves a struct that only an inner map names out of BTF. */
struct wdr_counts_t {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct wdr_counts));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WDR_SLOTS_MAX);
	__type(key, __u32);
	__array(values, struct wdr_counts_t);
} wdr_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wdr_call);
} wdr_calls SEC(".maps");
