/* SPDX-License-Identifier: Apache-2.0 */
/* Ending and halting all processes of a job. */
#include "cgroup_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#define MAX_PASSES 64 /* over cgroup.procs, where there is no cgroup.kill */

/* SIGKILL what cgroup.procs lists at this moment. Returns how many, or -errno. */
static int kill_listed(int fd)
{
	wdr_fclose_ FILE *f = NULL;
	int procs, pid, n = 0;

	procs = openat(fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	if (procs < 0)
		return -errno;
	f = fdopen(procs, "r");
	if (!f) {
		(void)close(procs);
		return -ENOMEM;
	}
	/* 0 is a process of a pid namespace that we can't see: kill(0) would be our own group. */
	while (fscanf(f, "%d", &pid) == 1)
		if (pid > 0 && !kill(pid, SIGKILL))
			n++;
	return n;
}

static int kill_below(int fd, unsigned int depth)
{
	wdr_close_ int sub = -1;
	struct dirent *e;
	DIR *d;
	int r, n;

	n = kill_listed(fd);
	if (n < 0 || depth == WDR_CGROUP_MAX_DEPTH)
		return n;
	sub = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = sub < 0 ? NULL : fdopendir(sub);
	if (!d)
		return -errno;
	sub = -1; /* closedir's from here */
	while ((e = readdir(d))) {
		wdr_close_ int child = -1;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		child = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = child < 0 ? 0 : kill_below(child, depth + 1);
		n += r > 0 ? r : 0;
	}
	(void)closedir(d);
	return n;
}

/*
 * Before Linux 5.14, and on v1, there is no cgroup.kill. A process that forks while the list is
 * read has a child that the next pass finds; the freezer (v2) makes an end of that, the bound
 * makes one where there is none. Dying processes stay listed, so a pass that finds
 * some is no failure.
 */
static int kill_by_list(int fd)
{
	bool frozen = !wdr_cgroup_write(fd, "cgroup.freeze", "1");
	int i, r = 1;

	for (i = 0; i < MAX_PASSES && r > 0; i++)
		r = kill_below(fd, 0);
	if (frozen)
		(void)!wdr_cgroup_write(fd, "cgroup.freeze", "0");
	return r < 0 ? r : 0;
}

int wdr_cgroup_kill_at(int fd)
{
	int r;

	r = wdr_cgroup_write(fd, "cgroup.kill", "1");
	return r == -ENOENT ? kill_by_list(fd) : r;
}

int wdr_cgroup_kill(struct wdr_cgroup *cg)
{
	return wdr_cgroup_kill_at(cg->fd[0]);
}

int wdr_cgroup_freeze(struct wdr_cgroup *cg, bool frozen)
{
	return wdr_cgroup_write(cg->fd[0], "cgroup.freeze", frozen ? "1" : "0");
}
