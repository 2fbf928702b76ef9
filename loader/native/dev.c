/* SPDX-License-Identifier: Apache-2.0 */
/* /dev, /proc and /sys of a job: what programs need of the kernel, and nothing that changes it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "native/root_priv.h"

/* Numbers of the kernel's admin-guide/devices.txt. */
static const struct {
	const char *name;
	unsigned int major, minor;
} nodes[] = {
	{ "null", 1, 3 },   { "zero", 1, 5 },	 { "full", 1, 7 },
	{ "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 },
};

static const struct {
	const char *name;
	const char *to;
} dev_links[] = {
	{ "root/dev/fd", "/proc/self/fd" },	  { "root/dev/stdin", "/proc/self/fd/0" },
	{ "root/dev/stdout", "/proc/self/fd/1" }, { "root/dev/stderr", "/proc/self/fd/2" },
	{ "root/dev/ptmx", "pts/ptmx" },
};

/* OCI's default lists (runc libcontainer/SPEC.md) and what else tells of others' keys and typing. */
static const char *const masked[] = {
	"/proc/acpi", "/proc/asound",	  "/proc/interrupts",	 "/proc/kcore",
	"/proc/keys", "/proc/key-users",  "/proc/latency_stats", "/proc/sched_debug",
	"/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
};

static const char *const readonly[] = {
	"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger",
};

/* Of /sys only what runtimes size themselves by. */
static const char *const sys_binds[] = {
	"/sys/devices/system/cpu",
	"/sys/kernel/mm/transparent_hugepage",
};

int wdr_root_make_dev(struct root *r, bool as_nodes)
{
	char name[24];

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		mode_t mode = as_nodes ? S_IFCHR | 0666 : S_IFREG | 0444;

		(void)snprintf(name, sizeof(name), "root/dev/%s", nodes[i].name);
		if (mknodat(r->scratch_fd, name, mode, makedev(nodes[i].major, nodes[i].minor)) < 0)
			return -errno;
	}
	for (size_t i = 0; i < sizeof(dev_links) / sizeof(dev_links[0]); i++) {
		if (symlinkat(dev_links[i].to, r->scratch_fd, dev_links[i].name) < 0)
			return -errno;
	}
	if (mkdirat(r->scratch_fd, "root/dev/pts", 0755) < 0 ||
	    mkdirat(r->scratch_fd, "root/dev/shm", 0755) < 0 ||
	    mkdirat(r->scratch_fd, "root/dev/mqueue", 0755) < 0)
		return -errno;
	return 0;
}

