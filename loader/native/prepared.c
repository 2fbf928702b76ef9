/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's root, but for what is its own, is the same for most jobs: folders, links, device nodes and
 * the generated /etc. A supervisor that is root keeps it as a plain folder in the cache, named by a
 * hash of all that decides what is in it, and gives it to each job as a read-only mount. Below:
 *
 *   root/       what the job sees; nothing in it can be written by anybody but root
 *   binds       the host's folders that are mounted into it by each job itself, a line each
 *
 * A folder without `binds` says that this machine can't: nodes of its file system are no devices.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "base/wdr_io.h"
#include "base/wdr_sha256.h"
#include "native/root_priv.h"
#include "policy/etc.h"

#define PREFIX	  "root-"
#define NAME_SIZE 40 /* the prefix and half of a hash in hex */
#define MAX_KEPT  16
#define MAX_BINDS 8192 /* bytes of the list */
#define MAX_DEPTH 8    /* of a folder that is removed; ours have six */
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* A change right after a look could leave the same time behind: such a folder is not kept. */
#define SETTLED_S 2

/* What tells of a change of anything that is copied: /etc's own time is that of its entries. */
static const char *const sources[] = {
	"/proc/self/exe",   "/",	  "/etc", "/etc/ssl", "/etc/ssl/openssl.cnf",
	"/etc/ld.so.cache", WDR_ROOT_JVM,
};

/* The common kind: the host's root, read-only, with writable places where the skeleton has folders. */
static bool is_common(const struct wdr_spec *s)
{
	const struct wdr_policy *p = s->policy;
	bool lent = false;

	if (!s->privileged || !s->cache_dir || p->fs.root || !p->fs.readonly || p->fs.n_mounts ||
	    (s->waived & (WDR_PROT_BIT(WDR_PROT_MOUNT_NS) | WDR_PROT_BIT(WDR_PROT_PIVOT_ROOT))))
		return false;
	for (size_t i = 0; i < p->fs.n_tmpfs; i++) {
		if (!strcmp(p->fs.tmpfs[i], WDR_ROOT_LENT))
			lent = true;
		else if (strcmp(p->fs.tmpfs[i], "/home/user"))
			return false;
	}
	return lent;
}

/* Returns 1 if all is as old as it must be to be recognised again. */
static int add_sources(struct wdr_sha256 *h)
{
	struct timespec now;
	int settled = 1;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct stat st = { 0 };
		struct {
			uint64_t dev, ino, mtime_s, mtime_ns, ctime_s, ctime_ns;
		} id;

		if (stat(sources[i], &st) < 0 && errno != ENOENT)
			return -errno;
		memset(&id, 0, sizeof(id));
		id.dev = st.st_dev;
		id.ino = st.st_ino;
		id.mtime_s = (uint64_t)st.st_mtim.tv_sec;
		id.mtime_ns = (uint64_t)st.st_mtim.tv_nsec;
		id.ctime_s = (uint64_t)st.st_ctim.tv_sec;
		id.ctime_ns = (uint64_t)st.st_ctim.tv_nsec;
		wdr_sha256_add(h, &id, sizeof(id));
		if (st.st_ctim.tv_sec + SETTLED_S > now.tv_sec)
			settled = 0;
	}
	return settled;
}

/* Where /run is on a disk, what a crash has left of a folder must not be taken for one. */
static int add_boot(struct wdr_sha256 *h)
{
	wdr_free_ char *id = NULL;
	size_t n = 0;
	int r = wdr_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &id, &n);

	if (r == 0)
		wdr_sha256_add(h, id, n);
	return r;
}

/* Returns 1 if what goes by @name may be kept, 0 if not yet. */
static int name_of(const struct wdr_spec *s, char name[NAME_SIZE])
{
	uint8_t hash[WDR_SHA256_SIZE];
	char text[WDR_ETC_TEXT_MAX];
	const char *file = NULL;
	struct wdr_sha256 h;
	size_t n;
	int r;

	wdr_sha256_start(&h);
	r = add_boot(&h);
	if (r == 0)
		r = add_sources(&h);
	if (r < 0)
		return r;
	for (unsigned int i = 0; wdr_etc_text(s->policy, i, &file, text) == 0; i++)
		wdr_sha256_add(&h, text, strlen(text) + 1);
	for (unsigned int i = 0; i < s->n_views; i++)
		wdr_sha256_add(&h, s->views[i].name, strlen(s->views[i].name) + 1);
	wdr_sha256_end(&h, hash);
	n = (size_t)snprintf(name, NAME_SIZE, PREFIX);
	for (size_t i = 0; n + 2 < NAME_SIZE; i++)
		n += (size_t)snprintf(name + n, NAME_SIZE - n, "%02x", hash[i]);
	return r;
}

