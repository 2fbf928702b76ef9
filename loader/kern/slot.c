/* SPDX-License-Identifier: Apache-2.0 */
/* One job's place: filled before the job runs, read when it is over, emptied for the next. */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static uint32_t flags_of(const struct wdr_kern_ask *ask)
{
	return (ask->policy ? WDR_SLOT_EGRESS : 0u) | (ask->netns ? WDR_SLOT_NETNS : 0u) |
	       (ask->raw ? WDR_SLOT_RAW : 0u) | (ask->contain ? WDR_SLOT_CONTAIN : 0u) |
	       (ask->count ? WDR_SLOT_COUNT : 0u) | (ask->proc ? WDR_SLOT_PROC : 0u) |
	       (ask->sigsys ? WDR_SLOT_SIGSYS : 0u) |
	       (ask->tell_sockets ? WDR_SLOT_TELL_SOCKETS : 0u) |
	       (ask->tell_flows ? WDR_SLOT_TELL_FLOWS : 0u);
}

static int need_cells(struct wdr_kern *k, uint32_t n, struct wdr_err *err)
{
	int r;

	r = wdr_kern_need(k, WDR_MAP_SLOTS, n);
	if (r >= 0)
		r = wdr_kern_need(k, WDR_MAP_LIVE, n);
	return r < 0 ? wdr_err_set(err, r, "map the job's slot: %s", strerror(-r)) : 0;
}

/* The cells of slot @n, and the cgroup's way to it. */
static int fill_slot(struct wdr_kern *k, uint32_t n, const struct wdr_kern_ask *ask,
		     uint64_t cgroup, uint32_t policy, struct wdr_err *err)
{
	struct wdr_slot *slot = &k->slots[n];
	int r;

	*slot = (struct wdr_slot){
		.cgroup = cgroup,
		.flags = flags_of(ask),
		.policy = policy,
		.sup = k->sup,
		.on_denied = (uint8_t)ask->on_denied,
		.cpu_budget_ns = ask->cpu_budget_ns,
		.cpu_window_ns = ask->cpu_window_ns,
		.cpu_max_ns = ask->cpu_max_ns,
		.cpu_act = ask->cpu_window_ns ? (uint8_t)ask->cpu_act : 0,
	};
	memset(&k->live[n], 0, sizeof(k->live[n]));
	wdr_kern_bit_set(k->shared->slots_used, n, true);
	__atomic_store_n(&slot->job, ++k->shared->next_job, __ATOMIC_RELEASE);
	r = bpf_map_update_elem(wdr_kern_map_fd(k, WDR_MAP_CGROUPS), &cgroup, &n, BPF_ANY);
	if (r < 0)
		return wdr_kern_table_err(err, r, "enter the job's cgroup into wdr_cgroups");
	return 0;
}

static int attach_network(struct wdr_kern *k, uint32_t n, const struct wdr_kern_ask *ask,
			  struct wdr_err *err)
{
	wdr_close_ int parent = -1;
	struct stat st;
	int r;

	if (!ask->policy && ask->netns)
		return 0; /* nowhere to go */
	parent = openat(ask->cgroup_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0 || fstat(parent, &st) < 0)
		return wdr_err_set(err, -errno, "open the parent of the job's cgroup: %s",
				   strerror(errno));
	r = wdr_kern_attach_parent(k, parent, st.st_ino, err);
	if (r < 0 || ask->netns)
		return r;
	return wdr_kern_attach_job(k, ask->cgroup_fd, k->slots[n].job, err);
}

/* What this process holds for a slot: rows, links, perf events. */
static int start_own(struct wdr_kern_slot *s, int cgroup_fd, struct wdr_err *err)
{
	uint32_t flags = s->kern_ref->slots[s->n].flags;
	int r;

	r = wdr_kern_counts_start(s, err);
	if (r >= 0)
		r = wdr_kern_trace_start(s, flags, err);
	if (r >= 0)
		r = wdr_kern_cpu_start(s, cgroup_fd, err);
	return r;
}

