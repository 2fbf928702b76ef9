/* SPDX-License-Identifier: Apache-2.0 */
/* The hierarchies of this machine, and in each the folder that holds Warder's jobs. */
#include "cgroup_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

int wdr_cgroup_tree_find(const struct wdr_cgroup_tree *t, enum wdr_cgroup_ctl c)
{
	unsigned int i;

	for (i = 0; i < t->n; i++)
		if (t->hier[i].ctls & (1U << c))
			return (int)i;
	return -ENOENT;
}

int wdr_cgroup_tree_fd(const struct wdr_cgroup_tree *t)
{
	return t->hier[0].fd;
}

static unsigned int read_ctls(int fd, const char *file)
{
	char text[512];

	if (wdr_cgroup_read(fd, file, text, sizeof(text)) < 0)
		return 0;
	return wdr_cgroup_ctl_bits(text, " ");
}

/* One write a controller, so that one that is refused does not cost the others. */
static int enable_ctls(int fd, unsigned int want)
{
	unsigned int missing = want & ~read_ctls(fd, "cgroup.subtree_control");
	char text[32];
	int c, r, first = 0;

	for (c = 0; c < _WDR_CGROUP_CTL_MAX; c++) {
		if (!(missing & (1U << c)))
			continue;
		(void)snprintf(text, sizeof(text), "+%s", wdr_cgroup_ctl_name(c));
		r = wdr_cgroup_write(fd, "cgroup.subtree_control", text);
		if (r < 0 && !first)
			first = r;
	}
	return first;
}

/* Make WDR_CGROUP_DIR in @h's base and open it. */
static int open_dir(struct wdr_cgroup_hier *h)
{
	int fd;

	if (mkdirat(h->base_fd, WDR_CGROUP_DIR, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(h->base_fd, WDR_CGROUP_DIR, DIR_FLAGS | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	wdr_closep(&h->fd);
	h->fd = fd;
	return 0;
}

static int prepare_v2(struct wdr_cgroup_hier *h)
{
	unsigned int have;
	int r;

	r = open_dir(h);
	if (r < 0)
		return r;
	have = read_ctls(h->fd, "cgroup.subtree_control");
	if (have != (1U << _WDR_CGROUP_CTL_MAX) - 1) {
		/* What can't be enabled is missing for good; a limit that needs it says so. */
		(void)enable_ctls(h->base_fd, read_ctls(h->base_fd, "cgroup.controllers"));
		(void)enable_ctls(h->fd, read_ctls(h->fd, "cgroup.controllers"));
		have = read_ctls(h->fd, "cgroup.subtree_control");
	}
	h->ctls = have;
	return 0;
}

int wdr_cgroup_tree_prepare(struct wdr_cgroup_tree *t, struct wdr_err *err)
{
	struct wdr_cgroup_hier *h;
	unsigned int i;
	int r, c;

	for (i = 0; i < t->n; i++) {
		h = &t->hier[i];
		r = h->v2 ? prepare_v2(h) : open_dir(h);
		if (r < 0 && h->v2)
			return wdr_err_set(err, r, "make %s/%s: %s", h->path, WDR_CGROUP_DIR,
					   strerror(-r));
		for (c = 0; r < 0 && c < _WDR_CGROUP_CTL_MAX; c++)
			if (h->ctls & (1U << c))
				(void)snprintf(t->why[c], sizeof(t->why[c]), "%.120s/%s: %s",
					       h->path, WDR_CGROUP_DIR, strerror(-r));
		if (r < 0)
			h->ctls = 0;
	}
	return 0;
}

static void init_hier(struct wdr_cgroup_hier *h, const struct wdr_cgroup_mount *m)
{
	h->v2 = m->v2;
	h->ctls = m->ctls;
	h->fd = -1;
	h->base_fd = -1;
	memcpy(h->path, m->path, sizeof(h->path));
	(void)snprintf(h->name, sizeof(h->name), "%.63s", strrchr(m->path, '/') + 1);
}

static int open_bases(struct wdr_cgroup_tree *t, const struct wdr_cgroup_mounts *ms,
		      struct wdr_err *err)
{
	struct wdr_cgroup_hier *h;
	unsigned int i;
	int pass;

	for (pass = 0; pass < 2; pass++) /* v2 goes first */
		for (i = 0; i < ms->n; i++)
			if (ms->m[i].v2 == !pass)
				init_hier(&t->hier[t->n++], &ms->m[i]);
	if (t->n == 1)
		t->hier[0].name[0] = '\0';
	for (i = 0; i < t->n; i++) {
		h = &t->hier[i];
		h->base_fd = open(h->path, DIR_FLAGS);
		if (h->base_fd < 0)
			return wdr_err_set(err, -errno, "open %s: %s", h->path, strerror(errno));
	}
	return 0;
}

int wdr_cgroup_tree_new(const char *root, struct wdr_cgroup_tree **ret, struct wdr_err *err)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	wdr_free_ struct wdr_cgroup_mounts *ms = NULL;
	int r;

	ms = malloc(sizeof(*ms));
	t = calloc(1, sizeof(*t));
	if (!ms || !t)
		return -ENOMEM;
	r = wdr_cgroup_mounts_find(ms, root, err);
	if (r < 0)
		return r;
	r = open_bases(t, ms, err);
	if (r < 0)
		return r;
	r = wdr_cgroup_tree_prepare(t, err);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(t);
	return 0;
}

void wdr_cgroup_tree_freep(struct wdr_cgroup_tree **t)
{
	unsigned int i;

	if (!*t)
		return;
	for (i = 0; i < (*t)->n; i++) {
		wdr_closep(&(*t)->hier[i].base_fd);
		wdr_closep(&(*t)->hier[i].fd);
	}
	free(*t);
	*t = NULL;
}

void wdr_cgroup_tree_trim(struct wdr_cgroup_tree *t)
{
	unsigned int i;

	for (i = 0; i < t->n; i++)
		(void)unlinkat(t->hier[i].base_fd, WDR_CGROUP_DIR, AT_REMOVEDIR);
}