/* Only what is ours is in there: depth and kinds are known. */
static int remove_tree(int at, const char *name, unsigned int depth)
{
	wdr_close_ int fd = openat(at, name, DIR_FLAGS);
	struct dirent *e;
	int r = 0;
	DIR *d;

	if (fd < 0)
		return unlinkat(at, name, 0) < 0 ? -errno : 0;
	if (depth == MAX_DEPTH)
		return -ELOOP;
	d = fdopendir(fd);
	if (!d)
		return -errno;
	(void)WDR_TAKE_FD(fd);
	while (r == 0 && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			r = remove_tree(dirfd(d), e->d_name, depth + 1);
	}
	(void)closedir(d);
	if (r == 0 && unlinkat(at, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}

/* The oldest that nobody uses, if there are too many; one that a dead process left is such, too. */
static bool find_superfluous(int cache, char name[NAME_MAX + 1], int *ret_lock_fd)
{
	wdr_close_ int copy = openat(cache, ".", DIR_FLAGS);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	unsigned int n = 0;
	struct timespec oldest = { 0 };
	struct dirent *e;

	if (!d)
		return false;
	(void)WDR_TAKE_FD(copy);
	*ret_lock_fd = -1;
	while ((e = readdir(d))) {
		wdr_close_ int fd = -1;
		struct stat st;

		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)))
			continue;
		n++;
		fd = openat(cache, e->d_name, DIR_FLAGS);
		if (fd < 0 || fstat(fd, &st) < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
			continue;
		if (*ret_lock_fd >= 0 &&
		    (st.st_mtim.tv_sec > oldest.tv_sec ||
		     (st.st_mtim.tv_sec == oldest.tv_sec && st.st_mtim.tv_nsec >= oldest.tv_nsec)))
			continue;
		wdr_closep(ret_lock_fd);
		*ret_lock_fd = WDR_TAKE_FD(fd);
		oldest = st.st_mtim;
		(void)snprintf(name, NAME_MAX + 1, "%s", e->d_name);
	}
	(void)closedir(d);
	return *ret_lock_fd >= 0 && n > MAX_KEPT;
}

static void trim(int cache)
{
	wdr_close_ int lock_fd = -1;
	char name[NAME_MAX + 1];

	if (find_superfluous(cache, name, &lock_fd))
		(void)!remove_tree(cache, name, 0);
}

/*
 * Built aside and then named. The lock is ours from the first moment; between its two kinds the folder
 * can be lost to somebody who trims, as can one that was just opened: its link count tells.
 */
static int make(struct wdr_backend_job *b, int cache, const char *name)
{
	char aside[NAME_SIZE];
	wdr_close_ int fd = -1;
	int r;

	(void)snprintf(aside, sizeof(aside), PREFIX "new-%d", getpid());
	if (mkdirat(cache, aside, 0700) < 0)
		return -errno;
	fd = openat(cache, aside, DIR_FLAGS);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return -errno;
	r = wdr_root_fill_prepared(b, fd);
	if (r == 0 && renameat2(cache, aside, cache, name, RENAME_NOREPLACE) < 0)
		r = -errno;
	if (r < 0)
		(void)!remove_tree(cache, aside, 0);
	trim(cache);
	return r;
}

static int open_locked(int cache, const char *name)
{
	wdr_close_ int fd = openat(cache, name, DIR_FLAGS);
	struct stat st;

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_nlink ? WDR_TAKE_FD(fd) : -ENOENT;
}

void wdr_native_open_prepared(struct wdr_backend_job *b)
{
	struct native_prepared *p = &b->prepared;
	wdr_close_ int cache = -1;
	char name[NAME_SIZE];
	int settled;

	if (!is_common(b->spec))
		return;
	cache = open(b->spec->cache_dir, DIR_FLAGS);
	settled = name_of(b->spec, name);
	if (cache < 0 || settled < 0)
		return;
	p->lock_fd = open_locked(cache, name);
	if (p->lock_fd == -ENOENT && settled && make(b, cache, name) == 0)
		p->lock_fd = open_locked(cache, name);
	if (p->lock_fd < 0 || wdr_read_file(p->lock_fd, "binds", MAX_BINDS, &p->binds, NULL) < 0)
		return;
	p->fd = wdr_root_clone_prepared(p->lock_fd);
}

void wdr_native_close_prepared(struct wdr_backend_job *b)
{
	wdr_closep(&b->prepared.fd);
	wdr_closep(&b->prepared.lock_fd);
	wdr_freep(&b->prepared.binds);
}
