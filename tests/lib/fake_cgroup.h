/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for the kernel's cgroup file systems below a folder: include it in one test program,
 * whose own definitions of a few system call wrappers come before libc's.
 *
 * A new directory gets the files that its parent has; one that holds only files can be removed
 * unless its cgroup.procs lists something; a write replaces a file's text, and cgroup.subtree_control
 * adds to it. One fault can be set: the call that touches a file of that name fails.
 */
#pragma once

#include "wdr_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup/cgroup_priv.h"

enum fake_call {
	FAKE_NONE,
	FAKE_MKDIR,
	FAKE_OPEN,
	FAKE_WRITE,
	FAKE_RMDIR
};

static struct {
	enum fake_call call;
	const char *name;   /* of the file or directory */
	const char *parent; /* part of the path of its directory; NULL: any */
	int error;
	int times; /* how often, -1: always */
} fake_fault;

static char fake_root[64];

static inline void fake_path(int fd, char *buf, size_t size)
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, link, buf, size - 1);
	buf[n < 0 ? 0 : n] = '\0';
}

static inline bool fake_owns(const char *path)
{
	return *fake_root && !strncmp(path, fake_root, strlen(fake_root));
}

/* Whether the fault strikes @call on @name in @dir. Sets errno. */
static inline bool fake_fails(enum fake_call call, const char *dir, const char *name)
{
	if (fake_fault.call != call || !fake_fault.times || strcmp(fake_fault.name, name))
		return false;
	if (fake_fault.parent && !strstr(dir, fake_fault.parent))
		return false;
	if (fake_fault.times > 0)
		fake_fault.times--;
	errno = fake_fault.error;
	return true;
}

static inline void fake_put(const char *dir, const char *file, const char *text)
{
	char path[512];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s/%s", fake_root, dir, file);
	f = fopen(path, "we");
	assert_non_null(f);
	(void)fputs(text, f);
	assert_ok(fclose(f));
}

static inline const char *fake_get(const char *dir, const char *file)
{
	static char text[1024];
	char path[512];
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s/%s", fake_root, dir, file);
	f = fopen(path, "re");
	if (!f)
		return "(no such file)";
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	(void)fclose(f);
	return text;
}

static inline bool fake_has(const char *path)
{
	char full[512];

	(void)snprintf(full, sizeof(full), "%s/%s", fake_root, path);
	return !syscall(SYS_faccessat, AT_FDCWD, full, F_OK);
}

struct fake_file {
	const char *dir, *file, *text;
};

