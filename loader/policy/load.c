/* SPDX-License-Identifier: Apache-2.0 */
/* A policy from a file, and what it names beside that file. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "policy_priv.h"

#define MAX_LIST_BYTES (16 << 20) /* 200,000 of the longest prefixes and their newlines, and room */

static int fail_file(const char *file, int code, struct wdr_err *err, const char *what)
{
	(void)wdr_err_set(err, code, "%s", what ? what : strerror(-code));
	if (err)
		wdr_place(err->where, sizeof(err->where), file, "");
	return code;
}

/*
 * Only what ends: a named fifo may never have a writer, a device may never stop. An anonymous pipe
 * (/dev/stdin, a shell's process substitution) ends with its writer.
 */
static int check_kind(int fd, const char *file, bool *ret_pipe, struct wdr_err *err)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_file(file, -errno, err, NULL);
	if (S_ISDIR(st.st_mode))
		return fail_file(file, -EISDIR, err, NULL);
	*ret_pipe = S_ISFIFO(st.st_mode) && !fstatfs(fd, &fs) && fs.f_type == PIPEFS_MAGIC;
	if (!S_ISREG(st.st_mode) && !*ret_pipe)
		return fail_file(file, -EINVAL, err, "neither a regular file nor a pipe");
	if (S_ISREG(st.st_mode))
		return 0;
	/* The descriptor is our own open file: nobody else sees the flag go. */
	return fcntl(fd, F_SETFL, 0) < 0 ? fail_file(file, -errno, err, NULL) : 0;
}

static int read_all(int fd, size_t max, char **ret, size_t *ret_n)
{
	wdr_free_ char *buf = NULL;
	size_t n = 0, size = 0;
	ssize_t got;

	do {
		if (n == size) {
			char *more = realloc(buf, size ? size * 2 : 16384);

			if (!more)
				return -ENOMEM;
			buf = more;
			size = size ? size * 2 : 16384;
		}
		got = read(fd, buf + n, size - n);
		if (got < 0 && errno != EINTR)
			return -errno;
		n += got > 0 ? (size_t)got : 0;
		if (n > max)
			return -EFBIG;
	} while (got != 0);
	*ret = WDR_TAKE_PTR(buf);
	*ret_n = n;
	return 0;
}

/* @path below @dir_fd; @file is how messages call it. */
static int read_text(int dir_fd, const char *path, const char *file, size_t max, char **ret,
		     size_t *ret_n, bool *ret_pipe, struct wdr_err *err)
{
	wdr_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char what[64];
	int r;

	if (fd < 0)
		return fail_file(file, -errno, err, NULL);
	r = check_kind(fd, file, ret_pipe, err);
	if (r < 0)
		return r;
	r = read_all(fd, max, ret, ret_n);
	if (r == -ENOMEM)
		return r;
	(void)snprintf(what, sizeof(what), "larger than %zu MiB", max >> 20);
	return r < 0 ? fail_file(file, r, err, r == -EFBIG ? what : NULL) : 0;
}

/* The folder that what the policy names is beside: where the file is, or where the caller is. */
static int find_base(const char *file, bool pipe, char **ret, struct wdr_err *err)
{
	const char *slash = strrchr(file, '/');
	wdr_free_ char *dir = NULL;

	if (pipe || !slash)
		dir = strdup(".");
	else
		dir = slash == file ? strdup("/") : strndup(file, (size_t)(slash - file));
	if (!dir)
		return -ENOMEM;
	*ret = realpath(dir, NULL);
	if (*ret)
		return 0;
	return errno == ENOMEM ? -ENOMEM : fail_file(dir, -errno, err, NULL);
}

static int add_lists(struct wdr_policy *p, const char *base, struct wdr_err *err)
{
	wdr_close_ int dir_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (dir_fd < 0)
		return fail_file(base, -errno, err, NULL);
	for (size_t i = 0; i < p->net.n_rules; i++) {
		wdr_free_ char *file = NULL, *text = NULL;
		const char *list = p->net.rules[i].list;
		size_t n = 0;
		bool pipe;

		if (!list)
			continue;
		if (asprintf(&file, "%s/%s", base, list) < 0)
			return -ENOMEM;
		r = read_text(dir_fd, list, file, MAX_LIST_BYTES, &text, &n, &pipe, err);
		if (r == 0)
			r = wdr_policy_add_list(p, i, file, text, n, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int fail_base(const char *file, const char *at, int r, struct wdr_err *err)
{
	if (r != -ENOMEM && err)
		wdr_place(err->where, sizeof(err->where), file, at);
	return r;
}

/* Relative paths start from @base: in a mount beside its source, in the root within it. */
static int set_base(struct wdr_policy *p, const char *file, const char *base, struct wdr_err *err)
{
	int r;

	for (size_t i = 0; i < p->fs.n_mounts; i++) {
		wdr_free_ char *whole = NULL;

		r = wdr_policy_join(base, p->fs.mounts[i].source, &whole, err);
		if (r < 0)
			return fail_base(file, "/filesystem/mounts", r, err);
		r = wdr_policy_set_string(&p->fs.mounts[i].base, base);
		if (r < 0)
			return r;
	}
	if (!p->fs.root)
		return 0;
	r = wdr_policy_join(base, p->fs.root, &p->fs.root, err);
	return r < 0 ? fail_base(file, "/filesystem/root", r, err) : 0;
}

static bool names_others(const struct wdr_policy *p)
{
	return p->fs.n_mounts || p->fs.root || p->net.n_rules;
}

int wdr_policy_load(const char *file, struct wdr_policy **ret, struct wdr_err *err)
{
	wdr_free_ char *text = NULL, *base = NULL;
	wdr_policy_ struct wdr_policy *p = NULL;
	bool pipe = false;
	size_t n = 0;
	int r;

	r = read_text(AT_FDCWD, file, file, WDR_POLICY_MAX_BYTES, &text, &n, &pipe, err);
	if (r < 0)
		return r;
	r = wdr_policy_parse(file, text, n, &p, err);
	if (r < 0)
		return r;
	if (names_others(p)) {
		r = find_base(file, pipe, &base, err);
		if (r == 0)
			r = set_base(p, file, base, err);
		if (r == 0)
			r = add_lists(p, base, err);
		if (r < 0)
			return r;
	}
	*ret = WDR_TAKE_PTR(p);
	return 0;
}
