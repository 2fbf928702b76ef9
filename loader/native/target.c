/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in the new root by name. Every look-up stays inside it (RESOLVE_IN_ROOT: an image's
 * symlinks and ".." mean what they mean to the job), and what is missing is made in memory only:
 * in a tmpfs of ours, or in a layer that covers what is read-only.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

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

/* Make @path, of which the first @n_there bytes lead to @at_fd, where something may be made. */
static int create(struct root *r, int at_fd, const char *path, size_t n_there, bool is_dir,
		  struct wdr_err *err)
{
	const char *rest = path + n_there + strspn(path + n_there, "/");
	int e;

	if (in_user_mount(r, at_fd))
		return wdr_err_set(err, -EROFS,
				   "mount target %s would have to be created inside a mount of "
				   "yours: create it in that mount's source",
				   path);
	e = is_ours(r, at_fd) ? wdr_tree_make_chain(at_fd, rest, is_dir) : -EROFS;
	if (e < 0)
		return wdr_err_set(err, e, "create mount target %s: %s", path, strerror(-e));
	return 0;
}

int wdr_root_target(struct root *r, const char *path, bool is_dir, struct wdr_err *err)
{
	size_t n_there = 0;
	wdr_close_ int fd = wdr_gap_open(r->fd, path, &n_there);
	int e;

	if (fd < 0)
		return wdr_err_set(err, fd, "mount target %s: %s", path, strerror(-fd));
	if (!path[n_there])
		return WDR_TAKE_FD(fd);
	e = create(r, fd, path, n_there, is_dir, err);
	if (e < 0)
		return e;
	e = wdr_tree_open_in(r->fd, path);
	if (e < 0)
		return wdr_err_set(err, e, "mount target %s: %s", path, strerror(-e));
	return e;
}

int wdr_root_check_target(int at_fd, const char *path, struct wdr_err *err)
{
	struct statfs fs;

	if (fstatfs(at_fd, &fs) < 0)
		return wdr_err_set(err, -errno, "mount target %s: %s", path, strerror(errno));
	if (fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC)
		return wdr_err_set(err, -EINVAL, "mount target %s leads into /proc or /sys", path);
	return 0;
}

int wdr_root_find_gap(struct root *r, struct gaps *g, const char *path, bool is_dir,
		      struct wdr_err *err)
{
	size_t n_there = 0;
	wdr_close_ int fd = wdr_gap_open(r->fd, path, &n_there);
	int e;

	/* What can't be looked up fails again, by name, when it is used. */
	if (fd < 0 || !path[n_there] || is_ours(r, fd))
		return 0;
	e = wdr_gap_init(&g->items[g->n], r->fd, fd, path, n_there, is_dir);
	if (e < 0)
		return wdr_err_set(err, e, "mount target %s: %s", path, strerror(-e));
	g->n++;
	return 0;
}

int wdr_root_find_gaps(struct root *r, struct gaps *g, struct wdr_err *err)
{
	const struct wdr_policy *p = r->b->spec->policy;
	int e = 0;

	for (size_t i = 0; e == 0 && i < p->fs.n_tmpfs; i++)
		e = wdr_root_find_gap(r, g, p->fs.tmpfs[i], true, err);
	for (size_t i = 0; e == 0 && i < r->b->n_mounts; i++)
		e = wdr_root_find_gap(r, g, r->b->mounts[i].target, r->b->mounts[i].is_dir, err);
	if (!r->b->root.target || p->net.mode == WDR_NET_NONE)
		return e;
	for (size_t i = 0; e == 0 && wdr_root_image_etc[i]; i++)
		e = wdr_root_find_gap(r, g, wdr_root_image_etc[i], false, err);
	return e;
}

void wdr_root_gaps_done(struct gaps *g)
{
	while (g->n > 0)
		wdr_gap_done(&g->items[--g->n]);
}

int wdr_root_cover(struct root *r, struct wdr_err *err)
{
	gaps_ struct gaps g = { .n = 0 };
	int e = wdr_root_find_gaps(r, &g, err);

	return e < 0 ? e : wdr_cover_gaps(r->fd, r->scratch_fd, g.items, g.n, &r->n_overlays, err);
}
