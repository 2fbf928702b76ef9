/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's policy in the words of gVisor: the bundle's config.json and the flags of runsc. Pure:
 * the folders that both speak of are made by the sandbox's keeper.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/wdr_json.h"
#include "model/spec.h"
#include "policy/policy.h"
#include "probe.h"

/*
 * Everything of one sandbox is below this folder, on a tmpfs that the keeper mounts over it in a
 * mount namespace of its own: what is there goes with the sandbox, however that ends.
 */
#define WDR_BOX		"/run/warder"
#define WDR_BOX_BUNDLE	WDR_BOX "/bundle"
#define WDR_BOX_ROOTFS	WDR_BOX "/rootfs"
#define WDR_BOX_STATE	WDR_BOX "/state" /* runsc's --root */
#define WDR_BOX_RW	WDR_BOX "/rw"	 /* a second tmpfs, as large as the policy's disk limit */
#define WDR_BOX_VIEWS	WDR_BOX "/view"	 /* what the job sees of its cgroups, a folder each */
#define WDR_BOX_LOG	WDR_BOX "/log"
#define WDR_BOX_PANIC	WDR_BOX "/panic" /* what the sentry says when it crashes */
#define WDR_BOX_CONSOLE WDR_BOX "/console"
#define WDR_BOX_SINK	WDR_BOX "/sink"	     /* socket of the seccheck reader */
#define WDR_BOX_TRACE	WDR_BOX "/init.json" /* what the reader asks for */

#define WDR_BOX_PATH_MAX 48

enum wdr_box_part {
	WDR_BOX_TMPFS, /* entry N of the policy's tmpfs list */
	WDR_BOX_SHM,   /* /dev/shm; N is 0 */
	WDR_BOX_MOUNT  /* entry N of the policy's mounts */
};

/* Where the keeper puts part @n of that kind, and gVisor's gofer finds it. Returns @buf. */
const char *wdr_box_path(enum wdr_box_part part, size_t n, char buf[WDR_BOX_PATH_MAX]);

/*
 * The config.json of @s for the runsc described by @r. @net_path is the network namespace whose
 * interfaces netstack takes over, NULL for none. *ret is the caller's. Returns 0; -EILSEQ for an
 * argument or environment entry that is not UTF-8; -ENOMEM.
 */
int wdr_bundle_config(const struct wdr_spec *s, const struct wdr_runsc *r, const char *net_path,
		      json_t **ret, struct wdr_err *err) wdr_must_check;

/* A command line being put together: pointers to constants and into text. */
#define WDR_ARGS_MAX 48
struct wdr_args {
	const char *v[WDR_ARGS_MAX + 1];
	size_t n;
	char text[512];
	size_t len;
};

/*
 * The flags before the sub-command for @s: state folder, log, platform, network, and what else
 * the policy needs of this runsc. -E2BIG never happens for what this tree builds (tested).
 */
int wdr_bundle_flags(const struct wdr_spec *s, const struct wdr_runsc *r, bool traced,
		     struct wdr_args *a) wdr_must_check;
/* Append @arg, which must outlive @a. -E2BIG past WDR_ARGS_MAX. */
int wdr_args_add(struct wdr_args *a, const char *arg) wdr_must_check;
/* Append text of our own making, kept in @a. */
int wdr_args_addf(struct wdr_args *a, const char *fmt, ...) wdr_printf(2, 3) wdr_must_check;

/* Whether each call that the policy names is one. -EINVAL with the nearest that is. */
int wdr_bundle_check_calls(const struct wdr_policy *p, struct wdr_err *err) wdr_must_check;
/* What the filter inside the sandbox refuses, as linux.seccomp of config.json; NULL: no memory. */
json_t *wdr_bundle_seccomp(const struct wdr_policy *p);
