/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --events FILE: what a job does, as JSON lines, docs/events.md. Written as it is read from the
 * kernel's ring; what did not fit there, or could not be written, is counted in the last line.
 */
#pragma once

#include "base/wdr_json.h"
#include "kern/kern.h"

struct wdr_job;
struct wdr_guest_who;
struct wdr_guest_event;

/* Nothing happens in any of these if the job has no events file. */
void wdr_job_event_started(struct wdr_job *j);
void wdr_job_event_kernel(struct wdr_job *j, const struct wdr_ev_hdr *ev);
/* One that the sandbox told of its inside. */
void wdr_job_event_guest(struct wdr_job *j, const struct wdr_guest_event *ev);
/* What was decided on its wire, of the guest's process @who; NULL: not known. */
void wdr_job_event_guest_verdict(struct wdr_job *j, const struct wdr_ev_verdict *ev,
				 const struct wdr_guest_who *who);
/* From here on nothing more is known of the guest, and @why. */
void wdr_job_event_guest_lost(struct wdr_job *j, const char *why);
/* After the last read of the ring, before the slot is dropped. */
void wdr_job_event_ended(struct wdr_job *j);
