/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What is remembered between two events of a job on one CPU, and of one task. */
#pragma once

#include "lib/core.bpf.h"

#include "include/wdr_abi_slot.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WDR_SLOTS_MAX);
	__type(key, __u32);
	__type(value, struct wdr_cpu_slice);
} wdr_cpu_slices SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64); /* its run time when it last left a CPU */
} wdr_cpu_tasks SEC(".maps");
