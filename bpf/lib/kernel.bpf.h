/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The kernel's own structs, only the fields we read: their places are found when the object is
 * loaded (CO-RE), so that one object serves every kernel. What a field is called on older kernels
 * stands beside it.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct seq_file;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
	int level;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct thread_info {
	unsigned long flags;
};

/* arm64's has none. */
struct thread_info___x86 {
	__u32 status;
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	struct sched_entity se;
	int pid;
	int tgid;
	int exit_code;
	struct task_struct *real_parent;
	struct signal_struct *signal;
	struct css_set *cgroups;
	char comm[16];
};

/* x86-64 and arm64 keep the number of a system call in these. */
struct pt_regs___x86 {
	unsigned long orig_ax;
};

struct pt_regs___arm64 {
	int syscallno;
};

struct kernel_siginfo {
	union {
		struct {
			int _syscall;
		} _sigsys;
	} _sifields;
};

struct linux_binprm {
	const char *filename;
};

struct io_kiocb {
	__u8 opcode;
};

struct user_namespace {
	struct user_namespace *parent; /* NULL: of the first one */
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

struct pt_regs;
struct cred;

/* include/linux/pid.h */
enum pid_type {
	PIDTYPE_PID,
	PIDTYPE_TGID,
};
