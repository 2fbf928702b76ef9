/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's part of a job: a slot that says what its policy asks for, and what the programs
 * counted and decided. Verdicts are the kernel's; here they get their names.
 */
#include "job/kernel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <time.h>

#include "base/wdr_log.h"
#include "base/wdr_own.h"
#include "job/events.h"
#include "job/job_priv.h"
#include "policy/compile.h"

#define NS_PER_S 1000000000ULL
/* Four signs of life in the time after which the programs take us for lost. */
#define BEAT_NS (WDR_BEAT_MAX_NS / 4)
/* Events taken in one callback, so that a flood of them starves nothing. */
#define MAX_EVENTS 256
#define MAX_OPENS  5
/* What a throttled job is left of its quota, and never less than a hundredth of a CPU. */
#define THROTTLE_SHARE 0.25
#define THROTTLE_MIN   0.01

/* Only the kernel side can say for which call seccomp killed; that it did is known without. */
static bool kills_by_syscall(const struct wdr_job *j)
{
	return j->o.policy->syscalls.on_deny == WDR_ON_SYSCALL_KILL;
}

/* What a slot is for, but for the CPU budget. */
#define SLOT_PROTECTIONS                                                               \
	(WDR_PROT_BIT(WDR_PROT_EGRESS_SOCKET) | WDR_PROT_BIT(WDR_PROT_SYSCALL_COUNT) | \
	 WDR_PROT_BIT(WDR_PROT_DETECT_CPU) | WDR_PROT_BIT(WDR_PROT_PROC_EVENTS))

bool wdr_job_needs_kernel(const struct wdr_job *j)
{
	return j->kern && (j->kernel_budget || kills_by_syscall(j) ||
			   (j->result.prot_on & ~j->o.backend->gives & SLOT_PROTECTIONS));
}

/* In force, and the kernel side's to do: of a guest only its backend can tell. */
static bool on(const struct wdr_job *j, enum wdr_protection p)
{
	return j->result.prot_on & ~j->o.backend->gives & WDR_PROT_BIT(p);
}

int wdr_job_tell_own_addresses(struct wdr_kern *k, struct wdr_err *err)
{
	wdr_free_ struct wdr_prefix *own = NULL;
	wdr_free_ struct wdr_egress_addr *addrs = NULL;
	size_t n = 0;
	int r;

	r = wdr_own_addresses(&own, &n);
	if (r < 0)
		return wdr_err_wrap(err, r, "addresses of this machine");
	addrs = calloc(n + 1, sizeof(*addrs));
	if (!addrs)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		wdr_job_egress_addr(&own[i], &addrs[i]);
	return wdr_kern_hosts(k, addrs, n, err);
}

struct wdr_kern_policy wdr_job_kern_policy(const struct wdr_compiled *c)
{
	return (struct wdr_kern_policy){ .head = c->head,
					 .keys = c->keys,
					 .entries = c->entries,
					 .n_entries = (uint32_t)c->n_entries,
					 .rows = c->rows,
					 .n_rows = (uint32_t)c->n_rows };
}

enum wdr_on_denied wdr_job_on_denied(enum wdr_on_deny d)
{
	static const enum wdr_on_denied words[] = {
		[WDR_ON_DENY_REJECT] = WDR_DENIED_REJECT,
		[WDR_ON_DENY_DROP] = WDR_DENIED_DROP,
		[WDR_ON_DENY_KILL] = WDR_DENIED_KILL,
	};

	return words[d];
}

/* ::ffff:a.b.c.d for IPv4, as all of the programs' maps have it. */
void wdr_job_egress_addr(const struct wdr_prefix *p, struct wdr_egress_addr *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (p->family == AF_INET6) {
		memcpy(ret->addr, p->addr, 16);
		return;
	}
	ret->addr[10] = ret->addr[11] = 0xff;
	memcpy(ret->addr + 12, p->addr, 4);
}

double wdr_job_cpu_window_ns(const struct wdr_policy *p, double quota)
{
	double cpus = quota > 0 ? quota : (double)sysconf(_SC_NPROCESSORS_ONLN);

	return (double)p->detect.cpu_for_ns * cpus;
}

static void ask_cpu(const struct wdr_job *j, struct wdr_kern_ask *ask)
{
	const struct wdr_policy *p = j->o.policy;

	if (j->kernel_budget)
		ask->cpu_budget_ns = p->limits.cpu_ns;
	if (!on(j, WDR_PROT_DETECT_CPU))
		return;
	ask->cpu_window_ns = p->detect.cpu_for_ns;
	ask->cpu_max_ns =
		(uint64_t)(wdr_job_cpu_window_ns(p, p->limits.cpus) * p->detect.cpu_above);
	ask->cpu_act = p->detect.cpu_action == WDR_DETECT_KILL ? WDR_CPU_KILL : WDR_CPU_ALERT;
}

