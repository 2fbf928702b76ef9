/* SPDX-License-Identifier: Apache-2.0 */
/* The hierarchies of this machine, and in each the folder that holds Warder's jobs. */
#include "cgroup_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define ALL_CTLS  ((1U << _WDR_CGROUP_CTL_MAX) - 1)

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
	return t->slice_fd >= 0 ? t->slice_fd : t->hier[0].fd;
}

static unsigned int read_ctls(int fd, const char *file)
{
	char text[512];

	if (wdr_cgroup_read(fd, file, text, sizeof(text)) < 0)
		return 0;
	return wdr_cgroup_ctl_bits(text, " ");
}

static void note(struct wdr_cgroup_tree *t, int c, const struct wdr_cgroup_hier *h,
		 const char *file, const char *what)
{
	if (*t->why[c])
		return; /* the first reason is the cause of others */
	(void)snprintf(t->why[c], sizeof(t->why[c]), "%.100s/%.30s: %.48s", h->path, file, what);
}

/* One write a controller, so that one that is refused does not cost the others. */
static void enable_ctls(struct wdr_cgroup_tree *t, struct wdr_cgroup_hier *h, int fd,
			unsigned int want)
{
	unsigned int missing = want & ~read_ctls(fd, "cgroup.subtree_control");
	unsigned int offered = read_ctls(fd, "cgroup.controllers");
	char text[32];
	int c, r;

	for (c = 0; c < _WDR_CGROUP_CTL_MAX; c++) {
		if (!(missing & (1U << c)))
			continue;
		if (!(offered & (1U << c))) {
			note(t, c, h, "cgroup.controllers", "it is not listed");
			continue;
		}
		(void)snprintf(text, sizeof(text), "+%s", wdr_cgroup_ctl_name(c));
		r = wdr_cgroup_write(fd, "cgroup.subtree_control", text);
		if (r < 0)
			note(t, c, h, "cgroup.subtree_control", strerror(-r));
	}
}

/*
 * Only the machine's root may hand controllers down and have processes. Elsewhere "+memory" would be
 * refused, and "+cpu" would be taken and make of @h's base a threaded domain, where no job can be.
 */
static int make_room(struct wdr_cgroup_hier *h)
{
	char text[32];
	int r;

	if (faccessat(h->base_fd, "cgroup.type", F_OK, 0) < 0)
		return 0;
	r = wdr_cgroup_read(h->base_fd, "cgroup.procs", text, sizeof(text));
	if (r < 0 || !*text)
		return r;
	r = wdr_cgroup_vacate(h);
	if (r < 0)
		return r;
	r = wdr_cgroup_read(h->base_fd, "cgroup.procs", text, sizeof(text));
	return r < 0 ? r : *text ? -EBUSY : 0;
}

/* What v1 does not hold must be here, or is missing. */
static unsigned int wanted_on_v2(const struct wdr_cgroup_tree *t)
{
	unsigned int i, want = ALL_CTLS;

	for (i = 0; i < t->n; i++)
		if (!t->hier[i].v2)
			want &= ~t->hier[i].ctls;
	return want;
}

static void enable_v2(struct wdr_cgroup_tree *t, struct wdr_cgroup_hier *h)
{
	unsigned int want = wanted_on_v2(t), base;
	int c, r;

	if (!want)
		return;
	h->ctls = read_ctls(h->fd, "cgroup.subtree_control") & want;
	if (h->ctls == want)
		return;
	base = read_ctls(h->base_fd, "cgroup.subtree_control") & want;
	r = base == want ? 0 : make_room(h);
	for (c = 0; r < 0 && c < _WDR_CGROUP_CTL_MAX; c++)
		if (want & (1U << c))
			note(t, c, h, "cgroup.procs", strerror(-r));
	if (!r && base != want)
		enable_ctls(t, h, h->base_fd, want);
	enable_ctls(t, h, h->fd, want);
	h->ctls = read_ctls(h->fd, "cgroup.subtree_control") & want;
}

/* A v1 hierarchy that can't be used costs its controllers, no more: a limit that wants them fails. */
static void lose_v1(struct wdr_cgroup_tree *t, struct wdr_cgroup_hier *h, const char *file, int r)
{
	int c;

	for (c = 0; c < _WDR_CGROUP_CTL_MAX; c++)
		if (h->ctls & (1U << c))
			note(t, c, h, file, strerror(-r));
	h->ctls = 0;
}

int wdr_cgroup_tree_remake(struct wdr_cgroup_tree *t, struct wdr_err *err)
{
	struct wdr_cgroup_hier *h;
	unsigned int i;
	int r;

	for (i = 0; i < t->n; i++) {
		h = &t->hier[i];
		if (!h->v2 && !h->ctls)
			continue;
		r = wdr_cgroup_open_dir(h);
		if (r < 0)
			return wdr_err_set(err, r, "make %s/%s: %s", h->path, h->dir, strerror(-r));
	}
	enable_v2(t, &t->hier[0]);
	return 0;
}

