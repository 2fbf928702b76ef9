// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Tell a supervisor what the processes of its job do: execute, fork, exit, fall to the OOM killer,
 * ask for capabilities that they don't have, call what seccomp kills for.
 *
 * Attached by kern to tracepoints when a job asks; wdr_cap and wdr_sigsys are taken off with the last
 * one. Nothing is decided here: a task of no job, or of one that does not ask, is left alone; what
 * does not fit into the ring is counted.
 */
#include "lib/core.bpf.h"

#include "lib/event.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SIGSYS	      31
#define CAP_SYS_ADMIN 21

/* Is the current task one of a job that asks for @flag? */
WDR_INLINE bool asks(struct wdr_ctx *c, __u32 flag)
{
	return wdr_ctx_of(c, wdr_slot_current()) && c->slot->flags & flag;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(wdr_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct wdr_ev_exec *ev;
	struct wdr_ctx c;

	if (!asks(&c, WDR_SLOT_PROC))
		return 0;
	c.live->executed = 1;
	ev = wdr_ev_reserve(&c, WDR_EV_EXEC, sizeof(*ev));
	if (!ev)
		return 0;
	wdr_ev_current(&ev->hdr);
	ev->parent = task->real_parent->tgid;
	ev->uid = bpf_get_current_uid_gid();
	if (bpf_probe_read_kernel_str(ev->path, sizeof(ev->path), bprm->filename) < 0)
		ev->path[0] = '\0';
	bpf_ringbuf_submit(ev, 0);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(wdr_fork, struct task_struct *parent, struct task_struct *child)
{
	struct wdr_ev_fork *ev;
	struct wdr_ctx c;

	if (!asks(&c, WDR_SLOT_PROC))
		return 0;
	ev = wdr_ev_reserve(&c, WDR_EV_FORK, sizeof(*ev));
	if (!ev)
		return 0;
	wdr_ev_current(&ev->hdr);
	ev->child = child->pid;
	ev->child_process = child->tgid;
	bpf_ringbuf_submit(ev, 0);
	return 0;
}

/* kernel/exit.c: do_exit has taken the thread off signal->live before it comes here. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(wdr_exit, struct task_struct *task)
{
	struct wdr_ev_exit *ev;
	struct wdr_ctx c;

	if (!asks(&c, WDR_SLOT_PROC) || task->signal->live.counter > 0)
		return 0;
	ev = wdr_ev_reserve(&c, WDR_EV_EXIT, sizeof(*ev));
	if (!ev)
		return 0;
	wdr_ev_current(&ev->hdr);
	ev->status = task->exit_code;
	ev->parent = task->real_parent->tgid;
	bpf_ringbuf_submit(ev, 0);
	return 0;
}

/* The killer runs in whatever task asked for memory: the victim's own cgroup says whose it is. */
SEC("tp_btf/mark_victim")
int BPF_PROG(wdr_oom, struct task_struct *task)
{
	struct wdr_ev_hdr *ev;
	struct wdr_ctx c;

	if (!wdr_ctx_of(&c, wdr_slot_task(task)) || !(c.slot->flags & WDR_SLOT_PROC))
		return 0;
	ev = wdr_ev_reserve(&c, WDR_EV_OOM, sizeof(*ev));
	if (!ev)
		return 0;
	ev->pid = task->tgid;
	bpf_probe_read_kernel(ev->comm, sizeof(ev->comm), &task->comm);
	bpf_ringbuf_submit(ev, 0);
	return 0;
}

/*
 * Before 6.9, 72ba14deb40a, the tracepoint has a pid alone, and wdr_oom does not load. A job that
 * has reached its own limit is killed from within: then the current task is one of the job's.
 */
SEC("tp_btf/mark_victim")
int BPF_PROG(wdr_oom_pid, int pid)
{
	struct wdr_ev_hdr *ev;
	struct wdr_ctx c;

	if (!asks(&c, WDR_SLOT_PROC))
		return 0;
	ev = wdr_ev_reserve(&c, WDR_EV_OOM, sizeof(*ev));
	if (!ev)
		return 0;
	ev->pid = pid;
	bpf_ringbuf_submit(ev, 0);
	return 0;
}

/* Every allocation asks, and is no attempt at anything: security/commoncap.c, cap_vm_enough_memory. */
WDR_INLINE bool asks_for_memory(const struct user_namespace *target, int cap)
{
	return cap == CAP_SYS_ADMIN && !target->parent;
}

SEC("tp_btf/cap_capable")
int BPF_PROG(wdr_cap, const struct cred *cred, struct user_namespace *target,
	     const struct user_namespace *own, int cap, int ret)
{
	struct wdr_ev_cap *ev;
	struct wdr_ctx c;
	__u64 bit;

	if (!ret || cap < 0 || cap > 63 || asks_for_memory(target, cap) ||
	    !asks(&c, WDR_SLOT_PROC) || !c.live->executed)
		return 0;
	bit = 1ull << cap;
	if (c.live->caps & bit || __sync_fetch_and_or(&c.live->caps, bit) & bit)
		return 0;
	ev = wdr_ev_reserve(&c, WDR_EV_CAP, sizeof(*ev));
	if (!ev)
		return 0;
	wdr_ev_current(&ev->hdr);
	ev->cap = cap;
	ev->zero = 0;
	bpf_ringbuf_submit(ev, 0);
	return 0;
}

/* kernel/seccomp.c: force_sig_seccomp raises SIGSYS in the task itself, with the number inside. */
SEC("tp_btf/signal_generate")
int BPF_PROG(wdr_sigsys, int sig, struct kernel_siginfo *info, struct task_struct *task)
{
	struct wdr_ev_sigsys *ev;
	struct wdr_ctx c;

	if (sig != SIGSYS || (unsigned long)info <= 2 || !asks(&c, WDR_SLOT_SIGSYS))
		return 0;
	ev = wdr_ev_reserve(&c, WDR_EV_SIGSYS, sizeof(*ev));
	if (!ev)
		return 0;
	wdr_ev_current(&ev->hdr);
	ev->nr = BPF_CORE_READ(info, _sifields._sigsys._syscall);
	ev->zero = 0;
	bpf_ringbuf_submit(ev, 0);
	return 0;
}

/*
 * Not on a tracepoint: kern reads it, for one task, to learn how that is called in the first pid
 * namespace.
 */
SEC("iter/task")
int wdr_pid(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 pid;

	if (!task)
		return 0;
	pid = task->tgid;
	bpf_seq_write(ctx->meta->seq, &pid, sizeof(pid));
	return 0;
}
