/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of this machine: what a job must not take for the world. */
#pragma once

#include <stddef.h>

#include "wdr_addr.h"

/*
 * Full-length prefixes of all addresses of all interfaces in this network namespace, loopback's
 * too. *ret is the caller's. Returns 0; -ENOMEM or the -errno of getifaddrs(3).
 */
int wdr_own_addresses(struct wdr_prefix **ret, size_t *ret_n) wdr_must_check;
