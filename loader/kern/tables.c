/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that the programs fill for a job: denials, flows; and the host's addresses, which we do. */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#define BATCH 1024
#define TRIES 3 /* an entry whose bucket is being changed is -EBUSY (kernel/bpf/hashtab.c) */

int wdr_kern_table_err(struct wdr_err *err, int r, const char *what)
{
	if (r == -E2BIG)
		return wdr_err_set(err, -ENOSPC, "%s: it is full", what);
	return wdr_err_set(err, r, "%s: %s", what, strerror(-r));
}

void wdr_kern_ifaces_each(struct wdr_kern *k, void (*each)(void *arg, uint32_t ifindex, uint32_t n),
			  void *arg)
{
	int fd = wdr_kern_map_fd(k, WDR_MAP_IFACES);
	wdr_free_ uint32_t *keys = calloc(WDR_SLOTS_MAX, sizeof(*keys));
	uint32_t count = 0, n, i;
	const void *at = NULL;

	/* All keys first: one that was removed is no place to go on from. */
	while (keys && fd >= 0 && count < WDR_SLOTS_MAX &&
	       !bpf_map_get_next_key(fd, at, &keys[count]))
		at = &keys[count++];
	for (i = 0; i < count; i++) {
		if (!bpf_map_lookup_elem(fd, &keys[i], &n))
			each(arg, keys[i], n);
	}
}

struct dropping {
	struct wdr_kern *k;
	uint32_t n;
	bool open;
};

static void drop_iface(void *arg, uint32_t ifindex, uint32_t n)
{
	const struct dropping *d = arg;

	/* The number may be another job's interface by now. */
	if (n != d->n)
		return;
	if (d->open)
		wdr_kern_detach_iface(ifindex);
	(void)bpf_map_delete_elem(wdr_kern_map_fd(d->k, WDR_MAP_IFACES), &ifindex);
}

void wdr_kern_ifaces_drop(struct wdr_kern *k, uint32_t n, bool open)
{
	struct dropping d = { .k = k, .n = n, .open = open };
	uint32_t key = k->slots[n].ifindex, now;

	if (k->slots[n].n_ifaces > 1)
		wdr_kern_ifaces_each(k, drop_iface, &d);
	else if (key && !bpf_map_lookup_elem(wdr_kern_map_fd(k, WDR_MAP_IFACES), &key, &now))
		drop_iface(&d, key, now);
}

static int look_up(int fd, const void *key, void *ret)
{
	int r = bpf_map_lookup_elem(fd, key, ret), i;

	for (i = 1; i < TRIES && r < 0 && r != -ENOENT; i++)
		r = bpf_map_lookup_elem(fd, key, ret);
	return r;
}

/* What stayed would be counted for the slot's next job, and listed for none. */
static void remove_key(int fd, const void *key)
{
	int r = bpf_map_delete_elem(fd, key), i;

	for (i = 1; i < TRIES && r < 0 && r != -ENOENT; i++)
		r = bpf_map_delete_elem(fd, key);
}

static uint32_t count_denials(const struct wdr_kern *k, uint32_t n)
{
	uint32_t count = k->live[n].n_denials;

	return count < WDR_DENIALS_MAX ? count : WDR_DENIALS_MAX;
}

int wdr_kern_slot_denials(const struct wdr_kern_slot *s,
			  void (*each)(void *arg, const struct wdr_deny_key *key,
				       const struct wdr_deny_val *val),
			  void *arg)
{
	struct wdr_kern *k = s->kern_ref;
	int keys = wdr_kern_map_fd(k, WDR_MAP_DENIAL_KEYS),
	    vals = wdr_kern_map_fd(k, WDR_MAP_DENIALS);
	struct wdr_deny_index at = { .slot = s->n };
	struct wdr_deny_key key;
	struct wdr_deny_val val;
	int r = 0, lost;

	if (keys < 0 || vals < 0)
		return keys < 0 ? keys : vals;
	/* A number without a key, or a key without a value, lost a race against another CPU. */
	for (; at.n < count_denials(k, s->n); at.n++) {
		lost = look_up(keys, &at, &key);
		if (!lost)
			lost = look_up(vals, &key, &val);
		if (!lost)
			each(arg, &key, &val);
		else if (lost != -ENOENT)
			r = lost;
	}
	return r;
}