/* v2 without our controllers, and each of these in a v1 hierarchy of its own. */
static const struct fake_file fake_hybrid[] = {
	{ "unified", "cgroup.controllers", "hugetlb\n" },
	{ "unified", "cgroup.subtree_control", "" },
	{ "unified", "cgroup.procs", "" },
	{ "unified", "cgroup.events", "populated 0\nfrozen 0\n" },
	{ "unified", "cgroup.kill", "" },
	{ "unified", "cgroup.freeze", "0\n" },
	{ "unified", "cpu.stat", "usage_usec 70\nuser_usec 50\nsystem_usec 20\n" },
	{ "cpu", "tasks", "" },
	{ "cpu", "cgroup.procs", "" },
	{ "cpu", "cpu.cfs_quota_us", "-1\n" },
	{ "cpu", "cpu.cfs_period_us", "100000\n" },
	{ "memory", "tasks", "" },
	{ "memory", "cgroup.procs", "" },
	{ "memory", "memory.limit_in_bytes", "9223372036854771712\n" },
	{ "memory", "memory.memsw.limit_in_bytes", "9223372036854771712\n" },
	{ "memory", "memory.usage_in_bytes", "4096\n" },
	{ "memory", "memory.max_usage_in_bytes", "8192\n" },
	{ "memory", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n" },
	{ "memory", "cgroup.event_control", "" },
	{ "pids", "tasks", "" },
	{ "pids", "cgroup.procs", "" },
	{ "pids", "pids.max", "max\n" },
	{ "pids", "pids.current", "2\n" },
	{ "pids", "pids.events", "max 5\n" },
	{ NULL, NULL, NULL },
};

static const struct fake_file fake_pure[] = {
	{ ".", "cgroup.controllers", "cpuset cpu io memory pids\n" },
	{ ".", "cgroup.subtree_control", "cpu memory pids" },
	{ ".", "cgroup.procs", "" },
	{ ".", "cgroup.events", "populated 0\nfrozen 0\n" },
	{ ".", "cgroup.kill", "" },
	{ ".", "cgroup.freeze", "0\n" },
	{ ".", "cpu.stat", "usage_usec 70\nuser_usec 50\nsystem_usec 20\n" },
	{ ".", "cpu.max", "max 100000\n" },
	{ ".", "memory.max", "max\n" },
	{ ".", "memory.swap.max", "max\n" },
	{ ".", "memory.oom.group", "0\n" },
	{ ".", "memory.current", "4096\n" },
	{ ".", "memory.peak", "8192\n" },
	{ ".", "memory.events", "low 0\noom 4\noom_kill 3\noom_group_kill 1\n" },
	{ ".", "pids.max", "max\n" },
	{ ".", "pids.current", "2\n" },
	{ ".", "pids.peak", "9\n" },
	{ ".", "pids.events", "max 5\n" },
	{ NULL, NULL, NULL },
};

static inline void fake_make(const struct fake_file *files)
{
	char path[512];

	(void)snprintf(fake_root, sizeof(fake_root), "/tmp/wdr-cgroup-XXXXXX");
	assert_non_null(mkdtemp(fake_root));
	for (; files->dir; files++) {
		(void)snprintf(path, sizeof(path), "%s/%s", fake_root, files->dir);
		(void)mkdir(path, 0755);
		fake_put(files->dir, files->file, files->text);
	}
	memset(&fake_fault, 0, sizeof(fake_fault));
}

static inline int fake_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void fake_drop(void)
{
	assert_ok(nftw(fake_root, fake_remove_one, 16, FTW_DEPTH | FTW_PHYS));
	*fake_root = '\0';
}

/* What the kernel puts into a new cgroup: the parent's files as far as they are the child's, too. */
static inline void fake_populate(int parent_fd, int fd)
{
	char text[256];
	DIR *d = fdopendir(dup(parent_fd));
	struct dirent *e;

	assert_non_null(d);
	rewinddir(d);
	while ((e = readdir(d))) {
		const char *from = e->d_name;
		int in, out;
		ssize_t n;

		if (e->d_type != DT_REG)
			continue;
		if (!strcmp(from, "cgroup.controllers"))
			from = "cgroup.subtree_control";
		in = (int)syscall(SYS_openat, parent_fd, from, O_RDONLY);
		n = read(in, text, sizeof(text));
		out = (int)syscall(SYS_openat, fd, e->d_name, O_WRONLY | O_CREAT, 0644);
		if (strcmp(e->d_name, "cgroup.procs") &&
		    strcmp(e->d_name, "cgroup.subtree_control") && n > 0)
			assert_int_equal(syscall(SYS_write, out, text, n), n);
		(void)close(in);
		(void)close(out);
	}
	(void)closedir(d);
}

int mkdirat(int dir_fd, const char *name, mode_t mode)
{
	char dir[512];
	int fd;

	fake_path(dir_fd, dir, sizeof(dir));
	if (fake_fails(FAKE_MKDIR, dir, name))
		return -1;
	if (syscall(SYS_mkdirat, dir_fd, name, mode) < 0)
		return -1;
	if (!fake_owns(dir))
		return 0;
	fd = (int)syscall(SYS_openat, dir_fd, name, O_RDONLY | O_DIRECTORY);
	fake_populate(dir_fd, fd);
	(void)close(fd);
	return 0;
}

int openat(int dir_fd, const char *name, int flags, ...)
{
	char dir[512];

	fake_path(dir_fd, dir, sizeof(dir));
	if (fake_owns(dir) && fake_fails(FAKE_OPEN, dir, name))
		return -1;
	return (int)syscall(SYS_openat, dir_fd, name, flags, 0644);
}

/* "+cpu" or "-cpu" in cgroup.subtree_control. */
static ssize_t fake_subtree(int fd, const char *word, size_t len)
{
	char text[256], path[64];
	ssize_t n;
	int in;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	in = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
	n = read(in, text, sizeof(text) - 1);
	(void)close(in);
	if (n < 0 || *word != '+')
		return -1;
	n = snprintf(text + n, sizeof(text) - (size_t)n, "%s%.*s", n ? " " : "", (int)len - 1,
		     word + 1) +
	    n;
	assert_ok(lseek(fd, 0, SEEK_SET));
	return syscall(SYS_write, fd, text, n) == n ? (ssize_t)len : -1;
}

ssize_t write(int fd, const void *buf, size_t len)
{
	char path[512], *name;

	fake_path(fd, path, sizeof(path));
	if (!fake_owns(path))
		return syscall(SYS_write, fd, buf, len);
	name = strrchr(path, '/');
	*name++ = '\0';
	if (fake_fails(FAKE_WRITE, path, name))
		return -1;
	if (!strcmp(name, "cgroup.subtree_control"))
		return fake_subtree(fd, buf, len);
	assert_ok(syscall(SYS_ftruncate, fd, 0));
	return syscall(SYS_write, fd, buf, len);
}

int unlinkat(int dir_fd, const char *name, int flags)
{
	char dir[512], text[8];
	struct dirent *e;
	DIR *d;
	int fd, procs, busy;

	fake_path(dir_fd, dir, sizeof(dir));
	if (!fake_owns(dir) || !(flags & AT_REMOVEDIR))
		return (int)syscall(SYS_unlinkat, dir_fd, name, flags);
	if (fake_fails(FAKE_RMDIR, dir, name))
		return -1;
	fd = (int)syscall(SYS_openat, dir_fd, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return -1;
	procs = (int)syscall(SYS_openat, fd, "cgroup.procs", O_RDONLY);
	busy = procs >= 0 && read(procs, text, sizeof(text)) > 0;
	(void)close(procs);
	d = fdopendir(fd);
	assert_non_null(d);
	while ((e = readdir(d)))
		busy |= e->d_type == DT_DIR && e->d_name[0] != '.';
	rewinddir(d);
	while (!busy && (e = readdir(d)))
		if (e->d_type == DT_REG)
			(void)syscall(SYS_unlinkat, fd, e->d_name, 0);
	(void)closedir(d);
	if (busy) {
		errno = EBUSY;
		return -1;
	}
	return (int)syscall(SYS_unlinkat, dir_fd, name, flags);
}

/* How many descriptors this process has open. */
static inline int fake_count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

/* A tree with one job in it. */
static const struct wdr_cgroup_limits fake_unlimited = { UINT64_MAX, UINT64_MAX, UINT64_MAX, 0 };

struct fake_job {
	struct wdr_cgroup_tree *t;
	struct wdr_cgroup *cg;
	struct wdr_err err;
};

static inline void fake_begin(struct fake_job *j, const struct fake_file *layout)
{
	*j = (struct fake_job){ 0 };
	fake_make(layout);
	assert_ok(wdr_cgroup_tree_new(fake_root, &j->t, &j->err));
	assert_ok(wdr_cgroup_new(j->t, "job", &fake_unlimited, 0, &j->cg, &j->err));
}

static inline void fake_end(struct fake_job *j)
{
	wdr_cgroup_freep(&j->cg);
	wdr_cgroup_tree_freep(&j->t);
	fake_drop();
}
