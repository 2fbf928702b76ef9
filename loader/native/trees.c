/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's mounts, seen once and with the caller's rights: a root supervisor clones each into a
 * detached mount that nothing can be renamed under any more; an ordinary user's pid 1, who has the
 * same rights as the caller, clones by path in its own mount namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "native/native_priv.h"

static char *absolute(const char *base, const char *path)
{
	char *s = NULL;

	if (path[0] == '/')
		return strdup(path);
	if (asprintf(&s, "%s/%s", base ? base : ".", path) < 0)
		return NULL;
	return s;
}

static int open_tree_of(struct wdr_backend_job *b, struct native_tree *t, const char *base,
			const char *source, struct wdr_err *err)
{
	const struct wdr_spec *s = b->spec;
	enum wdr_idmap map =
		s->waived & WDR_PROT_BIT(WDR_PROT_IDMAP) ? WDR_IDMAP_NONE : WDR_IDMAP_OWNER;
	struct wdr_ids as = { s->host_uid, s->host_uid };
	struct stat st;

	t->fd = -1;
	t->source = absolute(base, source);
	if (!t->source)
		return -ENOMEM;
	if (s->privileged) {
		t->fd = wdr_tree_open(t->source, t->readonly, map, as, &t->is_dir, err);
		return t->fd < 0 ? WDR_TAKE_FD(t->fd) : 0;
	}
	if (stat(t->source, &st) < 0)
		return wdr_err_wrap(err, -errno, "mount source %s", t->source);
	t->is_dir = S_ISDIR(st.st_mode);
	return 0;
}

static int open_root(struct wdr_backend_job *b, const char *path, struct wdr_err *err)
{
	int r;

	b->root.target = "/";
	b->root.readonly = true; /* writes go to a layer above it */
	r = open_tree_of(b, &b->root, NULL, path, err);
	if (r < 0)
		return wdr_err_wrap(err, r, "root");
	if (!b->root.is_dir)
		return wdr_err_set(err, -ENOTDIR, "root %s is not a directory", path);
	return 0;
}

int wdr_native_open_trees(struct wdr_backend_job *b, struct wdr_err *err)
{
	const struct wdr_spec *s = b->spec;
	const struct wdr_policy *p = s->policy;
	int r = 0;

	if (p->fs.root)
		r = open_root(b, p->fs.root, err);
	for (size_t i = 0; r == 0 && i < p->fs.n_mounts; i++) {
		struct native_tree *t = &b->mounts[b->n_mounts++];

		t->target = p->fs.mounts[i].target;
		t->readonly = p->fs.mounts[i].readonly;
		r = open_tree_of(b, t, p->fs.mounts[i].base, p->fs.mounts[i].source, err);
	}
	for (unsigned int i = 0; r == 0 && s->privileged && i < s->n_views; i++) {
		struct native_tree *t = &b->views[i];

		t->fd = wdr_tree_clone(s->views[i].dir_fd, "", AT_EMPTY_PATH,
				       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY |
					       MOUNT_ATTR_NOEXEC);
		if (t->fd < 0)
			return wdr_err_wrap(err, WDR_TAKE_FD(t->fd), "show the job its cgroup %s",
					    s->views[i].name);
	}
	return r;
}
