/* SPDX-License-Identifier: Apache-2.0 */
/* A job's slot in the kernel side, and what becomes of it in the result. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/wdr_addr.h"
#include "kern/kern.h"
#include "model/result.h"
#include "policy/compile.h"

struct wdr_job;

/* Whether anything that is in force for this job is the kernel side's. */
bool wdr_job_needs_kernel(const struct wdr_job *j);

/* Steps: the slot, in force from here on; its end. */
int wdr_job_make_kernel(struct wdr_job *j, struct wdr_err *err) wdr_must_check;
void wdr_job_drop_kernel(struct wdr_job *j);

/* Events and heartbeat, in the job's loop. */
int wdr_job_watch_kernel(struct wdr_job *j) wdr_must_check;

/* Read what the ring still holds of a dead job. */
void wdr_job_drain_events(struct wdr_job *j);

/* If the kernel killed it, decide so. */
bool wdr_job_kernel_verdict(struct wdr_job *j);

/* Traffic, denials and system calls into the result, before the slot is dropped. */
void wdr_job_collect_kernel(struct wdr_job *j);

/* detect.cpu saw @used_ns of CPU within its window. */
void wdr_job_add_cpu_finding(struct wdr_job *j, uint64_t used_ns, enum wdr_finding_action action);
/* The same into @r, of a job that has @quota CPUs, 0: all. */
void wdr_job_cpu_finding(const struct wdr_policy *p, double quota, uint64_t used_ns,
			 enum wdr_finding_action action, struct wdr_result *r);

/* CPU time, in ns, that a job with @quota CPUs (0: all) can use in detect.cpu's window. */
double wdr_job_cpu_window_ns(const struct wdr_policy *p, double quota);

/* Traffic and denials of @s into @r, rules by their names if @p is not NULL. -errno of a map. */
int wdr_job_collect_slot(const struct wdr_kern_slot *s, const struct wdr_policy *p,
			 struct wdr_result *r) wdr_must_check;

void wdr_job_egress_addr(const struct wdr_prefix *p, struct wdr_egress_addr *ret);

/* Destination, reason and rule of a denial, as the result says them. @p NULL: without its name. */
void wdr_job_name_denial(const struct wdr_policy *p, const struct wdr_deny_key *k,
			 struct wdr_denial *ret);
/* A time of the programs' clock, CLOCK_MONOTONIC, on the wall's. */
struct timespec wdr_job_wall_time(uint64_t mono_ns);

/* What the kernel side is told of a policy; the first stays @c's. */
struct wdr_kern_policy wdr_job_kern_policy(const struct wdr_compiled *c);
enum wdr_on_denied wdr_job_on_denied(enum wdr_on_deny d);
/* Read anew for each networked job: addresses come and go, and its own network has just made one. */
int wdr_job_tell_own_addresses(struct wdr_kern *k, struct wdr_err *err) wdr_must_check;
