/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a prepared root: the skeleton as pid 1 would make it, and copies of the host's files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "native/root_priv.h"
#include "policy/etc.h"

#define MAX_FILE_BYTES \
	(8 << 20) /* the linker's cache of a machine with everything is below 1 MiB */

/* As root nothing is refused to us: what others may not read is not for a job. */
static bool is_public(const char *path, const struct stat *st)
{
	char parent[NAME_MAX + 8];
	struct stat up;

	(void)snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(path, '/') - path), path);
	return (st->st_mode & S_IROTH) && stat(parent, &up) == 0 && (up.st_mode & S_IXOTH);
}

static int copy_file(int at, const char *name, int from_fd, off_t size)
{
	wdr_close_ int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	off_t done = 0;

	if (fd < 0)
		return -errno;
	if (size > MAX_FILE_BYTES)
		return -EFBIG;
	while (done < size) {
		ssize_t n = sendfile(fd, from_fd, NULL, (size_t)(size - done));

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += n;
	}
	return 0;
}

static int put_etc_entry(struct root *r, const char *name, bool is_dir, struct wdr_err *err)
{
	char host[NAME_MAX + 8];
	char here[NAME_MAX + 16];
	wdr_close_ int fd = -1;
	struct stat st;

	(void)err;
	(void)snprintf(host, sizeof(host), "/etc/%s", name);
	(void)snprintf(here, sizeof(here), "root%s", host);
	fd = open(host, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!is_public(host, &st))
		return 0;
	if (!is_dir)
		return S_ISREG(st.st_mode) ? copy_file(r->scratch_fd, here, fd, st.st_size) :
					     -EINVAL;
	if (strchr(name, '\n') || mkdirat(r->scratch_fd, here, 0755) < 0)
		return -EINVAL;
	return dprintf(r->list_fd, "%s\n", host) < 0 ? -errno : 0;
}

/* /usr, and what of it is no link where it is not merged. */
static int list_usr(struct root *r)
{
	struct stat st;
	char path[16];
	int n = dprintf(r->list_fd, "/usr\n");

	for (size_t i = 0; n >= 0 && i < wdr_etc_n_usr_links; i++) {
		(void)snprintf(path, sizeof(path), "/%s", wdr_etc_usr_links[i]);
		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
			n = dprintf(r->list_fd, "%s\n", path);
	}
	return n < 0 ? -errno : 0;
}

static int fill(struct root *r)
{
	int e = wdr_root_make_skeleton(r, NULL);

	if (e == 0)
		e = wdr_root_make_dev(r, true);
	if (e == 0)
		e = wdr_root_make_sys(r);
	if (e == 0)
		e = list_usr(r);
	if (e == 0)
		e = wdr_root_each_etc(r, put_etc_entry, NULL);
	if (e == 0)
		wdr_root_put_localtime(r);
	return e;
}

int wdr_root_clone_prepared(int dir_fd)
{
	struct mount_attr a = { .attr_set =
					MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
				.attr_clr = MOUNT_ATTR_NODEV,
				.propagation = MS_PRIVATE };
	wdr_close_ int fd = open_tree(dir_fd, "root", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (fd < 0 || mount_setattr(fd, "", AT_EMPTY_PATH, &a, sizeof(a)) < 0)
		return -errno;
	return WDR_TAKE_FD(fd);
}

/* In a container whose mounts are locked, nodes may be made and still be no devices. */
static bool has_devices(int dir_fd)
{
	wdr_close_ int root = wdr_root_clone_prepared(dir_fd);
	wdr_close_ int fd = root < 0 ? -1 : openat(root, "dev/null", O_RDWR | O_NOCTTY | O_CLOEXEC);

	return fd >= 0;
}

int wdr_root_fill_prepared(struct wdr_backend_job *b, int dir_fd)
{
	struct root r = { .b = b, .fd = -1, .scratch_fd = dir_fd };
	mode_t mask = umask(0);
	int e;

	r.list_fd = openat(dir_fd, "binds", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	e = r.list_fd < 0 ? -errno : fill(&r);
	wdr_closep(&r.list_fd);
	(void)umask(mask);
	/* Remembered, lest each start try it again. */
	if (e == -EPERM || e == -EINVAL || e == -EFBIG || (e == 0 && !has_devices(dir_fd)))
		e = unlinkat(dir_fd, "binds", 0) < 0 ? -errno : 0;
	return e;
}

int wdr_root_bind_listed(struct root *r, struct wdr_err *err)
{
	char *line = r->b->prepared.binds;
	int e = 0;

	while (e == 0 && *line) {
		size_t len = strcspn(line, "\n");
		bool last = !line[len];

		line[len] = '\0';
		e = wdr_root_bind_host(r, line, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, err);
		line += len + !last;
	}
	return e;
}
