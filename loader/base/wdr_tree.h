/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detached mounts: a tree of the host, cloned so that nothing can be renamed under it any more,
 * with attributes and owner of its own, until it is attached in some job's mount namespace.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/wdr_err.h"

/*
 * Clone the mount at @path below @at_fd, closed to propagation, with the MOUNT_ATTR_* of @attrs.
 * @flags: AT_RECURSIVE for what hangs below it, AT_EMPTY_PATH. Returns a descriptor, or the -errno
 * of open_tree(2) or mount_setattr(2).
 */
int wdr_tree_clone(int at_fd, const char *path, unsigned int flags, uint64_t attrs) wdr_must_check;

/*
 * Map the owner of a tree: @owner of the file system appears as @uid:@gid in the mount, and what
 * that user creates belongs to the owner (mount_setattr(2), MOUNT_ATTR_IDMAP).
 * -EINVAL where a file system below the tree can't be idmapped.
 */
int wdr_tree_idmap(int tree_fd, uid_t owner_uid, gid_t owner_gid, uint32_t uid,
		   uint32_t gid) wdr_must_check;

/*
 * Clone the user's tree at @path: never a device, never a set-id program in it, read-only if
 * @readonly, its owner mapped to @uid:@gid if @idmap. Read-only without a mapping is less than was
 * asked for, never more, and so no failure. *ret_is_dir tells files from folders. Returns a
 * descriptor or -errno, naming @path.
 */
int wdr_tree_open(const char *path, bool readonly, bool idmap, uint32_t uid, uint32_t gid,
		  bool *ret_is_dir, struct wdr_err *err) wdr_must_check;

/*
 * Write the uid and gid maps of @pid's user namespace, one id each. An ordinary user must
 * @deny_setgroups first. Returns the -errno of write(2) into /proc/PID.
 */
int wdr_userns_map(pid_t pid, uint32_t in_uid, uint32_t in_gid, uint32_t out_uid, uint32_t out_gid,
		   bool deny_setgroups, struct wdr_err *err) wdr_must_check;