/*
 * From here on the pins are in use. Between open and this a Warder of another version may have
 * taken them for left behind, and removed them: then they are loaded again.
 */
static int join(struct wdr_job *j, struct wdr_err *err)
{
	int r = -ESTALE;

	for (int i = 0; i < MAX_OPENS && r == -ESTALE; i++) {
		struct wdr_err e = { 0 };

		r = j->kern ? wdr_kern_join(j->kern, &e) : -ESTALE;
		if (r == -ESTALE) {
			wdr_kern_freep(&j->kern);
			r = wdr_kern_open(NULL, &j->kern, &e);
			if (r == 0)
				r = wdr_kern_join(j->kern, &e);
		}
		if (r < 0 && err)
			*err = e;
	}
	j->joined = r == 0;
	return r;
}

void wdr_job_drop_kernel(struct wdr_job *j)
{
	wdr_kern_slot_drop(&j->kslot);
	if (j->joined)
		wdr_kern_leave(j->kern);
	j->joined = false;
}

/* The CPU budget alone can be kept without: then by this process, as where no program loads. */
static bool has_stand_in(const struct wdr_job *j)
{
	return j->kernel_budget && !kills_by_syscall(j) &&
	       !(j->result.prot_on & ~j->o.backend->gives & SLOT_PROTECTIONS);
}

static int stand_in(struct wdr_job *j, const struct wdr_err *why)
{
	wdr_debug("job=%s step=kernel err=\"%s\" instead=supervisor", j->spec.id, why->msg);
	wdr_job_drop_kernel(j);
	j->kernel_budget = false;
	return 0;
}

static int make_slot(struct wdr_job *j, struct wdr_err *err)
{
	const struct wdr_policy *p = j->o.policy;
	wdr_compiled_ struct wdr_compiled *c = NULL;
	struct wdr_kern_policy kp = { 0 };
	struct wdr_kern_ask ask = {
		.cgroup_fd = j->spec.cgroup_fd,
		.user = j,
		.netns = p->net.mode != WDR_NET_HOST,
		.raw = p->capabilities & (UINT64_C(1) << CAP_NET_RAW),
		.contain = p->on_loss == WDR_ON_LOSS_CONTAIN,
		.on_denied = wdr_job_on_denied(p->net.on_deny),
		.count = on(j, WDR_PROT_SYSCALL_COUNT),
		.proc = on(j, WDR_PROT_PROC_EVENTS),
		.sigsys = kills_by_syscall(j),
	};
	int r = 0;

	r = join(j, err);
	if (r < 0)
		return r;
	if (on(j, WDR_PROT_EGRESS_SOCKET)) {
		r = wdr_compiled_new(p, &c, err);
		if (r == 0)
			r = wdr_job_tell_own_addresses(j->kern, err);
		if (r < 0)
			return r;
		kp = wdr_job_kern_policy(c);
		ask.policy = &kp;
	}
	/* With whom the job spoke. In a sandbox the process is not the kernel's to name. */
	if (j->result.prot_on & WDR_PROT_BIT(WDR_PROT_PROC_EVENTS)) {
		ask.tell_sockets = ask.proc;
		ask.tell_flows = !ask.proc;
	}
	ask_cpu(j, &ask);
	return wdr_kern_slot_new(j->kern, &ask, &j->kslot, err);
}

int wdr_job_make_kernel(struct wdr_job *j, struct wdr_err *err)
{
	struct wdr_err e = { 0 };
	int r;

	if (!wdr_job_needs_kernel(j))
		return 0;
	r = make_slot(j, &e);
	if (r < 0 && has_stand_in(j))
		return stand_in(j, &e);
	if (r < 0 && err)
		*err = e;
	return r;
}

static void on_denied_event(void *user, const struct wdr_ev_hdr *ev)
{
	struct wdr_job *j = user;

	wdr_job_event_kernel(j, ev);
	if (j->o.policy->net.on_deny != WDR_ON_DENY_KILL)
		return;
	wdr_job_decide(j, WDR_EXIT_EGRESS, 0, 0, NULL);
	wdr_job_kill(j);
}

