/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU budget as long as no kernel program keeps it: the supervisor reads the cgroup's clock. */
#include <string.h>

#include "cgroup/cgroup.h"
#include "cli/check.h"

#define WAIT_MS 1000

static int read_clock(struct wdr_cgroup_tree *t, struct wdr_err *err)
{
	static const struct wdr_cgroup_limits none = { UINT64_MAX, UINT64_MAX, UINT64_MAX, 0 };
	wdr_cgroup_ struct wdr_cgroup *cg = NULL;
	struct wdr_err ignored = { 0 };
	char name[32];
	uint64_t ns;
	int r;

	(void)snprintf(name, sizeof(name), "probe-cpu-%d", (int)getpid());
	r = wdr_cgroup_new(t, name, &none, 0, &cg, err);
	if (r < 0)
		return r;
	r = wdr_cgroup_cpu_ns(cg, &ns);
	if (r < 0)
		(void)wdr_err_wrap(err, r, "read the CPU time of a cgroup");
	(void)!wdr_cgroup_remove(cg, WAIT_MS, &ignored);
	return r;
}

static void probe(struct wdr_check_report *rep)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	struct wdr_err err = { 0 };
	int r;

	r = wdr_cgroup_tree_new(NULL, &t, &err);
	if (r == 0)
		r = read_clock(t, &err);
	if (r < 0)
		wdr_check_no(rep, WDR_PROT_CPU_BUDGET, "%s", err.code ? err.msg : strerror(-r));
	else
		wdr_check_yes(rep, WDR_PROT_CPU_BUDGET, "by the supervisor, not by the kernel");
}

const struct wdr_probe wdr_cpu_probe = { "cpu", WDR_PROT_BIT(WDR_PROT_CPU_BUDGET), probe };
