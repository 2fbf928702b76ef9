/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mount points of the job, before gVisor sees them. The gofer makes a missing one with mkdir, as
 * root, wherever its path leads: so each is made here first, inside the root and in memory only,
 * and what the policy mounts is attached there as well. Then nothing is missing, and no path leads
 * into a mount of the user's that is not meant.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/wdr_cover.h"
#include "base/wdr_tree.h"
#include "sandbox_priv.h"

struct places {
	struct wdr_backend_job *b;
	int root_fd;
	uint64_t users[WDR_POLICY_MAX_MOUNTS]; /* mount ids of what the user brought */
	size_t n_users;
	struct wdr_gap gaps[WDR_POLICY_MAX_TMPFS + WDR_POLICY_MAX_MOUNTS];
	size_t n_gaps;
};

static bool is_users(const struct places *p, int fd)
{
	uint64_t id;

	if (wdr_tree_mnt_id(fd, "", &id) < 0)
		return true;
	for (size_t i = 0; i < p->n_users; i++)
		if (p->users[i] == id)
			return true;
	return false;
}

/* Whether folders can be made in it, and stay in memory: it is a file system of the box. */
static bool is_ours(const struct places *p, int fd)
{
	uint64_t root, id;

	return wdr_tree_mnt_id(fd, "", &id) == 0 && wdr_tree_mnt_id(p->root_fd, "", &root) == 0 &&
	       id == root;
}

/* Descriptor of @path inside the root, made if it is not there. */
static int open_target(struct places *p, const char *path, bool is_dir, struct wdr_err *err)
{
	size_t n_there = 0;
	wdr_close_ int fd = wdr_gap_open(p->root_fd, path, &n_there);
	int r;

	if (fd < 0)
		return wdr_err_wrap(err, WDR_TAKE_FD(fd), "mount target %s", path);
	if (!path[n_there])
		return WDR_TAKE_FD(fd);
	if (is_users(p, fd))
		return wdr_err_set(err, -EROFS,
				   "mount target %s would have to be created inside a mount of "
				   "yours: create it in that mount's source",
				   path);
	r = wdr_tree_make_chain(fd, path + n_there + strspn(path + n_there, "/"), is_dir);
	if (r < 0)
		return wdr_err_wrap(err, r, "create mount target %s", path);
	r = wdr_tree_open_in(p->root_fd, path);
	return r < 0 ? wdr_err_wrap(err, r, "mount target %s", path) : r;
}

/* Attach what is at box path @part @n at @target, too. */
static int place(struct places *p, enum wdr_box_part part, size_t n, const char *target,
		 bool is_dir, struct wdr_err *err)
{
	wdr_close_ int tree = -1;
	wdr_close_ int at = -1;
	char path[WDR_BOX_PATH_MAX];
	int r;

	at = open_target(p, target, is_dir, err);
	if (at < 0)
		return WDR_TAKE_FD(at);
	tree = wdr_tree_clone(AT_FDCWD, wdr_box_path(part, n, path), AT_RECURSIVE, 0);
	r = tree < 0 ? tree : wdr_tree_attach(tree, at);
	if (r == 0 && part == WDR_BOX_MOUNT)
		r = wdr_tree_mnt_id(tree, "", &p->users[p->n_users++]);
	return r < 0 ? wdr_err_wrap(err, r, "mount at %s", target) : 0;
}

/* Add what is missing of @path where nothing can be made. What can't be looked up fails later. */
static int find_gap(struct places *p, const char *path, bool is_dir)
{
	size_t n_there = 0;
	wdr_close_ int fd = wdr_gap_open(p->root_fd, path, &n_there);
	int r;

	if (fd < 0 || !path[n_there] || is_ours(p, fd))
		return 0;
	r = wdr_gap_init(&p->gaps[p->n_gaps], p->root_fd, fd, path, n_there, is_dir);
	if (r == 0)
		p->n_gaps++;
	return r;
}

/* Before anything is attached: see wdr_cover.h. */
static int cover(struct places *p, struct wdr_err *err)
{
	const struct wdr_policy *policy = p->b->spec->policy;
	wdr_close_ int box = open(WDR_BOX, O_PATH | O_DIRECTORY | O_CLOEXEC);
	unsigned int n_layers = 0;
	int r = box < 0 ? -errno : 0;

	for (size_t i = 0; r == 0 && i < policy->fs.n_tmpfs; i++)
		r = find_gap(p, policy->fs.tmpfs[i], true);
	for (size_t i = 0; r == 0 && i < policy->fs.n_mounts; i++)
		r = find_gap(p, policy->fs.mounts[i].target, p->b->mounts[i].is_dir);
	if (r == 0)
		r = wdr_cover_gaps(p->root_fd, box, p->gaps, p->n_gaps, &n_layers, err);
	while (p->n_gaps > 0)
		wdr_gap_done(&p->gaps[--p->n_gaps]);
	return r < 0 && !err->code ? wdr_err_wrap(err, r, "mount targets") : r;
}

static int place_all(struct places *p, struct wdr_err *err)
{
	const struct wdr_policy *policy = p->b->spec->policy;
	int r = cover(p, err);

	for (size_t i = 0; r == 0 && i < policy->fs.n_tmpfs; i++)
		r = place(p, WDR_BOX_TMPFS, i, policy->fs.tmpfs[i], true, err);
	for (size_t i = 0; r == 0 && i < policy->fs.n_mounts; i++)
		r = place(p, WDR_BOX_MOUNT, i, policy->fs.mounts[i].target, p->b->mounts[i].is_dir,
			  err);
	return r;
}

/* gVisor would make one that is missing, where it can. */
static int check_workdir(const struct places *p, struct wdr_err *err)
{
	const char *dir = p->b->spec->policy->workdir;
	wdr_close_ int fd = wdr_tree_open_in(p->root_fd, dir);
	struct stat st;

	if (fd < 0)
		return wdr_err_wrap(err, WDR_TAKE_FD(fd), "workdir %s", dir);
	if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		return wdr_err_wrap(err, -ENOTDIR, "workdir %s", dir);
	return 0;
}

int wdr_box_place(struct wdr_backend_job *b, struct wdr_err *err)
{
	struct places p = { .b = b };
	wdr_close_ int root = open(WDR_BOX_ROOTFS, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (root < 0)
		return wdr_err_wrap(err, -errno, "open the root");
	p.root_fd = root;
	r = place_all(&p, err);
	return r < 0 ? r : check_workdir(&p, err);
}
