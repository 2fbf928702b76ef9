/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wdr_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/wdr_io.h"

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U /* linux/stat.h, 5.8 */
#endif

static int write_proc(pid_t pid, const char *name, const char *text)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return wdr_write_file(AT_FDCWD, path, text);
}

/* Its inode number is fixed (linux/proc_ns.h, PROC_USER_INIT_INO). */
bool wdr_userns_is_first(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) < 0 || st.st_ino == 0xEFFFFFFDU;
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

/* As uid_map(5) has it: no id is (uid_t)-1. */
#define ALL_IDS UINT32_MAX

static size_t add_extent(char *buf, size_t n, uint32_t in, uint32_t out, uint32_t count)
{
	if (!count)
		return n;
	return n + (size_t)snprintf(buf + n, WDR_IDMAP_TEXT_MAX - n, "%u %u %u\n", in, out, count);
}

const char *wdr_idmap_swap_text(uint32_t a, uint32_t b, char buf[WDR_IDMAP_TEXT_MAX])
{
	uint32_t lo = a < b ? a : b, hi = a < b ? b : a;
	size_t n = add_extent(buf, 0, 0, 0, lo);

	n = add_extent(buf, n, lo, hi, 1);
	if (lo != hi) {
		n = add_extent(buf, n, lo + 1, lo + 1, hi - lo - 1);
		n = add_extent(buf, n, hi, lo, 1);
	}
	(void)add_extent(buf, n, hi + 1, hi + 1, ALL_IDS - hi - 1);
	return buf;
}

static int write_maps(pid_t pid, enum wdr_idmap map, struct wdr_ids in, struct wdr_ids out)
{
	char text[WDR_IDMAP_TEXT_MAX];
	int r;

	if (map == WDR_IDMAP_OWNER)
		return wdr_userns_map(pid, in.uid, in.gid, out.uid, out.gid, false, NULL);
	r = write_proc(pid, "gid_map", wdr_idmap_swap_text(in.gid, out.gid, text));
	return r < 0 ? r : write_proc(pid, "uid_map", wdr_idmap_swap_text(in.uid, out.uid, text));
}

/* Be the holder of a user namespace until the other end of @hold is closed. */
static _Noreturn void hold_userns(const int hold[2])
{
	char byte;

	(void)close(hold[1]);
	while (read(hold[0], &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/*
 * A user namespace exists as long as somebody holds it: borrow one from a child that only waits. It
 * ends with its pipe, so that no signal that a filter around us refuses could make us wait for ever.
 */
static int make_userns(enum wdr_idmap map, struct wdr_ids in, struct wdr_ids out)
{
	int hold[2], r, fd = -1;
	char path[64];
	siginfo_t si;
	pid_t pid;

	if (pipe2(hold, O_CLOEXEC) < 0)
		return -errno;
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		hold_userns(hold);
	r = pid < 0 ? -errno : write_maps(pid, map, in, out);
	if (r == 0) {
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		r = fd < 0 ? -errno : fd;
	}
	(void)close(hold[0]);
	(void)close(hold[1]);
	while (pid > 0 && waitid(P_PID, (id_t)pid, &si, WEXITED) < 0 && errno == EINTR)
		;
	return r;
}

int wdr_tree_idmap(int tree_fd, enum wdr_idmap map, struct wdr_ids owner, struct wdr_ids as)
{
	struct mount_attr a = { .attr_set = MOUNT_ATTR_IDMAP };
	wdr_close_ int userns_fd = make_userns(map, owner, as);

	if (userns_fd < 0)
		return userns_fd;
	a.userns_fd = (uint64_t)userns_fd;
	if (mount_setattr(tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &a, sizeof(a)) < 0)
		return -errno;
	return 0;
}

/* By its kind, or because it is mapped already (mount_setattr(2)): a lack of memory is neither. */
static bool cant_be_mapped(int r)
{
	return r == -EINVAL || r == -EPERM;
}

int wdr_tree_open(const char *path, bool readonly, enum wdr_idmap map, struct wdr_ids as,
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
	r = map ? wdr_tree_idmap(fd, map, (struct wdr_ids){ st.st_uid, st.st_gid }, as) : 0;
	if (cant_be_mapped(r) && !readonly)
		return wdr_err_set(err, r,
				   "mount %.100s read-write: a file system in it can't be idmapped "
				   "to its owner; read-only it can be mounted",
				   path);
	if (r < 0 && !cant_be_mapped(r))
		return wdr_err_wrap(err, r, "idmap mount source %s", path);
	*ret_is_dir = S_ISDIR(st.st_mode);
	return WDR_TAKE_FD(fd);
}

int wdr_tree_open_in(int root_fd, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	long fd = syscall(SYS_openat2, root_fd, *path ? path : ".", &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int wdr_tree_make_chain(int at, const char *rest, bool is_dir)
{
	wdr_close_ int dir = openat(at, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[NAME_MAX + 1];

	while (dir >= 0) {
		size_t len = strcspn(rest, "/");
		bool last = rest[len + strspn(rest + len, "/")] == '\0';
		int next;

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, rest, len);
		name[len] = '\0';
		if (!strcmp(name, ".") || !strcmp(name, ".."))
			return -EINVAL;
		if (last && !is_dir) {
			next = openat(dir, name,
				      O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
				      0644);
		} else {
			if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
				return -errno;
			next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		}
		if (next < 0)
			return -errno;
		(void)close(dir);
		dir = next;
		if (last)
			return 0;
		rest += len + strspn(rest + len, "/");
	}
	return -errno;
}

int wdr_tree_mnt_id(int fd, const char *path, uint64_t *ret)
{
	struct statx stx;

	if (statx(fd, path, AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0)
		return -errno;
	/* Where the kernel has no statx(2) the C library makes one up, with the same id for all. */
	if (!(stx.stx_mask & STATX_MNT_ID))
		return -EOPNOTSUPP;
	*ret = stx.stx_mnt_id;
	return 0;
}

int wdr_tree_attach(int tree_fd, int target_fd)
{
	return move_mount(tree_fd, "", target_fd, "",
			  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ?
		       -errno :
		       0;
}
