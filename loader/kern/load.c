/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading and pinning, once per boot and version. What is being pinned is in ROOT/new until it is
 * complete, and then renamed: a killed loader leaves nothing that could be taken for the whole.
 *
 * A generation of another version is removed if nobody uses it. If somebody does, and its maps
 * hold the same as ours would, they are taken over: our programs come to hang where its programs
 * hang, and the jobs run on under them. Otherwise we can't run beside it.
 */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "wdr_objects.h"

#define NEW "new"

static bool is_generation(const char *name)
{
	return strcmp(name, NEW) && strcmp(name, WDR_KERN_PARENTS) && strcmp(name, WDR_KERN_JOBS);
}

struct others {
	const char *root;
	struct wdr_kern *used; /* the generation that somebody uses, if any */
	struct wdr_kern *keep; /* ours, if there is one */
	unsigned int n_users;
};

/* Remove generation @name unless it is used; two that are used share their maps. */
static int sort_generation(void *arg, const char *name)
{
	struct others *o = arg;
	char path[WDR_KERN_PATH_MAX];
	struct wdr_kern *k;
	unsigned int n;
	int r;

	wdr_kern_path(path, o->root, name);
	if (!is_generation(name) || (o->keep && !strcmp(path, o->keep->gen)))
		return 0;
	r = wdr_kern_view_new(o->root, path, &k);
	if (r < 0)
		return wdr_kern_pins_remove(path);
	n = wdr_kern_users(k);
	if (n && !o->keep && !o->used) {
		o->used = k;
		o->n_users = n;
		return 0;
	}
	wdr_kern_freep(&k);
	return wdr_kern_pins_remove(path);
}

static int take_maps(struct wdr_kern_loaded *l, struct wdr_kern *from)
{
	int m, fd;

	for (m = 0; m < _WDR_MAP_MAX; m++) {
		fd = wdr_kern_map_fd(from, m);
		if (fd < 0)
			return fd;
		l->map_fd[m] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (l->map_fd[m] < 0)
			return -errno;
	}
	return 0;
}

static int pin_all(const struct wdr_kern_loaded *l, const char *dir, struct wdr_err *err)
{
	char path[WDR_KERN_PATH_MAX];
	const char *name = "";
	int i, r = 0;

	for (i = 0; i < _WDR_MAP_MAX && !r; i++) {
		name = wdr_kern_map_name(i);
		wdr_kern_path(path, dir, name);
		r = bpf_obj_pin(l->map_fd[i], path);
	}
	for (i = 0; i < _WDR_PROG_MAX && !r; i++) {
		if (!(l->programs & WDR_PROG_BIT(i)))
			continue;
		name = wdr_kern_program(i)->name;
		wdr_kern_path(path, dir, name);
		r = bpf_obj_pin(l->prog_fd[i], path);
	}
	return r ? wdr_err_set(err, r, "pin %s below %s: %s", name, dir, strerror(-r)) : 0;
}

/* What every start reads from the cell that all share. Of maps taken over, the rest stays. */
static int sign(const struct wdr_kern_loaded *l)
{
	struct wdr_shared s;
	uint32_t zero = 0;
	int r;

	r = bpf_map_lookup_elem(l->map_fd[WDR_MAP_SHARED], &zero, &s);
	if (r < 0)
		return r;
	s.maps_hash = WDR_MAPS_HASH;
	s.programs = l->programs;
	return bpf_map_update_elem(l->map_fd[WDR_MAP_SHARED], &zero, &s, BPF_ANY);
}

static int pin_generation(const struct wdr_kern_loaded *l, const char *root, struct wdr_err *err)
{
	char from[WDR_KERN_PATH_MAX], to[WDR_KERN_PATH_MAX];
	int r;

	wdr_kern_path(from, root, NEW);
	wdr_kern_path(to, root, WDR_OBJECTS_HASH);
	r = wdr_kern_pins_remove(from);
	if (r >= 0 && mkdir(from, 0700) < 0)
		r = -errno;
	if (r < 0)
		return wdr_err_set(err, r, "make %s: %s", from, strerror(-r));
	r = pin_all(l, from, err);
	if (r < 0)
		return r;
	if (rename(from, to) < 0)
		return wdr_err_set(err, -errno, "rename %s to %s: %s", from, to, strerror(errno));
	return 0;
}

/* What the first jobs need, so that they need not wait for it. */
static int fill_pools(const struct wdr_kern_loaded *l)
{
	static const enum wdr_kern_map maps[] = { WDR_MAP_RINGS, WDR_MAP_TRIES, WDR_MAP_COUNTS };
	unsigned int i;
	int r = 0;

	for (i = 0; i < sizeof(maps) / sizeof(maps[0]) && r >= 0; i++)
		r = wdr_kern_pool_fill(l->map_fd[maps[i]], maps[i], 1);
	return r;
}

static int load_over(struct others *o, struct wdr_kern_loaded *l, struct wdr_err *err)
{
	char path[WDR_KERN_PATH_MAX];
	int r;

	if (o->used) {
		if (o->used->shared->maps_hash != WDR_MAPS_HASH)
			return wdr_err_set(
				err, -EBUSY,
				"%u jobs or supervisors of another version of warder run, "
				"and their maps can't be shared: wait for them or stop them",
				o->n_users);
		r = take_maps(l, o->used);
		if (r < 0)
			return wdr_err_set(err, r, "take over maps: %s", strerror(-r));
	} else {
		wdr_kern_path(path, o->root, WDR_KERN_PARENTS);
		r = wdr_kern_pins_remove(path);
		wdr_kern_path(path, o->root, WDR_KERN_JOBS);
		r = r < 0 ? r : wdr_kern_pins_remove(path);
		if (r < 0)
			return wdr_err_set(err, r, "remove %s: %s", path, strerror(-r));
	}
	r = wdr_kern_objects_load(l, err);
	if (r < 0)
		return r;
	r = sign(l);
	if (r < 0)
		return wdr_err_set(err, r, "write to wdr_shared: %s", strerror(-r));
	r = fill_pools(l);
	if (r < 0)
		return wdr_err_set(err, r, "make the first maps of maps: %s", strerror(-r));
	return pin_generation(l, o->root, err);
}

int wdr_kern_load(const char *root, struct wdr_err *err)
{
	struct others o = { .root = root };
	char path[WDR_KERN_PATH_MAX];
	struct wdr_kern_loaded l;
	struct stat st;
	int r;

	wdr_kern_path(path, root, WDR_OBJECTS_HASH);
	if (!stat(path, &st))
		return 0;
	wdr_kern_loaded_init(&l);
	r = wdr_kern_pins_each(root, sort_generation, &o);
	if (r < 0)
		(void)wdr_err_set(err, r, "remove other generations below %s: %s", root,
				  strerror(-r));
	else
		r = load_over(&o, &l, err);
	if (r >= 0 && o.used) {
		wdr_kern_replace(o.used, l.prog_fd);
		(void)wdr_kern_pins_remove(o.used->gen);
	}
	wdr_kern_freep(&o.used);
	wdr_kern_loaded_done(&l);
	return r;
}

int wdr_kern_collect(struct wdr_kern *k)
{
	struct others o = { .root = k->root, .keep = k };

	return wdr_kern_pins_each(k->root, sort_generation, &o);
}
