/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hierarchies that exist but are mounted nowhere that we see, as under `ip netns exec`, which covers
 * /sys: mounted for ourselves, attached to no folder, gone with the last descriptor.
 */
#include "cgroup_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>

static int mount_it(const char *type, const char *options, int *ret_fd)
{
	wdr_close_ int fs = fsopen(type, FSOPEN_CLOEXEC);
	wdr_free_ char *copy = strdup(options);
	char *word, *save = NULL;
	int fd;

	if (fs < 0)
		return -errno;
	if (!copy)
		return -ENOMEM;
	for (word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save))
		if (fsconfig(fs, FSCONFIG_SET_FLAG, word, NULL, 0) < 0)
			return -errno;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int add_mount(struct wdr_cgroup_mounts *ms, const char *type, const char *options)
{
	struct wdr_cgroup_mount *m = &ms->m[ms->n];
	int r;

	if (ms->n == WDR_CGROUP_MAX_HIER)
		return -E2BIG;
	r = mount_it(type, options, &m->fd);
	if (r < 0)
		return r;
	m->v2 = !*options;
	m->ctls = wdr_cgroup_ctl_bits(options, ",");
	(void)snprintf(m->name, sizeof(m->name), "%s", *options ? options : "unified");
	(void)snprintf(m->root, sizeof(m->root), "/");
	(void)snprintf(m->path, sizeof(m->path), "/proc/self/fd/%d", m->fd);
	ms->n++;
	return 0;
}

/*
 * Only what /proc/self/cgroup has by a number: to name a controller that v2 holds would take it away
 * from v2, if it is not in use there.
 */
static void add_v1(struct wdr_cgroup_mounts *ms)
{
	wdr_fclose_ FILE *f = fopen("/proc/self/cgroup", "re");
	wdr_free_ char *line = NULL;
	char ctls[sizeof(ms->m[0].name)];
	unsigned int id;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0)
		if (sscanf(line, "%u:%63[^:]:", &id, ctls) == 2 && id &&
		    wdr_cgroup_ctl_bits(ctls, ","))
			(void)!add_mount(ms, "cgroup", ctls);
}

void wdr_cgroup_mounts_make(struct wdr_cgroup_mounts *ms)
{
	if (!add_mount(ms, "cgroup2", ""))
		add_v1(ms);
}

void wdr_cgroup_mounts_freep(struct wdr_cgroup_mounts **ms)
{
	unsigned int i;

	for (i = 0; *ms && i < (*ms)->n; i++)
		wdr_closep(&(*ms)->m[i].fd);
	free(*ms);
	*ms = NULL;
}