static void stop_own(struct wdr_kern_slot *s)
{
	wdr_kern_cpu_stop(s);
	wdr_kern_trace_stop(s);
	wdr_closep(&s->counts_fd);
}

static int take_slot(struct wdr_kern_slot *s, const struct wdr_kern_ask *ask, int *lock,
		     struct wdr_err *err)
{
	struct wdr_kern *k = s->kern_ref;
	uint32_t policy = 0;
	struct stat st;
	int r;

	if (fstat(ask->cgroup_fd, &st) < 0)
		return wdr_err_set(err, -errno, "look at the job's cgroup: %s", strerror(errno));
	if (ask->policy) {
		r = wdr_kern_policy_use(k, ask->policy, lock, &policy, err);
		if (r < 0)
			return r;
	}
	s->n = wdr_kern_bit_find(k->shared->slots_used, 1, WDR_SLOTS_MAX);
	if (!s->n)
		return wdr_err_set(err, -ENOSPC, "%d jobs run already", WDR_SLOTS_MAX - 1);
	r = need_cells(k, s->n, err);
	if (r < 0)
		return r;
	r = fill_slot(k, s->n, ask, st.st_ino, policy, err);
	s->job = k->slots[s->n].job;
	if (r >= 0)
		r = attach_network(k, s->n, ask, err);
	if (r >= 0)
		r = start_own(s, ask->cgroup_fd, err);
	if (r < 0) {
		stop_own(s);
		wdr_kern_slot_clear(k, s->n);
	}
	return r;
}

static struct wdr_kern_slot *new_handle(struct wdr_kern *k, void *user)
{
	struct wdr_kern_slot *s;
	unsigned int p;

	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->kern_ref = k;
	s->user = user;
	s->counts_fd = -1;
	for (p = 0; p < _WDR_PROG_MAX; p++)
		s->link_fd[p] = -1;
	return s;
}

static void link_handle(struct wdr_kern_slot *s)
{
	s->next = s->kern_ref->first;
	s->kern_ref->first = s;
}

int wdr_kern_slot_new(struct wdr_kern *k, const struct wdr_kern_ask *ask,
		      struct wdr_kern_slot **ret, struct wdr_err *err)
{
	wdr_free_ struct wdr_kern_slot *s = NULL;
	wdr_close_ int lock = -1;
	int r;

	if (!k->sup)
		return wdr_err_set(err, -ENOTCONN, "not a supervisor");
	s = new_handle(k, ask->user);
	if (!s)
		return -ENOMEM;
	r = wdr_kern_lock_current(k, &lock, err);
	if (r < 0)
		return r;
	r = take_slot(s, ask, &lock, err);
	if (r < 0)
		return r;
	link_handle(s);
	*ret = WDR_TAKE_PTR(s);
	return 0;
}

void wdr_kern_slot_init_pid(struct wdr_kern_slot *s, pid_t pid)
{
	uint32_t first = wdr_kern_first_pid(s->kern_ref, pid);

	__atomic_store_n(&s->kern_ref->slots[s->n].init_pid, first, __ATOMIC_RELAXED);
}

uint32_t wdr_kern_slot_first_pid(const struct wdr_kern_slot *s)
{
	return s->kern_ref->slots[s->n].init_pid;
}

/*
 * A container of an engine comes into a network namespace that others may be in. To whom an interface
 * belongs must not depend on who came last; one with our filters that is nobody's was given up.
 */
static int check_free(struct wdr_kern *k, uint32_t n, uint32_t ifindex, struct wdr_err *err)
{
	uint32_t had = 0;
	int r = bpf_map_lookup_elem(wdr_kern_map_fd(k, WDR_MAP_IFACES), &ifindex, &had);

	if (r < 0 && r != -ENOENT)
		return wdr_kern_table_err(err, r, "look into wdr_ifaces");
	if (r == 0 && had == n)
		return 0;
	had %= WDR_SLOTS_MAX;
	r = wdr_kern_need(k, WDR_MAP_SLOTS, had);
	if (r < 0)
		return wdr_err_set(err, r, "map another job's slot: %s", strerror(-r));
	if (had && k->slots[had].job)
		return wdr_err_set(err, -EBUSY,
				   "interface %u is held to the policy of another container "
				   "in this network namespace: it can have one",
				   ifindex);
	if (wdr_kern_has_filter(ifindex))
		return wdr_err_set(err, -EUCLEAN,
				   "interface %u is closed: a container that had it may live on",
				   ifindex);
	return 0;
}

