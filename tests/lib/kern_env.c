/* SPDX-License-Identifier: Apache-2.0 */
#include "kern_env.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "wdr_test.h"

#define PREFIX "wdr-test-" /* and the test's pid: its cgroup */

static void must(int ok, const char *what)
{
	if (ok)
		return;
	print_error("%s: %s\n", what, strerror(errno));
	abort();
}

static void path_in(char ret[KE_PATH], const char *dir, const char *name)
{
	must(snprintf(ret, KE_PATH, "%s/%s", dir, name) < KE_PATH, "a path is too long");
}

/* The first cgroup2 mount. */
static int find_cgroup2(char ret[KE_PATH])
{
	char line[1024], at[KE_PATH], type[64];
	FILE *f = fopen("/proc/self/mounts", "re");
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %255s %63s", at, type) == 2 && !strcmp(type, "cgroup2")) {
			(void)snprintf(ret, KE_PATH, "%s", at);
			found = 1;
		}
	}
	if (f)
		(void)fclose(f);
	return found ? 0 : -ENOENT;
}

static int say_skip(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	return 77;
}

/* As any cgroup manager does: with the first controller come the implicit ones, perf_event's. */
static void hand_down(const char *root)
{
	char path[KE_PATH], text[256] = "+";
	int fd;

	path_in(path, root, "cgroup.controllers");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text + 1, sizeof(text) - 2) > 0) {
		text[strcspn(text, " \n")] = '\0';
		(void)close(fd);
		path_in(path, root, "cgroup.subtree_control");
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			(void)!write(fd, text, strlen(text));
	}
	if (fd >= 0)
		(void)close(fd);
}

static void drop_children(const char *parent)
{
	char path[KE_PATH];
	struct dirent *d;
	DIR *dir = opendir(parent);

	while (dir && (d = readdir(dir)) != NULL) {
		if (d->d_type != DT_DIR || d->d_name[0] == '.')
			continue;
		path_in(path, parent, d->d_name);
		(void)rmdir(path);
	}
	if (dir)
		(void)closedir(dir);
}

/* What tests left that were killed or aborted. */
static void drop_stale(const char *root)
{
	char path[KE_PATH];
	struct dirent *d;
	DIR *dir = opendir(root);
	int pid;

	while (dir && (d = readdir(dir)) != NULL) {
		if (sscanf(d->d_name, PREFIX "%d", &pid) != 1 || !kill(pid, 0) || errno != ESRCH)
			continue;
		path_in(path, root, d->d_name);
		drop_children(path);
		(void)rmdir(path);
	}
	if (dir)
		(void)closedir(dir);
}

int kern_env_start(struct kern_env *e)
{
	char root[KE_PATH], name[64];

	memset(e, 0, sizeof(*e));
	if (geteuid())
		return say_skip("not root");
	if (find_cgroup2(root) < 0)
		return say_skip("no cgroup2 file system");
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return say_skip("no mount namespace of our own");
	(void)snprintf(e->dir, sizeof(e->dir), "%s/kern", getenv("TMPDIR") ?: "/tmp");
	(void)mkdir(e->dir, 0700);
	must(!mount("tmpfs", e->dir, "tmpfs", 0, NULL), "mount a tmpfs");
	path_in(e->bpffs, e->dir, "bpf");
	path_in(e->lock, e->dir, "lock");
	(void)mkdir(e->bpffs, 0700);
	if (mount("bpf", e->bpffs, "bpf", 0, NULL) < 0)
		return say_skip("no bpf file system");
	path_in(e->bpffs, e->dir, "bpf/warder");
	e->at = (struct wdr_kern_place){ .bpffs = e->bpffs, .lock = e->lock };
	(void)snprintf(name, sizeof(name), PREFIX "%d", getpid());
	path_in(e->parent, root, name);
	hand_down(root);
	drop_stale(root);
	must(!mkdir(e->parent, 0755), "make a cgroup");
	e->cgroup2_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(e->cgroup2_fd >= 0, "open cgroup2");
	return 0;
}

void kern_env_drop_cgroups(struct kern_env *e)
{
	kern_env_enter(e, -1);
	drop_children(e->parent);
}

pid_t kern_env_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
		_exit(1);
	return pid;
}

