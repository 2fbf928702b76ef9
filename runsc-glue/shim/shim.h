/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warder-runsc: runsc for engines, with a policy's enforcement around the container. What needs
 * nothing of Warder becomes runsc by exec at once; creation and deletion run it as a child with
 * everything else as it was: descriptors, environment, working directory, exit status, log.
 */
#pragma once

#include "model/result.h"
#include "policy/policy.h"
#include "shim/choice.h"
#include "shim/record.h"

/* A container that has a policy, while it is made. */
struct wdr_shim_container {
	const struct wdr_shim_record *record; /* who it is */
	const struct wdr_shim_bundle *bundle;
	const struct wdr_policy *policy;
	bool starts;	/* it is made and started in one: nothing can come between */
	bool no_cgroup; /* runsc is told to leave it where it is born */
	char *place;	/* a buffer of WDR_SHIM_PLACE_MAX for the record's */
};

#define WDR_SHIM_PLACE_MAX 4096

/* What enforces a policy on a container. */
struct wdr_shim_hooks {
	/*
	 * Before runsc makes it: whatever must hold from its first instruction on. It may move this
	 * process into a cgroup, which runsc and the sandbox inherit. -errno refuses the container,
	 * with *err as the engine's error; nothing may then be left.
	 */
	int (*before)(const struct wdr_shim_container *c, struct wdr_err *err);
	/* runsc runs: this process is not one of the container's. */
	void (*started)(void);
	/*
	 * After a create, before the engine can start it: what needs the sandbox. -errno kills it.
	 * Not called for run and restore, which leave no such moment.
	 */
	int (*created)(const struct wdr_shim_container *c, struct wdr_err *err);
	/* Before runsc starts what was created: the engine may have given it a network meanwhile. */
	int (*starting)(const struct wdr_shim_record *r, struct wdr_err *err);
	/*
	 * What is known of it before it is gone, of policy @p (NULL: as it was at the creation, that
	 * is not to be had any more). What is not known is said so in *ret; failures are logged.
	 */
	void (*tell)(const struct wdr_shim_record *r, const struct wdr_policy *p,
		     struct wdr_result *ret);
	/*
	 * It is deleted, was never made, or is found to be gone: undo all of it. Also twice. @sure: by
	 * runsc's own word nothing of it runs any more; else what it could reach stays closed.
	 */
	void (*gone)(const struct wdr_shim_record *r, bool sure);
};

/* The whole program. Returns what to exit with; with most command lines it does not return. */
int wdr_shim_main(int argc, char **argv, const struct wdr_shim_hooks *hooks);
