/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mount points of the job, before gVisor sees them. The gofer makes a missing one with mkdir, as
 * root, wherever its path leads: so each is made here first, inside the root and in memory only,
 * and what the policy mounts is attached there as well. Then nothing is missing, and no path leads
 * into a mount of the user's that is not meant.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/wdr_tree.h"
#include "sandbox_priv.h"

struct places {
	struct wdr_backend_job *b;
	int root_fd;
	uint64_t users[WDR_POLICY_MAX_MOUNTS]; /* mount ids of what the user brought */
	size_t n_users;
	unsigned int n_covers;
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

/* Lay a folder in which @rest exists over the read-only one at @parent_fd. */
static int cover(struct places *p, int parent_fd, const char *rest, bool is_dir)
{
	char path[64], option[PATH_MAX];
	wdr_close_ int layer = -1;
	int r;

	(void)snprintf(path, sizeof(path), WDR_BOX "/cover%u", p->n_covers++);
	if (mkdir(path, 0755) < 0)
		return -errno;
	layer = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = layer < 0 ? -errno : wdr_tree_make_chain(layer, rest, is_dir);
	if (r < 0)
		return r;
	(void)snprintf(option, sizeof(option), "lowerdir=%s:/proc/self/fd/%d", path, parent_fd);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", parent_fd);
	return mount("warder", path, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, option) < 0 ?
		       -errno :
		       0;
}

/* @path is not there; its first @len bytes are. */
static int create(struct places *p, const char *path, size_t len, bool is_dir, struct wdr_err *err)
{
	const char *rest = path + len + strspn(path + len, "/");
	wdr_close_ int parent = -1;
	char prefix[PATH_MAX];
	int r;

	(void)snprintf(prefix, sizeof(prefix), "%.*s", (int)len, path);
	parent = wdr_tree_open_in(p->root_fd, prefix);
	if (parent < 0)
		return wdr_err_wrap(err, WDR_TAKE_FD(parent), "mount target %s", path);
	if (is_users(p, parent))
		return wdr_err_set(err, -EROFS,
				   "mount target %s would have to be created inside a mount of "
				   "yours: create it in that mount's source",
				   path);
	r = is_ours(p, parent) ? wdr_tree_make_chain(parent, rest, is_dir) :
				 cover(p, parent, rest, is_dir);
	return r < 0 ? wdr_err_wrap(err, r, "create mount target %s", path) : 0;
}

/* Descriptor of @path inside the root, made if it is not there. */
static int open_target(struct places *p, const char *path, bool is_dir, struct wdr_err *err)
{
	int fd = wdr_tree_open_in(p->root_fd, path), r;
	char prefix[PATH_MAX];
	size_t len = 0, end = 0;

	if (fd >= 0)
		return fd;
	if (fd != -ENOENT || strlen(path) >= sizeof(prefix))
		return wdr_err_wrap(err, fd, "mount target %s", path);
	while (path[end]) { /* the longest part that is there */
		wdr_close_ int there = -1;

		end += strspn(path + end, "/");
		end += strcspn(path + end, "/");
		(void)snprintf(prefix, sizeof(prefix), "%.*s", (int)end, path);
		there = wdr_tree_open_in(p->root_fd, prefix);
		if (there < 0)
			break;
		len = end;
	}
	r = create(p, path, len, is_dir, err);
	if (r < 0)
		return r;
	fd = wdr_tree_open_in(p->root_fd, path);
	return fd < 0 ? wdr_err_wrap(err, fd, "mount target %s", path) : fd;
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

static int place_all(struct places *p, struct wdr_err *err)
{
	const struct wdr_policy *policy = p->b->spec->policy;
	int r = 0;

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
