/* SPDX-License-Identifier: Apache-2.0 */
#include "job/probe.h"

#include <string.h>
#include <unistd.h>

#include "cgroup/cgroup.h"
#include "kern/kern.h"

#define S_NS	  UINT64_C(1000000000)
#define REMOVE_MS 1000

/* No destination at all; nothing is ever sent. */
static const struct wdr_egress_key no_keys[1];
static const struct wdr_egress_entry no_entries[1];
static const struct wdr_egress_row no_rows[1];
static const struct wdr_kern_policy nowhere = {
	.head = { .def = WDR_ACT_DENY, .private = WDR_ACT_DENY },
	.keys = no_keys,
	.entries = no_entries,
	.rows = no_rows,
};

/* What a job asks for that has this protection. The heartbeat is part of them all. */
static const struct {
	enum wdr_protection prot;
	struct wdr_kern_ask ask;
} rows[] = {
	{ WDR_PROT_EGRESS_SOCKET, { .netns = true, .policy = &nowhere } },
	{ WDR_PROT_EGRESS_PACKET, { .policy = &nowhere } },
	{ WDR_PROT_CPU_BUDGET, { .netns = true, .cpu_budget_ns = S_NS } },
	{ WDR_PROT_DETECT_CPU,
	  { .netns = true,
	    .cpu_window_ns = S_NS,
	    .cpu_max_ns = UINT64_MAX,
	    .cpu_act = WDR_CPU_ALERT } },
	{ WDR_PROT_SYSCALL_COUNT, { .netns = true, .count = true } },
	{ WDR_PROT_PROC_EVENTS, { .netns = true, .proc = true } },
	{ WDR_PROT_HEARTBEAT, { .netns = true } },
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))
#define COVERS                                                                         \
	(WDR_PROT_BIT(WDR_PROT_EGRESS_SOCKET) | WDR_PROT_BIT(WDR_PROT_EGRESS_PACKET) | \
	 WDR_PROT_BIT(WDR_PROT_CPU_BUDGET) | WDR_PROT_BIT(WDR_PROT_DETECT_CPU) |       \
	 WDR_PROT_BIT(WDR_PROT_SYSCALL_COUNT) | WDR_PROT_BIT(WDR_PROT_PROC_EVENTS) |   \
	 WDR_PROT_BIT(WDR_PROT_HEARTBEAT))

static int try_row(size_t i, struct wdr_kern *k, int cgroup_fd, struct wdr_err *err)
{
	struct wdr_kern_ask ask = rows[i].ask;
	struct wdr_kern_slot *s = NULL;
	int r;

	if (!(wdr_kern_can(k) & WDR_PROT_BIT(rows[i].prot))) {
		wdr_kern_why_not(k, rows[i].prot, err);
		return err->code;
	}
	ask.cgroup_fd = cgroup_fd;
	ask.on_denied = WDR_DENIED_DROP;
	r = wdr_kern_slot_new(k, &ask, &s, err);
	wdr_kern_slot_drop(&s);
	return r;
}

static void record(struct wdr_check_report *rep, size_t i, int r, const struct wdr_err *err)
{
	if (r == 0)
		wdr_check_yes(rep, rows[i].prot, "%s", "");
	else
		wdr_check_no(rep, rows[i].prot, "%s", err->code ? err->msg : strerror(-r));
}

/* Opening loads and pins what is not there yet: what a first job would do. */
static int begin(struct wdr_kern **k, struct wdr_cgroup_tree **t, struct wdr_cgroup **cg,
		 struct wdr_err *err)
{
	static const struct wdr_cgroup_limits none = { UINT64_MAX, UINT64_MAX, UINT64_MAX, 0 };
	char name[32];
	int r;

	(void)snprintf(name, sizeof(name), "probe-kern-%d", (int)getpid());
	r = wdr_kern_open(NULL, k, err);
	if (r == 0)
		r = wdr_kern_join(*k, err);
	if (r == 0)
		r = wdr_cgroup_tree_new(NULL, t, err);
	return r < 0 ? r : wdr_cgroup_new(*t, name, &none, 0, cg, err);
}

static void run_probe(struct wdr_check_report *rep)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	wdr_cgroup_ struct wdr_cgroup *cg = NULL;
	wdr_kern_ struct wdr_kern *k = NULL;
	struct wdr_err none = { 0 };
	int all = begin(&k, &t, &cg, &none);

	for (size_t i = 0; i < N_ROWS; i++) {
		struct wdr_err err = { 0 };
		int r = all < 0 ? all : try_row(i, k, wdr_cgroup_entry_fd(cg), &err);

		record(rep, i, r, all < 0 ? &none : &err);
	}
	if (k)
		wdr_kern_leave(k);
	if (cg)
		(void)!wdr_cgroup_remove(cg, REMOVE_MS, NULL);
}

const struct wdr_probe wdr_job_kernel_probe = { "kern", COVERS, 0, run_probe };
