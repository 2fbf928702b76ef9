/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock on a record is flock(2): it dies with its owner, however that ends. The uid locks are
 * open-file-description locks on single bytes of one file, so that 65,536 uids cost no files.
 */
#include "state/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/wdr_id.h"
#include "base/wdr_num.h"

#define UID_FIRST 1879048192U
#define UID_COUNT 65536U

struct wdr_state {
	int dir_fd;
	int jobs_fd;
	char cache[128];
};

struct wdr_record {
	int jobs_fd_ref;
	int fd;
	char job[64];
};

void wdr_state_freep(struct wdr_state **s)
{
	if (!*s)
		return;
	wdr_closep(&(*s)->dir_fd);
	wdr_closep(&(*s)->jobs_fd);
	wdr_freep(s);
}

/* A folder that somebody else could write to would let him plant records and filters. */
static int open_own_dir(int at, const char *name, mode_t mode, int *ret_fd, struct wdr_err *err)
{
	wdr_close_ int fd = -1;
	struct stat st;

	if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return wdr_err_set(err, -errno, "make %s: %s", name, strerror(errno));
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return wdr_err_set(err, -errno, "open %s: %s", name, strerror(errno));
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return wdr_err_set(err, -EPERM,
				   "%s belongs to uid %u with mode %o: want uid %u, mode %o", name,
				   st.st_uid, st.st_mode & 07777, geteuid(), mode);
	*ret_fd = WDR_TAKE_FD(fd);
	return 0;
}

int wdr_state_open(struct wdr_state **ret, struct wdr_err *err)
{
	wdr_state_ struct wdr_state *s = NULL;
	const char *user_dir = geteuid() == 0 ? NULL : getenv("XDG_RUNTIME_DIR");
	char path[96] = WDR_STATE_DIR;
	wdr_close_ int cache_fd = -1;
	int r;

	if (geteuid() != 0 && (!user_dir || user_dir[0] != '/' || strlen(user_dir) > 64))
		return -ENOENT;
	if (user_dir)
		(void)snprintf(path, sizeof(path), "%s/warder", user_dir);
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->dir_fd = s->jobs_fd = -1;
	(void)snprintf(s->cache, sizeof(s->cache), "%s/cache", path);

	r = open_own_dir(AT_FDCWD, path, 0755, &s->dir_fd, err);
	if (r == 0)
		r = open_own_dir(s->dir_fd, "jobs", 0700, &s->jobs_fd, err);
	if (r == 0)
		r = open_own_dir(s->dir_fd, "cache", 0700, &cache_fd, err);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(s);
	return 0;
}

const char *wdr_state_cache_dir(const struct wdr_state *s)
{
	return s->cache;
}

void wdr_record_freep(struct wdr_record **r)
{
	if (!*r)
		return;
	wdr_closep(&(*r)->fd);
	wdr_freep(r);
}

int wdr_record_new(struct wdr_state *s, const char *job, struct wdr_record **ret,
		   struct wdr_err *err)
{
	wdr_record_ struct wdr_record *r = calloc(1, sizeof(*r));
	struct stat st;