static int link_iface(struct wdr_kern_slot *s, uint32_t ifindex, struct wdr_err *err)
{
	struct wdr_kern *k = s->kern_ref;
	struct wdr_slot *slot = &k->slots[s->n];
	int r = slot->flags & WDR_SLOT_CONTAIN ? check_free(k, s->n, ifindex, err) : 0;

	if (r < 0)
		return r;
	/* First, so that whoever sweeps knows what to look for. */
	slot->ifindex = ifindex;
	slot->n_ifaces += slot->n_ifaces < UINT8_MAX;
	r = bpf_map_update_elem(wdr_kern_map_fd(k, WDR_MAP_IFACES), &ifindex, &s->n, BPF_ANY);
	if (r < 0)
		return wdr_kern_table_err(err, r, "enter the job's interface into wdr_ifaces");
	return wdr_kern_attach_iface(k, ifindex, err);
}

int wdr_kern_slot_link(struct wdr_kern_slot *s, unsigned int ifindex,
		       const struct wdr_egress_addr *self4, const struct wdr_egress_addr *self6,
		       struct wdr_err *err)
{
	struct wdr_slot *slot = &s->kern_ref->slots[s->n];
	wdr_close_ int lock = -1;
	int r = 0;

	if (self4)
		memcpy(slot->self[0], self4->addr, sizeof(slot->self[0]));
	if (self6)
		memcpy(slot->self[1], self6->addr, sizeof(slot->self[1]));
	/* The interface of any other job is its own, and needs not wait for others. */
	if (slot->flags & WDR_SLOT_CONTAIN)
		r = wdr_kern_lock_current(s->kern_ref, &lock, err);
	return r < 0 ? r : link_iface(s, ifindex, err);
}

int wdr_kern_reopen(struct wdr_kern *k, unsigned int ifindex, struct wdr_err *err)
{
	wdr_close_ int lock = -1;
	int r = wdr_kern_lock_current(k, &lock, err);
	uint32_t had;

	if (r < 0)
		return r;
	if (bpf_map_lookup_elem(wdr_kern_map_fd(k, WDR_MAP_IFACES), &ifindex, &had) == -ENOENT)
		wdr_kern_detach_iface(ifindex);
	return 0;
}

void wdr_kern_slot_unlink(struct wdr_kern_slot *s)
{
	struct wdr_kern *k = s->kern_ref;
	wdr_close_ int lock = -1;

	if (wdr_kern_lock_current(k, &lock, NULL) >= 0 && k->slots[s->n].job == s->job)
		wdr_kern_ifaces_drop(k, s->n, true);
}

void wdr_kern_slot_live(const struct wdr_kern_slot *s, struct wdr_live *ret)
{
	*ret = s->kern_ref->live[s->n];
}

void wdr_kern_slot_clear(struct wdr_kern *k, uint32_t n)
{
	struct wdr_slot *slot = &k->slots[n];
	uint64_t job = slot->job, cgroup = slot->cgroup;
	uint32_t policy = slot->policy % WDR_SLOTS_MAX;

	/* Killed anywhere here, a sweep finds what it needs to go on. */
	(void)bpf_map_delete_elem(wdr_kern_map_fd(k, WDR_MAP_CGROUPS), &cgroup);
	if (job)
		wdr_kern_detach_job(k, job);
	__atomic_store_n(&slot->job, 0, __ATOMIC_RELEASE);
	wdr_kern_ifaces_drop(k, n, false);
	wdr_kern_denials_drop(k, n);
	if (k->live[n].out_packets)
		wdr_kern_flows_drop(k, job);
	if (policy && wdr_kern_need(k, WDR_MAP_POLICIES, policy) >= 0)
		k->policies[policy].used_ns = wdr_kern_now_ns();
	memset(slot, 0, sizeof(*slot));
	wdr_kern_bit_set(k->shared->slots_used, n, false);
	wdr_kern_policy_trim(k);
}

