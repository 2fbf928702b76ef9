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

/* Attributes of every tree that the user names: never a device, never a setuid program. */
static uint64_t tree_attrs(bool readonly)
{
	return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (readonly ? MOUNT_ATTR_RDONLY : 0);
}

static int clone_for_job(struct wdr_backend_job *b, struct native_tree *t, const struct stat *st,
			 struct wdr_err *err)
{
	const struct wdr_spec *s = b->spec;
	int r;

	t->fd = wdr_tree_clone(AT_FDCWD, t->source, AT_RECURSIVE, tree_attrs(t->readonly));
	if (t->fd < 0)
		return wdr_err_wrap(err, WDR_TAKE_FD(t->fd), "mount %s", t->source);
	if (s->waived & WDR_PROT_BIT(WDR_PROT_IDMAP))
		return 0;
	r = wdr_tree_idmap(t->fd, st->st_uid, st->st_gid, s->host_uid, s->host_uid);
	/* Read-only without it is less than was asked for, never more: the mode bits decide then. */
	if (r < 0 && !t->readonly)
		return wdr_err_wrap(
			err, r,
			"mount %s read-write with its owner's uid (the file system must "
			"support idmapped mounts; read-only needs no such support)",
			t->source);
	return 0;
}

static int open_tree_of(struct wdr_backend_job *b, struct native_tree *t, const char *base,
			const char *source, struct wdr_err *err)
{
	struct stat st;

	t->fd = -1;
	t->source = absolute(base, source);
	if (!t->source)
		return -ENOMEM;
	if (stat(t->source, &st) < 0)
		return wdr_err_set(err, -errno, "mount source %s: %s", t->source, strerror(errno));
	t->is_dir = S_ISDIR(st.st_mode);
	if (!b->spec->privileged)
		return 0;
	return clone_for_job(b, t, &st, err);
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
				       tree_attrs(true) | MOUNT_ATTR_NOEXEC);
		if (t->fd < 0)
			return wdr_err_wrap(err, WDR_TAKE_FD(t->fd), "show the job its cgroup %s",
					    s->views[i].name);
	}
	return r;
}
