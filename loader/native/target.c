/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in the new root by name. Every look-up stays inside it (RESOLVE_IN_ROOT: an image's
 * symlinks and ".." mean what they mean to the job), and what is missing is made in memory only:
 * in a tmpfs of ours, or in a layer that covers the folder where it is missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "native/root_priv.h"

static bool is_ours(const struct root *r, int fd)
{
	uint64_t id;

	if (wdr_tree_mnt_id(fd, "", &id) < 0)
		return false;
	for (unsigned int i = 0; i < r->n_own; i++) {
		if (r->own_mnt[i] == id)
			return true;
	}
	return false;
}

static bool in_user_mount(const struct root *r, int fd)
{
	uint64_t id;
	uint64_t user;

	if (wdr_tree_mnt_id(fd, "", &id) < 0)
		return true;
	for (size_t i = 0; i < r->b->n_mounts; i++) {
		int tree = r->b->mounts[i].fd;

		if (tree >= 0 && wdr_tree_mnt_id(tree, "", &user) == 0 && user == id)
			return true;
	}
	return false;
}

/* The layers are named by descriptor, which /proc of the old root still resolves. */
int wdr_root_make_overlay(struct root *r, const char *name, int below_fd, const char *upper)
{
	wdr_close_ int layer = openat(r->scratch_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	wdr_close_ int fs = fsopen("overlay", FSOPEN_CLOEXEC);
	char dirs[64];
	int fd;

	if (layer < 0 || fs < 0)
		return -errno;
	(void)snprintf(dirs, sizeof(dirs), "/proc/self/fd/%d:/proc/self/fd/%d", layer, below_fd);
	if (fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir", dirs, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0)
		return -errno;
	if (upper) {
		(void)snprintf(dirs, sizeof(dirs), "/proc/self/fd/%d/%s", r->scratch_fd, upper);
		if (fsconfig(fs, FSCONFIG_SET_STRING, "upperdir", dirs, 0) < 0)
			return -errno;
		(void)snprintf(dirs, sizeof(dirs), "/proc/self/fd/%d/work", r->scratch_fd);
		if (fsconfig(fs, FSCONFIG_SET_STRING, "workdir", dirs, 0) < 0)
			return -errno;
	}
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return fd < 0 ? -errno : fd;
}

static int cover(struct root *r, int parent_fd, const char *rest, bool is_dir)
{
	wdr_close_ int overlay = -1;
	wdr_close_ int layer = -1;
	char name[24];
	int e;

	(void)snprintf(name, sizeof(name), "o%u", r->n_overlays++);
	if (mkdirat(r->scratch_fd, name, 0755) < 0)
		return -errno;
	layer = openat(r->scratch_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	e = layer < 0 ? -errno : wdr_tree_make_chain(layer, rest, is_dir);
	if (e < 0)
		return e;
	overlay = wdr_root_make_overlay(r, name, parent_fd, NULL);
	if (overlay < 0)
		return overlay;
	return wdr_tree_attach(overlay, parent_fd);
}

static int create(struct root *r, const char *path, size_t parent_len, bool is_dir,
		  struct wdr_err *err)
{
	char parent[PATH_MAX];
	const char *rest = path + parent_len + strspn(path + parent_len, "/");
	wdr_close_ int at = -1;
	int e;

	memcpy(parent, path, parent_len);
	parent[parent_len] = '\0';
	at = wdr_tree_open_in(r->fd, parent);
	if (at < 0)
		return wdr_err_set(err, at, "mount target %s: %s", path, strerror(-at));
	if (in_user_mount(r, at))
		return wdr_err_set(err, -EROFS,
				   "mount target %s would have to be created inside a mount of "
				   "yours: create it in that mount's source",
				   path);
	e = is_ours(r, at) ? wdr_tree_make_chain(at, rest, is_dir) : cover(r, at, rest, is_dir);
	if (e < 0)
		return wdr_err_set(err, e, "create mount target %s: %s", path, strerror(-e));
	return 0;
}

int wdr_root_target(struct root *r, const char *path, bool is_dir, struct wdr_err *err)
{
	char prefix[PATH_MAX];
	size_t done = 0;
	size_t end = 0;
	int fd = wdr_tree_open_in(r->fd, path);

	if (fd >= 0)
		return fd;
	if (fd != -ENOENT || strlen(path) >= sizeof(prefix))
		return wdr_err_set(err, fd, "mount target %s: %s", path, strerror(-fd));
	/* The longest part that is there: what comes after it is made. */
	while (path[end]) {
		wdr_close_ int there = -1;

		end += strspn(path + end, "/");
		end += strcspn(path + end, "/");
		memcpy(prefix, path, end);
		prefix[end] = '\0';
		there = wdr_tree_open_in(r->fd, prefix);
		if (there < 0)
			break;
		done = end;
	}
	fd = create(r, path, done, is_dir, err);
	if (fd < 0)
		return fd;
	fd = wdr_tree_open_in(r->fd, path);
	if (fd < 0)
		return wdr_err_set(err, fd, "mount target %s: %s", path, strerror(-fd));
	return fd;
}
