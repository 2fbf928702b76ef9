/* SPDX-License-Identifier: Apache-2.0 */
/* filesystem: the root, the writable places, what of the host is shown. */
#include <errno.h>
#include <string.h>

#include "policy_priv.h"

#define AT(member) offsetof(struct wdr_policy, member)

/* How many elements an array has, at most @max. */
static int check_count(struct wdr_cursor *c, const json_t *v, size_t max)
{
	if (json_array_size(v) <= max)
		return 0;
	return wdr_err_set(c->err, -EINVAL, "too many: %zu, at most %zu", json_array_size(v), max);
}

static int read_string(struct wdr_cursor *c, json_t *e, const struct wdr_strings *s, char **list,
		       size_t n)
{
	const char *text = json_string_value(e);
	int r = wdr_field_type(c, e, WDR_IS_STRING);

	if (r < 0)
		return r;
	r = s->check(text, c->err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], text))
			return wdr_err_set(c->err, -EINVAL, "\"%.64s\" is here twice", text);
	return wdr_policy_set_string(&list[n], text);
}

int wdr_field_strings(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	const struct wdr_strings *s = f->arg;
	char ***list = (char ***)((char *)at + s->list);
	size_t *n = (size_t *)((char *)at + s->n);
	size_t i, mark;
	json_t *e;
	int r;

	r = check_count(c, v, s->max);
	if (r < 0)
		return r;
	for (; *n; --*n)
		free((*list)[*n - 1]);
	free(*list);
	*list = calloc(json_array_size(v) + 1, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	json_array_foreach(v, i, e) {
		mark = wdr_cursor_enter_index(c, i);
		r = read_string(c, e, s, *list, *n);
		if (r < 0)
			return wdr_cursor_place(c, r);
		++*n;
		wdr_cursor_leave(c, mark);
	}
	return 0;
}

/* A bare word would be taken for a misspelt "host", so a folder has a slash or is "." or "..". */
static int read_root(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	const char *s = json_string_value(v);
	int r;

	(void)f;
	if (!strcmp(s, "host"))
		return 0;
	r = wdr_policy_check_source(s, c->err);
	if (r < 0)
		return r;
	if (*s != '/' && strcmp(s, ".") != 0 && strcmp(s, "..") != 0 && strncmp(s, "./", 2) != 0 &&
	    strncmp(s, "../", 3) != 0)
		return wdr_err_set(
			c->err, -EINVAL,
			"not a root: want \"host\" or a folder; did you mean \"./%.64s\"?", s);
	return wdr_policy_set_string(at, s);
}

static int read_source(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	int r = wdr_policy_check_source(json_string_value(v), c->err);

	(void)f;
	return r < 0 ? r : wdr_policy_set_string(at, json_string_value(v));
}

static int read_target(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	int r = wdr_policy_check_target(json_string_value(v), c->err);

	(void)f;
	return r < 0 ? r : wdr_policy_set_string(at, json_string_value(v));
}

static const struct wdr_field mount_fields[] = {
	{ "source", WDR_IS_STRING, true, read_source, offsetof(struct wdr_mount, source), NULL },
	{ "target", WDR_IS_STRING, true, read_target, offsetof(struct wdr_mount, target), NULL },
	{ "readonly", WDR_IS_BOOL, false, wdr_field_bool, offsetof(struct wdr_mount, readonly),
	  NULL },
	WDR_FIELD_END,
};

static int read_mounts(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	struct wdr_policy *p = at;
	size_t i, mark;
	json_t *e;
	int r;

	(void)f;
	r = check_count(c, v, WDR_POLICY_MAX_MOUNTS);
	if (r < 0)
		return r;
	p->fs.mounts = calloc(json_array_size(v) + 1, sizeof(*p->fs.mounts));
	if (!p->fs.mounts)
		return -ENOMEM;
	json_array_foreach(v, i, e) {
		struct wdr_mount *m = &p->fs.mounts[p->fs.n_mounts++];

		m->readonly = true;
		mark = wdr_cursor_enter_index(c, i);
		r = wdr_field_read(c, e, mount_fields, m);
		if (r < 0)
			return r;
		for (size_t j = 0; j < i; j++)
			if (!strcmp(p->fs.mounts[j].target, m->target))
				return wdr_err_set(c->err, -EINVAL,
						   "mount %zu has this target already", j);
		wdr_cursor_leave(c, mark);
	}
	return 0;
}

static const struct wdr_strings tmpfs = { AT(fs.tmpfs), AT(fs.n_tmpfs), WDR_POLICY_MAX_TMPFS,
					  wdr_policy_check_target };

const struct wdr_field wdr_fs_fields[] = {
	{ "root", WDR_IS_STRING, false, read_root, AT(fs.root), NULL },
	{ "readonly", WDR_IS_BOOL, false, wdr_field_bool, AT(fs.readonly), NULL },
	{ "tmpfs", WDR_IS_ARRAY, false, wdr_field_strings, 0, &tmpfs },
	{ "mounts", WDR_IS_ARRAY, false, read_mounts, 0, NULL },
	WDR_FIELD_END,
};
