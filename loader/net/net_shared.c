/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is there from the first slot to the last: forwarding, as little of it as does, and the
 * table that keeps what is forwarded to jobs.
 *
 * IPv4 forwards by the interface a packet came in through, so only uplinks are switched on, not
 * the host. IPv6 does so from Linux 6.17 (force_forwarding); before, it is all or nothing, and an
 * interface that forwards ignores router advertisements: those that listen to them are told to go
 * on (accept_ra=2), before the kernel drops their default routes (rt6_purge_dflt_routers, which
 * spares interfaces with accept_ra=2).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "net_priv.h"

#define FORCE	  "force_forwarding"
#define ALL6	  "ipv6/conf/all/forwarding"
#define ALL4	  "ipv4/conf/all/forwarding"
#define ALL6_ON	  "2" /* as true as 1, and tells our writing from another's (addrconf.c: any int) */
#define PATH_MAX_ 64

/* How this host comes to forward, and what of it is our doing. */
struct forwarding {
	int dir_fd, proc_fd;
	const struct wdr_net_host *host;
	bool on4, on6;	/* somebody has turned it on for all: nothing to do, nothing to guard */
	bool per_link6; /* force_forwarding is there */
	bool has6;
	struct wdr_net_guard guard;
};

static bool is_set(int proc_fd, const char *path)
{
	char v[32];

	return wdr_net_sysctl_read(proc_fd, path, v, sizeof(v)) == 0 && strcmp(v, "0") != 0;
}

static void link_path(char path[PATH_MAX_], int family, const char *link, const char *what)
{
	(void)snprintf(path, PATH_MAX_, "ipv%d/conf/%.15s/%.24s", family, link, what);
}

static void add_guard(unsigned int *list, unsigned int *n, unsigned int ifindex)
{
	for (unsigned int i = 0; i < *n; i++)
		if (list[i] == ifindex)
			return;
	if (ifindex && *n < WDR_NET_MAX_UPLINKS)
		list[(*n)++] = ifindex;
}

/* A change made for an earlier slot: its interface is still guarded. */
static void guard_path(const char *path, void *userdata)
{
	struct forwarding *f = userdata;
	char link[IFNAMSIZ + 1], what[32];
	int family;

	if (sscanf(path, "ipv%d/conf/%16[^/]/%31s", &family, link, what) != 3)
		return;
	if (!strcmp(path, ALL6))
		f->guard.all6 = true;
	else if (family == 4 && !f->on4)
		add_guard(f->guard.v4, &f->guard.n4, if_nametoindex(link));
	else if (family == 6 && !strcmp(what, FORCE))
		add_guard(f->guard.v6, &f->guard.n6, if_nametoindex(link));
}

static int look(struct forwarding *f)
{
	char path[PATH_MAX_], v[32];

	f->on4 = is_set(f->proc_fd, ALL4);
	f->per_link6 = f->has6 &&
		       wdr_net_sysctl_read(f->proc_fd, "ipv6/conf/all/" FORCE, v, sizeof(v)) == 0;
	if (f->has6 && wdr_net_sysctl_read(f->proc_fd, ALL6, v, sizeof(v)) == 0)
		f->on6 = strcmp(v, "0") && strcmp(v, ALL6_ON);
	f->guard.all6 = f->has6 && !f->on6 && !f->per_link6;
	for (unsigned int i = 0; i < f->host->n_uplinks; i++) {
		const struct wdr_net_uplink *u = &f->host->uplinks[i];

		link_path(path, 4, u->name, "forwarding");
		if (!f->on4 && !is_set(f->proc_fd, path))
			add_guard(f->guard.v4, &f->guard.n4, u->ifindex);
		link_path(path, 6, u->name, FORCE);
		if (f->has6 && !f->on6 && f->per_link6 && !is_set(f->proc_fd, path))
			add_guard(f->guard.v6, &f->guard.n6, u->ifindex);
	}
	return wdr_net_sysctl_each(f->dir_fd, guard_path, f);
}

static int set_uplinks(struct forwarding *f, int family, const char *what, struct wdr_err *err)
{
	char path[PATH_MAX_];
	int r = 0;

	for (unsigned int i = 0; i < f->host->n_uplinks && r >= 0; i++) {
		link_path(path, family, f->host->uplinks[i].name, what);
		/* A link without IPv6 (its MTU is below 1280, say) has no such file. */
		if (family == 6 && faccessat(f->proc_fd, path, F_OK, 0) < 0)
			continue;
		r = wdr_net_sysctl_set(f->dir_fd, f->proc_fd, path, "1", err);
	}
	return r < 0 ? r : 0;
}

/*
 * One interface before all of them forward IPv6. Turning `all` off again will set each to 0: one
 * that was on before is noted, to be put back after that.
 */