	if (!r)
		return -ENOMEM;
	r->fd = -1;
	r->jobs_fd_ref = s->jobs_fd;
	(void)snprintf(r->job, sizeof(r->job), "%s", job);
	r->fd = openat(s->jobs_fd, job, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (r->fd < 0)
		return wdr_err_set(err, -errno, "record of job %s: %s", job, strerror(errno));
	/* Between open and lock a sweep may have taken the record for a dead one's. */
	if (flock(r->fd, LOCK_EX) < 0 || fstat(r->fd, &st) < 0)
		return wdr_err_set(err, -errno, "lock job %s: %s", job, strerror(errno));
	if (st.st_nlink == 0)
		return wdr_err_set(err, -EEXIST, "record of job %s was swept", job);
	*ret = WDR_TAKE_PTR(r);
	return 0;
}

void wdr_record_remove(struct wdr_record *r)
{
	(void)unlinkat(r->jobs_fd_ref, r->job, 0);
}

static int sweep_one(struct wdr_state *s, const char *job,
		     int (*fn)(const char *job, void *userdata), void *userdata)
{
	/* Whatever stands there is swept: a fifo must not be waited for. */
	wdr_close_ int fd =
		openat(s->jobs_fd, job, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	/* Swept by another since it was opened: the name may be a living job's by now. */
	if (fstat(fd, &st) < 0 || st.st_nlink == 0)
		return 0;
	if (fn(job, userdata) < 0)
		return 0;
	return unlinkat(s->jobs_fd, job, 0) == 0;
}

/* Each record, until @each returns non-zero, which is returned. */
static int each_record(struct wdr_state *s,
		       int (*each)(struct wdr_state *s, const char *job, void *arg), void *arg)
{
	wdr_close_ int fd = openat(s->jobs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *e;
	int r = 0;
	DIR *d;

	if (fd < 0)
		return -errno;
	d = fdopendir(fd);
	if (!d)
		return -errno;
	(void)WDR_TAKE_FD(fd);
	while (r == 0 && (e = readdir(d))) {
		/* What no Warder wrote is nobody's job; nor are . and .. */
		if (wdr_job_label_ok(e->d_name))
			r = each(s, e->d_name, arg);
	}
	(void)closedir(d);
	return r;
}

struct sweeping {
	int (*fn)(const char *job, void *userdata);
	void *userdata;
	int n;
};

static int sweep_record(struct wdr_state *s, const char *job, void *arg)
{
	struct sweeping *w = arg;

	w->n += sweep_one(s, job, w->fn, w->userdata);
	return 0;
}

int wdr_state_sweep(struct wdr_state *s, int (*fn)(const char *job, void *userdata), void *userdata)
{
	struct sweeping w = { .fn = fn, .userdata = userdata };
	int r = each_record(s, sweep_record, &w);

	return r < 0 ? r : w.n;
}

struct list {
	char *names;
	size_t size, at;
	int n;
};

static int list_running(struct wdr_state *s, const char *job, void *arg)
{
	wdr_close_ int fd =
		openat(s->jobs_fd, job, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct list *l = arg;

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0;
	l->n++;
	if (l->at < l->size)
		l->at += (size_t)snprintf(l->names + l->at, l->size - l->at, "%s%s",
					  l->n > 1 ? ", " : "", job);
	return 0;
}

int wdr_state_running(struct wdr_state *s, char *names, size_t size)
{
	struct list l = { .names = names, .size = size };
	int r = each_record(s, list_running, &l);

	if (r == 0 && l.at >= size)
		memcpy(names + size - 4, "...", 4);
	return r < 0 ? r : l.n;
}

/* UINT32_MAX is no uid: chown(2) takes it for "unchanged". */
static int read_range(const char *env, uint64_t *ret_first, uint64_t *ret_count)
{
	char first[16];
	size_t len = strcspn(env, ":");

	if (!env[len] || len >= sizeof(first))
		return -EINVAL;
	memcpy(first, env, len);
	first[len] = '\0';
	if (wdr_num_integer(first, 1000, UINT32_MAX - 1, ret_first, NULL) < 0)
		return -EINVAL;
	return wdr_num_integer(env + len + 1, 1, UINT32_MAX - *ret_first, ret_count, NULL);
}

static int uid_range(uint32_t *ret_first, uint32_t *ret_count, struct wdr_err *err)
{
	const char *env = getenv("WARDER_UID_RANGE");
	uint64_t first = UID_FIRST;
	uint64_t count = UID_COUNT;

	if (env && read_range(env, &first, &count) < 0)
		return wdr_err_set(err, -EINVAL,
				   "WARDER_UID_RANGE=%s: want FIRST:COUNT with FIRST >= 1000, such "
				   "as %u:%u",
				   env, UID_FIRST, UID_COUNT);
	*ret_first = (uint32_t)first;
	*ret_count = (uint32_t)count;
	return 0;
}

int wdr_state_take_uid(struct wdr_state *s, uint32_t *ret_uid, int *ret_fd, struct wdr_err *err)
{
	wdr_close_ int fd = -1;
	uint32_t first = 0;
	uint32_t count = 0;
	struct timespec now;
	uint32_t start;
	int r;

	r = uid_range(&first, &count, err);
	if (r < 0)
		return r;
	fd = openat(s->dir_fd, "uids", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return wdr_err_set(err, -errno, "open uids: %s", strerror(errno));
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	/* Start anywhere: a uid just given back rests as long as possible. */
	start = (uint32_t)(now.tv_nsec / 64 + getpid()) % count;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t uid = first + (start + i) % count;
		struct flock l = {
			.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = uid, .l_len = 1
		};

		if (fcntl(fd, F_OFD_SETLK, &l) == 0) {
			*ret_uid = uid;
			*ret_fd = WDR_TAKE_FD(fd);
			return 0;
		}
		if (errno != EAGAIN && errno != EACCES)
			return wdr_err_set(err, -errno, "lock a uid: %s", strerror(errno));
	}
	return wdr_err_set(err, -EUSERS, "all %u uids of the range %u:%u are in use", count, first,
			   count);
}
