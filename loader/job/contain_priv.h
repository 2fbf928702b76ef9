/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of containment share: the slot that this process has begun or taken over. */
#pragma once

#include "job/contain.h"

/* Not the caller's place in it, and no scope of systemd's: the mark must outlive this process. */
#define WDR_CONTAIN_CGROUPS "/sys/fs/cgroup"
#define WDR_CONTAIN_V2	    WDR_CONTAIN_CGROUPS "/unified" /* of a hybrid machine */

struct wdr_kern;
struct wdr_kern_slot;

/* The slot of container @name: this process's, else taken over. It stays where it is. */
int wdr_contain_slot(const char *name, struct wdr_kern_slot **ret,
		     struct wdr_err *err) wdr_must_check;

/* The mark of @name, in the hierarchy that all slots are found by. *ret_fd is the caller's. */
int wdr_contain_mark(const char *name, int *ret_fd, struct wdr_err *err) wdr_must_check;

/* The v2 cgroup of process @pid (0: this one), as a path below the mount. -ENXIO: it has none. */
int wdr_contain_place(int pid, char ret[WDR_CONTAIN_PATH_MAX]) wdr_must_check;
