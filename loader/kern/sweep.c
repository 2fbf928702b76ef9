/* SPDX-License-Identifier: Apache-2.0 */
/* What processes left that are gone, and the end of everything. */
#include "kern_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/wdr_io.h"

#define FILEID_KERNFS 0xfe /* include/linux/exportfs.h */
#define EVENTS_MAX    4096

enum {
	GONE,
	EMPTY,
	POPULATED
};

/* What is there of the cgroup of this id? @any_fd is a descriptor in its file system, or -1. */
static int look_at_cgroup(int any_fd, uint64_t id)
{
	struct {
		struct file_handle h;
		uint64_t id;
	} handle = { .h = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };
	wdr_close_ int fd = -1;
	wdr_free_ char *text = NULL;

	if (any_fd < 0)
		return POPULATED;
	memcpy(handle.h.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(any_fd, &handle.h, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ESTALE || errno == ENOENT ? GONE : POPULATED;
	if (wdr_read_file(fd, "cgroup.events", EVENTS_MAX, &text, NULL) < 0)
		return POPULATED;
	return strstr(text, "populated 0") ? EMPTY : POPULATED;
}

/*
 * May the slot of a supervisor that is gone be given back? A contained job's not while its cgroup
 * is there, for somebody to adopt. A job in the host's network not while anything lives in it: its
 * packets are judged at its cgroup, and would not be any more.
 */
static bool is_over(const struct wdr_slot *slot, int any_fd)
{
	int cgroup;

	if (!slot->job)
		return true;
	if (!(slot->flags & WDR_SLOT_CONTAIN) && slot->flags & WDR_SLOT_NETNS)
		return true;
	cgroup = look_at_cgroup(any_fd, slot->cgroup);
	return cgroup == GONE || (cgroup == EMPTY && !(slot->flags & WDR_SLOT_CONTAIN));
}

static int sweep_slots(struct wdr_kern *k, int any_fd)
{
	const struct wdr_slot *slot;
	const __u64 *used = k->shared->slots_used;
	int count = 0, r;
	uint32_t n;

	r = wdr_kern_need_used(k, WDR_MAP_SLOTS);
	if (r >= 0)
		r = wdr_kern_need_used(k, WDR_MAP_LIVE);
	if (r < 0)
		return r;
	for (n = 0; (n = wdr_kern_bit_next(used, n, WDR_SLOTS_MAX)) != 0;) {
		slot = &k->slots[n];
		if (wdr_kern_sup_alive(&k->sups[slot->sup % WDR_SUPS_MAX]) ||
		    !is_over(slot, any_fd))
			continue;
		wdr_kern_slot_clear(k, n);
		count++;
	}
	return count;
}

static bool has_slots(const struct wdr_kern *k, uint32_t sup)
{
	uint32_t n;

	for (n = 0; (n = wdr_kern_bit_next(k->shared->slots_used, n, WDR_SLOTS_MAX)) != 0;) {
		if (k->slots[n].sup == sup)
			return true;
	}
	return false;
}

static void sweep_sups(struct wdr_kern *k)
{
	uint32_t n;

	for (n = 0; (n = wdr_kern_bit_next(k->shared->sups_used, n, WDR_SUPS_MAX)) != 0;) {
		if (wdr_kern_sup_alive(&k->sups[n]) || has_slots(k, n))
			continue;
		k->sups[n] = (struct wdr_sup){ 0 };
		wdr_kern_bit_set(k->shared->sups_used, n, false);
	}
}

int wdr_kern_sweep(struct wdr_kern *k, int cgroup2_fd, struct wdr_err *err)
{
	wdr_close_ int lock = -1;
	int r, count;

	r = wdr_kern_lock_current(k, &lock, err);
	if (r < 0)
		return r;
	count = sweep_slots(k, cgroup2_fd);
	if (count < 0)
		return wdr_err_set(err, count, "map what jobs left: %s", strerror(-count));
	sweep_sups(k);
	wdr_kern_policy_trim(k);
	wdr_kern_attach_trim(k);
	r = wdr_kern_collect(k);
	if (r < 0)
		return wdr_err_set(err, r, "remove other generations below %s: %s", k->root,
				   strerror(-r));
	return count;
}

struct unloading {
	const char *root;
	unsigned int users;
};

static int count_users(void *arg, const char *name)
{
	struct unloading *u = arg;
	char path[WDR_KERN_PATH_MAX];
	wdr_kern_ struct wdr_kern *k = NULL;

	wdr_kern_path(path, u->root, name);
	if (wdr_kern_view_new(u->root, path, &k) >= 0)
		u->users += wdr_kern_users(k);
	return 0;
}

int wdr_kern_unload(const struct wdr_kern_place *at, struct wdr_err *err)
{
	char root[WDR_KERN_PATH_MAX];
	struct unloading u = { .root = root };
	wdr_close_ int lock = -1;
	int r;

	r = wdr_kern_root(at, false, root, err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	r = wdr_kern_lock(at && at->lock ? at->lock : WDR_KERN_LOCK, &lock, err);
	if (r < 0)
		return r;
	r = wdr_kern_pins_each(root, count_users, &u);
	if (r < 0)
		return wdr_err_set(err, r, "look into %s: %s", root, strerror(-r));
	if (u.users)
		return wdr_err_set(err, -EBUSY, "%u jobs or supervisors still use it", u.users);
	r = wdr_kern_pins_remove(root);
	if (r < 0)
		return wdr_err_set(err, r, "remove %s: %s", root, strerror(-r));
	if (!at || !at->bpffs)
		wdr_kern_root_drop();
	return 0;
}
