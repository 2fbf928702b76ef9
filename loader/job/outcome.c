/* SPDX-License-Identifier: Apache-2.0 */
/* What came of it: the first verdict counts, the counters explain, the status is the last word. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/wdr_log.h"
#include "base/wdr_syscall.h"
#include "job/events.h"
#include "job/guest.h"
#include "job/job_priv.h"

#define NS_PER_S  1000000000ULL
#define NS_PER_US 1000ULL

void wdr_job_decide(struct wdr_job *j, enum wdr_exit_reason reason, uint64_t limit, uint64_t value,
		    const char *what)
{
	struct wdr_exit *e = &j->result.exit;

	if (j->decided)
		return;
	j->decided = true;
	e->reason = reason;
	e->limit = limit;
	e->value = value;
	(void)snprintf(e->what, sizeof(e->what), "%s", what ? what : "");
}

void wdr_job_decide_error(struct wdr_job *j, int status, const struct wdr_err *err)
{
	wdr_job_decide(j, WDR_EXIT_ERROR, 0, (uint64_t)status, err->msg);
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * NS_PER_US;
}

/* Without a cgroup of its own: what the kernel added up for children that were waited for. */
static void use_rusage(struct wdr_usage *u)
{
	struct rusage ru;

	u->memory_peak_bytes = u->pids_peak = WDR_UNKNOWN;
	if (getrusage(RUSAGE_CHILDREN, &ru) < 0) {
		u->cpu_ns = u->user_ns = u->system_ns = WDR_UNKNOWN;
		return;
	}
	u->user_ns = timeval_ns(ru.ru_utime);
	u->system_ns = timeval_ns(ru.ru_stime);
	u->cpu_ns = u->user_ns + u->system_ns;
}

static void fill_usage(struct wdr_job *j)
{
	const struct wdr_backend_ops *b = j->o.backend;
	struct wdr_usage *u = &j->result.usage;
	struct wdr_cgroup_usage c;

	u->net_counted = j->o.policy->net.mode == WDR_NET_NONE;
	if (!j->cg || wdr_cgroup_usage(j->cg, &c) < 0) {
		use_rusage(u);
		return;
	}
	u->cpu_ns = c.cpu_ns;
	u->user_ns = c.user_ns;
	u->system_ns = c.system_ns;
	u->memory_peak_bytes = c.memory_peak_bytes;
	u->pids_peak = WDR_UNKNOWN;
	if (b->tasks_each == 1)
		u->pids_peak = c.pids_peak > b->own_tasks ? c.pids_peak - b->own_tasks : 0;
	if (c.oom_kills)
		wdr_job_decide(j, WDR_EXIT_OOM, j->o.policy->limits.memory_bytes, c.oom_kills,
			       NULL);
}

static void fill_capture(struct wdr_capture *c, struct wdr_pump *p)
{
	c->fd = -1;
	if (!p)
		return;
	c->fd = wdr_pump_take_capture(p);
	c->bytes = wdr_pump_bytes(p);
	c->kept_bytes = c->fd >= 0 ? wdr_pump_kept(p) : 0;
	c->truncated = c->bytes > wdr_pump_kept(p);
}

/* A pid 1 that ended without its last word was killed from outside, with all of its namespace. */
static void decide_by_status(struct wdr_job *j)
{
	struct wdr_exit *e = &j->result.exit;
	int signo = SIGKILL;

	if (j->have_status && WIFEXITED(j->status)) {
		e->code = WEXITSTATUS(j->status);
		wdr_job_decide(j, WDR_EXIT_EXITED, 0, 0, NULL);
		return;
	}
	/* What never ran was ended by no signal. */
	if (!j->running_ns) {
		wdr_job_decide(j, WDR_EXIT_ERROR, 0, WDR_JOB_EXIT_ERROR,
			       "the job's first process was killed");
		return;
	}
	/* Nor did a stopped supervisor tell: pid 1 keeps the wall clock in its place. */
	if (!j->have_status && j->result.usage.wall_ns >= j->o.policy->limits.wall_ns)
		wdr_job_decide(j, WDR_EXIT_TIMEOUT, j->o.policy->limits.wall_ns, 0, NULL);
	if (j->have_status)
		signo = WTERMSIG(j->status);
	e->signal = signo;
	if (signo == SIGSYS && j->o.policy->syscalls.on_deny == WDR_ON_SYSCALL_KILL)
		wdr_job_decide(j, WDR_EXIT_SYSCALL, 0, 0,
			       j->sigsys_nr < 0 ? NULL :
						  wdr_syscall_name((unsigned int)j->sigsys_nr));
	else
		wdr_job_decide(j, WDR_EXIT_SIGNALED, 0, 0, NULL);
}

static void on_done_later(struct wdr_source *s, void *userdata)
{
	struct wdr_job *j = userdata;

	(void)s;
	/* Reaped first: only then does the kernel add its children's times to ours. */
	wdr_source_freep(&j->msg_src);
	j->o.backend->freep(&j->b);
	wdr_job_drain_events(j);
	(void)wdr_job_kernel_verdict(j);
	fill_usage(j);
	wdr_job_collect_kernel(j);
	wdr_job_guest_collect(j);
	decide_by_status(j);
	wdr_job_event_ended(j);
	fill_capture(&j->result.out, j->out);
	fill_capture(&j->result.err, j->err);
	wdr_job_undo(j);
	j->o.on_done(j, j->o.userdata);
}

void wdr_job_maybe_done(struct wdr_job *j)
{
	int r;

	if (j->done || !j->dead || (j->out && !wdr_pump_ended(j->out)) ||
	    (j->err && !wdr_pump_ended(j->err)) || wdr_job_guest_is_busy(j))
		return;
	j->done = true;
	/* Not from inside a pump's callback: the pumps go now. */
	r = wdr_event_add_defer(j->event, &j->done_src, on_done_later, j);
	if (r < 0)
		on_done_later(NULL, j);
}
