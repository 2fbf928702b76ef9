/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gofer serves: the root file system put together on a tmpfs of the sandbox's own, out of
 * generated files and read-only mounts of the host's. One mount for gVisor, however many for us:
 * each further one of its own costs a connection, and is cached less.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/wdr_cover.h"
#include "base/wdr_io.h"
#include "base/wdr_tree.h"
#include "policy/etc.h"
#include "sandbox_priv.h"

/* Bundle, skeleton, logs of one start. */
#define BOX_OPTIONS "mode=0711,size=16m"
/* Inodes: a file of 4 KiB each, and some for folders (tmpfs charges them to the job's memory). */
#define BYTES_PER_INODE 4096
#define OWN_INODES	1024
#define OWN_BYTES	(16 * 4096)
#define HOST_ATTRS	(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static int make_dir(const char *path, mode_t mode)
{
	if (mkdir(path, mode) < 0)
		return -errno;
	return chmod(path, mode) < 0 ? -errno : 0; /* whatever the umask made of it */
}

static int put_file(const char *path, const char *text, size_t len)
{
	wdr_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	return fd < 0 ? -errno : wdr_write_all(fd, text, len);
}

static int attach(int tree_fd, const char *path)
{
	wdr_close_ int at = open(path, O_PATH | O_CLOEXEC);

	return at < 0 ? -errno : wdr_tree_attach(tree_fd, at);
}

/* Show the host's @path at @target, which is made; a path that the host lacks is skipped. */
static int show_host(const char *path, const char *target, bool is_dir)
{
	wdr_close_ int tree = wdr_tree_clone(AT_FDCWD, path, AT_RECURSIVE, HOST_ATTRS);
	int r;

	if (tree == -ENOENT || tree == -EACCES)
		return 0;
	if (tree < 0)
		return WDR_TAKE_FD(tree);
	r = is_dir ? make_dir(target, 0755) : put_file(target, "", 0);
	return r < 0 ? r : attach(tree, target);
}

static int make_tmpfs(const char *path, const char *options)
{
	return mount("warder", path, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0 ? -errno : 0;
}

/* The job's own bytes: one total for all of its writable folders. */
static int make_rw(const struct wdr_policy *p)
{
	uint64_t disk = p->limits.disk_bytes;
	char options[96] = "mode=0711,size=0,nr_inodes=0"; /* no limit */

	if (disk != WDR_UNLIMITED)
		(void)snprintf(options, sizeof(options), "mode=0711,size=%llu,nr_inodes=%llu",
			       (unsigned long long)disk + OWN_BYTES,
			       (unsigned long long)disk / BYTES_PER_INODE + OWN_INODES);
	return make_tmpfs(WDR_BOX_RW, options);
}

static int make_folder(enum wdr_box_part part, size_t n, mode_t mode, uid_t uid, gid_t gid)
{
	char path[WDR_BOX_PATH_MAX];
	int r = make_dir(wdr_box_path(part, n, path), mode);

	return r < 0 ? r : chown(path, uid, gid) < 0 ? -errno : 0;
}

static int make_writable(struct wdr_backend_job *b)
{
	const struct wdr_policy *p = b->spec->policy;
	int r = make_rw(p);

	if (r == 0)
		r = make_folder(WDR_BOX_SHM, 0, 01777, 0, 0);
	for (size_t i = 0; r == 0 && i < p->fs.n_tmpfs; i++) {
		const char *path = p->fs.tmpfs[i];

		if (!strcmp(path, "/tmp") || !strcmp(path, "/var/tmp"))
			r = make_folder(WDR_BOX_TMPFS, i, 01777, 0, 0);
		else
			r = make_folder(WDR_BOX_TMPFS, i, 0755, p->user.uid, p->user.gid);
	}
	return r;
}

static int make_etc(const struct wdr_policy *p)
{
	char text[WDR_ETC_TEXT_MAX], path[PATH_MAX], host[NAME_MAX + 8];
	const char *name = NULL;
	int r = 0;

	for (unsigned int i = 0; r == 0 && wdr_etc_text(p, i, &name, text) == 0; i++) {
		(void)snprintf(path, sizeof(path), WDR_BOX_ROOTFS "/etc/%s", name);
		r = put_file(path, text, strlen(text));
	}
	for (size_t i = 0; r == 0 && i < wdr_etc_n_binds; i++) {
		(void)snprintf(host, sizeof(host), "/etc/%s", wdr_etc_binds[i].name);
		(void)snprintf(path, sizeof(path), WDR_BOX_ROOTFS "%s", host);
		r = show_host(host, path, wdr_etc_binds[i].is_dir);
	}
	return r;
}

/* Debian's JDKs keep parts of themselves in /etc/java-<version>-openjdk. */
static int show_java(void)
{
	char host[NAME_MAX + 8], path[PATH_MAX];
	struct dirent *e;
	int r = 0;
	DIR *d;

	if (access("/usr/lib/jvm", F_OK) < 0)
		return 0;
	d = opendir("/etc");
	while (d && r == 0 && (e = readdir(d))) {
		if (strncmp(e->d_name, "java-", 5) || e->d_type != DT_DIR)
			continue;
		(void)snprintf(host, sizeof(host), "/etc/%s", e->d_name);
		(void)snprintf(path, sizeof(path), WDR_BOX_ROOTFS "%s", host);
		r = show_host(host, path, true);
	}
	if (d)
		(void)closedir(d);
	return r;
}

/* The same link in the root as on the host. -ENOENT if the host's is none. */
static int copy_link(const char *path)
{
	char to[PATH_MAX], at[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to) - 1);

	if (n <= 0)
		return -ENOENT;
	to[n] = '\0';
	(void)snprintf(at, sizeof(at), WDR_BOX_ROOTFS "%s", path);
	return symlink(to, at) < 0 ? -errno : 0;
}