void wdr_kern_denials_drop(struct wdr_kern *k, uint32_t n)
{
	struct wdr_deny_index at = { .slot = n };
	struct wdr_deny_key key;
	int keys, vals;

	if (!k->live[n].n_denials)
		return;
	keys = wdr_kern_map_fd(k, WDR_MAP_DENIAL_KEYS);
	vals = wdr_kern_map_fd(k, WDR_MAP_DENIALS);
	for (; at.n < count_denials(k, n); at.n++) {
		if (look_up(keys, &at, &key))
			continue;
		remove_key(vals, &key);
		remove_key(keys, &at);
	}
}

void wdr_kern_flows_drop(struct wdr_kern *k, uint64_t job)
{
	wdr_free_ struct wdr_flow_key *keys = calloc(BATCH, sizeof(*keys));
	wdr_free_ uint64_t *vals = calloc(BATCH, sizeof(*vals));
	int fd = wdr_kern_map_fd(k, WDR_MAP_FLOWS), r = 0;
	uint32_t in = 0, out, n, i, asked;
	bool first = true;

	/* No memory: they go when their place is needed. */
	for (asked = 0; keys && vals && fd >= 0 && !r && asked < WDR_FLOWS_MAX; asked += BATCH) {
		n = BATCH;
		r = bpf_map_lookup_batch(fd, first ? NULL : &in, &out, keys, vals, &n, NULL);
		for (i = 0; (!r || r == -ENOENT) && i < n; i++) {
			if (keys[i].job == job)
				(void)bpf_map_delete_elem(fd, &keys[i]);
		}
		in = out;
		first = false;
	}
}

static int compare_addrs(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct wdr_egress_addr));
}

/* Forget what is in the map and not among @addrs. */
static uint32_t forget_hosts(int fd, const struct wdr_egress_addr *addrs, size_t n)
{
	struct wdr_egress_addr key, next;
	const void *at = NULL;
	uint32_t kept = 0;

	while (!bpf_map_get_next_key(fd, at, &next)) {
		if (at && !bsearch(&key, addrs, n, sizeof(*addrs), compare_addrs))
			(void)bpf_map_delete_elem(fd, &key);
		kept += !!bsearch(&next, addrs, n, sizeof(*addrs), compare_addrs);
		key = next;
		at = &key;
	}
	if (at && !bsearch(&key, addrs, n, sizeof(*addrs), compare_addrs))
		(void)bpf_map_delete_elem(fd, &key);
	return kept;
}

int wdr_kern_hosts(struct wdr_kern *k, const struct wdr_egress_addr *addrs, size_t n,
		   struct wdr_err *err)
{
	wdr_free_ struct wdr_egress_addr *sorted = NULL;
	wdr_close_ int lock = -1;
	int fd = wdr_kern_map_fd(k, WDR_MAP_HOSTS), r;
	uint32_t one = 1, there;
	size_t i, added = 0;

	if (fd < 0)
		return wdr_err_set(err, fd, "open wdr_hosts: %s", strerror(-fd));
	if (n > WDR_EGRESS_MAX_HOSTS)
		return wdr_err_set(err, -ENOSPC, "this host has %zu addresses, at most %d fit", n,
				   WDR_EGRESS_MAX_HOSTS);
	r = wdr_kern_lock_current(k, &lock, err);
	if (r < 0)
		return r;
	for (i = 0; i < n; i++) {
		if (!bpf_map_lookup_elem(fd, &addrs[i], &there))
			continue;
		r = bpf_map_update_elem(fd, &addrs[i], &one, BPF_ANY);
		if (r < 0)
			return wdr_kern_table_err(err, r,
						  "enter this host's address into wdr_hosts");
		added++;
	}
	k->shared->n_hosts += (uint32_t)added;
	if (k->shared->n_hosts == n)
		return 0;
	sorted = calloc(n ? n : 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, addrs, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_addrs);
	k->shared->n_hosts = forget_hosts(fd, sorted, n);
	return 0;
}
