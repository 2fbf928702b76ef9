/* SPDX-License-Identifier: Apache-2.0 */
/* What the profile's data, its reader and the filter's compiler share. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wdr_syscall.h"
#include "native/seccomp.h"

enum wdr_seccomp_verdict {
	WDR_SECCOMP_UNKNOWN, /* ENOSYS: what libraries fall back on */
	WDR_SECCOMP_REFUSE,  /* EPERM, or the end of the process */
	WDR_SECCOMP_ALLOW,
	WDR_SECCOMP_NEXT, /* in a test: ask the next one */
};

enum wdr_seccomp_profile {
	WDR_SECCOMP_DEFAULT,
	WDR_SECCOMP_STRICT,
	_WDR_SECCOMP_PROFILE_MAX
};

/* Calls that share a verdict and the reason for it. */
struct wdr_seccomp_group {
	const char *reason;
	uint8_t verdict[_WDR_SECCOMP_PROFILE_MAX]; /* enum wdr_seccomp_verdict */
	const char *names; /* each followed by a space; those of other architectures are skipped */
};

extern const struct wdr_seccomp_group wdr_seccomp_groups[];
extern const size_t wdr_seccomp_n_groups;

/*
 * One question about an argument. seccomp shows arguments as 64 bits; a test looks at the low half
 * where the kernel takes an int or fewer bits, so that the high half can't hide or fake anything.
 */
struct wdr_seccomp_test {
	uint8_t arg; /* 0..5 */
	bool high;   /* the upper 32 bits instead of the lower */
	bool any;    /* hit if any bit of @mask is set; else if (word & mask) == value */
	uint32_t mask, value;
	uint8_t hit, miss; /* enum wdr_seccomp_verdict */
};

/* The tests of one call, asked in order; @end if all say NEXT. */
struct wdr_seccomp_check {
	const struct wdr_seccomp_test *tests;
	uint8_t n_tests;
	uint8_t end; /* enum wdr_seccomp_verdict: ALLOW or REFUSE */
};

struct wdr_seccomp_arg_rule {
	const char *names; /* as in a group */
	struct wdr_seccomp_check check[_WDR_SECCOMP_PROFILE_MAX];
	uint64_t capability; /* a bit, or 0: a job that keeps it is asked @with_cap instead */
	struct wdr_seccomp_check with_cap[_WDR_SECCOMP_PROFILE_MAX];
};

extern const struct wdr_seccomp_arg_rule wdr_seccomp_arg_rules[];
extern const size_t wdr_seccomp_n_arg_rules;

/* What holds for one number: a plain verdict, or a check where @check is set. */
struct wdr_seccomp_entry {
	uint8_t verdict;
	const struct wdr_seccomp_check *check;
};

/*
 * Compile @table, one entry a number below WDR_SYSCALL_MAX, into a filter for this architecture:
 * numbers beyond are unknown, calls of another one (i386, x32) are refused.
 * *ret_insns is the caller's. -ENOMEM; -E2BIG if it does not fit BPF_MAXINSNS.
 */
int wdr_seccomp_compile(const struct wdr_seccomp_entry table[WDR_SYSCALL_MAX], bool kill,
			struct wdr_seccomp_filter *ret) wdr_must_check;
