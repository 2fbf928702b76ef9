/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/wdr_hash.h"
#include "base/wdr_io.h"
#include "state.h"

#define SUFFIX	    ".json"
#define VERSION	    2
#define LOCK_TRY_MS 5

void wdr_shim_record_freep(struct wdr_shim_record **rp)
{
	struct wdr_shim_record *r = *rp;

	*rp = NULL;
	if (!r)
		return;
	free(r->id);
	free(r->root);
	free(r->policy);
	free(r->cgroup);
	free(r->netns);
	free(r->place);
	free(r->rules);
	free(r);
}

json_t *wdr_shim_record_to_json(const struct wdr_shim_record *r)
{
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:I, s:b, s:s, s:f, s:s, s:b}", "version",
			 VERSION, "id", r->id, "root", r->root, "policy", r->policy, "cgroup",
			 r->cgroup, "netns", r->netns, "made_ns", (json_int_t)r->made_ns, "done",
			 (int)r->done, "place", r->place, "quota", r->quota, "rules", r->rules,
			 "told", (int)r->told);
}

int wdr_shim_record_from_json(json_t *o, struct wdr_shim_record **ret)
{
	wdr_shim_record_ struct wdr_shim_record *r = calloc(1, sizeof(*r));
	const char *text[7];
	json_int_t made;
	int version, done, told = 0;

	if (!r)
		return -ENOMEM;
	if (json_unpack(o, "{s:i, s:s, s:s, s:s, s:s, s:s, s:I, s:b, s:s, s:F, s:s, s?b !}",
			"version", &version, "id", &text[0], "root", &text[1], "policy", &text[2],
			"cgroup", &text[3], "netns", &text[4], "made_ns", &made, "done", &done,
			"place", &text[5], "quota", &r->quota, "rules", &text[6], "told",
			&told) < 0 ||
	    version != VERSION)
		return -EPROTO;
	r->id = strdup(text[0]);
	r->root = strdup(text[1]);
	r->policy = strdup(text[2]);
	r->cgroup = strdup(text[3]);
	r->netns = strdup(text[4]);
	r->place = strdup(text[5]);
	r->rules = strdup(text[6]);
	r->made_ns = made;
	r->done = done;
	r->told = told;
	if (!r->id || !r->root || !r->policy || !r->cgroup || !r->netns || !r->place || !r->rules)
		return -ENOMEM;
	*ret = WDR_TAKE_PTR(r);
	return 0;
}

/* Ids and roots are paths and may be long: the file is named by their hash. */
static void file_of(const char *dir, const char *root, const char *id, char path[PATH_MAX])
{
	const char *const parts[] = { root, id };
	uint64_t h = WDR_HASH_START;

	for (size_t i = 0; i < 2; i++) {
		h = wdr_hash_add(h, parts[i], strlen(parts[i]));
		h = wdr_hash_add(h, "/", 1);
	}
	(void)snprintf(path, PATH_MAX, "%s/%016llx" SUFFIX, dir, (unsigned long long)h);
}

