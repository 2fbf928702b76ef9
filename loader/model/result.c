/* SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

#include <stdlib.h>
#include <string.h>

static const char *const exit_names[] = {
	[WDR_EXIT_EXITED] = "exited",
	[WDR_EXIT_SIGNALED] = "signaled",
	[WDR_EXIT_TIMEOUT] = "timeout",
	[WDR_EXIT_CPU_BUDGET] = "cpu-budget",
	[WDR_EXIT_OOM] = "oom",
	[WDR_EXIT_PIDS_LIMIT] = "pids-limit",
	[WDR_EXIT_OUTPUT_LIMIT] = "output-limit",
	[WDR_EXIT_MINING] = "mining",
	[WDR_EXIT_EGRESS] = "egress",
	[WDR_EXIT_SYSCALL] = "syscall",
	[WDR_EXIT_KILLED] = "killed",
	[WDR_EXIT_SUPERVISOR_LOST] = "supervisor-lost",
	[WDR_EXIT_ERROR] = "error",
};
static const char *const deny_names[] = {
	[WDR_DENY_RULE] = "rule",	    [WDR_DENY_DEFAULT] = "default",
	[WDR_DENY_PRIVATE] = "private",	    [WDR_DENY_PROTOCOL] = "protocol",
	[WDR_DENY_MALFORMED] = "malformed", [WDR_DENY_SUPERVISOR_LOST] = "supervisor-lost",
};
static const char *const action_names[] = {
	[WDR_FINDING_ALERT] = "alert",
	[WDR_FINDING_THROTTLE] = "throttle",
	[WDR_FINDING_KILL] = "kill",
};

_Static_assert(sizeof(exit_names) / sizeof(exit_names[0]) == _WDR_EXIT_MAX, "a name each");
_Static_assert(sizeof(deny_names) / sizeof(deny_names[0]) == _WDR_DENY_MAX, "a name each");
_Static_assert(sizeof(action_names) / sizeof(action_names[0]) == _WDR_FINDING_MAX, "a name each");

const char *wdr_exit_reason_name(enum wdr_exit_reason r)
{
	return exit_names[r];
}

const char *wdr_deny_reason_name(enum wdr_deny_reason r)
{
	return deny_names[r];
}

const char *wdr_finding_action_name(enum wdr_finding_action a)
{
	return action_names[a];
}

void wdr_result_done(struct wdr_result *r)
{
	wdr_closep(&r->out.fd);
	wdr_closep(&r->err.fd);
	wdr_freep(&r->usage.syscalls);
	wdr_freep(&r->denials);
	wdr_freep(&r->findings);
	*r = (struct wdr_result)WDR_RESULT_INIT;
}

static bool earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static bool known(const struct timespec *t)
{
	return t->tv_sec || t->tv_nsec;
}

static void merge_denial(struct wdr_denial *into, const struct wdr_denial *d)
{
	into->count += d->count;
	if (known(&d->first) && (!known(&into->first) || earlier(&d->first, &into->first)))
		into->first = d->first;
	if (earlier(&into->last, &d->last))
		into->last = d->last;
}

void wdr_result_add_denial(struct wdr_result *r, const struct wdr_denial *d)
{
	for (size_t i = 0; i < r->n_denials; i++) {
		struct wdr_denial *e = &r->denials[i];

		if (e->reason != d->reason || e->rule != d->rule || strcmp(e->to, d->to) != 0)
			continue;
		merge_denial(e, d);
		return;
	}
	/* One block for all: 256 of them are 50 KiB, and most jobs are denied nothing. */
	if (!r->denials)
		r->denials = calloc(WDR_RESULT_MAX_DENIALS, sizeof(*d));
	if (!r->denials || r->n_denials == WDR_RESULT_MAX_DENIALS) {
		r->denials_lost += d->count;
		return;
	}
	r->denials[r->n_denials++] = *d;
}

void wdr_result_add_finding(struct wdr_result *r, const struct wdr_finding *f)
{
	if (!r->findings)
		r->findings = calloc(WDR_RESULT_MAX_FINDINGS, sizeof(*f));
	if (!r->findings || r->n_findings == WDR_RESULT_MAX_FINDINGS) {
		r->findings_lost++;
		return;
	}
	r->findings[r->n_findings++] = *f;
}