static int prepare_link6(struct forwarding *f, const char *link, struct wdr_err *err)
{
	char path[PATH_MAX_], v[32];
	int r = 0;

	link_path(path, 6, link, "forwarding");
	if (is_set(f->proc_fd, path))
		return wdr_net_sysctl_note(f->dir_fd, f->proc_fd, path, "0", err);
	link_path(path, 6, link, "accept_ra");
	if (wdr_net_sysctl_read(f->proc_fd, path, v, sizeof(v)) == 0 && !strcmp(v, "1"))
		r = wdr_net_sysctl_set(f->dir_fd, f->proc_fd, path, "2", err);
	return r < 0 ? r : 0;
}

static int forward_all6(struct forwarding *f, struct wdr_err *err)
{
	int fd = openat(f->proc_fd, "ipv6/conf", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int r = 0;

	if (!d) {
		r = -errno;
		wdr_closep(&fd);
		return wdr_err_wrap(err, r, "list IPv6 interfaces");
	}
	while (r == 0 && (e = readdir(d))) {
		if (e->d_name[0] != '.' && strcmp(e->d_name, "all") &&
		    wdr_net_link_number(e->d_name) < 0)
			r = prepare_link6(f, e->d_name, err);
	}
	(void)closedir(d);
	if (r == 0)
		r = wdr_net_sysctl_set(f->dir_fd, f->proc_fd, ALL6, ALL6_ON, err);
	return r < 0 ? r : 0;
}

static int forward(struct forwarding *f, struct wdr_err *err)
{
	int r = 0;

	if (!f->on4)
		r = set_uplinks(f, 4, "forwarding", err);
	if (r < 0 || !f->has6 || f->on6)
		return r;
	if (f->per_link6)
		return set_uplinks(f, 6, FORCE, err);
	return is_set(f->proc_fd, ALL6) ? 0 : forward_all6(f, err);
}

/* The table as @g wants it, unless it stands already. 1 if it had to be made. */
static int have_rules(const struct wdr_net_shared *s, struct wdr_net_table *t,
		      const struct wdr_net_guard *g, struct wdr_err *err)
{
	wdr_free_ char *text = NULL;
	wdr_free_ char *anew = NULL;
	uint64_t hash;
	int there = wdr_net_nft_exists(s->nf_fd);
	int r = wdr_net_rules_text(g, &text);

	if (r < 0)
		return r;
	if (there < 0)
		return wdr_err_wrap(err, there, "ask nftables for table inet " WDR_NET_TABLE);
	hash = wdr_net_rules_hash(text);
	if (there && hash == t->head.rules_hash)
		return 0;
	/* Only where it must be: what is deleted keeps the kernel busy for a grace period. */
	if (there && asprintf(&anew, "delete table inet " WDR_NET_TABLE "\n%s", text) < 0)
		return -ENOMEM;
	r = wdr_net_nft_run(there ? anew : text, s->leave_open, err);
	if (r < 0)
		return wdr_err_wrap(err, r, "make table inet " WDR_NET_TABLE);
	t->head.rules_hash = hash;
	r = wdr_net_table_write_head(t);
	return r < 0 ? wdr_err_wrap(err, r, "write the table of network slots") : 1;
}

int wdr_net_shared_up(const struct wdr_net_shared *s, struct wdr_net_table *t,
		      const struct wdr_net_host *h, struct wdr_err *err)
{
	struct forwarding f = {
		.dir_fd = s->dir_fd, .proc_fd = s->proc_fd, .host = h, .has6 = t->head.ranges.has6
	};
	int made;
	int r = look(&f);

	if (r < 0)
		return wdr_err_wrap(err, r, "look at forwarding");
	if (h->too_many && !(f.on4 && (f.on6 || !f.has6)))
		return wdr_err_set(err, -E2BIG,
				   "the host has routes through more than %d interfaces, and "
				   "forwards through none: turn forwarding on",
				   WDR_NET_MAX_UPLINKS);
	/* The rules first: at no moment does something forward unguarded. */
	made = have_rules(s, t, &f.guard, err);
	if (made < 0)
		return made;
	r = forward(&f, err);
	return r < 0 ? r : made;
}

int wdr_net_shared_down(const struct wdr_net_shared *s, struct wdr_net_table *t,
			struct wdr_err *err)
{
	int removed;
	int r;

	for (unsigned int i = 0; i < t->n_records; i++)
		if (wdr_net_table_alive(t, i))
			return 0;
	r = wdr_net_sysctl_restore(s->dir_fd, s->proc_fd, err);
	if (r < 0)
		return r;
	removed = wdr_net_nft_remove(s->nf_fd, err);
	if (removed >= 0 && ftruncate(t->fd, 0) < 0)
		return wdr_err_set(err, -errno, "empty the table of network slots: %s",
				   strerror(errno));
	return removed;
}
