/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy on a container that an engine makes: in force from before its first instruction until it
 * is deleted, with nobody to supervise it. The slot is a contained one, marked by a cgroup of ours:
 * as long as that is there, no sweep takes it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/wdr_err.h"
#include "model/result.h"

#define WDR_CONTAIN_PATH_MAX 4096

struct wdr_policy;

/*
 * Put the network section of @p in force for container @name (what may name a cgroup): this process
 * moves into the container's cgroup, which its children inherit, and packets of every interface that
 * @netns (a path, or NULL) shares with this network namespace are judged. With @host_net the
 * container uses ours, and its sockets are judged by the cgroup instead.
 * -EOPNOTSUPP for what needs a supervisor, and for @host_net where engines take the process out of
 * our cgroup again (pure cgroup v2). On failure nothing is left.
 */
int wdr_contain_begin(const struct wdr_policy *p, const char *name, const char *netns,
		      bool host_net, struct wdr_err *err) wdr_must_check;

/* Back to where this process was before it began: its children are the container's, it is not. */
void wdr_contain_step_out(void);

/* Whether engines leave a process in the v2 cgroup that it was born in. */
bool wdr_contain_is_hybrid(void);

/* Is there anything in @p that wdr_contain_watch() must do? */
bool wdr_contain_wants_cpu(const struct wdr_policy *p);

/*
 * Put limits.cpu, detect.cpu's kill and on_deny's kill in force for the cgroup in which process @pid
 * is, that of the sandbox or, before it is there, 0: this one. @quota: how many CPUs the engine gives
 * it, 0: all. In @place, what wdr_contain_collect() must know; that is filled if @p asks for nothing,
 * too. Also twice. -EXDEV if the cgroup is not the container's own; else as wdr_kern_slot_watch().
 */
int wdr_contain_watch(const char *name, const struct wdr_policy *p, double quota, pid_t pid,
		      char place[WDR_CONTAIN_PATH_MAX], struct wdr_err *err) wdr_must_check;

/*
 * What is known of the container, before wdr_contain_end(): CPU time, of cgroup @place as a whole
 * where that is still there; traffic and denials; in exit.reason and findings the kernel's verdict,
 * WDR_EXIT_EXITED for none. @p NULL: rules have no names and limits no number. All else of *ret is
 * not touched. -ENOENT if no slot is left; the CPU time may be there all the same.
 */
int wdr_contain_collect(const char *name, const char *place, const struct wdr_policy *p,
			double quota, struct wdr_result *ret, struct wdr_err *err) wdr_must_check;

/*
 * Judge also what @netns has got since, in the process that began or, where that has ended, in
 * another. Returns how many interfaces there are, 0 for one that is this process' own; -errno.
 */
int wdr_contain_link(const char *name, const char *netns, struct wdr_err *err) wdr_must_check;

/*
 * Before wdr_contain_end(), of a container that is known to be gone: its interfaces may be used by
 * others. Without this they stay closed: a container that comes to them is refused while anybody is in
 * its network namespace. Failures are logged.
 */
void wdr_contain_release(const char *name);

/* The container is gone: undo, killing what is left in its cgroup. Also twice, also by another
 * process than the one that began. Failures are logged. */
void wdr_contain_end(const char *name);