static int show_usr(void)
{
	char path[16], target[64];
	int r = show_host("/usr", WDR_BOX_ROOTFS "/usr", true);

	for (size_t i = 0; r == 0 && i < wdr_etc_n_usr_links; i++) {
		(void)snprintf(path, sizeof(path), "/%s", wdr_etc_usr_links[i]);
		(void)snprintf(target, sizeof(target), WDR_BOX_ROOTFS "%s", path);
		r = copy_link(path);
		if (r == -ENOENT)
			r = show_host(path, target, true);
	}
	return r;
}

/* The default root: what programs need of the host, and nothing that says whose it is. */
static int make_host_root(struct wdr_backend_job *b)
{
	static const char *const folders[] = {
		"/etc", "/etc/ssl", "/dev", "/proc",	  "/sys",  "/home",
		"/run", "/var",	    "/tmp", "/home/user", "/root",
	};
	char path[WDR_BOX_PATH_MAX];
	int r = make_dir(WDR_BOX_ROOTFS, 0755);

	for (size_t i = 0; r == 0 && i < sizeof(folders) / sizeof(folders[0]); i++) {
		(void)snprintf(path, sizeof(path), WDR_BOX_ROOTFS "%s", folders[i]);
		r = make_dir(path, 0755);
	}
	if (r == 0 && symlink("/tmp", WDR_BOX_ROOTFS "/var/tmp") < 0)
		r = -errno;
	if (r == 0)
		r = show_usr();
	if (r == 0)
		r = make_etc(b->spec->policy);
	if (r == 0)
		r = show_java();
	if (r == 0 && copy_link("/etc/localtime") == -EEXIST)
		r = -EEXIST;
	return r;
}

