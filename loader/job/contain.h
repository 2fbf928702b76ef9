/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy's network rules on a container that an engine makes: in force from before its first
 * instruction until it is deleted, with nobody to supervise it. The slot is a contained one, marked
 * by a cgroup of ours: as long as that is there, no sweep takes it.
 */
#pragma once

#include <stdbool.h>

#include "base/wdr_err.h"

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

/*
 * Judge also what @netns has got since, in the process that began or, where that has ended, in
 * another. Returns how many interfaces there are, 0 for one that is this process' own; -errno.
 */
int wdr_contain_link(const char *name, const char *netns, struct wdr_err *err) wdr_must_check;

/* The container is gone: undo, killing what is left in its cgroup. Also twice, also by another
 * process than the one that began. Failures are logged. */
void wdr_contain_end(const char *name);