void kern_env_stop(struct kern_env *e)
{
	kern_env_drop_cgroups(e);
	must(!rmdir(e->parent), "remove the test's cgroup");
	(void)close(e->cgroup2_fd);
	must(!umount2(e->dir, MNT_DETACH), "unmount");
	(void)rmdir(e->dir);
}

int kern_env_join(const struct kern_env *e, struct wdr_kern **ret)
{
	struct wdr_err err = { 0 };
	int r = wdr_kern_open(&e->at, ret, &err);

	if (!r)
		r = wdr_kern_join(*ret, &err);
	if (r)
		(void)fprintf(stderr, "kern_env: %s\n", err.msg);
	return r;
}

void kern_env_leave(struct wdr_kern **k)
{
	wdr_kern_leave(*k);
	wdr_kern_freep(k);
}

int kern_env_cgroup(struct kern_env *e, const char *name)
{
	char path[KE_PATH];
	int fd;

	path_in(path, e->parent, name);
	must(!mkdir(path, 0755) || errno == EEXIST, "make a job's cgroup");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0, "open a job's cgroup");
	return fd;
}

void kern_env_enter(struct kern_env *e, int fd)
{
	int procs = openat(fd < 0 ? e->cgroup2_fd : fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	must(procs >= 0 && write(procs, "0", 1) == 1, "enter a cgroup");
	(void)close(procs);
}

unsigned int kern_env_slow(void)
{
	const char *said = getenv("WDR_SLOW");
	long n = said ? strtol(said, NULL, 10) : 1;

	return n > 1 ? (unsigned int)n : 1;
}

struct wdr_compiled *kern_env_compile(const char *network)
{
	struct wdr_compiled *c = NULL;
	struct wdr_policy *p = NULL;
	struct wdr_err err = { 0 };
	char text[8192];
	int r;

	(void)snprintf(text, sizeof(text), "{\"version\": 1, \"network\": %s}", network);
	r = wdr_policy_parse("test.json", text, strlen(text), &p, &err);
	if (r >= 0)
		r = wdr_policy_finish(p, &err);
	if (r >= 0)
		r = wdr_compiled_new(p, &c, &err);
	wdr_policy_freep(&p);
	if (r < 0)
		print_error("%s: %s\n", err.where, err.msg);
	must(r >= 0, "compile a policy");
	return c;
}

void kern_env_policy(const struct wdr_compiled *c, struct wdr_kern_policy *ret)
{
	*ret = (struct wdr_kern_policy){
		.head = c->head,
		.keys = c->keys,
		.entries = c->entries,
		.n_entries = (uint32_t)c->n_entries,
		.rows = c->rows,
		.n_rows = (uint32_t)c->n_rows,
	};
}

int kern_env_program(const struct kern_env *e, const char *name)
{
	char path[3 * KE_PATH];
	struct dirent *d;
	int fd = -1;
	DIR *at;

	at = opendir(e->bpffs);
	while (at && fd < 0 && (d = readdir(at)) != NULL) {
		(void)snprintf(path, sizeof(path), "%s/%s/%s", e->bpffs, d->d_name, name);
		if (d->d_name[0] != '.')
			fd = bpf_obj_get(path);
	}
	if (at)
		(void)closedir(at);
	return fd;
}

int kern_env_count_names(const struct kern_env *e, const char *dir)
{
	char path[2 * KE_PATH];
	int n = -2;
	DIR *at;

	(void)snprintf(path, sizeof(path), "%s/%s", e->bpffs, dir);
	at = opendir(path);
	if (!at)
		return 0;
	while (readdir(at))
		n++;
	(void)closedir(at);
	return n;
}

unsigned int kern_env_count_bits(const __u64 *words, unsigned int n)
{
	unsigned int count = 0;

	while (n-- > 0)
		count += (unsigned int)__builtin_popcountll(words[n]);
	return count;
}

unsigned int kern_env_count_keys(const struct kern_env *e, const char *map)
{
	int fd = kern_env_program(e, map);
	unsigned char key[64], next[64];
	const void *at = NULL;
	unsigned int n = 0;

	assert_true(fd >= 0);
	while (!bpf_map_get_next_key(fd, at, next)) {
		memcpy(key, next, sizeof(key));
		at = key;
		n++;
	}
	(void)close(fd);
	return n;
}
