/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/wdr_hash.h"
#include "base/wdr_io.h"
#include "base/wdr_log.h"
#include "command.h"
#include "sandbox_priv.h"

#define ANSWER_MS   5000 /* `runsc --version` and `flags` take 30 */
#define CACHE_MAX   (16 * 1024)
#define DEFAULT_ENV "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Make @from absolute without following its last link: a replaced link is another binary. */
static int make_absolute(const char *from, char *path, size_t size)
{
	char cwd[PATH_MAX] = "";
	int n;

	if (from[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return -errno;
	n = snprintf(path, size, "%s%s%s", cwd, cwd[0] ? "/" : "", from);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int search_path(char *path, size_t size)
{
	const char *dirs = getenv("PATH");
	char file[PATH_MAX];
	size_t n;

	for (const char *d = dirs ? dirs : DEFAULT_ENV; *d; d += n + (d[n] == ':')) {
		n = strcspn(d, ":");
		if (snprintf(file, sizeof(file), "%.*s/runsc", (int)n, n ? d : ".") >=
		    (int)sizeof(file))
			continue;
		if (access(file, X_OK) == 0)
			return make_absolute(file, path, size);
	}
	return -ENOENT;
}

int wdr_runsc_find(char *path, size_t size, struct wdr_err *err)
{
	const char *named = getenv("WARDER_RUNSC");
	struct stat st;
	int r;

	if (!named || !*named) {
		r = search_path(path, size);
		return r < 0 ? wdr_err_set(err, r,
					   "no runsc on PATH: install gVisor, or name its runsc in "
					   "WARDER_RUNSC") :
			       0;
	}
	r = make_absolute(named, path, size);
	if (r < 0)
		return wdr_err_wrap(err, r, "WARDER_RUNSC=%s", named);
	if (stat(path, &st) < 0 || access(path, X_OK) < 0)
		return wdr_err_wrap(err, -errno, "WARDER_RUNSC=%s", named);
	if (!S_ISREG(st.st_mode))
		return wdr_err_set(err, -EACCES, "WARDER_RUNSC=%s is not a program", named);
	return 0;
}

static int make_key(const char *path, struct wdr_runsc_key *k, struct wdr_err *err)
{
	wdr_free_ char *boot = NULL;
	struct stat st;
	int r;

	memset(k, 0, sizeof(*k));
	if (stat(path, &st) < 0)
		return wdr_err_wrap(err, -errno, "%s", path);
	r = wdr_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", sizeof(k->boot) - 1, &boot,
			  NULL);
	if (r < 0)
		return wdr_err_wrap(err, r, "read the boot id below /proc");
	(void)snprintf(k->boot, sizeof(k->boot), "%.*s", (int)strcspn(boot, "\n"), boot);
	(void)snprintf(k->path, sizeof(k->path), "%s", path);
	k->dev = st.st_dev;
	k->ino = st.st_ino;
	k->size_bytes = (uint64_t)st.st_size;
	k->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return 0;
}

static int64_t boot_seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec;
}

/* One file a path, so that changing between two binaries asks neither again. */
static void cache_name(const char *dir, const struct wdr_runsc_key *k, const char *suffix,
		       char path[PATH_MAX])
{
	uint64_t h = wdr_hash_add(WDR_HASH_START, k->path, strlen(k->path));

	(void)snprintf(path, PATH_MAX, "%s/runsc-%016llx%s", dir, (unsigned long long)h, suffix);
}

static int read_cache(const char *dir, const struct wdr_runsc_key *k, struct wdr_runsc *ret)
{
	wdr_free_ char *text = NULL;
	wdr_json_ json_t *o = NULL;
	char path[PATH_MAX];
	size_t n = 0;
	int r;

	cache_name(dir, k, ".json", path);
	r = wdr_read_file(AT_FDCWD, path, CACHE_MAX, &text, &n);
	if (r < 0)
		return r;
	o = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	return o ? wdr_runsc_from_json(o, k, boot_seconds(), ret) : -EPROTO;
}

/* Written aside and renamed. Without the file the next start only asks again. */
static void write_cache(const char *dir, const struct wdr_runsc_key *k, const struct wdr_runsc *r)
{
	wdr_json_ json_t *o = wdr_runsc_to_json(r, k, boot_seconds());
	wdr_free_ char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	char tmp[PATH_MAX], path[PATH_MAX], suffix[24];
	wdr_close_ int fd = -1;

	(void)snprintf(suffix, sizeof(suffix), ".%d.tmp", (int)getpid());
	cache_name(dir, k, suffix, tmp);
	cache_name(dir, k, ".json", path);
	fd = text ? open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	if (fd < 0 || wdr_write_all(fd, text, strlen(text)) < 0 || rename(tmp, path) < 0) {
		wdr_debug("step=runsc-cache err=\"%s\"", strerror(errno));
		(void)unlink(tmp);
	}
}

/* Run `PATH ARG [MORE]`; the text it prints to @stream (1, 2) is *ret, the caller's. */
static int ask(const char *path, const char *arg, const char *more, int stream, char **ret,
	       struct wdr_err *err)
{
	const char *const argv[] = { path, arg, more, NULL };
	const struct wdr_command_spec spec = { .argv = argv, .stdio = { -1, -1, -1 } };
	wdr_command_ struct wdr_command *c = NULL;
	int r = wdr_command_start(&spec, &c, err);

	if (r == 0)
		r = wdr_command_wait(c, ANSWER_MS, err);
	if (r == 0)
		r = wdr_command_check(c, arg, err);
	if (r < 0)
		return r;
	*ret = strdup(wdr_command_output(c, stream, NULL, NULL));
	return *ret ? 0 : -ENOMEM;
}

static int ask_all(struct wdr_runsc *r, struct wdr_err *err)
{
	wdr_free_ char *version = NULL;
	wdr_free_ char *flags = NULL;
	int e = ask(r->path, "--version", NULL, 1, &version, err);

	if (e == 0)
		e = ask(r->path, "flags", NULL, 2, &flags, err); /* Go's flag package: to stderr */
	if (e < 0)
		return wdr_err_wrap(err, e, "%s", r->path);
	if (wdr_runsc_version(version, r->version, sizeof(r->version)) < 0)
		return wdr_err_set(err, -EPROTO, "%s does not answer --version as a runsc does",
				   r->path);
	r->features = wdr_runsc_features(flags);
	if (!r->features)
		return wdr_err_set(err, -EPROTO, "%s does not answer \"flags\" as a runsc does",
				   r->path);
	return 0;
}

int wdr_runsc_ask_holds(const struct wdr_runsc *r, struct wdr_err *err)
{
	wdr_free_ char *help = NULL;
	int e = ask(r->path, "help", "run", 1, &help, err);

	if (e == 0 && !wdr_runsc_holds(help))
		e = wdr_err_set(
			err, -EOPNOTSUPP,
			"%s can't hold a sandbox for a job to come: no --exec-fd, --pass-fd",
			r->path);
	return e;
}

/* The first platform on which a sandbox runs a program to its end. */
static void try_platforms(struct wdr_runsc *r)
{
	static const struct {
		enum wdr_runsc_platform platform;
		const char *device; /* not tried without */
		int ms;
	} tries[] = {
		{ WDR_RUNSC_SYSTRAP, NULL, 15000 },
		/* Nested virtualization may answer late or never. */
		{ WDR_RUNSC_KVM, "/dev/kvm", 3000 },
		{ WDR_RUNSC_PTRACE, NULL, 15000 },
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct wdr_err err = { 0 };

		if (tries[i].device && access(tries[i].device, R_OK | W_OK) < 0)
			continue;
		r->platform = tries[i].platform;
		if (wdr_sandbox_try(r, tries[i].ms, &err) == 0) {
			r->works = true;
			r->why[0] = '\0';
			return;
		}
		if (n < sizeof(r->why))
			n += (size_t)snprintf(r->why + n, sizeof(r->why) - n, "%s%s: %.80s",
					      n ? "; " : "", wdr_runsc_platform_name(r->platform),
					      err.msg);
	}
}

static int ask_about(const struct wdr_runsc_key *k, const char *cache_dir, struct wdr_runsc *ret,
		     struct wdr_err *err)
{
	struct wdr_runsc r = { 0 };
	int e;

	(void)snprintf(r.path, sizeof(r.path), "%s", k->path);
	e = ask_all(&r, err);
	if (e < 0)
		return e;
	try_platforms(&r);
	if (cache_dir)
		write_cache(cache_dir, k, &r);
	*ret = r;
	return 0;
}

static int get(const char *cache_dir, bool fresh, struct wdr_runsc *ret, struct wdr_err *err)
{
	char path[sizeof(ret->path)];
	struct wdr_runsc_key k;
	int r = wdr_runsc_find(path, sizeof(path), err);

	if (r == 0)
		r = make_key(path, &k, err);
	if (r < 0)
		return r;
	if (fresh || !cache_dir || read_cache(cache_dir, &k, ret) < 0)
		r = ask_about(&k, cache_dir, ret, err);
	if (r < 0)
		return r;
	if (!ret->works)
		return wdr_err_set(err, -EOPNOTSUPP, "no sandbox starts under %s: %s", ret->path,
				   ret->why);
	return 0;
}

int wdr_runsc_get(const char *cache_dir, struct wdr_runsc *ret, struct wdr_err *err)
{
	return get(cache_dir, false, ret, err);
}

int wdr_runsc_ask(const char *cache_dir, struct wdr_runsc *ret, struct wdr_err *err)
{
	return get(cache_dir, true, ret, err);
}
