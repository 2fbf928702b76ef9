/* SPDX-License-Identifier: Apache-2.0 */
/* Supervisors: processes with a heartbeat and a ring. */
#include "kern_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/wdr_io.h"

#define STAT_MAX 4096
#define FRESH_NS 10000000000 /* a beat this young is proof of life where the pid says nothing */

uint64_t wdr_kern_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Field 22 of /proc/PID/stat, in clock ticks since boot; 0: no such process. */
static uint64_t read_start(uint32_t pid)
{
	wdr_free_ char *text = NULL;
	char path[40], *at;
	int i;

	(void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (wdr_read_file(AT_FDCWD, path, STAT_MAX, &text, NULL) < 0)
		return 0;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	for (i = 2; at && i < 22; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

bool wdr_kern_sup_alive(const struct wdr_sup *sup)
{
	if (!sup->pid)
		return false;
	if (sup->pidns != wdr_kern_pidns())
		return wdr_kern_now_ns() - sup->beat_ns < FRESH_NS;
	return read_start(sup->pid) == sup->start;
}

uint32_t wdr_kern_bit_next(const __u64 *words, uint32_t after, uint32_t max)
{
	uint32_t i = after + 1;
	uint64_t word;

	while (i < max) {
		word = words[i / 64] >> (i % 64);
		if (word) {
			i += (uint32_t)__builtin_ctzll(word);
			return i < max ? i : 0;
		}
		i = (i / 64 + 1) * 64;
	}
	return 0;
}

uint32_t wdr_kern_bit_find(const __u64 *words, uint32_t from, uint32_t max)
{
	uint32_t i;

	for (i = from; i < max; i++) {
		if (!(words[i / 64] >> (i % 64) & 1))
			return i;
	}
	return 0;
}

void wdr_kern_bit_set(__u64 *words, uint32_t n, bool on)
{
	if (on)
		words[n / 64] |= UINT64_C(1) << (n % 64);
	else
		words[n / 64] &= ~(UINT64_C(1) << (n % 64));
}

unsigned int wdr_kern_users(struct wdr_kern *k)
{
	unsigned int n = 0, i;

	if (wdr_kern_need_used(k, WDR_MAP_SLOTS) < 0)
		return 1;
	for (i = 0; (i = wdr_kern_bit_next(k->shared->sups_used, i, WDR_SUPS_MAX)) != 0;)
		n += wdr_kern_sup_alive(&k->sups[i]);
	for (i = 0; (i = wdr_kern_bit_next(k->shared->slots_used, i, WDR_SLOTS_MAX)) != 0;)
		n += k->slots[i].flags & WDR_SLOT_CONTAIN &&
		     !wdr_kern_sup_alive(&k->sups[k->slots[i].sup % WDR_SUPS_MAX]);
	return n;
}

int wdr_kern_lock_current(struct wdr_kern *k, int *ret_fd, struct wdr_err *err)
{
	wdr_close_ int lock = -1;
	int r;

	r = wdr_kern_lock(k->lock, &lock, err);
	if (r < 0)
		return r;
	if (!wdr_kern_is_current(k))
		return wdr_err_set(err, -ESTALE, "what was pinned below %s has been removed",
				   k->gen);
	*ret_fd = WDR_TAKE_FD(lock);
	return 0;
}

static int take_number(struct wdr_kern *k, struct wdr_err *err)
{
	uint32_t n = wdr_kern_bit_find(k->shared->sups_used, 1, WDR_SUPS_MAX);
	wdr_close_ int fd = -1;
	struct wdr_sup *sup;
	int r;

	if (!n)
		return wdr_err_set(err, -ENOSPC, "%d supervisors are there already",
				   WDR_SUPS_MAX - 1);
	fd = wdr_kern_pool_get(k, WDR_MAP_RINGS, n);
	if (fd < 0)
		return wdr_err_set(err, fd, "make a ring for events: %s%s", strerror(-fd),
				   fd == -EPERM ? ": who supervises needs CAP_SYS_ADMIN" : "");
	r = wdr_kern_ring_new(k, fd, &k->ring);
	if (r < 0)
		return wdr_err_set(err, r, "map the ring for events: %s", strerror(-r));
	/* What the number's last owner did not read is nobody's. */
	(void)wdr_kern_ring_read(k, NULL, UINT32_MAX);
	sup = &k->sups[n];
	sup->pid = (uint32_t)getpid();
	sup->start = read_start(sup->pid);
	sup->pidns = wdr_kern_pidns();
	sup->beat_ns = wdr_kern_now_ns();
	wdr_kern_bit_set(k->shared->sups_used, n, true);
	k->sup = n;
	return 0;
}

int wdr_kern_join(struct wdr_kern *k, struct wdr_err *err)
{
	wdr_close_ int lock = -1;
	int r;

	if (k->sup)
		return 0;
	r = wdr_kern_lock_current(k, &lock, err);
	return r < 0 ? r : take_number(k, err);
}

void wdr_kern_leave(struct wdr_kern *k)
{
	wdr_close_ int lock = -1;

	if (!k->sup || wdr_kern_lock(k->lock, &lock, NULL) < 0)
		return; /* a sweep finds a supervisor whose process is gone */
	k->sups[k->sup] = (struct wdr_sup){ 0 };
	wdr_kern_bit_set(k->shared->sups_used, k->sup, false);
	k->sup = 0;
	wdr_kern_ring_freep(&k->ring);
}

void wdr_kern_beat(struct wdr_kern *k)
{
	if (k->sup)
		__atomic_store_n(&k->sups[k->sup].beat_ns, wdr_kern_now_ns(), __ATOMIC_RELAXED);
}
