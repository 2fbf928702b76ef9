/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The skeleton: the folders of a host-rooted job, and the /etc that it sees. Of the host's /etc
 * it gets what programs need to run, and nothing that says who uses this machine.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "native/root_priv.h"
#include "policy/etc.h"

static const char *const folders[] = {
	"root",	     "root/usr",       "root/etc",  "root/etc/ssl", "root/dev",
	"root/proc", "root/sys",       "root/home", "root/run",	    "root/var",
	"root/tmp",  "root/home/user", "root/root", "shm",	    "empty",
};

static int put_file(struct root *r, const char *name, const char *text)
{
	wdr_close_ int fd =
		openat(r->scratch_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	size_t len = strlen(text);

	if (fd < 0)
		return -errno;
	return write(fd, text, len) == (ssize_t)len ? 0 : -EIO;
}

static int put_etc(struct root *r)
{
	char text[WDR_ETC_TEXT_MAX];
	const char *name = NULL;
	char path[64];
	int e = 0;

	for (unsigned int i = 0; e == 0; i++) {
		if (wdr_etc_text(r->b->spec->policy, i, &name, text) < 0)
			return 0;
		(void)snprintf(path, sizeof(path), "root/etc/%s", name);
		e = put_file(r, path, text);
	}
	return e;
}

/* A link of the host's stays the same link; a real folder (/usr not merged) is bound later. */
static int put_usr_links(struct root *r)
{
	for (size_t i = 0; i < wdr_etc_n_usr_links; i++) {
		char path[16];
		char to[PATH_MAX];
		char in_root[24];
		struct stat st;
		ssize_t n;

		(void)snprintf(path, sizeof(path), "/%s", wdr_etc_usr_links[i]);
		(void)snprintf(in_root, sizeof(in_root), "root/%s", wdr_etc_usr_links[i]);
		n = readlink(path, to, sizeof(to) - 1);
		if (n > 0) {
			to[n] = '\0';
			if (symlinkat(to, r->scratch_fd, in_root) < 0)
				return -errno;
		} else if (stat(path, &st) == 0 && mkdirat(r->scratch_fd, in_root, 0755) < 0) {
			return -errno;
		}
	}
	return 0;
}

int wdr_root_make_skeleton(struct root *r, struct wdr_err *err)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < sizeof(folders) / sizeof(folders[0]); i++)
		e = mkdirat(r->scratch_fd, folders[i], 0755) < 0 ? -errno : 0;
	if (e == 0 && fchmodat(r->scratch_fd, "shm", 01777, 0) < 0)
		e = -errno;
	if (e == 0 && symlinkat("/tmp", r->scratch_fd, "root/var/tmp") < 0)
		e = -errno;
	if (e == 0)
		e = put_etc(r);
	if (e == 0 && !r->b->root.target)
		e = put_usr_links(r);
	return e < 0 ? wdr_err_wrap(err, e, "fill the new root") : 0;
}

static int bind_etc_entry(struct root *r, const char *name, bool is_dir, struct wdr_err *err)
{
	char host[NAME_MAX + 8];
	char here[NAME_MAX + 16];
	int fd;

	(void)snprintf(host, sizeof(host), "/etc/%s", name);
	if (faccessat(AT_FDCWD, host, R_OK, AT_EACCESS) < 0)
		return 0;
	(void)snprintf(here, sizeof(here), "root/etc/%s", name);
	if (is_dir) {
		if (mkdirat(r->scratch_fd, here, 0755) < 0)
			return wdr_err_set(err, -errno, "%s: %s", host, strerror(errno));
	} else {
		fd = openat(r->scratch_fd, here, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
		if (fd < 0)
			return wdr_err_set(err, -errno, "%s: %s", host, strerror(errno));
		(void)close(fd);
	}
	return wdr_root_bind_host(r, host, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, err);
}

void wdr_root_put_localtime(struct root *r)
{
	char to[PATH_MAX];
	ssize_t n = readlink("/etc/localtime", to, sizeof(to) - 1);

	if (n <= 0)
		return;
	to[n] = '\0';
	(void)!symlinkat(to, r->scratch_fd, "root/etc/localtime");
}

/* Debian's JDKs, /usr/lib/jvm/java-17-openjdk-amd64, keep a part of themselves in /etc. */
static int each_java(struct root *r, wdr_root_etc_fn fn, struct wdr_err *err)
{
	static const char tail[] = "-openjdk";
	DIR *d = opendir(WDR_ROOT_JVM);
	struct dirent *e;
	int res = 0;

	while (d && res == 0 && (e = readdir(d))) {
		char *end = strstr(e->d_name, tail);

		if (e->d_type != DT_DIR || strncmp(e->d_name, "java-", 5) || !end)
			continue;
		end[sizeof(tail) - 1] = '\0';
		res = fn(r, e->d_name, true, err);
	}
	if (d)
		(void)closedir(d);
	return res;
}

int wdr_root_each_etc(struct root *r, wdr_root_etc_fn fn, struct wdr_err *err)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < wdr_etc_n_binds; i++)
		e = fn(r, wdr_etc_binds[i].name, wdr_etc_binds[i].is_dir, err);
	return e < 0 ? e : each_java(r, fn, err);
}

const char *const wdr_root_image_etc[] = { "/etc/resolv.conf", "/etc/hosts", NULL };

/* An image brings its own /etc; only its resolver's configuration is the policy's. */
static int bind_image_etc(struct root *r, struct wdr_err *err)
{
	bool wanted = r->b->spec->policy->net.mode != WDR_NET_NONE;

	for (size_t i = 0; wdr_root_image_etc[i]; i++) {
		const char *to = wdr_root_image_etc[i];
		char from[32];
		wdr_close_ int tree = -1;
		wdr_close_ int at = -1;
		int e;

		(void)snprintf(from, sizeof(from), "root%s", to);
		at = wanted ? wdr_root_target(r, to, false, err) : wdr_tree_open_in(r->fd, to);
		if (at < 0 && wanted)
			return at;
		if (at < 0)
			continue;
		tree = wdr_tree_clone(r->scratch_fd, from, 0, MOUNT_ATTR_RDONLY);
		e = tree < 0 ? tree : wdr_tree_attach(tree, at);
		if (e < 0)
			return wdr_err_wrap(err, e, "mount %s", to);
	}
	return 0;
}

int wdr_root_bind_etc(struct root *r, struct wdr_err *err)
{
	int e;

	if (r->prepared)
		return wdr_root_bind_listed(r, err);
	if (r->b->root.target)
		return bind_image_etc(r, err);
	e = wdr_root_bind_host(r, "/usr", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, err);
	for (size_t i = 0; e == 0 && i < wdr_etc_n_usr_links; i++) {
		char path[16];
		struct stat st;

		(void)snprintf(path, sizeof(path), "/%s", wdr_etc_usr_links[i]);
		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
			e = wdr_root_bind_host(r, path, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, err);
	}
	if (e == 0)
		e = wdr_root_each_etc(r, bind_etc_entry, err);
	if (e == 0)
		wdr_root_put_localtime(r);
	return e;
}
