// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Count the system calls of jobs that ask, by number, and which of them seccomp refused.
 *
 * Attached by kern to the tracepoints while at least one job asks: enabling sys_enter at all costs
 * every task of the machine. seccomp's refusals never get to sys_enter
 * (kernel/entry/common.c: syscall_trace_enter returns before its tracepoint) but do get to
 * sys_exit: an exit without an entry is a refusal. So each thread is marked while it is inside. A
 * thread is known by its storage; it gets that at its first call or when it is forked, so that
 * its first call may already be one that is refused. Unknown threads of no job are left alone.
 */
#include "lib/core.bpf.h"

#include "lib/slot.bpf.h"
#include "maps/counts.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

/* include/linux/sched.h: forked, and has not executed a program since. */
#define PF_FORKNOEXEC 0x40

#define TS_COMPAT 2 /* arch/x86/include/asm/thread_info.h: an i386 system call */

WDR_INLINE struct wdr_counts *row_of(__u32 counts)
{
	__u32 zero = 0;
	void *inner = bpf_map_lookup_elem(&wdr_counts, &counts);

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

WDR_INLINE bool is_foreign_abi(struct task_struct *task)
{
	struct thread_info___x86 *ti = (void *)&task->thread_info;

	return bpf_core_field_exists(ti->status) && ti->status & TS_COMPAT;
}

/* Number of the call that @regs are of. */
WDR_INLINE __u64 read_nr(struct pt_regs *regs)
{
	struct pt_regs___arm64 *arm = (void *)regs;
	struct pt_regs___x86 *x86 = (void *)regs;

	if (bpf_core_field_exists(x86->orig_ax))
		return BPF_CORE_READ(x86, orig_ax);
	return bpf_core_field_exists(arm->syscallno) ? (__u64)BPF_CORE_READ(arm, syscallno) : ~0ull;
}

/* The mark of a thread, if it is of a job that still is: a thread may outlive the job it was in. */
WDR_INLINE struct wdr_call *known_call(struct task_struct *task)
{
	struct wdr_call *call = bpf_task_storage_get(&wdr_calls, task, NULL, 0);
	struct wdr_slot *slot;
	__u32 n;

	if (!call)
		return NULL;
	n = call->counts;
	slot = bpf_map_lookup_elem(&wdr_slots, &n);
	return slot && slot->job == call->job ? call : NULL;
}

/*
 * The same, made if the current task is in a counted job and has none. What has executed no program
 * is Warder's: its pid 1, and the main process while it prepares itself.
 */
WDR_INLINE struct wdr_call *find_call(struct task_struct *task)
{
	struct wdr_call *call = known_call(task);
	struct wdr_counts *row;
	struct wdr_ctx c;

	if (call)
		return call;
	if (task->flags & PF_FORKNOEXEC)
		return NULL;
	if (!wdr_ctx_of(&c, wdr_slot_current()) || !(c.slot->flags & WDR_SLOT_COUNT))
		return NULL;
	call = bpf_task_storage_get(&wdr_calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (call) {
		call->job = c.slot->job;
		call->counts = c.slot->counts;
		return call;
	}
	row = row_of(c.slot->counts);
	if (row)
		row->lost++;
	return NULL;
}

WDR_INLINE void enter(long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct wdr_call *call = find_call(task);
	struct wdr_counts *row = call ? row_of(call->counts) : NULL;

	if (!row)
		return;
	call->inside = 1;
	if ((__u64)nr < WDR_SYSCALLS_MAX && !is_foreign_abi(task))
		row->total[nr]++;
	else
		row->other++;
}

WDR_INLINE void leave(struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct wdr_call *call = known_call(task);
	struct wdr_counts *row;
	__u64 nr;

	if (!call)
		return;
	if (call->inside) {
		call->inside = 0;
		return;
	}
	row = row_of(call->counts);
	if (!row)
		return;
	nr = read_nr(regs);
	if (nr >= WDR_SYSCALLS_MAX || is_foreign_abi(task)) {
		row->other++;
		return;
	}
	row->total[nr]++;
	if (ret < 0) /* what succeeded was not refused: its entry was missed */
		row->denied[nr]++;
}

/*
 * Newer kernels (7.3 does, 6.18 not) may preempt these tracepoints, and skip a program that another
 * task is in the middle of on the same CPU. The shorter it can be preempted, the better; what was
 * skipped is in the program's recursion_misses, which the loader reports as lost.
 */
SEC("tp_btf/sys_enter")
int BPF_PROG(wdr_sys_enter, struct pt_regs *regs, long nr)
{
	if (bpf_preempt_disable && bpf_preempt_enable) {
		bpf_preempt_disable();
		enter(nr);
		bpf_preempt_enable();
	} else {
		enter(nr);
	}
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(wdr_sys_exit, struct pt_regs *regs, long ret)
{
	if (bpf_preempt_disable && bpf_preempt_enable) {
		bpf_preempt_disable();
		leave(regs, ret);
		bpf_preempt_enable();
	} else {
		leave(regs, ret);
	}
	return 0;
}

/* A child of a counted thread is counted, from the return of the call that made it. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(wdr_sys_fork, struct task_struct *parent, struct task_struct *child)
{
	struct wdr_call *call = known_call(parent), *own;
	struct wdr_counts *row;

	if (!call)
		return 0;
	own = bpf_task_storage_get(&wdr_calls, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (own) {
		own->job = call->job;
		own->counts = call->counts;
		own->inside = 1;
		return 0;
	}
	row = row_of(call->counts);
	if (row)
		row->lost++;
	return 0;
}

WDR_INLINE int count_uring(struct io_kiocb *req)
{
	struct wdr_counts *row;
	struct wdr_ctx c;
	__u8 op;

	if (!wdr_ctx_of(&c, wdr_slot_current()) || !(c.slot->flags & WDR_SLOT_COUNT))
		return 0;
	row = row_of(c.slot->counts);
	if (!row)
		return 0;
	op = BPF_CORE_READ(req, opcode);
	if (op < WDR_URING_MAX)
		row->uring[op]++;
	else
		row->other++;
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(wdr_uring_req, struct io_kiocb *req)
{
	return count_uring(req);
}

/* Its name before 6.3, 2ad57931db64. One of the two loads. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(wdr_uring_sqe, struct io_kiocb *req)
{
	return count_uring(req);
}
