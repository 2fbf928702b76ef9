/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps that are read and written as memory. The kernel enters every page of such a mapping at once,
 * so that all of them would cost a start more than all else it does here. Each map gets its range
 * of addresses, and a part of it its pages when a cell there is needed.
 */
#include "kern_priv.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#define PART ((size_t)32 * 1024) /* as long as pages are smaller, else a page */

static const struct {
	enum wdr_kern_map map;
	bool whole; /* from the beginning */
	uint32_t size, n;
	size_t offset; /* of the pointer in struct wdr_kern */
} cells[] = {
	{ WDR_MAP_SHARED, true, sizeof(struct wdr_shared), 1, offsetof(struct wdr_kern, shared) },
	{ WDR_MAP_SUPS, true, sizeof(struct wdr_sup), WDR_SUPS_MAX,
	  offsetof(struct wdr_kern, sups) },
	{ WDR_MAP_SLOTS, false, sizeof(struct wdr_slot), WDR_SLOTS_MAX,
	  offsetof(struct wdr_kern, slots) },
	{ WDR_MAP_LIVE, false, sizeof(struct wdr_live), WDR_SLOTS_MAX,
	  offsetof(struct wdr_kern, live) },
	{ WDR_MAP_POLICIES, false, sizeof(struct wdr_egress_policy), WDR_SLOTS_MAX,
	  offsetof(struct wdr_kern, policies) },
};

#define N_CELLS (sizeof(cells) / sizeof(cells[0]))

_Static_assert(N_CELLS == WDR_KERN_CELLS, "a word of parts each");
_Static_assert(WDR_SLOTS_MAX * sizeof(struct wdr_live) <= 64 * PART, "a bit for each part");

static void **pointer_of(struct wdr_kern *k, unsigned int i)
{
	return (void **)((char *)k + cells[i].offset);
}

static size_t size_of(unsigned int i)
{
	return (size_t)cells[i].size * cells[i].n;
}

static size_t part_size(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return page > PART ? page : PART;
}

static int map_range(struct wdr_kern *k, unsigned int i, size_t from, size_t size)
{
	char *at = *pointer_of(k, i);
	int fd = wdr_kern_map_fd(k, cells[i].map);

	if (fd < 0)
		return fd;
	if (mmap(at + from, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 (off_t)from) == MAP_FAILED) {
		int r = -errno;

		/* What was there may be gone all the same: the place stays ours, as it will be unmapped. */
		(void)!mmap(at + from, size, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		return r;
	}
	/* No child needs them, a job's pid 1 least of all. */
	(void)madvise(at + from, size, MADV_DONTFORK);
	return 0;
}

int wdr_kern_cells_map(struct wdr_kern *k)
{
	unsigned int i;
	void *at;
	int r = 0;

	for (i = 0; i < N_CELLS && r >= 0; i++) {
		at = mmap(NULL, size_of(i), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);
		if (at == MAP_FAILED)
			return -errno;
		*pointer_of(k, i) = at;
		r = cells[i].whole ? map_range(k, i, 0, size_of(i)) : 0;
	}
	return r;
}

void wdr_kern_cells_unmap(struct wdr_kern *k)
{
	unsigned int i;

	for (i = 0; i < N_CELLS; i++) {
		if (*pointer_of(k, i))
			(void)munmap(*pointer_of(k, i), size_of(i));
	}
}

int wdr_kern_need(struct wdr_kern *k, enum wdr_kern_map m, uint32_t n)
{
	size_t part, size = part_size(), left;
	unsigned int i = 0;
	int r;

	while (cells[i].map != m)
		i++;
	/* A cell may begin in one part and end in the next. */
	for (part = (size_t)n * cells[i].size / size;
	     part <= ((size_t)(n + 1) * cells[i].size - 1) / size; part++) {
		if (k->parts[i] >> part & 1)
			continue;
		left = size_of(i) - part * size;
		r = map_range(k, i, part * size, left < size ? left : size);
		if (r < 0)
			return r;
		k->parts[i] |= UINT64_C(1) << part;
	}
	return 0;
}

int wdr_kern_need_used(struct wdr_kern *k, enum wdr_kern_map m)
{
	const __u64 *used =
		m == WDR_MAP_POLICIES ? k->shared->policies_used : k->shared->slots_used;
	uint32_t n = 0;
	int r = 0;

	while (r >= 0 && (n = wdr_kern_bit_next(used, n, WDR_SLOTS_MAX)) != 0)
		r = wdr_kern_need(k, m, n);
	return r;
}
