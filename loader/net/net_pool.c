/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of slots and those made ahead; the probe of `warder check`. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/wdr_log.h"
#include "net_priv.h"

#define RUN_DIR "/run/warder"
#define NET_DIR "/run/warder/net"

/* Who else could write there could free slots that are in use, or have us write sysctls. */
static int open_dir(const char *path, int *ret_fd, struct wdr_err *err)
{
	wdr_close_ int fd = -1;
	struct stat st;

	if (!path && mkdir(RUN_DIR, 0755) < 0 && errno != EEXIST)
		return wdr_err_wrap(err, -errno, "make " RUN_DIR);
	path = path ? path : NET_DIR;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return wdr_err_wrap(err, -errno, "make %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return wdr_err_wrap(err, -errno, "open %s", path);
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return wdr_err_set(err, -EPERM,
				   "%s belongs to uid %u with mode %o: want uid %u, mode 700", path,
				   st.st_uid, st.st_mode & 07777, geteuid());
	*ret_fd = WDR_TAKE_FD(fd);
	return 0;
}

static int check_environment(struct wdr_err *err)
{
	static const struct {
		int family;
		const char *name;
	} rows[] = { { AF_INET, "WARDER_NET_POOL4" }, { AF_INET6, "WARDER_NET_POOL6" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = getenv(rows[i].name);
		struct wdr_prefix range;
		bool none;
		int r = 0;

		if (text && *text)
			r = wdr_net_range_parse(rows[i].family, text, &range, &none, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_netns(uint64_t *ret)
{
	struct stat st;

	if (stat("/proc/self/ns/net", &st) < 0)
		return -errno;
	*ret = st.st_ino;
	return 0;
}

int wdr_net_pool_at_home(const struct wdr_net_pool *p, struct wdr_err *err)
{
	uint64_t here = 0;
	int r = read_netns(&here);

	if (r == 0 && here != p->netns)
		r = -EXDEV;
	return r < 0 ? wdr_err_wrap(err, r, "look for the host's network namespace") : 0;
}

int wdr_net_pool_new(const char *dir, struct wdr_net_pool **ret, struct wdr_err *err)
{
	wdr_net_pool_ struct wdr_net_pool *p = NULL;
	int r = check_environment(err);

	if (r < 0)
		return r;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->dir_fd = -1;
	p->proc_fd = open("/proc/sys/net", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->proc_fd < 0)
		return wdr_err_wrap(err, -errno, "open /proc/sys/net");
	r = read_netns(&p->netns);
	if (r < 0)
		return wdr_err_wrap(err, r, "look at /proc/self/ns/net");
	r = open_dir(dir, &p->dir_fd, err);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(p);
	return 0;
}

void wdr_net_pool_reap(struct wdr_net_pool *p, int pidfd)
{
	siginfo_t si;
	unsigned int n = 0;

	if (!p) {
		/* The maker of an empty namespace has nothing to hold it up. */
		(void)waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED | __WALL);
		wdr_closep(&pidfd);
		return;
	}
	if (pidfd >= 0)
		p->children[p->n_children++] = pidfd;
	for (unsigned int i = 0; i < p->n_children; i++) {
		bool full = p->n_children == WDR_NET_MAX_CHILDREN && i == 0;

		si.si_pid = 0;
		if (waitid(P_PIDFD, (id_t)p->children[i], &si,
			   WEXITED | __WALL | (full ? 0 : WNOHANG)) == 0 &&
		    !si.si_pid) {
			p->children[n++] = p->children[i];
			continue;
		}
		if (si.si_pid && si.si_status)
			wdr_debug("step=net_child status=%d", si.si_status);
		wdr_closep(&p->children[i]);
	}
	p->n_children = n;
}

/* Back to @keep slots ahead. */
static int drop_ahead(struct wdr_net_pool *p, unsigned int keep, struct wdr_err *err)
{
	int r = 0;

	while (p->n_ahead > keep) {
		struct wdr_net_slot *s = p->ahead[--p->n_ahead];
		struct wdr_err fresh = { 0 };
		int one = wdr_net_slot_remove(s, &fresh);

		if (one < 0 && r == 0) {
			r = one;
			if (err)
				*err = fresh;
		}
		wdr_net_slot_freep(&s);
	}
	return r;
}

void wdr_net_pool_freep(struct wdr_net_pool **p)
{
	if (!*p)
		return;
	(void)!drop_ahead(*p, 0, NULL);
	for (unsigned int i = 0; i < (*p)->n_children; i++)
		wdr_closep(&(*p)->children[i]);
	wdr_closep(&(*p)->dir_fd);
	wdr_closep(&(*p)->proc_fd);
	wdr_freep(p);
}

int wdr_net_pool_prepare(struct wdr_net_pool *p, unsigned int n, struct wdr_err *err)
{
	const struct wdr_net_slot_spec spec = { .netns_fd = -1 };
	int r = 0;

	if (n > WDR_NET_MAX_AHEAD)
		return wdr_err_set(err, -EINVAL, "%u network slots ahead: want at most %d", n,
				   WDR_NET_MAX_AHEAD);
	if (p->n_ahead > n)
		return drop_ahead(p, n, err);
	while (r == 0 && p->n_ahead < n) {
		r = wdr_net_slot_begin(p, &spec, &p->ahead[p->n_ahead], err);
		p->n_ahead += r == 0;
	}
	return r;
}

static void describe(const struct wdr_net_slot_info *i, bool per_link6, char *detail, size_t size)
{
	char v4[WDR_PREFIX_TEXT_MAX], v6[WDR_PREFIX_TEXT_MAX];

	if (!i->has6) {
		(void)snprintf(detail, size, "%s, no IPv6 on this host",
			       wdr_prefix_addr_text(&i->job4, v4));
		return;
	}
	(void)snprintf(detail, size, "%s, %s; IPv6 forwards %s", wdr_prefix_addr_text(&i->job4, v4),
		       wdr_prefix_addr_text(&i->job6, v6),
		       per_link6 ? "by interface" : "on all interfaces while a job runs");
}

int wdr_net_probe(char *detail, size_t size, struct wdr_err *err)
{
	const struct wdr_net_slot_spec spec = { .job = "check", .netns_fd = -1 };
	wdr_net_pool_ struct wdr_net_pool *p = NULL;
	wdr_net_slot_ struct wdr_net_slot *s = NULL;
	int r = wdr_net_pool_new(NULL, &p, err);

	if (r == 0)
		r = wdr_net_slot_new(p, &spec, &s, err);
	if (r < 0)
		return r;
	describe(wdr_net_slot_info(s),
		 faccessat(p->proc_fd, "ipv6/conf/all/force_forwarding", F_OK, 0) == 0, detail,
		 size);
	return wdr_net_slot_remove(s, err);
}
