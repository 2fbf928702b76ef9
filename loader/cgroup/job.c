/* SPDX-License-Identifier: Apache-2.0 */
/* One job's directories: made, entered, shown to the job, let go. */
#include "cgroup_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)

/* Nothing but v2 and what holds a limit: each hierarchy costs a job about 60 us. */
static bool is_used(const struct wdr_cgroup_hier *h)
{
	return h->v2 || h->ctls;
}

static int make_dirs(struct wdr_cgroup *cg, unsigned int *ret_made)
{
	struct wdr_cgroup_tree *t = cg->tree_ref;
	unsigned int i;

	for (i = 0; i < t->n; i++) {
		if (!is_used(&t->hier[i]))
			continue;
		if (mkdirat(t->hier[i].fd, cg->job, 0755) < 0)
			return -errno;
		*ret_made |= 1U << i;
		cg->fd[i] = openat(t->hier[i].fd, cg->job, DIR_FLAGS);
		if (cg->fd[i] < 0)
			return -errno;
		if (t->hier[i].v2)
			continue;
		cg->tasks_fd[i] = openat(cg->fd[i], "tasks", O_WRONLY | O_CLOEXEC);
		if (cg->tasks_fd[i] < 0)
			return -errno;
	}
	cg->cpu_stat_fd = openat(cg->fd[0], "cpu.stat", O_RDONLY | O_CLOEXEC);
	return cg->cpu_stat_fd < 0 ? -errno : 0;
}

static void close_dirs(struct wdr_cgroup *cg)
{
	unsigned int i;

	for (i = 0; i < WDR_CGROUP_MAX_HIER; i++) {
		wdr_closep(&cg->fd[i]);
		wdr_closep(&cg->tasks_fd[i]);
	}
	wdr_closep(&cg->cpu_stat_fd);
}

static void unmake_dirs(struct wdr_cgroup *cg, unsigned int *made)
{
	unsigned int i;

	for (i = 0; i < cg->tree_ref->n; i++)
		if (*made & (1U << i))
			(void)unlinkat(cg->tree_ref->hier[i].fd, cg->job, AT_REMOVEDIR);
	*made = 0;
	close_dirs(cg);
}

static struct wdr_cgroup *alloc_job(struct wdr_cgroup_tree *t, const char *job)
{
	struct wdr_cgroup *cg = calloc(1, sizeof(*cg));
	unsigned int i;

	if (!cg)
		return NULL;
	cg->tree_ref = t;
	(void)snprintf(cg->job, sizeof(cg->job), "%s", job);
	for (i = 0; i < WDR_CGROUP_MAX_HIER; i++)
		cg->fd[i] = cg->tasks_fd[i] = -1;
	cg->cpu_stat_fd = -1;
	wdr_cgroup_oom_init(&cg->oom);
	return cg;
}

static int populate(struct wdr_cgroup *cg, const struct wdr_cgroup_limits *l, uint64_t waived,
		    struct wdr_err *err)
{
	unsigned int made = 0;
	int r;

	r = make_dirs(cg, &made);
	if (r == -ENOENT) {
		/* Another Warder trimmed the folders when its last job had gone. */
		unmake_dirs(cg, &made);
		r = wdr_cgroup_tree_remake(cg->tree_ref, err);
		if (r < 0)
			return r;
		r = make_dirs(cg, &made);
	}
	if (r < 0)
		(void)wdr_err_set(err, r, "make cgroup %s/%s: %s", WDR_CGROUP_DIR, cg->job,
				  strerror(-r));
	else
		r = wdr_cgroup_limits_set(cg, l, waived, err);
	if (r < 0)
		unmake_dirs(cg, &made);
	return r;
}

int wdr_cgroup_name_check(const char *job)
{
	size_t len = strlen(job);

	if (!len || len >= WDR_CGROUP_JOB_MAX || job[0] == '.' || strchr(job, '/'))
		return -EINVAL;
	return 0;
}

int wdr_cgroup_new(struct wdr_cgroup_tree *t, const char *job, const struct wdr_cgroup_limits *l,
		   uint64_t waived, struct wdr_cgroup **ret, struct wdr_err *err)
{
	wdr_cgroup_ struct wdr_cgroup *cg = NULL;
	int r;

	if (wdr_cgroup_name_check(job) < 0)
		return wdr_err_set(err, -EINVAL, "\"%.64s\" can't name a cgroup", job);
	cg = alloc_job(t, job);
	if (!cg)
		return -ENOMEM;
	r = populate(cg, l, waived, err);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(cg);
	return 0;
}

void wdr_cgroup_freep(struct wdr_cgroup **cg)
{
	if (!*cg)
		return;
	close_dirs(*cg);
	wdr_cgroup_oom_close(&(*cg)->oom);
	free(*cg);
	*cg = NULL;
}

uint64_t wdr_cgroup_missing(const struct wdr_cgroup *cg)
{
	return cg->missing;
}

int wdr_cgroup_entry_fd(const struct wdr_cgroup *cg)
{
	return cg->fd[0];
}

int wdr_cgroup_enter(const struct wdr_cgroup *cg)
{
	unsigned int i;

	for (i = 0; i < WDR_CGROUP_MAX_HIER; i++)
		if (cg->tasks_fd[i] >= 0 && write(cg->tasks_fd[i], "0", 1) < 0)
			return -errno;
	return 0;
}

int wdr_cgroup_enter_fd(const struct wdr_cgroup *cg, unsigned int i)
{
	unsigned int h;

	for (h = 0; h < WDR_CGROUP_MAX_HIER; h++)
		if (cg->tasks_fd[h] >= 0 && !i--)
			return cg->tasks_fd[h];
	return -ENOENT;
}

int wdr_cgroup_attach(struct wdr_cgroup *cg, pid_t pid, struct wdr_err *err)
{
	unsigned int i;
	int r;

	for (i = 0; i < cg->tree_ref->n; i++) {
		if (cg->tree_ref->hier[i].v2 || cg->fd[i] < 0)
			continue;
		r = wdr_cgroup_write_u64(cg->fd[i], "cgroup.procs", (uint64_t)pid);
		if (r < 0)
			return wdr_err_set(err, r, "move process %d to %s/%s/%s: %s", (int)pid,
					   cg->tree_ref->hier[i].path, WDR_CGROUP_DIR, cg->job,
					   strerror(-r));
	}
	return 0;
}

int wdr_cgroup_view(const struct wdr_cgroup *cg, unsigned int i, const char **ret_name, int *ret_fd)
{
	const struct wdr_cgroup_tree *t = cg->tree_ref;
	unsigned int h;

	for (h = 0; h < t->n; h++) {
		if (cg->fd[h] < 0 || t->hier[h].detached || i--)
			continue;
		*ret_name = t->hier[h].name;
		*ret_fd = cg->fd[h];
		return 0;
	}
	return -ENOENT;
}
