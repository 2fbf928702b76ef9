/* SPDX-License-Identifier: Apache-2.0 */
/* The job's root: mounts made, filled, masked and left behind. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/wdr_io.h"
#include "base/wdr_tree.h"
#include "native/probe.h"
#include "native/probe_priv.h"

#define DISK_LIMIT  "65536"
#define DISK_BYTES  65536
#define FOREIGN_UID 1879048192 /* the first that a job may get: loader/state */

/* A new mount of @type, not yet attached. */
static int make_mount(const char *type, const char *size)
{
	wdr_close_ int fs = fsopen(type, FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || (size && fsconfig(fs, FSCONFIG_SET_STRING, "size", size, 0) < 0) ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return fd < 0 ? -errno : fd;
}

static int leave_root(const char **step)
{
	wdr_close_ int fd = -1;

	*step = "mount a tmpfs";
	fd = make_mount("tmpfs", DISK_LIMIT);
	if (fd < 0)
		return fd;
	*step = "attach a new root";
	if (move_mount(fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	*step = "pivot_root";
	if (fchdir(fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return -errno;
	*step = "leave the old root";
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	return access("/proc", F_OK) < 0 && errno == ENOENT ? 0 : -EEXIST;
}

/* The kernel gives a user namespace its own /proc only where the one it sees is not masked. */
static int mask_proc(const char **step)
{
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY };
	wdr_close_ int proc = -1;
	wdr_close_ int null = -1;

	*step = "mount a fresh proc";
	proc = make_mount("proc", NULL);
	if (proc < 0)
		return proc;
	if (move_mount(proc, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	*step = "cover a file of /proc";
	null = wdr_tree_clone(AT_FDCWD, "/dev/null", 0, MOUNT_ATTR_RDONLY);
	if (null < 0)
		return null;
	if (move_mount(null, "", AT_FDCWD, "/proc/version", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	*step = "make /proc read-only";
	return mount_setattr(proc, "", AT_EMPTY_PATH, &ro, sizeof(ro)) < 0 ? -errno : 0;
}

static int fill_tmpfs(const char **step)
{
	static const char zeros[2 * DISK_BYTES];
	wdr_close_ int dir = -1;
	wdr_close_ int fd = -1;

	*step = "mount a tmpfs";
	dir = make_mount("tmpfs", DISK_LIMIT);
	if (dir < 0)
		return dir;
	*step = "make a file in it";
	fd = openat(dir, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	*step = "be stopped by its size";
	return wdr_write_all(fd, zeros, sizeof(zeros)) == -ENOSPC ? 0 : -EOVERFLOW;
}

/* Of the file system that we stand on: what a read-write mount is taken from most often. */
static int idmap_here(const char **step)
{
	wdr_close_ int fd = -1;
	struct stat st;

	*step = "clone the mount of the working directory";
	fd = wdr_tree_clone(AT_FDCWD, ".", 0, 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fd < 0 ? fd : -errno;
	*step = "idmap the file system of the working directory";
	return wdr_tree_idmap(fd, WDR_IDMAP_OWNER, (struct wdr_ids){ st.st_uid, st.st_gid },
			      (struct wdr_ids){ FOREIGN_UID, FOREIGN_UID });
}

static const struct wdr_trial trials[] = {
	{ WDR_PROT_PIVOT_ROOT, 0, CLONE_NEWUSER | CLONE_NEWNS, leave_root },
	{ WDR_PROT_MASKED_PATHS, 0, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, mask_proc },
	{ WDR_PROT_DISK_LIMIT, 0, CLONE_NEWUSER | CLONE_NEWNS, fill_tmpfs },
	{ WDR_PROT_IDMAP, 0, 0, idmap_here },
};

#define COVERS                                                                     \
	(WDR_PROT_BIT(WDR_PROT_PIVOT_ROOT) | WDR_PROT_BIT(WDR_PROT_MASKED_PATHS) | \
	 WDR_PROT_BIT(WDR_PROT_DISK_LIMIT) | WDR_PROT_BIT(WDR_PROT_IDMAP))

static void probe(struct wdr_check_report *rep)
{
	wdr_native_try(trials, sizeof(trials) / sizeof(trials[0]), rep);
}

const struct wdr_probe wdr_native_root_probe = { "root", COVERS, 0, probe };
