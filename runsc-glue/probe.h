/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which runsc there is, what it understands and whether a sandbox really starts under it here.
 * Learnt by starting one; the answer is kept per boot and binary.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/wdr_err.h"

enum wdr_runsc_platform {
	WDR_RUNSC_SYSTRAP,
	WDR_RUNSC_KVM,
	WDR_RUNSC_PTRACE,
	_WDR_RUNSC_PLATFORM_MAX
};

/* What ages of runsc differ in. Append only: the numbers are in the cache. */
enum wdr_runsc_feature {
	WDR_RUNSC_OVERLAY2 = 1 << 0,	      /* --overlay2=none turns its default overlay off */
	WDR_RUNSC_OVERLAY2_DIR = 1 << 1,      /* --overlay2=root:dir=PATH */
	WDR_RUNSC_MOUNT_HINTS = 1 << 2,	      /* a hinted bind mount keeps its files in one file */
	WDR_RUNSC_OCI_SECCOMP = 1 << 3,	      /* filters inside the sandbox */
	WDR_RUNSC_TRACE = 1 << 4,	      /* seccheck sessions */
	WDR_RUNSC_HIDE_PROC_SYS_NET = 1 << 5, /* network only without /proc/sys/net in sight */
	WDR_RUNSC_CONTROL_FILE = 1 << 6,      /* control socket is a file below --root */
};

struct wdr_runsc {
	char path[256];	  /* absolute */
	char version[64]; /* as it says itself */
	unsigned int features;
	bool works; /* a sandbox started, on: */
	enum wdr_runsc_platform platform;
	char why[200]; /* where it does not: what was tried and what came */
};

/* "systrap" */
const char *wdr_runsc_platform_name(enum wdr_runsc_platform p);