void wdr_kern_slot_drop(struct wdr_kern_slot **sp)
{
	struct wdr_kern_slot *s = *sp, **at;
	struct wdr_kern *k = s ? s->kern_ref : NULL;
	wdr_close_ int lock = -1;

	*sp = NULL;
	if (!s)
		return;
	for (at = &k->first; *at; at = &(*at)->next) {
		if (*at == s) {
			*at = s->next;
			break;
		}
	}
	stop_own(s);
	/* Without the lock the slot stays for a sweep. */
	if (wdr_kern_lock_current(k, &lock, NULL) >= 0 && k->slots[s->n].job == s->job)
		wdr_kern_slot_clear(k, s->n);
	free(s);
}

/* The slot of the job in @cgroup_fd, under the lock. */
static int find_slot(struct wdr_kern *k, int cgroup_fd, uint32_t *ret, struct wdr_err *err)
{
	struct stat st;
	uint64_t id;
	int r;

	if (fstat(cgroup_fd, &st) < 0)
		return wdr_err_set(err, -errno, "look at the job's cgroup: %s", strerror(errno));
	id = st.st_ino;
	r = bpf_map_lookup_elem(wdr_kern_map_fd(k, WDR_MAP_CGROUPS), &id, ret);
	if (r < 0)
		return wdr_err_set(err, r, "no job is known in this cgroup");
	*ret %= WDR_SLOTS_MAX;
	return need_cells(k, *ret, err);
}

int wdr_kern_slot_look(struct wdr_kern *k, int cgroup_fd, struct wdr_kern_slot **ret,
		       struct wdr_err *err)
{
	wdr_free_ struct wdr_kern_slot *s = new_handle(k, NULL);
	wdr_close_ int lock = -1;
	int r;

	if (!s)
		return -ENOMEM;
	r = wdr_kern_lock_current(k, &lock, err);
	if (r == 0)
		r = find_slot(k, cgroup_fd, &s->n, err);
	if (r < 0)
		return r;
	s->job = k->slots[s->n].job;
	*ret = WDR_TAKE_PTR(s);
	return 0;
}

void wdr_kern_slot_unlook(struct wdr_kern_slot **s)
{
	wdr_freep(s);
}

int wdr_kern_slot_adopt(struct wdr_kern *k, int cgroup_fd, void *user, struct wdr_kern_slot **ret,
			struct wdr_err *err)
{
	wdr_free_ struct wdr_kern_slot *s = NULL;
	wdr_close_ int lock = -1;
	struct wdr_slot *slot;
	uint32_t n;
	int r;

	if (!k->sup)
		return wdr_err_set(err, -ENOTCONN, "not a supervisor");
	s = new_handle(k, user);
	if (!s)
		return -ENOMEM;
	r = wdr_kern_lock_current(k, &lock, err);
	if (r == 0)
		r = find_slot(k, cgroup_fd, &n, err);
	if (r < 0)
		return r;
	slot = &k->slots[n];
	if (slot->sup != k->sup && wdr_kern_sup_alive(&k->sups[slot->sup % WDR_SUPS_MAX]))
		return wdr_err_set(err, -EBUSY, "the job's supervisor, pid %u, is alive",
				   k->sups[slot->sup % WDR_SUPS_MAX].pid);
	s->n = n;
	s->job = slot->job;
	slot->sup = k->sup;
	r = start_own(s, cgroup_fd, err);
	if (r < 0) {
		stop_own(s);
		return r;
	}
	link_handle(s);
	*ret = WDR_TAKE_PTR(s);
	return 0;
}
