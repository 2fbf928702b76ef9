/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Kill a whole job from where the verdict is taken: SIGKILL to its first process, with which its
 * pid namespace, or its sandbox, ends. Needs bpf_send_signal_task (6.13, 6280cf718db0); without it
 * the job is marked, so that it gets no network any more, programs that run in its tasks kill
 * those one by one, and the supervisor kills the rest when it reads the event.
 */
#pragma once

#include "lib/event.bpf.h"

#define WDR_EOPNOTSUPP 95
#define WDR_ESRCH      3
#define WDR_SIGKILL    9

extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *p) __ksym __weak;
extern int bpf_send_signal_task(struct task_struct *task, int sig, enum pid_type type,
				__u64 value) __ksym __weak;

WDR_INLINE int wdr_kill_init(const struct wdr_ctx *c)
{
	struct task_struct *task;
	int rc = -WDR_ESRCH;

	if (!bpf_task_from_pid || !bpf_task_release || !bpf_send_signal_task)
		return -WDR_EOPNOTSUPP;
	task = c->slot->init_pid ? bpf_task_from_pid(c->slot->init_pid) : NULL;
	if (!task)
		return rc;
	/* A pid may have been used again since the job ended. */
	if (wdr_slot_task(task) == c->n)
		rc = bpf_send_signal_task(task, WDR_SIGKILL, PIDTYPE_TGID, 0);
	bpf_task_release(task);
	return rc;
}

/* The first verdict counts and is told; later ones change nothing. */
WDR_INLINE void wdr_kill(const struct wdr_ctx *c, __u32 why, __u64 value)
{
	struct wdr_ev_killed *ev;

	if (!__sync_bool_compare_and_swap(&c->live->killed, 0, why))
		return;
	c->live->killed_ns = bpf_ktime_get_ns();
	c->live->killed_value = value;
	c->live->kill_rc = wdr_kill_init(c);
	ev = wdr_ev_reserve(c, WDR_EV_KILLED, sizeof(*ev));
	if (!ev)
		return;
	ev->value = value;
	ev->why = why;
	ev->rc = c->live->kill_rc;
	bpf_ringbuf_submit(ev, 0);
}

/*
 * For programs that run in the job's tasks: a sentenced job is killed again where that failed (from
 * an exiting task no signal can be sent), and the current task where the kernel can't reach all.
 */
WDR_INLINE void wdr_kill_rest(const struct wdr_ctx *c)
{
	if (!c->live->killed)
		return;
	if (c->live->kill_rc)
		c->live->kill_rc = wdr_kill_init(c);
	bpf_send_signal(WDR_SIGKILL);
}
