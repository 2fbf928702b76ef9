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
 * Whether we are in the first user namespace, so that root is root: in another one it has only what
 * that one maps. A machine without /proc counts as the first: what is tried there fails by name.
 */
bool wdr_userns_is_first(void);

enum wdr_idmap {
	WDR_IDMAP_NONE,
	WDR_IDMAP_OWNER, /* the owner appears as the given user, everybody else as nobody */
	/*
	 * The two change places and everybody else stays: for a server that creates files as root
	 * and gives them to the user then, as gVisor's gofer does.
	 */
	WDR_IDMAP_SWAP,
};

/* A user of the mount, and of the file system below it. */
struct wdr_ids {
	uint32_t uid, gid;
};

/*
 * Map the owner of a tree: @owner of the file system appears as @as in the mount, and what that
 * user creates belongs to the owner (mount_setattr(2), MOUNT_ATTR_IDMAP).
 * -EINVAL where a file system below the tree can't be idmapped.
 */
int wdr_tree_idmap(int tree_fd, enum wdr_idmap map, struct wdr_ids owner,
		   struct wdr_ids as) wdr_must_check;

/*
 * Clone the user's tree at @path: never a device, never a set-id program in it, read-only if
 * @readonly, its owner mapped to @as by @map. Read-only without a mapping is less than was
 * asked for, never more, and so no failure. *ret_is_dir tells files from folders. Returns a
 * descriptor or -errno, naming @path.
 */
int wdr_tree_open(const char *path, bool readonly, enum wdr_idmap map, struct wdr_ids as,
		  bool *ret_is_dir, struct wdr_err *err) wdr_must_check;

/* Attach detached mount @tree_fd over the file or folder at @target_fd. 0 or -errno. */
int wdr_tree_attach(int tree_fd, int target_fd) wdr_must_check;

/*
 * Descriptor (O_PATH) of @path inside the root at @root_fd, whatever links and ".." it goes
 * through; -ENOENT if it is not there, else the -errno of openat2(2).
 */
int wdr_tree_open_in(int root_fd, const char *path) wdr_must_check;

/*
 * Make folder after folder of @rest below @at, the last one a file unless @is_dir; what is there is
 * used, links are not followed. 0 or -errno.
 */
int wdr_tree_make_chain(int at, const char *rest, bool is_dir) wdr_must_check;

/* Id of the mount that @path below @fd is in: statx(2), Linux 5.8. 0 or -errno. */
int wdr_tree_mnt_id(int fd, const char *path, uint64_t *ret) wdr_must_check;

#define WDR_IDMAP_TEXT_MAX 176 /* five extents of three numbers of ten digits */
/* The text of a map, for /proc/PID/uid_map, that swaps @a and @b. Returns @buf. */
const char *wdr_idmap_swap_text(uint32_t a, uint32_t b, char buf[WDR_IDMAP_TEXT_MAX]);

/*
 * Write the uid and gid maps of @pid's user namespace, one id each. An ordinary user must
 * @deny_setgroups first. Returns the -errno of write(2) into /proc/PID.
 */
int wdr_userns_map(pid_t pid, uint32_t in_uid, uint32_t in_gid, uint32_t out_uid, uint32_t out_gid,
		   bool deny_setgroups, struct wdr_err *err) wdr_must_check;
