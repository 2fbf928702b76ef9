/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network namespace takes the kernel 0.6 ms to make and more to take apart, and most jobs without
 * a network never send a packet in theirs. Such a one is kept for the next job, by a mount in the
 * cache, and used again only if the last job ended in good order and left every counter of the
 * namespace at zero: then nothing was sent or asked for in it, and nothing of that job remains.
 * It belongs to root: a job has no capability over it, and one that keeps any gets its own instead.
 *
 * The file `nets` has a byte for each, locked while somebody uses it: FREE, or anything else for one
 * whose supervisor did not live to say so.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "base/wdr_io.h"
#include "native/native.h"
#include "native/native_priv.h"
#include "native/spare_net_priv.h"

#define MAX_KEPT    8
#define FREE	    'f'
#define USED	    'u'
#define MAX_TEXT    16384 /* of a file of counters: snmp6 has 3 KiB */
#define MAX_STACKED 4	  /* mounts over each other, which takes a race with somebody's hands */

/* A row of /proc/net/snmp begins with numbers that are settings. */
static size_t n_settings(const char *label, size_t len)
{
	if (len == 3 && !memcmp(label, "Ip:", 3))
		return 2; /* Forwarding, DefaultTTL */
	if (len == 4 && !memcmp(label, "Tcp:", 4))
		return 4; /* RtoAlgorithm, RtoMin, RtoMax, MaxConn */
	return 0;
}

bool wdr_spare_net_is_zero(const char *text)
{
	while (*text) {
		const char *label = text + strspn(text, " \t");
		size_t len = strcspn(label, " \t\n");
		size_t allowed = n_settings(label, len);
		const char *p = label + len;

		for (p += strspn(p, " \t"); *p && *p != '\n'; p += strspn(p, " \t")) {
			size_t n = strcspn(p, " \t\n");
			bool number = (*p >= '0' && *p <= '9') || *p == '-';

			if (number && allowed > 0)
				allowed--;
			else if (number && (n != 1 || *p != '0'))
				return false;
			p += n;
		}
		text = p + (*p == '\n');
	}
	return true;
}

/* 1 if all of it is 0, -ENOENT if there is no such file. */
static int is_zero_file(const char *name)
{
	char path[32], text[MAX_TEXT];
	wdr_close_ int fd = -1;
	size_t n = 0;
	ssize_t got;

	(void)snprintf(path, sizeof(path), "/proc/self/net/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		got = read(fd, text + n, sizeof(text) - 1 - n);
		n += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	if (got < 0 || n == sizeof(text) - 1)
		return -EFBIG;
	text[n] = '\0';
	return wdr_spare_net_is_zero(text);
}

/*
 * The namespace that we are in. What can't be routed shows in snmp and snmp6; all else takes a
 * packet, which has loopback to go through. So netstat, the longest of these files, adds nothing.
 */
static bool is_unused(void)
{
	int r6;

	if (is_zero_file("dev") <= 0 || is_zero_file("snmp") <= 0)
		return false;
	r6 = is_zero_file("snmp6");
	return r6 == 1 || r6 == -ENOENT; /* no IPv6 */
}

int wdr_native_raise_loopback(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	wdr_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr) < 0 ? -errno : 0;
}

static void path_of(const char *dir, unsigned int i, char path[PATH_MAX])
{
	(void)snprintf(path, PATH_MAX, "%s/net-%u", dir, i);
}

static int lock_one(int fd, unsigned int i)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &l) < 0 ? -errno : 0;
}

static int mark(const struct native_spare_net *n, char state)
{
	return pwrite(n->lock_fd, &state, 1, n->number) == 1 ? 0 : -EIO;
}

static int enter_kept(const struct native_spare_net *n, const char *path)
{
	wdr_close_ int fd = -1;
	char state = USED;

	if (pread(n->lock_fd, &state, 1, n->number) != 1 || state != FREE)
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, NS_GET_NSTYPE) != CLONE_NEWNET)
		return -ENOENT;
	if (setns(fd, CLONE_NEWNET) < 0)
		return -errno;
	return is_unused() ? 0 : -ESTALE;
}

static void unmount(const char *path)
{
	for (int i = 0; i < MAX_STACKED && umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0; i++)
		;
}

/* In the place of what may be there; not kept where nothing can be mounted. */
static int enter_new(struct native_spare_net *n, const char *path)
{
	wdr_close_ int file = -1;
	int r;

	unmount(path);
	file = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	r = wdr_native_raise_loopback();
	if (r < 0)
		return r;
	n->kept = file >= 0 && mount("/proc/self/ns/net", path, NULL, MS_BIND, NULL) == 0;
	return 0;
}

static int open_numbers(const char *dir)
{
	char path[PATH_MAX];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/nets", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

static int take_number(const char *dir, struct native_spare_net *n)
{
	int r = -EAGAIN;

	n->lock_fd = open_numbers(dir);
	if (n->lock_fd < 0)
		return n->lock_fd;
	for (unsigned int i = 0; r < 0 && i < MAX_KEPT; i++) {
		n->number = i;
		r = lock_one(n->lock_fd, i);
	}
	return r;
}

static int enter(struct native_spare_net *n, const char *dir, int home_fd)
{
	char path[PATH_MAX];
	int r = take_number(dir, n);

	if (r < 0)
		return r;
	path_of(dir, n->number, path);
	r = enter_kept(n, path);
	n->kept = r == 0;
	if (r == -ESTALE && setns(home_fd, CLONE_NEWNET) < 0)
		return -errno;
	if (r < 0)
		r = enter_new(n, path);
	return r < 0 ? r : mark(n, USED);
}

int wdr_native_enter_spare_net(struct wdr_backend_job *b, int home_fd)
{
	const struct wdr_spec *s = b->spec;
	int r;

	if (!s->privileged || !s->cache_dir || s->policy->capabilities ||
	    (s->waived & WDR_PROT_BIT(WDR_PROT_CAPABILITIES)))
		return -EOPNOTSUPP;
	r = enter(&b->spare_net, s->cache_dir, home_fd);
	if (r == 0)
		return 0;
	wdr_closep(&b->spare_net.lock_fd);
	return setns(home_fd, CLONE_NEWNET) < 0 ? -errno : r;
}

void wdr_native_give_spare_net(struct wdr_backend_job *b)
{
	if (b->spare_net.lock_fd >= 0 && b->spare_net.kept)
		(void)!mark(&b->spare_net, FREE);
	wdr_closep(&b->spare_net.lock_fd);
}

void wdr_native_drop_spare_nets(const char *dir)
{
	wdr_close_ int fd = open_numbers(dir);
	char path[PATH_MAX];

	for (unsigned int i = 0; fd >= 0 && i < MAX_KEPT; i++) {
		if (lock_one(fd, i) < 0)
			continue;
		path_of(dir, i, path);
		unmount(path);
		(void)unlink(path);
	}
}