/* What the kernel killed for, by its own record: it holds even if no event came through. */
bool wdr_job_kernel_verdict(struct wdr_job *j)
{
	struct wdr_live live;

	if (!j->kslot)
		return false;
	wdr_kern_slot_live(j->kslot, &live);
	switch (live.killed) {
	case WDR_KILL_CPU_BUDGET:
		wdr_job_decide(j, WDR_EXIT_CPU_BUDGET, j->o.policy->limits.cpu_ns,
			       live.killed_value, NULL);
		return true;
	case WDR_KILL_CPU_SHARE:
		if (!j->decided)
			wdr_job_add_cpu_finding(j, live.killed_value, WDR_FINDING_KILL);
		wdr_job_decide(j, WDR_EXIT_CPU_BUDGET, 0, 0, NULL);
		return true;
	case WDR_KILL_EGRESS:
		wdr_job_decide(j, WDR_EXIT_EGRESS, 0, 0, NULL);
		return true;
	default:
		return false;
	}
}

static void on_killed_event(void *user, const struct wdr_ev_hdr *ev)
{
	wdr_job_event_kernel(user, ev);
	if (wdr_job_kernel_verdict(user))
		wdr_job_kill(user);
}

static void on_cpu_event(void *user, const struct wdr_ev_hdr *ev)
{
	const struct wdr_ev_cpu *e = (const struct wdr_ev_cpu *)ev;
	struct wdr_job *j = user;
	bool throttle = j->o.policy->detect.cpu_action == WDR_DETECT_THROTTLE;
	double cpus = j->o.policy->limits.cpus > 0 ? j->o.policy->limits.cpus : 1;
	int r = 0;

	wdr_job_event_kernel(j, ev);
	wdr_job_add_cpu_finding(j, e->used_ns, throttle ? WDR_FINDING_THROTTLE : WDR_FINDING_ALERT);
	if (!throttle || !j->cg)
		return;
	cpus *= THROTTLE_SHARE;
	r = wdr_cgroup_set_cpus(j->cg, cpus > THROTTLE_MIN ? cpus : THROTTLE_MIN);
	if (r < 0)
		wdr_warn("job=%s step=throttle err=\"%s\"", j->spec.id, strerror(-r));
}

static void on_sigsys_event(void *user, const struct wdr_ev_hdr *ev)
{
	const struct wdr_ev_sigsys *e = (const struct wdr_ev_sigsys *)ev;
	struct wdr_job *j = user;

	wdr_job_event_kernel(j, ev);
	j->sigsys_nr = (int)e->nr;
}

static void on_other_event(void *user, const struct wdr_ev_hdr *ev)
{
	wdr_job_event_kernel(user, ev);
}

static const struct wdr_kern_handlers handlers = { .on = {
							   [WDR_EV_DENIED] = on_denied_event,
							   [WDR_EV_KILLED] = on_killed_event,
							   [WDR_EV_CPU] = on_cpu_event,
							   [WDR_EV_EXEC] = on_other_event,
							   [WDR_EV_FORK] = on_other_event,
							   [WDR_EV_EXIT] = on_other_event,
							   [WDR_EV_OOM] = on_other_event,
							   [WDR_EV_CAP] = on_other_event,
							   [WDR_EV_SIGSYS] = on_sigsys_event,
							   [WDR_EV_ALLOWED] = on_other_event,
						   } };

void wdr_job_drain_events(struct wdr_job *j)
{
	while (j->kslot && wdr_kern_ring_read(j->kern, &handlers, MAX_EVENTS) == MAX_EVENTS)
		;
}

static void on_ring(struct wdr_source *s, int fd, uint32_t revents, void *userdata)
{
	struct wdr_job *j = userdata;

	(void)s;
	(void)fd;
	(void)revents;
	(void)wdr_kern_ring_read(j->kern, &handlers, MAX_EVENTS);
}

static void on_beat(struct wdr_source *s, uint64_t now_ns, void *userdata)
{
	struct wdr_job *j = userdata;

	wdr_kern_beat(j->kern);
	wdr_job_mend_network(j);
	wdr_source_set_time(s, now_ns + BEAT_NS);
}

int wdr_job_watch_kernel(struct wdr_job *j)
{
	int r;

	if (!j->kslot)
		return 0;
	wdr_kern_beat(j->kern);
	r = wdr_event_add_io(j->event, &j->ring_src, wdr_kern_ring_fd(j->kern), EPOLLIN, on_ring,
			     j);
	if (r == 0)
		r = wdr_event_add_time(j->event, &j->beat_src, wdr_now_ns() + BEAT_NS, on_beat, j);
	return r;
}
