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

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
	int level;
	struct cgroup *ancestors[]; /* since 6.1, 7f203bc89eb6 */
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	int pid;
	int tgid;
	int exit_code;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct css_set *cgroups;
	char comm[16];
};

struct linux_binprm {
	const char *filename;
};

struct io_kiocb {
	__u8 opcode;
};

#pragma clang attribute pop

/* include/linux/pid.h */
enum pid_type {
	PIDTYPE_PID,
	PIDTYPE_TGID,
};
