/* SPDX-License-Identifier: Apache-2.0 */
/* Which cgroup of a hierarchy is ours to make others in. */
#include "cgroup_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define DIR_FLAGS  (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define MAX_PASSES 16

/* This process' cgroup in @h's hierarchy: "/user.slice/...", from /proc/self/cgroup. */
static int read_own_path(const struct wdr_cgroup_hier *h, char *buf, size_t size)
{
	wdr_fclose_ FILE *f = fopen("/proc/self/cgroup", "re");
	wdr_free_ char *line = NULL;
	size_t cap = 0;

	if (!f)
		return -errno;
	while (getline(&line, &cap, f) > 0) {
		char *ctls = strchr(line, ':'), *path;

		if (!ctls || !(path = strchr(++ctls, ':')))
			continue;
		*path++ = '\0';
		if (h->v2 ? *ctls : !(wdr_cgroup_ctl_bits(ctls, ",") & h->ctls))
			continue;
		path[strcspn(path, "\n")] = '\0';
		if (strlen(path) >= size)
			return -ENAMETOOLONG;
		memcpy(buf, path, strlen(path) + 1);
		return 0;
	}
	return -ENOENT;
}

/* Append to @path what @own is below @root, the cgroup that the mount shows. */
static int join_own(char *path, size_t size, const char *own, const char *root)
{
	size_t len = strcmp(root, "/") ? strlen(root) : 0;
	size_t at = strlen(path);
	int n;

	/* "/..": the process is outside of what its cgroup namespace shows */
	if (strncmp(own, root, len) || (own[len] && own[len] != '/') || !strncmp(own, "/..", 3))
		return -ENOENT;
	if (!strcmp(own + len, "/"))
		return 0;
	n = snprintf(path + at, size - at, "%s", own + len);
	return n < 0 || (size_t)n >= size - at ? -ENAMETOOLONG : 0;
}

static int use_base(struct wdr_cgroup_hier *h, const char *path)
{
	int fd = open(path, DIR_FLAGS);

	if (fd < 0)
		return -errno;
	wdr_closep(&h->base_fd);
	h->base_fd = fd;
	(void)snprintf(h->path, sizeof(h->path), "%s", path);
	return 0;
}

/* This process' own cgroup, or the one above if it is in the leaf that an earlier call made. */
static int use_own(struct wdr_cgroup_hier *h, const struct wdr_cgroup_mount *m)
{
	char own[PATH_MAX], path[PATH_MAX];
	char *last;
	int r;

	r = read_own_path(h, own, sizeof(own));
	if (r < 0)
		return r;
	memcpy(path, m->path, sizeof(path));
	r = join_own(path, sizeof(path), own, m->root);
	if (r < 0)
		return r;
	last = strrchr(path, '/');
	if (last > path && !strcmp(last + 1, WDR_CGROUP_LEAF))
		*last = '\0';
	return use_base(h, path);
}

/* systemd marks what it has delegated: for root, and since version 251 for all to see. */
static bool is_delegated(int fd)
{
	char value[8];

	return fgetxattr(fd, "trusted.delegate", value, sizeof(value)) > 0 ||
	       fgetxattr(fd, "user.delegate", value, sizeof(value)) > 0;
}

static int place_by_systemd(struct wdr_cgroup_hier *h, const struct wdr_cgroup_mount *m,
			    struct wdr_err *err)
{
	int r;

	r = use_own(h, m);
	if (!r && is_delegated(h->base_fd) && !faccessat(h->base_fd, ".", W_OK, AT_EACCESS))
		return 0;
	r = wdr_cgroup_scope_enter(err);
	if (r < 0)
		return r;
	r = use_own(h, m);
	if (r < 0)
		return wdr_err_set(err, r, "find the scope that systemd made: %s", strerror(-r));
	return 0;
}

int wdr_cgroup_open_dir(struct wdr_cgroup_hier *h)
{
	wdr_close_ int fd = openat(h->base_fd, h->dir, DIR_FLAGS | O_NOFOLLOW);

	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(h->base_fd, h->dir, 0755) < 0 && errno != EEXIST)
			return -errno;
		fd = openat(h->base_fd, h->dir, DIR_FLAGS | O_NOFOLLOW);
	}
	if (fd < 0)
		return -errno;
	/* Another's folder may be there where we can't make any. */
	if (faccessat(fd, ".", W_OK, AT_EACCESS) < 0)
		return -errno;
	wdr_closep(&h->fd);
	h->fd = WDR_TAKE_FD(fd);
	return 0;
}

static int place_at_top(struct wdr_cgroup_hier *h, const struct wdr_cgroup_mount *m)
{
	int r;

	r = use_base(h, m->path);
	if (r < 0)
		return r;
	r = wdr_cgroup_open_dir(h);
	if (r != -EACCES && r != -EPERM && r != -EROFS)
		return r;
	if (!use_own(h, m) && !wdr_cgroup_open_dir(h))
		return 0;
	/* Our own is no better: tell of the top. */
	(void)!use_base(h, m->path);
	return r;
}

int wdr_cgroup_place(struct wdr_cgroup_hier *h, const struct wdr_cgroup_mount *m, bool systemd,
		     struct wdr_err *err)
{
	int r;

	if (systemd) {
		r = place_by_systemd(h, m, err);
		if (r < 0)
			return r;
		r = wdr_cgroup_open_dir(h);
	} else {
		r = place_at_top(h, m);
	}
	if (r < 0)
		return wdr_err_set(err, r, "make %s/%s: %s", h->path, h->dir, strerror(-r));
	return 0;
}

/* Whether @h's base is the top of a cgroup namespace that is not the machine's own. */
static bool is_namespace_root(const struct wdr_cgroup_hier *h)
{
	char own[PATH_MAX];

	if (faccessat(h->base_fd, "cgroup.type", F_OK, 0) < 0)
		return false;
	return !read_own_path(h, own, sizeof(own)) &&
	       (!strcmp(own, "/") || !strcmp(own, "/" WDR_CGROUP_LEAF));
}

/* Move what @base lists to @leaf. Returns how many went. */
static int move_listed(int base_fd, int leaf_fd)
{
	wdr_fclose_ FILE *f = NULL;
	int fd, pid, n = 0;

	fd = openat(base_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f)
		return -errno;
	while (fscanf(f, "%d", &pid) == 1)
		if (pid > 0 && !wdr_cgroup_write_u64(leaf_fd, "cgroup.procs", (uint64_t)pid))
			n++;
	return n;
}

int wdr_cgroup_vacate(const struct wdr_cgroup_hier *h)
{
	wdr_close_ int leaf = -1;
	int i, r;

	if (mkdirat(h->base_fd, WDR_CGROUP_LEAF, 0755) < 0 && errno != EEXIST)
		return -errno;
	leaf = openat(h->base_fd, WDR_CGROUP_LEAF, DIR_FLAGS | O_NOFOLLOW);
	if (leaf < 0)
		return -errno;
	r = wdr_cgroup_write(leaf, "cgroup.procs", "0");
	if (r < 0 || !is_namespace_root(h))
		return r;
	/* Again for those that were born meanwhile. */
	for (i = 0, r = 1; i < MAX_PASSES && r > 0; i++)
		r = move_listed(h->base_fd, leaf);
	return r < 0 ? r : 0;
}
