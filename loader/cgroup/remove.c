/* SPDX-License-Identifier: Apache-2.0 */
/* Taking directories away: a job's, with what a sandbox made below them, or by name after a crash. */
#include "cgroup_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <time.h>

/*
 * cgroup.events tells when the last process has left, but never twice within 10 ms
 * (CGROUP_FILE_NOTIFY_MIN_INTV, kernel/cgroup/cgroup.c), and v1 tells nothing. So a refused rmdir is
 * tried again after an event or this long, whichever comes first.
 */
#define RETRY_MS 1

#define SWEEP_WAIT_MS 2000

uint64_t wdr_cgroup_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Wait for a sign that cgroup @fd may have become empty. */
static void wait_for_exit(int fd)
{
	wdr_close_ int events = openat(fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	struct pollfd p = { .fd = events, .events = POLLPRI };
	char text[128];

	if (events >= 0)
		(void)!read(events, text, sizeof(text)); /* from now on: a poll is about news */
	(void)poll(&p, 1, RETRY_MS);
}

static int remove_at(int parent_fd, const char *name, unsigned int depth, unsigned int *left,
		     uint64_t deadline_ns);

/* Remove the sub-cgroups of @fd. Returns how many there were, or -errno. */
static int remove_subs(int fd, unsigned int depth, unsigned int *left, uint64_t deadline_ns)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	int r = 0, n = 0;

	if (!d) {
		wdr_closep(&copy);
		return -errno;
	}
	while (r >= 0 && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		r = depth == WDR_CGROUP_MAX_DEPTH || !*left ?
			    -ELOOP :
			    remove_at(fd, e->d_name, depth + 1, left, deadline_ns);
		n++;
	}
	(void)closedir(d);
	return r < 0 ? r : n;
}

static int remove_at(int parent_fd, const char *name, unsigned int depth, unsigned int *left,
		     uint64_t deadline_ns)
{
	wdr_close_ int fd = -1;
	int r;

	(*left)--;
	for (;;) {
		if (!unlinkat(parent_fd, name, AT_REMOVEDIR) || errno == ENOENT)
			return 0;
		if (errno != EBUSY && errno != ENOTEMPTY)
			return -errno;
		if (fd < 0)
			fd = openat(parent_fd, name,
				    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			return errno == ENOENT ? 0 : -errno;
		r = remove_subs(fd, depth, left, deadline_ns);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		if (wdr_cgroup_now_ns() >= deadline_ns)
			return -EBUSY;
		wait_for_exit(fd);
	}
}

int wdr_cgroup_rmtree(int parent_fd, const char *name, uint64_t deadline_ns)
{
	unsigned int left = WDR_CGROUP_MAX_SUBS + 1;

	return remove_at(parent_fd, name, 0, &left, deadline_ns);
}

/* Every hierarchy is tried even if one fails; the first failure is the answer. */
static int remove_job(struct wdr_cgroup_tree *t, const char *job, uint64_t deadline_ns,
		      struct wdr_err *err)
{
	unsigned int i;
	int r, first = 0;

	for (i = 0; i < t->n; i++) {
		if (t->hier[i].fd < 0)
			continue;
		r = wdr_cgroup_rmtree(t->hier[i].fd, job, deadline_ns);
		if (r < 0 && !first)
			first = wdr_err_set(err, r, "remove %s/%s/%s: %s", t->hier[i].path,
					    WDR_CGROUP_DIR, job, strerror(-r));
	}
	return first;
}

int wdr_cgroup_remove(struct wdr_cgroup *cg, int wait_ms, struct wdr_err *err)
{
	uint64_t deadline_ns = wdr_cgroup_now_ns() + (uint64_t)wait_ms * 1000000;

	return remove_job(cg->tree_ref, cg->job, deadline_ns, err);
}

/* Kill and remove @job in the folder @fd, which is @path's. */
static int sweep_at(int fd, const char *path, const char *job, struct wdr_err *err)
{
	uint64_t deadline_ns = wdr_cgroup_now_ns() + SWEEP_WAIT_MS * UINT64_C(1000000);
	wdr_close_ int dir = openat(fd, job, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int r;

	if (dir < 0 && errno == ENOENT)
		return 0;
	r = dir < 0 ? -errno : wdr_cgroup_kill_at(dir);
	if (r < 0)
		return wdr_err_set(err, r, "kill %s/%s/%s: %s", path, WDR_CGROUP_DIR, job,
				   strerror(-r));
	r = wdr_cgroup_rmtree(fd, job, deadline_ns);
	if (r < 0)
		return wdr_err_set(err, r, "remove %s/%s/%s: %s", path, WDR_CGROUP_DIR, job,
				   strerror(-r));
	return 0;
}

/* Under systemd every Warder has a unit of its own: look for @job in the others', too. */
static int sweep_units(struct wdr_cgroup_tree *t, const char *job, struct wdr_err *err)
{
	int copy = openat(t->slice_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	int r = 0;

	if (!d) {
		wdr_closep(&copy);
		return wdr_err_set(err, -errno, "read %s/..: %s", t->hier[0].path, strerror(errno));
	}
	while (r >= 0 && (e = readdir(d))) {
		wdr_close_ int unit = -1, fd = -1;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		unit = openat(t->slice_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd = openat(unit, t->hier[0].dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0)
			r = sweep_at(fd, e->d_name, job, err);
	}
	(void)closedir(d);
	return r;
}

int wdr_cgroup_sweep(struct wdr_cgroup_tree *t, const char *job, struct wdr_err *err)
{
	unsigned int i;
	int r, first = 0;

	if (wdr_cgroup_name_check(job) < 0)
		return wdr_err_set(err, -EINVAL, "\"%.64s\" can't name a cgroup", job);
	for (i = 0; i < t->n; i++) {
		if (t->hier[i].fd < 0)
			continue;
		r = sweep_at(t->hier[i].fd, t->hier[i].path, job, first ? NULL : err);
		if (r < 0 && !first)
			first = r;
	}
	if (t->slice_fd >= 0) {
		r = sweep_units(t, job, first ? NULL : err);
		if (r < 0 && !first)
			first = r;
	}
	return first;
}
