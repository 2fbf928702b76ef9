/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seccomp profile: an allow-list of system calls in groups, each group with its reason, made
 * into one classic BPF filter. Compiling takes some 20 us, so nothing is kept between starts.
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
 * Build the filter of @spec. A call that the profile or the policy refuses gives EPERM (with @kill:
 * ends the process with SIGSYS), as do calls of another architecture (i386, x32); one that stands
 * nowhere, and clone3, gives ENOSYS. A name in @allow is allowed whatever its arguments.
 * -EINVAL for a profile or call that does not exist here, naming the nearest; -ENOMEM.
 */
int wdr_seccomp_build(const struct wdr_seccomp_spec *spec, struct wdr_seccomp_filter *ret,
		      struct wdr_err *err) wdr_must_check;
/*
 * Build the filter of a process that makes the calls in @names, words each followed by a space, and
 * no other: one ends it. Those that this architecture lacks are skipped. 0 or -ENOMEM.
 */
int wdr_seccomp_only(const char *names, struct wdr_seccomp_filter *ret) wdr_must_check;
void wdr_seccomp_filter_free(struct wdr_seccomp_filter *f);

/* In the job's process, last before execve: install. 0 or -errno. Async-signal-safe. */
int wdr_seccomp_install(const struct wdr_seccomp_filter *f) wdr_must_check;
