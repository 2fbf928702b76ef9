/* SPDX-License-Identifier: Apache-2.0 */
/* Pid 1 of a job, shared by the two halves of its life: the setup and the reaping. */
#pragma once

#include "native/native_priv.h"

#define EXIT_NOT_STARTED 125

struct child {
	struct wdr_backend_job *b;
	int ctl;
	int chld; /* signalfd, once it watches */
	int stdio[3];
	int tty_master;
	pid_t main_pid;
};

/* First of all: give up what was inherited of the caller's and is no limit. */
int wdr_init_shed(struct child *c, struct wdr_err *err) wdr_must_check;

/* Tell the supervisor, with a descriptor if @fd is one. Where it can't be told, the job ends. */
void wdr_init_send(struct child *c, const struct native_msg *m, int fd);

/* Set the mask and open the signalfd that tells of children. Descriptor or -errno. */
int wdr_init_watch(struct wdr_err *err) wdr_must_check;

/* Reap until the main process ends, then end: the kernel kills what is left of the namespace. */
_Noreturn void wdr_init_reap(struct child *c);
