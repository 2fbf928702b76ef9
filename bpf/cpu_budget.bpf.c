// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Count a job's CPU time and end it when its budget is used up, or when it takes too large a share
 * for too long.
 *
 * Attached by kern, for each job that has a budget, to two perf events of the job's cgroup on every
 * CPU; the cookie is the slot's number. Both are there only for the job's tasks, so that those of
 * others pay nothing here:
 *  - context switches: when a task of the job leaves a CPU, the scheduler has brought its run time
 *    up to date (kernel/sched/core.c: __schedule comes to prepare_task_switch after the class's
 *    update_curr), and what it ran is exact;
 *  - a CPU clock of 250 Hz, which runs only while the job does (kernel/events/core.c:
 *    perf_cgroup_switch): a task that never leaves is seen within 4 ms, with a run time that is at
 *    most a tick old.
 * The clock's own count would not do: it leaves out what a switch costs, half of the time of a job
 * that does little else, and holds interrupts and stolen time, which the cgroup is not charged.
 * A slot that is nobody's does nothing: its events are about to be closed.
 */
#include "lib/core.bpf.h"

#include "lib/kill.bpf.h"
#include "maps/cpu.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SLACK_NS 200000 /* what the clock leaves out at both ends of a slice */

/*
 * Bring the job's time up to date on this CPU. @leaves: the slice ends here. Returns the total.
 *
 * The slice is what the task ran since it last left a CPU, but not more than the clock says that
 * the job has had this one: what a task ran before it came to the job, or elsewhere in between,
 * is not the job's. (The scheduler's own note of the slice's begin, prev_sum_exec_runtime, won't
 * do: it is renewed when a running task changes its scheduling group, as each does in exit(2).)
 */
WDR_INLINE __u64 count_slice(struct bpf_perf_event_data *ctx, const struct wdr_ctx *c, bool leaves)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 ran = task->se.sum_exec_runtime, *seen, slice, clock, more;
	struct bpf_perf_event_value v;
	struct wdr_cpu_slice *s;
	__u32 n = c->n;

	s = bpf_map_lookup_elem(&wdr_cpu_slices, &n);
	if (!s || bpf_perf_prog_read_value(ctx, &v, sizeof(v)))
		return c->live->cpu_ns;
	if (s->job != c->slot->job) {
		s->job = c->slot->job;
		s->counted_ns = 0;
		s->began_ns = 0;
	}
	seen = bpf_task_storage_get(&wdr_cpu_tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	clock = v.running - s->began_ns;
	slice = seen ? ran - *seen : clock;
	if (slice > clock + SLACK_NS)
		slice = clock;
	more = slice - s->counted_ns;
	s->counted_ns = slice;
	if (leaves) {
		s->counted_ns = 0;
		s->began_ns = v.running;
		if (seen)
			*seen = ran;
	}
	return __sync_fetch_and_add(&c->live->cpu_ns, more) + more;
}

WDR_INLINE void tell_share(const struct wdr_ctx *c, __u64 used)
{
	struct wdr_ev_cpu *ev;

	if (!__sync_bool_compare_and_swap(&c->live->cpu_above, 0, 1))
		return;
	ev = wdr_ev_reserve(c, WDR_EV_CPU, sizeof(*ev));
	if (!ev)
		return;
	ev->used_ns = used;
	ev->window_ns = c->slot->cpu_window_ns;
	bpf_ringbuf_submit(ev, 0);
}

/*
 * The window slides in steps of a sixteenth. Whoever is first in a new step compares with what was
 * used up to 16 steps ago, and notes it for 16 steps on; steps in which the job did not run begin
 * with what it had used then. ~0: not that old yet.
 */
WDR_INLINE void check_share(const struct wdr_ctx *c, __u64 now, __u64 used)
{
	struct wdr_live *live = c->live;
	__u64 len = c->slot->cpu_window_ns / WDR_CPU_BUCKETS;
	__u64 old = live->cpu_step, step = len ? now / len : 0, past;
	__u32 i;

	if (step <= old || !__sync_bool_compare_and_swap(&live->cpu_step, old, step))
		return;
	past = old ? live->cpu_at[step % WDR_CPU_BUCKETS] : ~0ull;
	if (old && step - old >= WDR_CPU_BUCKETS)
		past = used; /* it slept for longer than the window */
	for (i = 0; i < WDR_CPU_BUCKETS; i++) {
		if (!old)
			live->cpu_at[i] = ~0ull;
		else if (i < step - old)
			live->cpu_at[(step - i) % WDR_CPU_BUCKETS] = used;
	}
	live->cpu_at[step % WDR_CPU_BUCKETS] = used;
	if (past == ~0ull)
		return;
	if (used - past <= c->slot->cpu_max_ns)
		live->cpu_above = 0;
	else if (c->slot->cpu_act == WDR_CPU_KILL)
		wdr_kill(c, WDR_KILL_CPU_SHARE, used - past);
	else
		tell_share(c, used - past);
}

WDR_INLINE int take_event(struct bpf_perf_event_data *ctx, bool leaves)
{
	__u32 n = bpf_get_attach_cookie(ctx);
	struct wdr_ctx c;
	__u64 used;

	if (!wdr_ctx_of(&c, n))
		return 0;
	used = count_slice(ctx, &c, leaves);
	if (c.slot->cpu_act)
		check_share(&c, bpf_ktime_get_ns(), used);
	if (c.slot->cpu_budget_ns && used >= c.slot->cpu_budget_ns)
		wdr_kill(&c, WDR_KILL_CPU_BUDGET, used);
	wdr_kill_rest(&c);
	return 0;
}

SEC("perf_event")
int wdr_cpu_clock(struct bpf_perf_event_data *ctx)
{
	return take_event(ctx, false);
}

SEC("perf_event")
int wdr_cpu_leave(struct bpf_perf_event_data *ctx)
{
	return take_event(ctx, true);
}
