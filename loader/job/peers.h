/* SPDX-License-Identifier: Apache-2.0 */
/* Which interfaces of ours are the other ends of a container's. */
#pragma once

#include <stdbool.h>

#include "base/wdr_err.h"

/*
 * The indexes, in this network namespace, of the other ends of the veth pairs whose one end is in
 * the network namespace at @netns. Returns how many, at most @max: -E2BIG past that; -EOPNOTSUPP if
 * something else that is up leads out of it (macvlan, a card, a tunnel), -EXDEV if a veth's other end
 * is in neither; or the -errno of open, setns, or netlink.
 */
int wdr_job_find_peers(const char *netns, unsigned int *ret, unsigned int max,
		       struct wdr_err *err) wdr_must_check;

/* Is there no task in the network namespace at @netns, as far as our /proc shows? */
bool wdr_job_netns_is_empty(const char *netns);
