/* SPDX-License-Identifier: Apache-2.0 */
/* Which file a policy's name means. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/wdr_text.h"
#include "policy_priv.h"
#include "wdr_build.h"

#define ETC_POLICIES   "/etc/warder/policies"
#define MAX_PARENTS    4 /* folders above the binary's where a build tree may start */
#define MAX_DIRS       (2 + MAX_PARENTS + 1)
#define MAX_CANDIDATES 1000 /* files of a folder that are offered as near ones */

/* The folders, in the order they are looked through. */
struct dirs {
	char *dir[MAX_DIRS];
	size_t n;
};

static void drop_dirs(struct dirs *d)
{
	while (d->n)
		free(d->dir[--d->n]);
}

static int add_dir(struct dirs *d, const char *dir)
{
	d->dir[d->n] = strdup(dir);
	if (!d->dir[d->n])
		return -ENOMEM;
	d->n++;
	return 0;
}

/* policies/ beside the binary and above it. Where /proc is hidden there is none: no error. */
static int add_own_dirs(struct dirs *d)
{
	char exe[4096], dir[sizeof(exe) + sizeof("/policies")];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;
	int r;

	if (n <= 0 || n >= (ssize_t)sizeof(exe) - 1)
		return 0;
	exe[n] = '\0';
	for (int i = 0; i <= MAX_PARENTS && (slash = strrchr(exe, '/')); i++) {
		*slash = '\0';
		(void)snprintf(dir, sizeof(dir), "%s/policies", exe);
		r = add_dir(d, dir);
		if (r < 0)
			return r;
	}
	return 0;
}

static int list_dirs(struct dirs *d)
{
	int r;

	r = add_dir(d, ETC_POLICIES);
	if (r == 0)
		r = add_dir(d, WDR_DATADIR "/policies");
	return r < 0 ? r : add_own_dirs(d);
}

/* The nearest name that some folder has, for the message. */
static void offer_files(const char *dir, char (*best)[WDR_POLICY_NAME_MAX + 1],
			struct wdr_nearest *near)
{
	DIR *stream = opendir(dir);
	struct dirent *e;

	for (int i = 0; stream && i < MAX_CANDIDATES && (e = readdir(stream)); i++) {
		size_t n = strlen(e->d_name);
		char name[WDR_POLICY_NAME_MAX + 1];

		if (n <= 5 || n - 5 > WDR_POLICY_NAME_MAX || strcmp(e->d_name + n - 5, ".json"))
			continue;
		memcpy(name, e->d_name, n - 5);
		name[n - 5] = '\0';
		near->best = near->best ? *best : NULL;
		wdr_nearest_offer(near, name);
		if (near->best == name)
			memcpy(*best, name, sizeof(name));
	}
	if (stream)
		(void)closedir(stream);
}

static int refuse(const char *name, const struct dirs *d, struct wdr_err *err)
{
	char best[WDR_POLICY_NAME_MAX + 1] = "", shown[64];
	struct wdr_nearest near = { .word = name };

	for (size_t i = 0; i < d->n; i++)
		offer_files(d->dir[i], &best, &near);
	(void)wdr_text_escape(name, strlen(name), shown, sizeof(shown));
	if (*best)
		return wdr_err_set(err, -ENOENT, "no policy \"%s\", did you mean \"%s\"?", shown,
				   best);
	return wdr_err_set(err, -ENOENT,
			   "no policy \"%s\": want a file, or a name from %s or %s/policies", shown,
			   ETC_POLICIES, WDR_DATADIR);
}

static int find_name(const char *name, struct dirs *d, char **ret, struct wdr_err *err)
{
	wdr_free_ char *path = NULL;
	int r = list_dirs(d);

	if (r < 0)
		return r;
	for (size_t i = 0; i < d->n && wdr_policy_check_name(name, NULL) == 0; i++) {
		wdr_freep(&path);
		if (asprintf(&path, "%s/%s.json", d->dir[i], name) < 0)
			return -ENOMEM;
		/* One that is there and can't be read is named by who opens it, not passed over. */
		if (access(path, F_OK) == 0 || errno == EACCES) {
			*ret = WDR_TAKE_PTR(path);
			return 0;
		}
	}
	if (access(name, F_OK) < 0)
		return refuse(name, d, err);
	*ret = strdup(name);
	return *ret ? 0 : -ENOMEM;
}

int wdr_policy_find(const char *name_or_path, char **ret_path, struct wdr_err *err)
{
	size_t n = strlen(name_or_path);
	struct dirs d = { .n = 0 };
	int r;

	if (!n)
		return wdr_err_set(err, -EINVAL, "empty: want a policy's file or name");
	if (strchr(name_or_path, '/') || (n > 5 && !strcmp(name_or_path + n - 5, ".json"))) {
		*ret_path = strdup(name_or_path);
		return *ret_path ? 0 : -ENOMEM;
	}
	r = find_name(name_or_path, &d, ret_path, err);
	drop_dirs(&d);
	return r;
}

int wdr_policy_get(const char *name_or_path, struct wdr_policy **ret, struct wdr_err *err)
{
	wdr_free_ char *path = NULL;
	struct wdr_err missing = { 0 };
	int r;

	r = wdr_policy_find(name_or_path, &path, &missing);
	if (r == -ENOENT && !strcmp(name_or_path, "default"))
		return wdr_policy_default(ret);
	if (r < 0) {
		if (err)
			*err = missing;
		return r;
	}
	return wdr_policy_load(path, ret, err);
}