/* A new instance of a file system that belongs to our namespaces. */
static int mount_new(struct root *r, const char *type, const char *const options[],
		     const char *target, uint64_t attrs, struct wdr_err *err)
{
	wdr_close_ int fs = fsopen(type, FSOPEN_CLOEXEC);
	wdr_close_ int fd = -1;
	int e = fs < 0 ? -errno : 0;

	for (size_t i = 0; e == 0 && options && options[i]; i += 2)
		e = fsconfig(fs, FSCONFIG_SET_STRING, options[i], options[i + 1], 0) < 0 ? -errno :
											   0;
	if (e == 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		e = -errno;
	if (e == 0) {
		fd = fsmount(fs, FSMOUNT_CLOEXEC, attrs);
		e = fd < 0 ? -errno : 0;
	}
	if (e < 0)
		return wdr_err_wrap(err, e, "new %s", type);
	e = wdr_root_attach_known(r, fd, target);
	return e < 0 ? wdr_err_wrap(err, e, "mount %s", target) : 0;
}

static int bind_nodes(struct root *r, struct wdr_err *err)
{
	int e = wdr_root_make_dev(r, false);
	char path[24];

	if (e < 0)
		return wdr_err_wrap(err, e, "fill /dev");
	if (r->b->root.target)
		e = wdr_root_bind_scratch(r, "root/dev", "/dev", MOUNT_ATTR_RDONLY, err);
	for (size_t i = 0; e == 0 && i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		(void)snprintf(path, sizeof(path), "/dev/%s", nodes[i].name);
		e = wdr_root_bind_host(r, path, MOUNT_ATTR_NOEXEC, err);
	}
	return e;
}

int wdr_root_bind_dev(struct root *r, struct wdr_err *err)
{
	static const char *const pts[] = { "mode", "620", "ptmxmode", "666", NULL };
	int e = r->prepared ? 0 : bind_nodes(r, err);

	if (e == 0)
		e = mount_new(r, "devpts", pts, "/dev/pts", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
			      err);
	/* The ipc namespace has it anyway; Landlock lets queues be opened only below a folder. */
	if (e == 0 && !(r->b->spec->waived & WDR_PROT_BIT(WDR_PROT_IPC_NS)))
		e = mount_new(r, "mqueue", NULL, "/dev/mqueue",
			      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	return e;
}

/* Cover @path with nothing: an empty read-only folder, or /dev/null. */
static int mask(struct root *r, const char *path, struct wdr_err *err)
{
	wdr_close_ int at = wdr_tree_open_in(r->fd, path);
	wdr_close_ int tree = -1;
	struct stat st;
	int e;

	if (at == -ENOENT)
		return 0;
	if (at < 0 || fstat(at, &st) < 0)
		return wdr_err_wrap(err, at < 0 ? at : -errno, "open %s", path);
	if (S_ISDIR(st.st_mode))
		tree = wdr_tree_clone(r->prepared ? r->fd : r->scratch_fd,
				      r->prepared ? "run" : "empty", 0,
				      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					      MOUNT_ATTR_NOEXEC);
	else
		tree = wdr_tree_clone(AT_FDCWD, "/dev/null", 0,
				      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	e = tree < 0 ? tree : wdr_tree_attach(tree, at);
	return e < 0 ? wdr_err_wrap(err, e, "mask %s", path) : 0;
}

static int make_readonly(struct root *r, const char *path, struct wdr_err *err)
{
	wdr_close_ int at = wdr_tree_open_in(r->fd, path);
	wdr_close_ int tree = -1;
	int e;

	if (at == -ENOENT)
		return 0;
	if (at < 0)
		return wdr_err_wrap(err, at, "open %s", path);
	tree = wdr_tree_clone(at, "", AT_EMPTY_PATH,
			      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				      MOUNT_ATTR_NOEXEC);
	e = tree < 0 ? tree : wdr_tree_attach(tree, at);
	return e < 0 ? wdr_err_wrap(err, e, "make %s read-only", path) : 0;
}

int wdr_root_bind_proc(struct root *r, struct wdr_err *err)
{
	const uint64_t attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	int e;

	if (r->b->spec->waived & WDR_PROT_BIT(WDR_PROT_PID_NS))
		e = wdr_root_bind_host(r, "/proc", attrs, err);
	else
		e = mount_new(r, "proc", NULL, "/proc", attrs, err);

	if (r->b->spec->waived & WDR_PROT_BIT(WDR_PROT_MASKED_PATHS))
		return e;
	for (size_t i = 0; e == 0 && i < sizeof(masked) / sizeof(masked[0]); i++)
		e = mask(r, masked[i], err);
	for (size_t i = 0; e == 0 && i < sizeof(readonly) / sizeof(readonly[0]); i++)
		e = make_readonly(r, readonly[i], err);
	return e;
}

int wdr_root_make_sys(struct root *r)
{
	wdr_close_ int sys = openat(r->scratch_fd, "root/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	static const char *const chains[] = { "devices/system/cpu",
					      "kernel/mm/transparent_hugepage", "fs/cgroup" };
	int e = sys < 0 ? -errno : 0;

	for (size_t i = 0; e == 0 && i < sizeof(chains) / sizeof(chains[0]); i++)
		e = wdr_tree_make_chain(sys, chains[i], true);
	for (unsigned int i = 0; e == 0 && i < r->b->spec->n_views; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "fs/cgroup/%s", r->b->spec->views[i].name);
		if (r->b->spec->views[i].name[0] && mkdirat(sys, path, 0755) < 0)
			e = -errno;
	}
	return e;
}

int wdr_root_bind_sys(struct root *r, struct wdr_err *err)
{
	const struct wdr_spec *s = r->b->spec;
	int e = r->prepared ? 0 : wdr_root_make_sys(r);

	if (e < 0)
		return wdr_err_wrap(err, e, "fill /sys");
	if (r->b->root.target)
		e = wdr_root_bind_scratch(r, "root/sys", "/sys", MOUNT_ATTR_RDONLY, err);
	for (size_t i = 0; e == 0 && i < sizeof(sys_binds) / sizeof(sys_binds[0]); i++)
		e = wdr_root_bind_host(r, sys_binds[i],
				       MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
				       err);
	for (unsigned int i = 0; e == 0 && i < s->n_views; i++) {
		char path[64];

		if (r->b->views[i].fd < 0)
			continue;
		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", s->views[i].name);
		e = wdr_root_attach_known(r, r->b->views[i].fd, path);
		if (e < 0)
			return wdr_err_wrap(err, e, "mount %s", path);
	}
	return e;
}
