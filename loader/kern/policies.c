/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded policies. Each has a number: its prefixes are in the trie of that number, its records in
 * wdr_rows under it. Nobody refers to a number until all of it is there, so a policy is in force
 * whole or not at all. A number whose loader died is found by its state and emptied.
 */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/wdr_sha256.h"

#define BATCH	   4096
#define MAX_DELETE 2048 /* prefixes removed one by one; more, and a new trie is cheaper */

static void hash_policy(const struct wdr_kern_policy *p, uint8_t ret[WDR_SHA256_SIZE])
{
	struct wdr_sha256 s;

	wdr_sha256_start(&s);
	wdr_sha256_add(&s, &p->head, sizeof(p->head));
	wdr_sha256_add(&s, &p->n_entries, sizeof(p->n_entries));
	wdr_sha256_add(&s, p->keys, p->n_entries * sizeof(*p->keys));
	wdr_sha256_add(&s, p->entries, p->n_entries * sizeof(*p->entries));
	wdr_sha256_add(&s, p->rows, p->n_rows * sizeof(*p->rows));
	wdr_sha256_end(&s, ret);
}

/* The number, 0 if there is none, or -errno. */
static int find_loaded(struct wdr_kern *k, const uint8_t sha[WDR_SHA256_SIZE])
{
	const struct wdr_egress_policy *p;
	uint32_t n;
	int r;

	r = wdr_kern_need_used(k, WDR_MAP_POLICIES);
	if (r < 0)
		return r;
	for (n = 0; (n = wdr_kern_bit_next(k->shared->policies_used, n, WDR_SLOTS_MAX)) != 0;) {
		p = &k->policies[n];
		if (p->state == WDR_POLICY_READY && !memcmp(p->sha, sha, WDR_SHA256_SIZE))
			return (int)n;
	}
	return 0;
}

/* Batches where the kernel has them for this kind of map, else one by one. */
static int put_all(int fd, const void *keys, size_t key_size, const void *values, size_t value_size,
		   uint32_t n)
{
	const char *key = keys, *value = values;
	uint32_t at = 0, part;
	int r = 0;

	for (; at < n && !r; at += r ? 0 : part) {
		part = n - at < BATCH ? n - at : BATCH;
		r = bpf_map_update_batch(fd, key + at * key_size, value + at * value_size, &part,
					 NULL);
	}
	if (r == -ENOMEM || r == -ENOSPC || r == -E2BIG)
		return r;
	for (r = 0; at < n && !r; at++)
		r = bpf_map_update_elem(fd, key + at * key_size, value + at * value_size, BPF_ANY);
	return r;
}

