/* SPDX-License-Identifier: Apache-2.0 */
/* Opening: what is pinned is a few descriptors away; libbpf's loader is not touched. */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "wdr_objects.h"

int wdr_kern_pin_get(const char *dir, const char *name)
{
	char path[WDR_KERN_PATH_MAX];

	wdr_kern_path(path, dir, name);
	return bpf_obj_get(path);
}

int wdr_kern_map_fd(struct wdr_kern *k, enum wdr_kern_map m)
{
	if (k->map_fd[m] < 0)
		k->map_fd[m] = wdr_kern_pin_get(k->gen, wdr_kern_map_name(m));
	return k->map_fd[m];
}

int wdr_kern_prog_fd(struct wdr_kern *k, enum wdr_kern_prog p)
{
	if (k->prog_fd[p] < 0)
		k->prog_fd[p] = wdr_kern_pin_get(k->gen, wdr_kern_program(p)->name);
	return k->prog_fd[p];
}

void wdr_kern_freep(struct wdr_kern **kp)
{
	struct wdr_kern *k = *kp;
	unsigned int i;

	*kp = NULL;
	if (!k)
		return;
	wdr_kern_ring_freep(&k->ring);
	wdr_kern_cells_unmap(k);
	for (i = 0; i < _WDR_MAP_MAX; i++)
		wdr_closep(&k->map_fd[i]);
	for (i = 0; i < _WDR_PROG_MAX; i++)
		wdr_closep(&k->prog_fd[i]);
	free(k);
}

static int read_ino(const struct wdr_kern *k, uint64_t *ret)
{
	char path[WDR_KERN_PATH_MAX];
	struct stat st;

	wdr_kern_path(path, k->gen, wdr_kern_map_name(WDR_MAP_SHARED));
	if (stat(path, &st) < 0)
		return -errno;
	*ret = st.st_ino;
	return 0;
}

int wdr_kern_view_new(const char *root, const char *gen, struct wdr_kern **ret)
{
	wdr_kern_ struct wdr_kern *k = NULL;
	int i, r;

	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	(void)snprintf(k->root, sizeof(k->root), "%s", root);
	(void)snprintf(k->gen, sizeof(k->gen), "%s", gen);
	for (i = 0; i < _WDR_MAP_MAX; i++)
		k->map_fd[i] = -1;
	for (i = 0; i < _WDR_PROG_MAX; i++)
		k->prog_fd[i] = -1;
	r = read_ino(k, &k->pinned_ino);
	if (r >= 0)
		r = wdr_kern_cells_map(k);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(k);
	return 0;
}

static uint32_t read_map_id(int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) ? info.id : 0;
}

/* Another generation that has taken our maps over is as good as ours was. */
static int find_heir(void *arg, const char *name)
{
	struct wdr_kern *k = arg;
	char path[WDR_KERN_PATH_MAX];
	wdr_close_ int fd = -1;
	uint32_t id;

	wdr_kern_path(path, k->root, name);
	fd = wdr_kern_pin_get(path, wdr_kern_map_name(WDR_MAP_SHARED));
	id = read_map_id(fd);
	if (!id || id != read_map_id(k->map_fd[WDR_MAP_SHARED]))
		return 0;
	(void)snprintf(k->gen, sizeof(k->gen), "%s", path);
	return read_ino(k, &k->pinned_ino) < 0 ? 0 : 1;
}

bool wdr_kern_is_current(struct wdr_kern *k)
{
	uint64_t ino = 0;

	return (!read_ino(k, &ino) && ino == k->pinned_ino) ||
	       wdr_kern_pins_each(k->root, find_heir, k) == 1;
}

static const char *lock_path(const struct wdr_kern_place *at)
{
	return at && at->lock ? at->lock : WDR_KERN_LOCK;
}

static int open_pinned(const char *root, struct wdr_kern **ret)
{
	char gen[WDR_KERN_PATH_MAX];

	wdr_kern_path(gen, root, WDR_OBJECTS_HASH);
	return wdr_kern_view_new(root, gen, ret);
}

static int open_or_load(const struct wdr_kern_place *at, struct wdr_kern **ret, struct wdr_err *err)
{
	char root[WDR_KERN_PATH_MAX];
	wdr_close_ int lock = -1;
	int r;

	r = wdr_kern_lock(lock_path(at), &lock, err);
	if (r < 0)
		return r;
	r = wdr_kern_root(at, true, root, err);
	if (r < 0)
		return r;
	r = wdr_kern_load(root, err);
	if (r < 0)
		return r;
	r = open_pinned(root, ret);
	if (r < 0)
		return wdr_err_set(err, r, "open what is pinned below %s: %s", root, strerror(-r));
	return 0;
}

int wdr_kern_open(const struct wdr_kern_place *at, struct wdr_kern **ret, struct wdr_err *err)
{
	char root[WDR_KERN_PATH_MAX];
	struct wdr_kern *k = NULL;
	int r;

	wdr_kern_hear_libbpf();
	r = wdr_kern_root(at, false, root, NULL);
	if (r >= 0)
		r = open_pinned(root, &k);
	if (r < 0)
		r = open_or_load(at, &k, err);
	if (r < 0)
		return r;
	(void)snprintf(k->lock, sizeof(k->lock), "%s", lock_path(at));
	*ret = k;
	return 0;
}

uint64_t wdr_kern_can(const struct wdr_kern *k)
{
	uint64_t all = WDR_PROT_BIT(WDR_PROT_HEARTBEAT), lost = 0;
	int p;

	for (p = 0; p < _WDR_PROG_MAX; p++) {
		all |= wdr_kern_program(p)->protections;
		if (!(k->shared->programs & WDR_PROG_BIT(p)))
			lost |= wdr_kern_program(p)->protections;
	}
	return all & ~lost;
}
