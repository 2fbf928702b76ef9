/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_cover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "wdr_tree.h"

int wdr_gap_open(int root_fd, const char *path, size_t *ret_there)
{
	wdr_close_ int there = wdr_tree_open_in(root_fd, path);
	size_t len = strlen(path);
	char prefix[PATH_MAX];
	size_t end = 0;

	*ret_there = len;
	if (there != -ENOENT || len >= sizeof(prefix))
		return there < 0 ? there : WDR_TAKE_FD(there);
	there = wdr_tree_open_in(root_fd, "/");
	*ret_there = 0;
	while (there >= 0) {
		int next;

		end += strspn(path + end, "/");
		end += strcspn(path + end, "/");
		memcpy(prefix, path, end);
		prefix[end] = '\0';
		next = wdr_tree_open_in(root_fd, prefix);
		if (next == -ENOENT)
			break;
		wdr_closep(&there);
		there = next;
		*ret_there = end;
	}
	return there < 0 ? there : WDR_TAKE_FD(there);
}

int wdr_real_path(int fd, char path[PATH_MAX])
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX);
	if (n < 0)
		return -errno;
	if (n == PATH_MAX)
		return -ENAMETOOLONG;
	path[n] = '\0';
	return 0;
}

const char *wdr_path_below(const char *path, const char *above)
{
	size_t len = strcmp(above, "/") ? strlen(above) : 0;

	if (strncmp(path, above, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path + len + strspn(path + len, "/");
}

/* Of a tree that is attached over our own "/" the top is "/" as well. */
static int path_in_tree(int root_fd, int fd, char **ret)
{
	char root[PATH_MAX];
	char path[PATH_MAX];
	const char *rest;
	int r = wdr_real_path(root_fd, root);

	if (r == 0)
		r = wdr_real_path(fd, path);
	if (r < 0)
		return r;
	rest = wdr_path_below(path, root);
	if (!rest)
		return -EXDEV;
	return asprintf(ret, "/%s", rest) < 0 ? -ENOMEM : 0;
}

int wdr_gap_init(struct wdr_gap *g, int root_fd, int at_fd, const char *path, size_t n_there,
		 bool is_dir)
{
	struct wdr_gap new = { .path = path, .n_there = n_there, .is_dir = is_dir };
	int r = wdr_tree_mnt_id(at_fd, "", &new.mnt);

	if (r == 0)
		r = path_in_tree(root_fd, at_fd, &new.dir);
	if (r < 0)
		return r;
	*g = new;
	return 0;
}

void wdr_gap_done(struct wdr_gap *g)
{
	wdr_freep(&g->dir);
}

int wdr_gap_fill(const struct wdr_gap *g, const char *above, int layer_fd)
{
	const char *dir = wdr_path_below(g->dir, above);
	const char *rest = g->path + g->n_there + strspn(g->path + g->n_there, "/");
	char chain[PATH_MAX];
	int n;

	if (!dir)
		return -EINVAL;
	n = snprintf(chain, sizeof(chain), "%s%s%s", dir, *dir ? "/" : "", rest);
	if (n < 0 || (size_t)n >= sizeof(chain))
		return -ENAMETOOLONG;
	return wdr_tree_make_chain(layer_fd, chain, g->is_dir);
}

int wdr_cover_overlay(int layer_fd, int below_fd, int rw_fd)
{
	wdr_close_ int fs = fsopen("overlay", FSOPEN_CLOEXEC);
	char dirs[64];
	int fd;

	/* By descriptor: neither has a path that could not hold a colon. */
	(void)snprintf(dirs, sizeof(dirs), "/proc/self/fd/%d:/proc/self/fd/%d", layer_fd, below_fd);
	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir", dirs, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0)
		return -errno;
	(void)snprintf(dirs, sizeof(dirs), "/proc/self/fd/%d/upper", rw_fd);
	if (rw_fd >= 0 && fsconfig(fs, FSCONFIG_SET_STRING, "upperdir", dirs, 0) < 0)
		return -errno;
	(void)snprintf(dirs, sizeof(dirs), "/proc/self/fd/%d/work", rw_fd);
	if (rw_fd >= 0 && fsconfig(fs, FSCONFIG_SET_STRING, "workdir", dirs, 0) < 0)
		return -errno;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return fd < 0 ? -errno : fd;
}

/* Shorten @common to the folder that it and @dir are both in. */
static void meet(char *common, const char *dir)
{
	while (!wdr_path_below(dir, common)) {
		char *slash = strrchr(common, '/');

		slash[slash == common] = '\0';
	}
}

/* The deepest folder of the mount that holds all of its gaps. */
static int find_common(const struct wdr_gap *gaps, size_t n, uint64_t mnt, char **ret)
{
	wdr_free_ char *common = NULL;

	for (size_t i = 0; i < n; i++) {
		if (gaps[i].mnt != mnt)
			continue;
		if (common)
			meet(common, gaps[i].dir);
		else
			common = strdup(gaps[i].dir);
		if (!common)
			return -ENOMEM;
	}
	*ret = WDR_TAKE_PTR(common);
	return 0;
}

static int lay(int root_fd, const char *above, uint64_t mnt, int layer_fd)
{
	wdr_close_ int at = wdr_tree_open_in(root_fd, above);
	wdr_submounts_ struct wdr_submounts *subs = NULL;
	wdr_close_ int overlay = -1;
	int r;

	if (at < 0)
		return WDR_TAKE_FD(at);
	r = wdr_submounts_take(root_fd, mnt, above, &subs);
	if (r < 0)
		return r;
	overlay = wdr_cover_overlay(layer_fd, at, -1);
	if (overlay < 0)
		return WDR_TAKE_FD(overlay);
	r = wdr_tree_attach(overlay, at);
	return r < 0 ? r : wdr_submounts_put(subs, root_fd);
}

static int make_layer(int scratch_fd, unsigned int number)
{
	char name[24];
	int fd;

	(void)snprintf(name, sizeof(name), "o%u", number);
	if (mkdirat(scratch_fd, name, 0755) < 0)
		return -errno;
	fd = openat(scratch_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int cover_mount(int root_fd, int layer_fd, const struct wdr_gap *gaps, size_t n,
		       struct wdr_err *err)
{
	uint64_t mnt = gaps[0].mnt;
	wdr_free_ char *above = NULL;
	int r = find_common(gaps, n, mnt, &above);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		r = gaps[i].mnt == mnt ? wdr_gap_fill(&gaps[i], above, layer_fd) : 0;
		if (r < 0)
			return wdr_err_set(err, r, "create %s: %s", gaps[i].path, strerror(-r));
	}
	r = lay(root_fd, above, mnt, layer_fd);
	/* What is mounted there on the host is locked to it (mount_namespaces(7)). */
	if (r == -EINVAL)
		return wdr_err_set(err, r,
				   "create %s: no overlay can be laid over %s, with other file "
				   "systems mounted in it",
				   gaps[0].path, above);
	return r < 0 ? wdr_err_set(err, r, "create %s, by an overlay of %s: %s", gaps[0].path,
				   above, strerror(-r)) :
		       0;
}

static bool is_first(const struct wdr_gap *gaps, size_t i)
{
	for (size_t j = 0; j < i; j++) {
		if (gaps[j].mnt == gaps[i].mnt)
			return false;
	}
	return true;
}

int wdr_cover_gaps(int root_fd, int scratch_fd, const struct wdr_gap *gaps, size_t n,
		   unsigned int *n_layers, struct wdr_err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		wdr_close_ int layer = -1;

		if (!is_first(gaps, i))
			continue;
		layer = make_layer(scratch_fd, (*n_layers)++);
		if (layer < 0)
			return wdr_err_set(err, layer, "layer for %s: %s", gaps[i].path,
					   strerror(-layer));
		r = cover_mount(root_fd, layer, gaps + i, n - i, err);
	}
	return r;
}
