/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wdr_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/wdr_io.h"

static int write_proc(pid_t pid, const char *name, const char *text)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return wdr_write_file(AT_FDCWD, path, text);
}

int wdr_userns_map(pid_t pid, uint32_t in_uid, uint32_t in_gid, uint32_t out_uid, uint32_t out_gid,
		   bool deny_setgroups, struct wdr_err *err)
{
	char text[48];
	int r;

	if (deny_setgroups) {
		r = write_proc(pid, "setgroups", "deny");
		if (r < 0)
			return wdr_err_wrap(err, r, "write setgroups in /proc");
	}
	(void)snprintf(text, sizeof(text), "%u %u 1", in_gid, out_gid);
	r = write_proc(pid, "gid_map", text);
	if (r < 0)
		return wdr_err_wrap(err, r, "write %s to gid_map in /proc", text);
	(void)snprintf(text, sizeof(text), "%u %u 1", in_uid, out_uid);
	r = write_proc(pid, "uid_map", text);
	if (r < 0)
		return wdr_err_wrap(err, r, "write %s to uid_map in /proc", text);
	return 0;
}

int wdr_tree_clone(int at_fd, const char *path, unsigned int flags, uint64_t attrs)
{
	struct mount_attr a = { .attr_set = attrs, .propagation = MS_PRIVATE };
	wdr_close_ int fd = -1;

	fd = open_tree(at_fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
	if (fd < 0)
		return -errno;
	if (mount_setattr(fd, "", AT_EMPTY_PATH | (flags & AT_RECURSIVE), &a, sizeof(a)) < 0)
		return -errno;
	return WDR_TAKE_FD(fd);
}

/* A user namespace exists as long as somebody holds it: borrow one from a child that only waits. */
static int make_userns(uid_t in_uid, gid_t in_gid, uint32_t out_uid, uint32_t out_gid)
{
	pid_t parent = getpid();
	char path[64];
	siginfo_t si;
	int fd = -1;
	pid_t pid;
	int r;

	pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(1);
		for (;;)
			(void)pause();
	}
	r = wdr_userns_map(pid, in_uid, in_gid, out_uid, out_gid, false, NULL);
	if (r == 0) {
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		r = fd < 0 ? -errno : fd;
	}
	(void)kill(pid, SIGKILL);
	while (waitid(P_PID, (id_t)pid, &si, WEXITED) < 0 && errno == EINTR)
		;
	return r;
}

int wdr_tree_idmap(int tree_fd, uid_t owner_uid, gid_t owner_gid, uint32_t uid, uint32_t gid)
{
	struct mount_attr a = { .attr_set = MOUNT_ATTR_IDMAP };
	wdr_close_ int userns_fd = make_userns(owner_uid, owner_gid, uid, gid);

	if (userns_fd < 0)
		return userns_fd;
	a.userns_fd = (uint64_t)userns_fd;
	if (mount_setattr(tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &a, sizeof(a)) < 0)
		return -errno;
	return 0;
}

int wdr_tree_open(const char *path, bool readonly, bool idmap, uint32_t uid, uint32_t gid,
		  bool *ret_is_dir, struct wdr_err *err)
{
	uint64_t attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (readonly ? MOUNT_ATTR_RDONLY : 0);
	wdr_close_ int fd = wdr_tree_clone(AT_FDCWD, path, AT_RECURSIVE, attrs);
	struct stat st;
	int r;

	if (fd < 0)
		return wdr_err_wrap(err, WDR_TAKE_FD(fd), "mount source %s", path);
	if (fstat(fd, &st) < 0)
		return wdr_err_wrap(err, -errno, "mount source %s", path);
	r = idmap ? wdr_tree_idmap(fd, st.st_uid, st.st_gid, uid, gid) : 0;
	if (r < 0 && !readonly)
		return wdr_err_wrap(
			err, r,
			"mount %s read-write with its owner's uid (the file system must "
			"support idmapped mounts; read-only needs no such support)",
			path);
	*ret_is_dir = S_ISDIR(st.st_mode);
	return WDR_TAKE_FD(fd);
}
