/* SPDX-License-Identifier: Apache-2.0 */
#include "kern_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define TRY_NS 200000 /* between tries; a lock is mostly held for less */

static int64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/*
 * flock(2) has no deadline, and who holds the lock may have been stopped. An alarm is not ours to
 * set in a process that has its own signals, so this tries again until time is up.
 */
int wdr_kern_lock(const char *path, int *ret_fd, struct wdr_err *err)
{
	const struct timespec pause = { .tv_nsec = TRY_NS };
	char dir[WDR_KERN_PATH_MAX];
	wdr_close_ int fd = -1;
	int64_t until;

	(void)snprintf(dir, sizeof(dir), "%s", path);
	if (mkdir(dirname(dir), 0755) < 0 && errno != EEXIST)
		return wdr_err_set(err, -errno, "make the folder of %s: %s", path, strerror(errno));
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return wdr_err_set(err, -errno, "open %s: %s", path, strerror(errno));
	until = now_ms() + WDR_KERN_LOCK_MS;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return wdr_err_set(err, -errno, "lock %s: %s", path, strerror(errno));
		if (now_ms() > until)
			return wdr_err_set(err, -EBUSY,
					   "%s has been held for %d s: is a warder stopped?", path,
					   WDR_KERN_LOCK_MS / 1000);
		(void)nanosleep(&pause, NULL);
	}
	*ret_fd = WDR_TAKE_FD(fd);
	return 0;
}
