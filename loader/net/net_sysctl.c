/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of the host that jobs need, changed for as long as there are any. The file "sysctls"
 * has a line a change, "PATH BEFORE AFTER", written before the change itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/wdr_io.h"
#include "net_priv.h"

#define FILE_NAME    "sysctls"
#define MAX_BYTES    (1 << 20)
#define MAX_VALUE    32
#define FORWARD4     "ipv4/conf/"
#define FORWARD4_ALL "ipv4/conf/all/forwarding"

struct change {
	const char *path, *before, *after;
};

int wdr_net_sysctl_read(int proc_fd, const char *path, char *ret, size_t size)
{
	wdr_free_ char *text = NULL;
	size_t n = 0;
	int r = wdr_read_file(proc_fd, path, 4096, &text, &n);

	if (r < 0)
		return r;
	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		text[--n] = '\0';
	if (n >= size)
		return -EFBIG;
	memcpy(ret, text, n + 1);
	return 0;
}

static int note(int dir_fd, const char *path, const char *before, const char *after)
{
	wdr_close_ int fd = openat(dir_fd, FILE_NAME,
				   O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	char line[256];
	int n = snprintf(line, sizeof(line), "%s %s %s\n", path, before, after);

	if (fd < 0)
		return -errno;
	if (n < 0 || (size_t)n >= sizeof(line))
		return -ENAMETOOLONG;
	return wdr_write_all(fd, line, (size_t)n);
}

int wdr_net_sysctl_set(int dir_fd, int proc_fd, const char *path, const char *value,
		       struct wdr_err *err)
{
	char before[MAX_VALUE];
	int r = wdr_net_sysctl_read(proc_fd, path, before, sizeof(before));

	if (r == 0 && !strcmp(before, value))
		return 0;
	if (r == 0)
		r = note(dir_fd, path, before, value);
	if (r == 0)
		r = wdr_write_file(proc_fd, path, value);
	if (r < 0)
		return wdr_err_wrap(err, r, "set /proc/sys/net/%s to %s", path, value);
	return 1;
}

int wdr_net_sysctl_note(int dir_fd, int proc_fd, const char *path, const char *then,
			struct wdr_err *err)
{
	char before[MAX_VALUE];
	int r = wdr_net_sysctl_read(proc_fd, path, before, sizeof(before));

	if (r == 0)
		r = note(dir_fd, path, before, then);
	return r < 0 ? wdr_err_wrap(err, r, "note /proc/sys/net/%s", path) : 0;
}

/* Cut the line that begins at @line into its three words. A line half written is none. */
static bool parse_change(char *line, struct change *ret)
{
	char *save = NULL;

	ret->path = strtok_r(line, " ", &save);
	ret->before = strtok_r(NULL, " ", &save);
	ret->after = strtok_r(NULL, " ", &save);
	return ret->after && !strtok_r(NULL, " ", &save) && ret->path[0] != '/' &&
	       !strstr(ret->path, "..");
}

/* Whole lines of the file, an empty string where there is none. */
static int read_changes(int dir_fd, char **ret, size_t *ret_n)
{
	int r = wdr_read_file(dir_fd, FILE_NAME, MAX_BYTES, ret, ret_n);

	if (r == -ENOENT) {
		*ret = strdup("");
		*ret_n = 0;
		return *ret ? 0 : -ENOMEM;
	}
	return r;
}

int wdr_net_sysctl_each(int dir_fd, void (*fn)(const char *path, void *userdata), void *userdata)
{
	wdr_free_ char *text = NULL;
	char *save = NULL;
	size_t n = 0;
	int r = read_changes(dir_fd, &text, &n);

	if (r < 0)
		return r;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		struct change c;

		if (parse_change(l, &c))
			fn(c.path, userdata);
	}
	return 0;
}

/* Somebody has since turned forwarding on for every interface: none is ours to turn off. */
static bool is_others(int proc_fd, const struct change *c)
{
	char all[MAX_VALUE];

	return !strncmp(c->path, FORWARD4, strlen(FORWARD4)) &&
	       wdr_net_sysctl_read(proc_fd, FORWARD4_ALL, all, sizeof(all)) == 0 &&
	       strcmp(all, "0") != 0;
}

static int restore_one(int proc_fd, const struct change *c)
{
	char now[MAX_VALUE];
	int r = wdr_net_sysctl_read(proc_fd, c->path, now, sizeof(now));

	if (r == -ENOENT)
		return 0; /* its interface is gone */
	if (r < 0)
		return r;
	if (strcmp(now, c->after) || is_others(proc_fd, c))
		return 0;
	return wdr_write_file(proc_fd, c->path, c->before);
}

int wdr_net_sysctl_restore(int dir_fd, int proc_fd, struct wdr_err *err)
{
	wdr_free_ char *text = NULL;
	size_t n = 0;
	int r = read_changes(dir_fd, &text, &n);

	if (r < 0)
		return wdr_err_wrap(err, r, "read which settings were changed");
	/* What stands behind the last newline was being written: its change was never made. */
	while (n && text[n - 1] != '\n')
		n--;
	while (n) {
		struct change c;
		char *line;

		text[--n] = '\0';
		while (n && text[n - 1] != '\n')
			n--;
		line = text + n;
		if (!parse_change(line, &c))
			continue;
		r = restore_one(proc_fd, &c);
		if (r < 0)
			return wdr_err_wrap(err, r, "put /proc/sys/net/%s back to %s", c.path,
					    c.before);
	}
	if (unlinkat(dir_fd, FILE_NAME, 0) < 0 && errno != ENOENT)
		return wdr_err_set(err, -errno, "forget which settings were changed: %s",
				   strerror(errno));
	return 0;
}
