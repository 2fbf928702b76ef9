/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the hierarchies are mounted. /proc/self/mountinfo is the truth, in private mount
 * namespaces and with odd mount points too; the customary places are for when it can't be read.
 */
#include "cgroup_priv.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#define DEFAULT_ROOT "/sys/fs/cgroup"

static const char *const ctl_names[] = { "cpu", "memory", "pids" };

_Static_assert(sizeof(ctl_names) / sizeof(ctl_names[0]) == _WDR_CGROUP_CTL_MAX, "a name each");

const char *wdr_cgroup_ctl_name(enum wdr_cgroup_ctl c)
{
	return ctl_names[c];
}

unsigned int wdr_cgroup_ctl_bits(const char *list, const char *seps)
{
	unsigned int bits = 0;
	size_t i, len;

	for (; *list; list += len + strspn(list + len, seps)) {
		len = strcspn(list, seps);
		for (i = 0; i < _WDR_CGROUP_CTL_MAX; i++)
			if (strlen(ctl_names[i]) == len && !strncmp(list, ctl_names[i], len))
				bits |= 1U << i;
		if (!len)
			list += strspn(list, seps);
	}
	return bits;
}

/* mountinfo writes space, tab, newline and backslash as three octal digits. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && strspn(s + 1, "01234567") >= 3) {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* v2, or a v1 hierarchy none of whose controllers is known yet: the first mount counts. */
static bool is_new(const struct wdr_cgroup_mounts *ms, const struct wdr_cgroup_mount *m)
{
	unsigned int i;

	if (ms->n == WDR_CGROUP_MAX_HIER || (!m->v2 && !m->ctls))
		return false;
	for (i = 0; i < ms->n; i++)
		if (ms->m[i].v2 == m->v2 && (m->v2 || ms->m[i].ctls & m->ctls))
			return false;
	return true;
}

void wdr_cgroup_mounts_add(struct wdr_cgroup_mounts *ms, const char *line)
{
	/* 31 27 0:28 / /sys/fs/cgroup/cpu rw,relatime shared:4 - cgroup cgroup rw,cpu,cpuacct */
	struct wdr_cgroup_mount *m;
	char type[16], options[256];
	const char *tail = strstr(line, " - ");

	if (!tail || ms->n == WDR_CGROUP_MAX_HIER)
		return;
	if (sscanf(tail, " - %15s %*s %255s", type, options) != 2)
		return;
	if (strcmp(type, "cgroup") && strcmp(type, "cgroup2"))
		return;
	m = &ms->m[ms->n];
	_Static_assert(PATH_MAX == 4096, "the width below");
	if (sscanf(line, "%*s %*s %*s %4095s %4095s", m->root, m->path) != 2)
		return;
	unescape(m->root);
	unescape(m->path);
	m->v2 = !strcmp(type, "cgroup2");
	m->ctls = m->v2 ? 0 : wdr_cgroup_ctl_bits(options, ",");
	if (is_new(ms, m))
		ms->n++;
}

static void guess_one(struct wdr_cgroup_mounts *ms, const char *root, const char *folder,
		      const char *file, unsigned int ctls)
{
	struct wdr_cgroup_mount *m;
	char path[PATH_MAX];
	int n;

	if (ms->n == WDR_CGROUP_MAX_HIER)
		return;
	m = &ms->m[ms->n];
	n = snprintf(path, sizeof(path), "%s%s%s/%s", root, *folder ? "/" : "", folder, file);
	if (n < 0 || (size_t)n >= sizeof(path) || access(path, F_OK) < 0)
		return;
	*strrchr(path, '/') = '\0';
	memcpy(m->path, path, sizeof(path));
	(void)snprintf(m->root, sizeof(m->root), "/");
	m->v2 = !ctls;
	m->ctls = ctls;
	if (is_new(ms, m))
		ms->n++;
}

void wdr_cgroup_mounts_guess(struct wdr_cgroup_mounts *ms, const char *root)
{
	static const char *const folders[] = { "cpu,cpuacct", "cpu", "memory", "pids" };
	size_t i;

	guess_one(ms, root, "", "cgroup.controllers", 0);
	guess_one(ms, root, "unified", "cgroup.controllers", 0);
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		guess_one(ms, root, folders[i], "tasks", wdr_cgroup_ctl_bits(folders[i], ","));
}

static void read_mountinfo(struct wdr_cgroup_mounts *ms)
{
	wdr_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
	wdr_free_ char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0)
		wdr_cgroup_mounts_add(ms, line);
}

static bool is_mounted(const struct wdr_cgroup_mount *m)
{
	struct statfs st;

	return !statfs(m->path, &st) &&
	       (unsigned long)st.f_type == (m->v2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC);
}

/*
 * All in the customary places: a root that can write there needs no more, and is spared mountinfo,
 * which takes 45 us for 26 mounts and grows with them. Below systemd, and for others, what
 * a mount shows of its hierarchy matters as well.
 */
static bool are_in_place(struct wdr_cgroup_mounts *ms)
{
	unsigned int i, ctls = 0;
	bool v2 = false;

	if (geteuid() || !access(WDR_CGROUP_SYSTEMD, F_OK))
		return false;
	wdr_cgroup_mounts_guess(ms, DEFAULT_ROOT);
	for (i = 0; i < ms->n; i++) {
		if (!is_mounted(&ms->m[i]))
			return false;
		v2 |= ms->m[i].v2;
		ctls |= ms->m[i].ctls;
	}
	return v2 && (ms->n == 1 || ctls == (1U << _WDR_CGROUP_CTL_MAX) - 1);
}

static bool have_v2(const struct wdr_cgroup_mounts *ms)
{
	unsigned int i;

	for (i = 0; i < ms->n; i++)
		if (ms->m[i].v2)
			return true;
	return false;
}

static void look_everywhere(struct wdr_cgroup_mounts *ms, const char *root)
{
	ms->n = 0;
	if (!root)
		read_mountinfo(ms);
	if (have_v2(ms))
		return;
	ms->n = 0;
	wdr_cgroup_mounts_guess(ms, root ? root : DEFAULT_ROOT);
	if (have_v2(ms) || root)
		return;
	ms->n = 0;
	wdr_cgroup_mounts_make(ms);
}

int wdr_cgroup_mounts_find(const char *root, struct wdr_cgroup_mounts **ret, struct wdr_err *err)
{
	wdr_cgroup_mounts_ struct wdr_cgroup_mounts *ms = calloc(1, sizeof(*ms));
	unsigned int i;

	if (!ms)
		return -ENOMEM;
	for (i = 0; i < WDR_CGROUP_MAX_HIER; i++)
		ms->m[i].fd = -1;
	if (root || !are_in_place(ms))
		look_everywhere(ms, root);
	if (!have_v2(ms))
		return wdr_err_set(err, -ENOENT,
				   "no cgroup2 file system is mounted: want one at %s",
				   root ? root : DEFAULT_ROOT);
	*ret = WDR_TAKE_PTR(ms);
	return 0;
}