static void init_hier(struct wdr_cgroup_hier *h, const struct wdr_cgroup_mount *m, bool plain)
{
	h->dir = plain && m->v2 ? WDR_CGROUP_PLAIN : WDR_CGROUP_DIR;
	h->v2 = m->v2;
	h->ctls = m->ctls;
	h->detached = m->fd >= 0;
	memcpy(h->path, m->path, sizeof(h->path));
	(void)snprintf(h->name, sizeof(h->name), "%.63s",
		       *m->name ? m->name : strrchr(m->path, '/') + 1);
}

/* v2 becomes hier[0]. */
static int place_all(struct wdr_cgroup_tree *t, const struct wdr_cgroup_mounts *ms, bool systemd,
		     bool plain, struct wdr_err *err)
{
	struct wdr_cgroup_hier *h;
	unsigned int i;
	int pass, r;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < ms->n; i++) {
			if (ms->m[i].v2 != !pass)
				continue;
			h = &t->hier[t->n++];
			init_hier(h, &ms->m[i], plain);
			r = wdr_cgroup_place(h, &ms->m[i], systemd, h->v2 ? err : NULL);
			if (r < 0 && h->v2)
				return r;
			if (r < 0)
				lose_v1(t, h, h->dir, r);
		}
	}
	if (t->n == 1)
		t->hier[0].name[0] = '\0';
	return 0;
}

static struct wdr_cgroup_tree *alloc_tree(void)
{
	struct wdr_cgroup_tree *t = calloc(1, sizeof(*t));
	unsigned int i;

	if (!t)
		return NULL;
	t->slice_fd = -1;
	for (i = 0; i < WDR_CGROUP_MAX_HIER; i++)
		t->hier[i].base_fd = t->hier[i].fd = -1;
	return t;
}

/*
 * On a hybrid machine systemd manages only its own v1 hierarchy and, in the others, what it made:
 * a folder beside that is left alone. On v2 it takes controllers away from what it does not know.
 */
static bool by_systemd(const char *root, const struct wdr_cgroup_mounts *ms)
{
	return !root && ms->n == 1 && !access(WDR_CGROUP_SYSTEMD, F_OK);
}

static int new_tree(const char *root, bool plain, struct wdr_cgroup_tree **ret, struct wdr_err *err)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = alloc_tree();
	wdr_cgroup_mounts_ struct wdr_cgroup_mounts *ms = NULL;
	bool systemd;
	int r;

	if (!t)
		return -ENOMEM;
	r = wdr_cgroup_mounts_find(root, &ms, err);
	if (r < 0)
		return r;
	systemd = by_systemd(root, ms);
	r = place_all(t, ms, systemd, plain, err);
	if (r < 0)
		return r;
	enable_v2(t, &t->hier[0]);
	if (systemd) {
		t->slice_fd = openat(t->hier[0].base_fd, "..", DIR_FLAGS);
		if (t->slice_fd < 0)
			return wdr_err_set(err, -errno, "open %s/..: %s", t->hier[0].path,
					   strerror(errno));
	}
	*ret = WDR_TAKE_PTR(t);
	return 0;
}

int wdr_cgroup_tree_new(const char *root, struct wdr_cgroup_tree **ret, struct wdr_err *err)
{
	return new_tree(root, false, ret, err);
}

int wdr_cgroup_tree_new_plain(const char *root, struct wdr_cgroup_tree **ret, struct wdr_err *err)
{
	return new_tree(root, true, ret, err);
}

void wdr_cgroup_tree_freep(struct wdr_cgroup_tree **t)
{
	unsigned int i;

	if (!*t)
		return;
	for (i = 0; i < WDR_CGROUP_MAX_HIER; i++) {
		wdr_closep(&(*t)->hier[i].base_fd);
		wdr_closep(&(*t)->hier[i].fd);
	}
	wdr_closep(&(*t)->slice_fd);
	free(*t);
	*t = NULL;
}

void wdr_cgroup_tree_trim(struct wdr_cgroup_tree *t)
{
	unsigned int i;

	for (i = 0; i < t->n; i++)
		(void)unlinkat(t->hier[i].base_fd, t->hier[i].dir, AT_REMOVEDIR);
}

void wdr_cgroup_trim(void)
{
	wdr_cgroup_mounts_ struct wdr_cgroup_mounts *ms = NULL;
	unsigned int i;

	if (wdr_cgroup_mounts_find(NULL, &ms, NULL) < 0 || by_systemd(NULL, ms))
		return;
	for (i = 0; i < ms->n; i++) {
		wdr_close_ int fd = open(ms->m[i].path, DIR_FLAGS);

		(void)unlinkat(fd, WDR_CGROUP_DIR, AT_REMOVEDIR);
		if (ms->m[i].v2)
			(void)unlinkat(fd, WDR_CGROUP_PLAIN, AT_REMOVEDIR);
	}
}
