/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which job may have a sandbox that was made before it was known. What a running sandbox can still
 * be given is listed here; everything else of a policy, fields to come included, must be the same.
 */
#include <errno.h>
#include <string.h>

#include "policy/policy.h"

#define MAX_PATH_TEXT 160

/* Keys of the normal form, a section's behind its name. */
static const struct {
	const char *section, *key;
} late[] = {
	{ NULL, "name" },	   { NULL, "workdir" },	   { NULL, "env" },
	{ "limits", "wall" },	   { "limits", "cpus" },   { "limits", "memory" },
	{ "limits", "swap" },	   { "limits", "pids" },   { "limits", "files" },
	{ "limits", "file_size" }, { "limits", "stdout" }, { "limits", "stderr" },
	{ "limits", "on_output" },
};

static int show_fixed(const struct wdr_policy *p, json_t **ret)
{
	wdr_json_ json_t *o = NULL;
	int r = wdr_policy_show(p, &o);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
		json_t *at = late[i].section ? json_object_get(o, late[i].section) : o;

		(void)json_object_del(at, late[i].key);
	}
	*ret = WDR_TAKE_PTR(o);
	return 0;
}

/* Where the two differ first, as a JSON pointer; "" where they do not. */
static void find_difference(json_t *a, json_t *b, char path[MAX_PATH_TEXT])
{
	const char *key = NULL;
	size_t n = strlen(path);
	json_t *value;

	json_object_foreach(a, key, value) {
		json_t *other = json_object_get(b, key);

		if (other && json_equal(value, other))
			continue;
		(void)snprintf(path + n, MAX_PATH_TEXT - n, "/%s", key);
		break;
	}
}

static int compare(json_t *made, json_t *job, struct wdr_err *err)
{
	char path[MAX_PATH_TEXT] = "";
	json_t *a, *b;

	if (json_equal(made, job))
		return 0;
	find_difference(made, job, path);
	a = path[0] ? json_object_get(made, path + 1) : NULL;
	b = path[0] ? json_object_get(job, path + 1) : NULL;
	if (json_is_object(a) && json_is_object(b))
		find_difference(a, b, path);
	return wdr_err_set(err, -EXDEV, "the sandbox was made for another policy: %s differs",
			   path);
}

/* Inside, a limit can be lowered and not raised. */
static int check_limits(const struct wdr_limits *made, const struct wdr_limits *job,
			struct wdr_err *err)
{
	const struct {
		const char *name;
		uint64_t made, job;
	} rows[] = {
		{ "files", made->files, job->files },
		{ "file_size", made->file_size_bytes, job->file_size_bytes },
		{ "pids", made->pids, job->pids },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].job > rows[i].made)
			return wdr_err_set(err, -EXDEV,
					   "the sandbox was made with a lower /limits/%s",
					   rows[i].name);
	return 0;
}

static bool has_lists(const struct wdr_policy *p)
{
	for (size_t i = 0; i < p->net.n_rules; i++)
		if (p->net.rules[i].list)
			return true;
	return false;
}

int wdr_policy_fits(const struct wdr_policy *made, const struct wdr_policy *job,
		    struct wdr_err *err)
{
	wdr_json_ json_t *a = NULL;
	wdr_json_ json_t *b = NULL;
	int r;

	/* The normal form names the file: what was in it then is not to be compared. */
	if (has_lists(made) || has_lists(job))
		return wdr_err_set(err, -EXDEV,
				   "a list of rules may have changed since the sandbox was made");
	r = show_fixed(made, &a);
	if (r == 0)
		r = show_fixed(job, &b);
	if (r == 0)
		r = compare(a, b, err);
	return r < 0 ? r : check_limits(&made->limits, &job->limits, err);
}
