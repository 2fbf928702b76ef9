/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroup files are small texts: one system call reads or writes the whole of one. */
#include "cgroup_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

int wdr_cgroup_write(int dir_fd, const char *file, const char *value)
{
	wdr_close_ int fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(value);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, value, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int wdr_cgroup_write_u64(int dir_fd, const char *file, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return wdr_cgroup_write(dir_fd, file, text);
}

int wdr_cgroup_read(int dir_fd, const char *file, char *buf, size_t size)
{
	wdr_close_ int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		return -errno;
	if (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	return 0;
}

int wdr_cgroup_read_u64(int dir_fd, const char *file, uint64_t *ret)
{
	char text[32], *end;
	unsigned long long v;
	int r;

	r = wdr_cgroup_read(dir_fd, file, text, sizeof(text));
	if (r < 0)
		return r;
	if (!strcmp(text, "max")) {
		*ret = UINT64_MAX;
		return 0;
	}
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || *end)
		return -EPROTO;
	*ret = v;
	return 0;
}

int wdr_cgroup_find_key(const char *text, const char *key, uint64_t *ret)
{
	size_t len = strlen(key);
	const char *line = text;

	while (line && *line) {
		if (!strncmp(line, key, len) && line[len] == ' ') {
			*ret = strtoull(line + len + 1, NULL, 10);
			return 0;
		}
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return -ENOENT;
}

int wdr_cgroup_read_key(int dir_fd, const char *file, const char *key, uint64_t *ret)
{
	char text[512];
	int r;

	r = wdr_cgroup_read(dir_fd, file, text, sizeof(text));
	if (r < 0)
		return r;
	return wdr_cgroup_find_key(text, key, ret);
}
