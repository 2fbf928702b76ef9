/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which a job's root is put together, in its own mount namespace and user namespace,
 * as the job's user: nothing here can be made on the host, because nothing here has its rights.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "native/root_priv.h"

/* Pages that the generated files take of the job's tmpfs; added, so that --disk is the job's. */
#define SKELETON_BYTES (16 * 4096)
/* Inodes: a file of 4 KiB each, and some for folders (tmpfs charges them to the job's memory). */
#define BYTES_PER_INODE 4096
#define SKELETON_INODES 1024

int wdr_root_own(struct root *r, int fd)
{
	if (r->n_own == ROOT_MAX_OWN)
		return -E2BIG;
	return wdr_tree_mnt_id(fd, "", &r->own_mnt[r->n_own++]);
}

static int make_tmpfs(uint64_t bytes, struct wdr_err *err)
{
	wdr_close_ int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	char size[32] = "0"; /* no limit */
	char inodes[32] = "0";
	int fd;

	if (fs < 0)
		return wdr_err_set(err, -errno, "tmpfs: %s", strerror(errno));
	if (bytes != WDR_UNLIMITED) {
		(void)snprintf(size, sizeof(size), "%llu",
			       (unsigned long long)bytes + SKELETON_BYTES);
		(void)snprintf(inodes, sizeof(inodes), "%llu",
			       (unsigned long long)bytes / BYTES_PER_INODE + SKELETON_INODES);
	}
	if (fsconfig(fs, FSCONFIG_SET_STRING, "size", size, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", inodes, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return wdr_err_set(err, -errno, "tmpfs of size=%s: %s", size, strerror(errno));
	fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (fd < 0)
		return wdr_err_set(err, -errno, "mount tmpfs: %s", strerror(errno));
	return fd;
}

int wdr_root_attach_known(struct root *r, int tree_fd, const char *path)
{
	wdr_close_ int at = -1;

	/* The skeleton is ours and has no links on these paths; an image may have any. */
	if (!r->b->root.target)
		return move_mount(tree_fd, "", r->fd, path + 1, MOVE_MOUNT_F_EMPTY_PATH) < 0 ?
			       -errno :
			       0;
	at = wdr_tree_open_in(r->fd, path);
	return at < 0 ? at : wdr_tree_attach(tree_fd, at);
}

int wdr_root_bind_host(struct root *r, const char *path, uint64_t attrs, struct wdr_err *err)
{
	wdr_close_ int tree =
		wdr_tree_clone(AT_FDCWD, path, AT_RECURSIVE, MOUNT_ATTR_NOSUID | attrs);
	int e = tree;

	if (tree == -ENOENT)
		return 0;
	if (e >= 0)
		e = wdr_root_attach_known(r, tree, path);
	return e < 0 ? wdr_err_wrap(err, e, "show the host's %s", path) : 0;
}

int wdr_root_bind_scratch(struct root *r, const char *name, const char *target, uint64_t attrs,
			  struct wdr_err *err)
{
	wdr_close_ int tree = wdr_tree_clone(r->scratch_fd, name, 0,
					     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | attrs);
	wdr_close_ int at = -1;
	int e;

	if (tree < 0)
		return wdr_err_set(err, tree, "clone our %s: %s", name, strerror(-tree));
	at = wdr_root_target(r, target, true, err);
	if (at < 0)
		return at;
	e = wdr_tree_attach(tree, at);
	if (e == 0 && !(attrs & MOUNT_ATTR_RDONLY))
		e = wdr_root_own(r, tree);
	if (e < 0)
		return wdr_err_wrap(err, e, "mount %s", target);
	return 0;
}

static int bind_one_tmpfs(struct root *r, size_t i, struct wdr_err *err)
{
	const char *path = r->b->spec->policy->fs.tmpfs[i];
	mode_t mode = strcmp(path, "/tmp") && strcmp(path, "/var/tmp") ? 0755 : 01777;
	char name[24];

	(void)snprintf(name, sizeof(name), "t%zu", i);
	if (mkdirat(r->scratch_fd, name, 0) < 0 || fchmodat(r->scratch_fd, name, mode, 0) < 0)
		return wdr_err_set(err, -errno, "tmpfs %s: %s", path, strerror(errno));
	return wdr_root_bind_scratch(r, name, path, 0, err);
}

/*
 * Each path of the policy's list is a folder of the one tmpfs, so that --disk is one total. Where a
 * prepared root has lent that tmpfs a place, this is covered last.
 */
static int bind_tmpfs(struct root *r, struct wdr_err *err)
{
	const struct wdr_policy *p = r->b->spec->policy;
	size_t n = p->fs.n_tmpfs, last = n;
	int e = 0;

	for (size_t i = 0; e == 0 && i < n; i++) {
		if (r->prepared && !strcmp(p->fs.tmpfs[i], WDR_ROOT_LENT))
			last = i;
		else
			e = bind_one_tmpfs(r, i, err);
	}
	if (e == 0)
		e = wdr_root_bind_scratch(r, "shm", "/dev/shm", MOUNT_ATTR_NOEXEC, err);
	return e == 0 && last < n ? bind_one_tmpfs(r, last, err) : e;
}

static int bind_mounts(struct root *r, struct wdr_err *err)
{
	for (size_t i = 0; i < r->b->n_mounts; i++) {
		struct native_tree *t = &r->b->mounts[i];
		wdr_close_ int at = -1;
		int e;

		if (t->fd < 0)
			t->fd = wdr_tree_clone(AT_FDCWD, t->source, AT_RECURSIVE,
					       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
						       (t->readonly ? MOUNT_ATTR_RDONLY : 0));
		if (t->fd < 0)
			return wdr_err_set(err, t->fd, "mount %s: %s", t->source, strerror(-t->fd));
		at = wdr_root_target(r, t->target, t->is_dir, err);
		if (at < 0)
			return at;
		e = wdr_root_check_target(at, t->target, err);
		if (e < 0)
			return e;
		e = wdr_tree_attach(t->fd, at);
		if (e < 0)
			return wdr_err_wrap(err, e, "mount %s at %s", t->source, t->target);
	}
	return 0;
}

/* Attach over "/": the one folder that is always there. What comes later lies on top. */
int wdr_root_attach_top(struct root *r, int fd, struct wdr_err *err)
{
	if (move_mount(fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return wdr_err_set(err, -errno, "attach the new root: %s", strerror(errno));
	r->n_tops++;
	return 0;
}

static int start_prepared(struct root *r, struct wdr_err *err)
{
	int e;

	r->prepared = true;
	r->fd = WDR_TAKE_FD(r->b->prepared.fd);
	e = wdr_root_attach_top(r, r->fd, err);
	if (e < 0)
		return e;
	/* Only a mount of our own namespace can be cloned in part (open_tree before 6.15). */
	if (move_mount(r->scratch_fd, "", r->fd, &WDR_ROOT_LENT[1], MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    mkdirat(r->scratch_fd, "shm", 0) < 0 || fchmodat(r->scratch_fd, "shm", 01777, 0) < 0)
		return wdr_err_set(err, -errno, "attach tmpfs: %s", strerror(errno));
	return 0;
}

static int start_skeleton(struct root *r, struct wdr_err *err)
{
	int e = wdr_root_attach_top(r, r->scratch_fd, err); /* to be cloned in part, as above */

	if (e == 0)
		e = wdr_root_make_skeleton(r, err);
	if (e < 0)
		return e;
	if (r->b->root.target)
		return wdr_root_start_image(r, err);
	r->fd = wdr_tree_clone(r->scratch_fd, "root", 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (r->fd < 0)
		return wdr_err_set(err, r->fd, "new root: %s", strerror(-r->fd));
	e = wdr_root_attach_top(r, r->fd, err);
	return e < 0 ? e : wdr_root_own(r, r->fd);
}

static int start_root(struct root *r, struct wdr_err *err)
{
	r->scratch_fd = make_tmpfs(r->b->spec->policy->limits.disk_bytes, err);
	if (r->scratch_fd < 0)
		return r->scratch_fd;
	return r->b->prepared.fd >= 0 ? start_prepared(r, err) : start_skeleton(r, err);
}

static int pivot(struct root *r, struct wdr_err *err)
{
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY };
	uint64_t above = 0;
	uint64_t top = 0;
	int e;

	if (r->b->spec->policy->fs.readonly && !r->prepared &&
	    mount_setattr(r->fd, "", AT_EMPTY_PATH, &ro, sizeof(ro)) < 0)
		return wdr_err_set(err, -errno, "make the root read-only: %s", strerror(errno));
	/* The old root is then stacked over the new one, at the same place (pivot_root(2)). */
	if (fchdir(r->fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return wdr_err_set(err, -errno, "pivot_root: %s", strerror(errno));
	/* And on the old root what was attached before the new one. */
	for (unsigned int i = 0; i < r->n_tops; i++) {
		if (umount2(".", MNT_DETACH) < 0)
			return wdr_err_set(err, -errno, "leave the host's root: %s",
					   strerror(errno));
	}
	if (chdir("/") < 0)
		return wdr_err_set(err, -errno, "enter the new root: %s", strerror(errno));
	/* Whatever were still stacked there would be reached by "/..". */
	e = wdr_tree_mnt_id(AT_FDCWD, "/..", &above);
	if (e == 0)
		e = wdr_tree_mnt_id(r->fd, "", &top);
	if (e < 0 || above != top)
		return wdr_err_set(err, -ENOTEMPTY, "the host's root is still there");
	return 0;
}

int wdr_native_enter_root(struct wdr_backend_job *b, struct wdr_err *err)
{
	static int (*const parts[])(struct root *, struct wdr_err *) = {
		start_root,	    wdr_root_bind_etc, wdr_root_bind_dev,
		wdr_root_bind_proc, wdr_root_bind_sys, wdr_root_cover,
		bind_tmpfs,	    bind_mounts,       pivot,
	};
	struct root r = { .b = b, .fd = -1, .scratch_fd = -1 };
	int e = 0;

	for (size_t i = 0; e == 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
		e = parts[i](&r, err);
	wdr_closep(&r.fd);
	wdr_closep(&r.scratch_fd);
	return e;
}
