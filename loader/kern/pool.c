/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps inside of maps. Putting one in waits for an RCU grace period (kernel/bpf/syscall.c:
 * maybe_wait_bpf_programs), 8 to 16 ms: more than a whole start. So they are put in some at a time
 * with one wait, and stay: who needs one takes an empty one and leaves it empty.
 */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#define MAX_CHUNK 16

static int make_trie(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);

	return bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "wdr_trie", sizeof(struct wdr_egress_key),
			      sizeof(struct wdr_egress_entry), WDR_EGRESS_MAX_ENTRIES, &opts);
}

static int make_ring(void)
{
	return bpf_map_create(BPF_MAP_TYPE_RINGBUF, "wdr_ring", 0, 0, WDR_RING_BYTES, NULL);
}

static int make_counts(void)
{
	return bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "wdr_counts_row", sizeof(uint32_t),
			      sizeof(struct wdr_counts), 1, NULL);
}

static const struct pool {
	enum wdr_kern_map map;
	uint32_t max, chunk;
	int (*make)(void);
} pools[] = {
	{ WDR_MAP_TRIES, WDR_SLOTS_MAX, MAX_CHUNK, make_trie },
	{ WDR_MAP_RINGS, WDR_SUPS_MAX, 4, make_ring },
	{ WDR_MAP_COUNTS, WDR_SLOTS_MAX, 4, make_counts },
};

/* @map is one of them. */
static const struct pool *find_pool(enum wdr_kern_map map)
{
	const struct pool *p = pools;

	while (p->map != map)
		p++;
	return p;
}

static int put_all(int outer, const uint32_t *keys, const int *fds, uint32_t n)
{
	uint32_t done = n, i;
	int r = 0;

	if (!bpf_map_update_batch(outer, keys, fds, &done, NULL))
		return 0;
	/* Before 5.14 there are no batches for maps of maps; what is in already is put in again. */
	for (i = 0; i < n && !r; i++)
		r = bpf_map_update_elem(outer, &keys[i], &fds[i], BPF_ANY);
	return r;
}

int wdr_kern_pool_fill(int outer, enum wdr_kern_map map, uint32_t n)
{
	const struct pool *p = find_pool(map);
	uint32_t keys[MAX_CHUNK], id, i, count = 0;
	int fds[MAX_CHUNK], r = 0;

	for (i = n; i < p->max && i < n + p->chunk && r >= 0; i++) {
		if (!bpf_map_lookup_elem(outer, &i, &id))
			continue;
		keys[count] = i;
		fds[count] = r = p->make();
		count += r >= 0;
	}
	/* Fewer than wanted will do, as long as @n itself is among them. */
	if (count && keys[0] == n)
		r = put_all(outer, keys, fds, count);
	for (i = 0; i < count; i++)
		(void)close(fds[i]);
	return r < 0 ? r : 0;
}

int wdr_kern_pool_renew(int outer, enum wdr_kern_map map, uint32_t n)
{
	int fd, r;

	fd = find_pool(map)->make();
	if (fd < 0)
		return fd;
	r = bpf_map_update_elem(outer, &n, &fd, BPF_ANY);
	(void)close(fd);
	return r;
}

int wdr_kern_pool_get(struct wdr_kern *k, enum wdr_kern_map map, uint32_t n)
{
	int outer = wdr_kern_map_fd(k, map), r;
	uint32_t id;

	if (outer < 0)
		return outer;
	r = bpf_map_lookup_elem(outer, &n, &id);
	if (r == -ENOENT) {
		r = wdr_kern_pool_fill(outer, map, n);
		if (!r)
			r = bpf_map_lookup_elem(outer, &n, &id);
	}
	return r < 0 ? r : bpf_map_get_fd_by_id(id);
}
