/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seccomp profile: an allow-list of system calls in groups, each group with its reason, made
 * into one classic BPF filter and kept on disk, so that the next start of the same policy only
 * reads it.
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wdr_err.h"

struct wdr_seccomp_spec {
	const char *profile; /* "default" or "strict" */
	char *const *allow;  /* names that the policy adds, n_allow of them */
	char *const *deny;   /* and takes away; deny wins */
	size_t n_allow, n_deny;
	uint64_t capabilities; /* what the job keeps: CAP_NET_RAW opens raw sockets */
	bool kill;	       /* a call that the profile refuses kills the process: on_deny kill */
};

struct wdr_seccomp_filter {
	struct sock_filter *insns; /* owned */
	unsigned short n_insns;
};

/*
 * Build the filter of @spec. @cache_dir (may be NULL) is a folder that only the caller can write:
 * an entry is named by the hash of everything that decides the filter, is written aside and
 * renamed, and is checked before use (size, hash); a bad one is rebuilt.
 * -EINVAL for a call name that this architecture does not know, with the nearest one.
 */
int wdr_seccomp_build(const struct wdr_seccomp_spec *spec, const char *cache_dir,
		      struct wdr_seccomp_filter *ret, struct wdr_err *err) wdr_must_check;
void wdr_seccomp_filter_free(struct wdr_seccomp_filter *f);

/* In the job's process, last before execve: install. 0 or -errno. Async-signal-safe. */
int wdr_seccomp_install(const struct wdr_seccomp_filter *f) wdr_must_check;
