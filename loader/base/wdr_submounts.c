/* SPDX-License-Identifier: Apache-2.0 */
/* An overlay shows the file systems it is made of, not what is mounted on them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "wdr_cover.h"
#include "wdr_tree.h"

#define MAX_SUBMOUNTS 1024

struct wdr_submounts {
	struct submount {
		char *path; /* below the tree's top, without a slash */
		int fd;	    /* detached clone, with all below it */
	} * items;
	size_t n;
};

void wdr_submounts_freep(struct wdr_submounts **s)
{
	if (!*s)
		return;
	for (size_t i = 0; i < (*s)->n; i++) {
		wdr_closep(&(*s)->items[i].fd);
		free((*s)->items[i].path);
	}
	free((*s)->items);
	wdr_freep(s);
}

/* "\040" in mountinfo is a space (proc(5)). In place. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		unsigned int c = 0;

		*to = *s;
		if (*s != '\\' || sscanf(s + 1, "%3o", &c) != 1)
			continue;
		*to = (char)c;
		s += 3;
	}
	*to = '\0';
}

/* What is mounted there may be hidden below a later mount: then nobody saw it before, either. */
static bool is_seen(int root_fd, const char *path)
{
	struct statx stx;

	return statx(root_fd, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &stx) == 0 &&
	       (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static int add(struct wdr_submounts *s, int root_fd, const char *path)
{
	struct submount *p;

	if (s->n == MAX_SUBMOUNTS)
		return -E2BIG;
	p = reallocarray(s->items, s->n + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	s->items = p;
	p = &s->items[s->n];
	p->path = strdup(path);
	p->fd = p->path ? wdr_tree_clone(root_fd, path, AT_RECURSIVE, 0) : -ENOMEM;
	if (p->fd < 0) {
		int r = WDR_TAKE_FD(p->fd);

		free(p->path);
		return r;
	}
	s->n++;
	return 0;
}

/* Whether @line of mountinfo is of a mount right on @mnt, below @above: then its path, in @line. */
static char *read_place(char *line, uint64_t mnt, const char *above)
{
	uint64_t parent;
	const char *rest;
	int at = 0;
	char *path;

	if (sscanf(line, "%*u %" SCNu64 " %*s %*s %n", &parent, &at) != 1 || !at || parent != mnt)
		return NULL;
	path = line + at;
	path[strcspn(path, " \n")] = '\0';
	unescape(path);
	rest = wdr_path_below(path, above);
	return rest && *rest ? path : NULL;
}

int wdr_submounts_take(int root_fd, uint64_t mnt, const char *above, struct wdr_submounts **ret)
{
	wdr_submounts_ struct wdr_submounts *s = calloc(1, sizeof(*s));
	wdr_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
	wdr_free_ char *line = NULL;
	char root[PATH_MAX];
	char top[PATH_MAX];
	size_t size = 0;
	int r;

	if (!f)
		return -errno;
	if (!s)
		return -ENOMEM;
	r = wdr_real_path(root_fd, root);
	if (r == 0 &&
	    snprintf(top, sizeof(top), "%s%s", strcmp(root, "/") ? root : "",
		     strcmp(above, "/") || !strcmp(root, "/") ? above : "") >= (int)sizeof(top))
		r = -ENAMETOOLONG;
	while (r == 0 && getline(&line, &size, f) > 0) {
		const char *path = read_place(line, mnt, top);

		path = path ? wdr_path_below(path, root) : NULL;
		r = path && is_seen(root_fd, path) ? add(s, root_fd, path) : 0;
	}
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(s);
	return 0;
}

int wdr_submounts_put(const struct wdr_submounts *s, int root_fd)
{
	for (size_t i = 0; i < s->n; i++) {
		wdr_close_ int at = wdr_tree_open_in(root_fd, s->items[i].path);
		int r = at < 0 ? WDR_TAKE_FD(at) : wdr_tree_attach(s->items[i].fd, at);

		if (r < 0)
			return r;
	}
	return 0;
}