static int put_rows(struct wdr_kern *k, uint32_t n, const struct wdr_kern_policy *p)
{
	wdr_free_ struct wdr_egress_row_key *keys = NULL;
	int fd = wdr_kern_map_fd(k, WDR_MAP_ROWS);
	uint32_t i;

	if (fd < 0 || !p->n_rows)
		return fd < 0 ? fd : 0;
	keys = calloc(p->n_rows, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (i = 0; i < p->n_rows; i++)
		keys[i] = (struct wdr_egress_row_key){ .policy = n, .row = i };
	return put_all(fd, keys, sizeof(*keys), p->rows, sizeof(*p->rows), p->n_rows);
}

static int put_prefixes(struct wdr_kern *k, uint32_t n, const struct wdr_kern_policy *p)
{
	wdr_close_ int fd = wdr_kern_pool_get(k, WDR_MAP_TRIES, n);

	if (fd < 0)
		return fd;
	return put_all(fd, p->keys, sizeof(*p->keys), p->entries, sizeof(*p->entries),
		       p->n_entries);
}

static void drop_rows(struct wdr_kern *k, uint32_t n, uint32_t n_rows)
{
	struct wdr_egress_row_key key = { .policy = n };
	int fd = wdr_kern_map_fd(k, WDR_MAP_ROWS);

	for (; key.row < n_rows && fd >= 0; key.row++)
		(void)bpf_map_delete_elem(fd, &key);
}

static int drop_prefixes(struct wdr_kern *k, uint32_t n, uint32_t n_entries)
{
	wdr_close_ int fd = -1;
	struct wdr_egress_key key;
	uint32_t i;

	if (n_entries > MAX_DELETE)
		return wdr_kern_pool_renew(wdr_kern_map_fd(k, WDR_MAP_TRIES), WDR_MAP_TRIES, n);
	fd = wdr_kern_pool_get(k, WDR_MAP_TRIES, n);
	if (fd < 0)
		return fd;
	for (i = 0; i <= n_entries; i++) {
		if (bpf_map_get_next_key(fd, NULL, &key))
			return 0;
		if (bpf_map_delete_elem(fd, &key))
			break;
	}
	return wdr_kern_pool_renew(wdr_kern_map_fd(k, WDR_MAP_TRIES), WDR_MAP_TRIES, n);
}

/* Empty number @n and give it back. What can't be emptied keeps its number, for a later try. */
static void drop_policy(struct wdr_kern *k, uint32_t n)
{
	struct wdr_egress_policy *p = &k->policies[n];

	p->state = WDR_POLICY_DIRTY;
	drop_rows(k, n, p->n_rows);
	if (drop_prefixes(k, n, p->n_entries) < 0)
		return;
	memset(p, 0, sizeof(*p));
	wdr_kern_bit_set(k->shared->policies_used, n, false);
}

/* A number, kept from others while it is being filled. */
static int begin_policy(struct wdr_kern *k, const struct wdr_kern_policy *p,
			const uint8_t sha[WDR_SHA256_SIZE], struct wdr_err *err)
{
	uint32_t n = wdr_kern_bit_find(k->shared->policies_used, 1, WDR_SLOTS_MAX);
	struct wdr_egress_policy *loaded = &k->policies[n];
	int r;

	if (!n)
		return wdr_err_set(err, -ENOSPC, "%d policies are loaded already",
				   WDR_SLOTS_MAX - 1);
	r = wdr_kern_need(k, WDR_MAP_POLICIES, n);
	if (r < 0)
		return wdr_err_set(err, r, "map a policy: %s", strerror(-r));
	*loaded = (struct wdr_egress_policy){
		.head = p->head,
		.n_entries = p->n_entries,
		.n_rows = p->n_rows,
		.state = WDR_POLICY_LOADING,
		.sup = k->sup,
	};
	memcpy(loaded->sha, sha, WDR_SHA256_SIZE);
	wdr_kern_bit_set(k->shared->policies_used, n, true);
	return (int)n;
}

/* Without the lock: a hundred thousand prefixes take a while, and nobody else knows the number. */
static int fill_policy(struct wdr_kern *k, const struct wdr_kern_policy *p, uint32_t n,
		       struct wdr_err *err)
{
	int r;

	r = put_rows(k, n, p);
	if (r >= 0)
		r = put_prefixes(k, n, p);
	if (r == -E2BIG) /* the prefixes have a table of their own, which fits */
		return wdr_err_set(err, -ENOSPC,
				   "load a policy of %u rows: wdr_rows, which all policies share, "
				   "is full",
				   p->n_rows);
	if (r < 0)
		return wdr_err_set(err, r, "load a policy of %u prefixes and %u rows: %s",
				   p->n_entries, p->n_rows, strerror(-r));
	return 0;
}

static int load_policy(struct wdr_kern *k, const struct wdr_kern_policy *p,
		       const uint8_t sha[WDR_SHA256_SIZE], int *lock, uint32_t *ret,
		       struct wdr_err *err)
{
	wdr_close_ int trie = -1;
	int n, r, locked;

	n = begin_policy(k, p, sha, err);
	if (n < 0)
		return n;
	trie = wdr_kern_pool_get(k, WDR_MAP_TRIES, (uint32_t)n);
	if (trie < 0) {
		drop_policy(k, (uint32_t)n);
		return wdr_err_set(err, trie, "make a map for a policy: %s", strerror(-trie));
	}
	wdr_closep(lock);
	r = fill_policy(k, p, (uint32_t)n, err);
	locked = wdr_kern_lock_current(k, lock, r < 0 ? NULL : err);
	if (locked < 0)
		return r < 0 ? r : locked; /* a trim finds what is loading for one that is gone */
	if (r < 0) {
		drop_policy(k, (uint32_t)n);
		return r;
	}
	k->policies[n].used_ns = wdr_kern_now_ns();
	__atomic_store_n(&k->policies[n].state, WDR_POLICY_READY, __ATOMIC_RELEASE);
	*ret = (uint32_t)n;
	return 0;
}

int wdr_kern_policy_use(struct wdr_kern *k, const struct wdr_kern_policy *p, int *lock,
			uint32_t *ret, struct wdr_err *err)
{
	uint8_t sha[WDR_SHA256_SIZE];
	int r;

	if (p->n_entries > WDR_EGRESS_MAX_ENTRIES)
		return wdr_err_set(err, -E2BIG, "%u prefixes, at most %d", p->n_entries,
				   WDR_EGRESS_MAX_ENTRIES);
	hash_policy(p, sha);
	r = find_loaded(k, sha);
	if (r < 0)
		return wdr_err_set(err, r, "map loaded policies: %s", strerror(-r));
	if (!r)
		return load_policy(k, p, sha, lock, ret, err);
	*ret = (uint32_t)r;
	return 0;
}

/* May number @n go now: dirty, or half loaded by a process that is gone? */
static bool is_rubbish(const struct wdr_kern *k, uint32_t n)
{
	const struct wdr_egress_policy *p = &k->policies[n];

	return p->state == WDR_POLICY_DIRTY ||
	       (p->state == WDR_POLICY_LOADING &&
		!wdr_kern_sup_alive(&k->sups[p->sup % WDR_SUPS_MAX]));
}

/* Of those in @idle, the one that has been so for longest. */
static uint32_t find_oldest(const struct wdr_kern *k, const __u64 *idle)
{
	uint32_t n, oldest = 0;

	for (n = 0; (n = wdr_kern_bit_next(idle, n, WDR_SLOTS_MAX)) != 0;) {
		if (!oldest || k->policies[n].used_ns < k->policies[oldest].used_ns)
			oldest = n;
	}
	return oldest;
}

void wdr_kern_policy_trim(struct wdr_kern *k)
{
	__u64 idle[WDR_SLOT_WORDS] = { 0 };
	unsigned int n_idle = 0;
	uint32_t n;

	/* Not all to be seen: what goes and what stays is said another time. */
	if (wdr_kern_need_used(k, WDR_MAP_POLICIES) < 0 || wdr_kern_need_used(k, WDR_MAP_SLOTS) < 0)
		return;
	for (n = 0; (n = wdr_kern_bit_next(k->shared->policies_used, n, WDR_SLOTS_MAX)) != 0;) {
		if (is_rubbish(k, n))
			drop_policy(k, n);
		else if (k->policies[n].state == WDR_POLICY_READY)
			wdr_kern_bit_set(idle, n, true);
	}
	for (n = 0; (n = wdr_kern_bit_next(k->shared->slots_used, n, WDR_SLOTS_MAX)) != 0;)
		wdr_kern_bit_set(idle, k->slots[n].policy % WDR_SLOTS_MAX, false);
	for (n = 0; n < WDR_SLOT_WORDS; n++)
		n_idle += (unsigned int)__builtin_popcountll(idle[n]);
	for (; n_idle > WDR_KERN_IDLE_POLICIES; n_idle--) {
		n = find_oldest(k, idle);
		wdr_kern_bit_set(idle, n, false);
		drop_policy(k, n);
	}
}
