/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that is pinned, and who removes it.
 *
 *   pin                                    made by        removed by
 *   ROOT/HASH/MAP, ROOT/HASH/PROGRAM       load.c         sweep.c; load.c of another version
 *   ROOT/HASH/PROGRAM_link (links)         trace.c        with the generation
 *   ROOT/new/...                           load.c         load.c: renamed to HASH, or a leftover
 *   ROOT/parents/CGROUP/PROGRAM (links)    attach.c       attach.c when the cgroup is gone; sweep.c
 *   ROOT/jobs/NUMBER/PROGRAM (links)       attach.c       slot.c when the job ends; sweep.c
 *     PROGRAM of a contained job           trace.c        the same
 *     PROGRAM_CPU of a contained job       cpu.c          the same
 *
 * HASH names the content of all objects, CGROUP is a cgroup v2 id, NUMBER is wdr_slot.job. ROOT is
 * warder/ in /sys/fs/bpf, or in a bpffs of our own where that is none.
 */
#include "kern_priv.h"

#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MAX_DEPTH 4

/* 1, 0, or -EACCES: what is there can't be told from nothing. */
static int is_bpffs(const char *path)
{
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return errno == EACCES ? -EACCES : 0;
	return fs.f_type == BPF_FS_MAGIC;
}

static int make_dir(const char *path, mode_t mode, struct wdr_err *err)
{
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return wdr_err_set(err, -errno, "make %s: %s", path, strerror(errno));
	return 0;
}

static int mount_own(struct wdr_err *err)
{
	int r;

	r = make_dir("/run/warder", 0755, err); /* whoever comes first: state/ makes the same */
	if (r >= 0)
		r = make_dir(WDR_KERN_OWN, 0700, err);
	if (r < 0)
		return r;
	if (is_bpffs(WDR_KERN_OWN) <= 0 &&
	    mount("bpf", WDR_KERN_OWN, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700") < 0)
		return wdr_err_set(err, -errno, "mount a bpf file system on %s: %s", WDR_KERN_OWN,
				   strerror(errno));
	return 0;
}

/*
 * Our own mount comes first if it is there: a bpffs that was mounted on /sys/fs/bpf later must not
 * split those who came before from those who come after.
 */
int wdr_kern_root(const struct wdr_kern_place *at, bool make, char root[WDR_KERN_PATH_MAX],
		  struct wdr_err *err)
{
	const char *base = NULL;
	int r;

	if (at && at->bpffs) {
		(void)snprintf(root, WDR_KERN_PATH_MAX, "%s", at->bpffs);
		return make ? make_dir(root, 0700, err) : 0;
	}
	r = is_bpffs(WDR_KERN_OWN);
	if (r < 0)
		return wdr_err_wrap(err, r, "look into %s", WDR_KERN_OWN);
	if (r)
		base = WDR_KERN_OWN;
	else if (is_bpffs(WDR_KERN_BPFFS) > 0)
		base = WDR_KERN_BPFFS;
	if (!base && make) {
		r = mount_own(err);
		if (r < 0)
			return r;
		base = WDR_KERN_OWN;
	}
	if (!base)
		return -ENOENT;
	(void)snprintf(root, WDR_KERN_PATH_MAX, "%s/warder", base);
	return make ? make_dir(root, 0700, err) : 0;
}

void wdr_kern_root_drop(void)
{
	if (is_bpffs(WDR_KERN_OWN) > 0 && umount2(WDR_KERN_OWN, UMOUNT_NOFOLLOW) == 0)
		(void)rmdir(WDR_KERN_OWN);
}

void wdr_kern_path(char ret[WDR_KERN_PATH_MAX], const char *dir, const char *name)
{
	if (snprintf(ret, WDR_KERN_PATH_MAX, "%s/%s", dir, name) >= WDR_KERN_PATH_MAX)
		ret[0] = '\0';
}

int wdr_kern_pins_each(const char *path, int (*each)(void *arg, const char *name), void *arg)
{
	struct dirent *d;
	int r = 0;
	DIR *dir;

	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (!r && (d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			r = each(arg, d->d_name);
	}
	(void)closedir(dir);
	return r;
}

struct folder {
	const char *path;
	int depth;
};

static int remove_at(const char *path, int depth);

static int remove_in(void *arg, const char *name)
{
	const struct folder *f = arg;
	char path[WDR_KERN_PATH_MAX];

	wdr_kern_path(path, f->path, name);
	return remove_at(path, f->depth + 1);
}

static int remove_at(const char *path, int depth)
{
	struct folder f = { .path = path, .depth = depth };
	int r;

	if (!unlink(path) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (depth > MAX_DEPTH)
		return -ELOOP;
	r = wdr_kern_pins_each(path, remove_in, &f);
	if (!r && rmdir(path) < 0 && errno != ENOENT)
		r = -errno;
	return r;
}

int wdr_kern_pins_remove(const char *path)
{
	return remove_at(path, 0);
}
