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

static int open_layer(struct root *r)
{
	int fd;

	if (mkdirat(r->scratch_fd, LAYER, 0755) < 0)
		return -errno;
	fd = openat(r->scratch_fd, LAYER, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Everything that is missing in the image's own mount goes into the one layer above it. */
static int fill_layer(struct root *r, uint64_t mnt, int layer, unsigned int *made,
		      struct wdr_err *err)
{
	static const char *const always[] = { "/dev", "/proc", "/sys" };
	gaps_ struct gaps g = { .n = 0 };
	int e = 0;

	for (size_t i = 0; e == 0 && i < sizeof(always) / sizeof(always[0]); i++)
		e = wdr_root_find_gap(r, &g, always[i], true, err);
	if (e == 0)
		e = wdr_root_find_gaps(r, &g, err);
	for (size_t i = 0; e == 0 && i < g.n; i++) {
		if (g.items[i].mnt != mnt)
			continue;
		e = wdr_gap_fill(&g.items[i], "/", layer);
		(*made)++;
		if (e < 0)
			(void)wdr_err_set(err, e, "create %s above the image: %s", g.items[i].path,
					  strerror(-e));
	}
	return e;
}

/* The image with the layer above it in place of the image; what is mounted in it stays. */
static int lay(struct root *r, uint64_t mnt, int layer, bool writable, struct wdr_err *err)
{
	wdr_submounts_ struct wdr_submounts *subs = NULL;
	wdr_close_ int overlay = -1;
	int e = wdr_submounts_take(r->fd, mnt, "/", &subs);

	if (e < 0)
		return wdr_err_wrap(err, e, "mounts in root %s", r->b->root.source);
	if (writable &&
	    (mkdirat(r->scratch_fd, "upper", 0755) < 0 || mkdirat(r->scratch_fd, "work", 0755) < 0))
		return wdr_err_set(err, -errno, "layers above the image: %s", strerror(errno));
	overlay = wdr_cover_overlay(layer, r->fd, writable ? r->scratch_fd : -1);
	if (overlay < 0)
		return wdr_err_set(err, overlay, "overlay of root %s: %s", r->b->root.source,
				   strerror(-overlay));
	(void)close(r->fd);
	r->fd = WDR_TAKE_FD(overlay);
	e = wdr_root_attach_top(r, r->fd, err);
	if (e < 0)
		return e;
	e = wdr_submounts_put(subs, r->fd);
	return e < 0 ? wdr_err_wrap(err, e, "mounts in root %s", r->b->root.source) : 0;
}

int wdr_root_start_image(struct root *r, struct wdr_err *err)
{
	struct native_tree *image = &r->b->root;
	bool writable = !r->b->spec->policy->fs.readonly;
	wdr_close_ int layer = -1;
	unsigned int made = 0;
	uint64_t mnt = 0;
	int e;

	if (image->fd < 0)
		image->fd =
			wdr_tree_clone(AT_FDCWD, image->source, AT_RECURSIVE,
				       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY);
	if (image->fd < 0)
		return wdr_err_set(err, image->fd, "root %s: %s", image->source,
				   strerror(-image->fd));
	r->fd = WDR_TAKE_FD(image->fd);
	layer = open_layer(r);
	if (layer < 0)
		return wdr_err_set(err, layer, "image layer: %s", strerror(-layer));
	e = wdr_root_attach_top(r, r->fd, err);
	if (e == 0)
		e = wdr_tree_mnt_id(r->fd, "", &mnt);
	if (e == 0)
		e = fill_layer(r, mnt, layer, &made, err);
	if (e == 0 && (made || writable))
		e = lay(r, mnt, layer, writable, err);
	if (e == 0 && writable)
		e = wdr_root_own(r, r->fd);
	return e;
}