static int make_dirs(const char *dir)
{
	char path[PATH_MAX];

	for (const char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		(void)snprintf(path, sizeof(path), "%.*s", (int)(slash - dir), dir);
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return mkdir(dir, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int wdr_shim_record_write(const char *dir, const struct wdr_shim_record *r)
{
	wdr_json_ json_t *o = wdr_shim_record_to_json(r);
	wdr_free_ char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	char path[PATH_MAX], tmp[PATH_MAX + 16];
	wdr_close_ int fd = -1;
	int e;

	if (!text)
		return -ENOMEM;
	e = make_dirs(dir);
	if (e < 0)
		return e;
	file_of(dir, r->root, r->id, path);
	(void)snprintf(tmp, sizeof(tmp), "%s.%d", path, (int)getpid());
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	e = fd < 0 ? -errno : wdr_write_all(fd, text, strlen(text));
	if (e == 0 && rename(tmp, path) < 0)
		e = -errno;
	if (e < 0)
		(void)unlink(tmp);
	return e;
}

static int read_file(int dir_fd, const char *name, struct wdr_shim_record **ret)
{
	wdr_free_ char *text = NULL;
	wdr_json_ json_t *o = NULL;
	size_t n = 0;
	int e = wdr_read_file(dir_fd, name, WDR_SHIM_MAX_RECORD, &text, &n);

	if (e < 0)
		return e;
	o = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	return o ? wdr_shim_record_from_json(o, ret) : -EPROTO;
}

int wdr_shim_record_read(const char *dir, const char *root, const char *id,
			 struct wdr_shim_record **ret)
{
	wdr_shim_record_ struct wdr_shim_record *r = NULL;
	char path[PATH_MAX];
	int e;

	file_of(dir, root, id, path);
	e = read_file(AT_FDCWD, path, &r);
	if (e < 0)
		return e;
	if (strcmp(r->id, id) != 0 || strcmp(r->root, root) != 0)
		return -ENOENT; /* another one with the same hash */
	*ret = WDR_TAKE_PTR(r);
	return 0;
}

int wdr_shim_record_remove(const char *dir, const char *root, const char *id)
{
	char path[PATH_MAX];

	file_of(dir, root, id, path);
	return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

/* flock(2) has no deadline, and who holds the lock may have been stopped. */
int wdr_shim_lock(int fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_TRY_MS * 1000000L };

	for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; ms += LOCK_TRY_MS) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (ms >= WDR_SHIM_LOCK_MS)
			return -EBUSY;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

bool wdr_shim_record_is_anew(const char *dir, const struct wdr_shim_record *r)
{
	wdr_shim_record_ struct wdr_shim_record *now = NULL;

	return wdr_shim_record_read(dir, r->root, r->id, &now) == 0 && now->made_ns != r->made_ns;
}

int wdr_shim_record_tell(const char *dir, const struct wdr_shim_record *r, int *ret_fd)
{
	wdr_shim_record_ struct wdr_shim_record *now = NULL;
	wdr_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct wdr_shim_record told = *r;
	int e = fd < 0 ? -errno : wdr_shim_lock(fd);

	if (e < 0)
		return e;
	e = wdr_shim_record_read(dir, r->root, r->id, &now);
	if (e == 0 && now->made_ns != r->made_ns)
		return -ENOENT;
	told.told = true;
	if (e == 0 && !now->told)
		e = wdr_shim_record_write(dir, &told);
	if (e < 0)
		return e;
	*ret_fd = WDR_TAKE_FD(fd);
	return now->told;
}

static const char *dir_of(const struct wdr_shim_record *r)
{
	return r->root[0] ? r->root : "/var/run/runsc";
}

pid_t wdr_shim_record_sandbox(const struct wdr_shim_record *r)
{
	struct wdr_runsc_state state;
	wdr_free_ char *path = NULL;
	wdr_free_ char *text = NULL;
	size_t n = 0;
	int e;

	if (asprintf(&path, "%s/%s_sandbox:%s.state", dir_of(r), r->id, r->id) < 0)
		return -ENOMEM;
	e = wdr_read_file(AT_FDCWD, path, WDR_RUNSC_STATE_MAX, &text, &n);
	if (e == 0)
		e = wdr_runsc_state_parse(text, n, &state);
	if (e < 0)
		return e;
	return state.sentry_pid > 0 ? state.sentry_pid : -ENOENT;
}

bool wdr_shim_record_is_there(const struct wdr_shim_record *r)
{
	const char *root = dir_of(r);
	size_t n = strlen(r->id);
	bool found = false;
	struct dirent *e;
	DIR *d = opendir(root);

	while (d && !found && (e = readdir(d)))
		found = !strncmp(e->d_name, r->id, n) && !strncmp(e->d_name + n, "_sandbox:", 9) &&
			strstr(e->d_name, ".state");
	if (d)
		(void)closedir(d);
	return found;
}

static bool sweep_one(int dir_fd, const char *name, long long before_ns,
		      void (*gone)(void *arg, const struct wdr_shim_record *r), void *arg)
{
	wdr_shim_record_ struct wdr_shim_record *r = NULL;
	const char *suffix = strstr(name, SUFFIX);

	if (!suffix || suffix[sizeof(SUFFIX) - 1] || read_file(dir_fd, name, &r) < 0 ||
	    r->made_ns > before_ns || wdr_shim_record_is_there(r))
		return false;
	gone(arg, r);
	return unlinkat(dir_fd, name, 0) == 0;
}

int wdr_shim_record_sweep(const char *dir, long long now_ns, long long min_age_ns,
			  void (*gone)(void *arg, const struct wdr_shim_record *r), void *arg)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while ((e = readdir(d)))
		n += sweep_one(dirfd(d), e->d_name, now_ns - min_age_ns, gone, arg);
	(void)closedir(d);
	return n;
}
