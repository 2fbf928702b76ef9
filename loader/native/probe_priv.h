/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial does one thing that the start of a job does, in a process of its own, and asks the kernel
 * whether it holds. Not by way of the start's own functions where those fall back on something
 * else: a probe must see the fall.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/probe.h"

struct wdr_trial {
	enum wdr_protection protection;
	uint32_t as_uid;     /* who root of a new user namespace is outside; 0: the caller */
	uint64_t namespaces; /* CLONE_NEW* */
	/* In the child. *step says what is being tried, a string that lives for ever. 0 or -errno. */
	int (*fn)(const char **step);
};

/* Try all @n and say in @rep what came of each. */
void wdr_native_try(const struct wdr_trial *trials, size_t n, struct wdr_check_report *rep);
