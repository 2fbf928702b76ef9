/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --root: somebody's root file system, never written to. Where it lacks a folder at its top that
 * the job needs, or is to be writable, it becomes the lower layer of an overlay in memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "native/root_priv.h"

#define LAYER "image"

/* If the first folder of @path is missing in the image, make all of @path in the layer above. */
static int make_if_missing(struct root *r, int layer, const char *path, bool is_dir,
			   unsigned int *made, struct wdr_err *err)
{
	char top[NAME_MAX + 2];
	size_t len = 1 + strcspn(path + 1, "/");
	wdr_close_ int there = -1;
	int e;

	if (len >= sizeof(top))
		return wdr_err_set(err, -ENAMETOOLONG, "mount target %s", path);
	memcpy(top, path, len);
	top[len] = '\0';
	there = wdr_tree_open_in(r->fd, top);
	if (there >= 0 || faccessat(layer, top + 1, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (there != -ENOENT)
		return wdr_err_set(err, there, "%s in the image: %s", top, strerror(-there));
	e = wdr_tree_make_chain(layer, path + 1, is_dir);
	if (e < 0)
		return wdr_err_set(err, e, "create %s above the image: %s", path, strerror(-e));
	(*made)++;
	return 0;
}

static int make_missing(struct root *r, unsigned int *made, struct wdr_err *err)
{
	static const char *const always[] = { "/dev", "/proc", "/sys" };
	const struct wdr_policy *p = r->b->spec->policy;
	wdr_close_ int layer = -1;
	int e = 0;

	if (mkdirat(r->scratch_fd, LAYER, 0755) < 0)
		return wdr_err_set(err, -errno, "image layer: %s", strerror(errno));
	layer = openat(r->scratch_fd, LAYER, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (layer < 0)
		return wdr_err_set(err, -errno, "image layer: %s", strerror(errno));
	for (size_t i = 0; e == 0 && i < sizeof(always) / sizeof(always[0]); i++)
		e = make_if_missing(r, layer, always[i], true, made, err);
	for (size_t i = 0; e == 0 && i < p->fs.n_tmpfs; i++)
		e = make_if_missing(r, layer, p->fs.tmpfs[i], true, made, err);
	for (size_t i = 0; e == 0 && i < r->b->n_mounts; i++)
		e = make_if_missing(r, layer, r->b->mounts[i].target, r->b->mounts[i].is_dir, made,
				    err);
	return e;
}

int wdr_root_start_image(struct root *r, struct wdr_err *err)
{
	struct native_tree *image = &r->b->root;
	bool writable = !r->b->spec->policy->fs.readonly;
	wdr_close_ int overlay = -1;
	unsigned int made = 0;
	int e;

	if (image->fd < 0)
		image->fd =
			wdr_tree_clone(AT_FDCWD, image->source, AT_RECURSIVE,
				       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY);
	if (image->fd < 0)
		return wdr_err_set(err, image->fd, "root %s: %s", image->source,
				   strerror(-image->fd));
	r->fd = WDR_TAKE_FD(image->fd);
	e = wdr_root_attach_top(r, r->fd, err);
	if (e == 0)
		e = make_missing(r, &made, err);
	if (e < 0 || (!made && !writable))
		return e;
	if (writable &&
	    (mkdirat(r->scratch_fd, "upper", 0755) < 0 || mkdirat(r->scratch_fd, "work", 0755) < 0))
		return wdr_err_set(err, -errno, "layers above the image: %s", strerror(errno));
	overlay = wdr_root_make_overlay(r, LAYER, r->fd, writable ? "upper" : NULL);
	if (overlay < 0)
		return wdr_err_set(err, overlay, "overlay of root %s: %s", image->source,
				   strerror(-overlay));
	(void)close(r->fd);
	r->fd = WDR_TAKE_FD(overlay);
	e = wdr_root_attach_top(r, r->fd, err);
	if (e == 0 && writable)
		e = wdr_root_own(r, r->fd);
	return e;
}