/* What is mounted in the image, which its own overlay does not show. */
static int take_submounts(struct wdr_submounts **ret)
{
	wdr_close_ int lower = open(WDR_BOX "/lower", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t mnt;
	int r = lower < 0 ? -errno : wdr_tree_mnt_id(lower, "", &mnt);

	return r < 0 ? r : wdr_submounts_take(lower, mnt, "/", ret);
}

static int put_submounts(const struct wdr_submounts *subs)
{
	wdr_close_ int root = open(WDR_BOX_ROOTFS, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : wdr_submounts_put(subs, root);
}

/*
 * --root: never written to. The gofer makes what mount points are missing, so the image is the
 * lower layer of an overlay whose upper one is in the box.
 */
static int make_image_root(struct wdr_backend_job *b)
{
	static const char *const dirs[] = { WDR_BOX_ROOTFS, WDR_BOX "/lower", WDR_BOX "/upper",
					    WDR_BOX "/work" };
	wdr_submounts_ struct wdr_submounts *subs = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(dirs) / sizeof(dirs[0]); i++)
		r = make_dir(dirs[i], 0755);
	if (r == 0)
		r = attach(b->root.fd, WDR_BOX "/lower");
	if (r == 0)
		r = take_submounts(&subs);
	if (r == 0 && mount("warder", WDR_BOX_ROOTFS, "overlay", MS_NOSUID | MS_NODEV,
			    "lowerdir=" WDR_BOX "/lower,upperdir=" WDR_BOX "/upper,workdir=" WDR_BOX
			    "/work") < 0)
		r = -errno;
	return r < 0 ? r : put_submounts(subs);
}

static int attach_new(const char *path, const struct wdr_box_tree *t)
{
	int r = t->is_dir ? make_dir(path, 0755) : put_file(path, "", 0);

	return r < 0 ? r : attach(t->fd, path);
}

/* One mount for gVisor, however many hierarchies: on pure v2 the one view is the folder itself. */
static int attach_view(const char *name, const struct wdr_box_tree *t)
{
	char path[sizeof(WDR_BOX_VIEWS) + sizeof(((struct wdr_spec_view *)0)->name)];

	if (!name[0])
		return attach(t->fd, WDR_BOX_VIEWS);
	(void)snprintf(path, sizeof(path), WDR_BOX_VIEWS "/%s", name);
	return attach_new(path, t);
}

static int attach_parts(struct wdr_backend_job *b)
{
	char path[WDR_BOX_PATH_MAX];
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->n_mounts; i++)
		r = attach_new(wdr_box_path(WDR_BOX_MOUNT, i, path), &b->mounts[i]);
	for (unsigned int i = 0; r == 0 && i < b->spec->n_views; i++)
		r = attach_view(b->spec->views[i].name, &b->views[i]);
	return r;
}

static int make_folders(void)
{
	static const char *const dirs[] = { WDR_BOX_BUNDLE, WDR_BOX_STATE, WDR_BOX_RW,
					    WDR_BOX "/mnt", WDR_BOX_VIEWS };
	int r = make_tmpfs(WDR_BOX, BOX_OPTIONS);

	for (size_t i = 0; r == 0 && i < sizeof(dirs) / sizeof(dirs[0]); i++)
		r = make_dir(dirs[i], 0755);
	return r;
}

int wdr_box_make(struct wdr_backend_job *b, struct wdr_err *err)
{
	int r = make_folders();

	if (r < 0)
		return wdr_err_wrap(err, r, "make the sandbox's folders");
	r = make_writable(b);
	if (r < 0)
		return wdr_err_wrap(err, r, "make the job's writable folders");
	r = b->root.fd >= 0 ? make_image_root(b) : make_host_root(b);
	if (r < 0)
		return wdr_err_wrap(err, r, "put the root together");
	r = attach_parts(b);
	if (r < 0)
		return wdr_err_wrap(err, r, "attach the mounts");
	r = put_file(WDR_BOX_BUNDLE "/config.json", b->config, strlen(b->config));
	if (r == 0 && b->session)
		r = put_file(WDR_BOX_TRACE, b->session, strlen(b->session));
	if (r < 0)
		return wdr_err_wrap(err, r, "write config.json");
	return wdr_box_place(b, err);
}
