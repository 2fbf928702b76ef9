/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine's cgroups really do, found by making one, limiting it and killing in it. */
#include "cgroup_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define DEATH_MS 1000

#define COVERS                                                                      \
	(WDR_PROT_BIT(WDR_PROT_MEMORY_LIMIT) | WDR_PROT_BIT(WDR_PROT_SWAP_LIMIT) |  \
	 WDR_PROT_BIT(WDR_PROT_PIDS_LIMIT) | WDR_PROT_BIT(WDR_PROT_CPU_LIMIT) |     \
	 WDR_PROT_BIT(WDR_PROT_CGROUP_ENTRY) | WDR_PROT_BIT(WDR_PROT_CGROUP_KILL) | \
	 WDR_PROT_BIT(WDR_PROT_OOM_EVENTS))

struct probe {
	struct wdr_check_report *rep;
	struct wdr_cgroup *cg;
	pid_t pid;
};

static void record(struct wdr_check_report *rep, enum wdr_protection p, int r,
		   const struct wdr_err *err)
{
	if (!r)
		wdr_check_yes(rep, p, "%s", "");
	else
		wdr_check_no(rep, p, "%s", err->code ? err->msg : strerror(-r));
}

/* A process that only waits, born inside the cgroup. */
static int try_entry(struct probe *p, struct wdr_err *err)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)wdr_cgroup_entry_fd(p->cg),
	};
	pid_t pid;

	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return wdr_err_set(err, -errno, "clone3 into a cgroup: %s", strerror(errno));
	if (!pid) {
		if (wdr_cgroup_enter(p->cg) < 0)
			_exit(1);
		for (;;)
			(void)pause();
	}
	p->pid = pid;
	return 0;
}

static int try_kill(struct probe *p, struct wdr_err *err)
{
	int r, status = 0;

	if (p->pid <= 0)
		return wdr_err_set(err, -ESRCH, "no process could be started in a cgroup");
	r = wdr_cgroup_kill(p->cg);
	if (r < 0)
		return wdr_err_set(err, r, "kill a cgroup: %s", strerror(-r));
	if (waitpid(p->pid, &status, 0) == p->pid)
		p->pid = 0;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		return wdr_err_set(err, -EIO, "a process in a killed cgroup ended otherwise");
	return 0;
}

static int try_oom(struct probe *p, struct wdr_err *err)
{
	uint32_t events;
	int r;

	r = wdr_cgroup_oom_fd(p->cg, &events);
	if (r < 0)
		return wdr_err_set(err, r, "the memory controller tells of no OOM kill: %s",
				   strerror(-r));
	return 0;
}

static void try_limits(struct probe *p)
{
	static const struct {
		enum wdr_protection prot;
		struct wdr_cgroup_limits l;
	} rows[] = {
		{ WDR_PROT_MEMORY_LIMIT, { UINT64_C(64) << 20, UINT64_MAX, UINT64_MAX, 0 } },
		{ WDR_PROT_SWAP_LIMIT, { UINT64_C(64) << 20, 0, UINT64_MAX, 0 } },
		{ WDR_PROT_PIDS_LIMIT, { UINT64_MAX, UINT64_MAX, 64, 0 } },
		{ WDR_PROT_CPU_LIMIT, { UINT64_MAX, UINT64_MAX, UINT64_MAX, 0.5 } },
	};
	struct wdr_err err;
	size_t i;
	int r;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		err = (struct wdr_err){ 0 };
		r = wdr_cgroup_limits_set(p->cg, &rows[i].l, 0, &err);
		record(p->rep, rows[i].prot, r, &err);
	}
}

static void try_all(struct probe *p)
{
	static const struct {
		enum wdr_protection prot;
		int (*try)(struct probe *p, struct wdr_err *err);
	} rows[] = {
		{ WDR_PROT_OOM_EVENTS, try_oom },
		{ WDR_PROT_CGROUP_ENTRY, try_entry },
		{ WDR_PROT_CGROUP_KILL, try_kill },
	};
	struct wdr_err err;
	size_t i;
	int r;

	try_limits(p);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		err = (struct wdr_err){ 0 };
		r = rows[i].try(p, &err);
		record(p->rep, rows[i].prot, r, &err);
	}
	if (p->pid > 0) {
		(void)kill(p->pid, SIGKILL);
		(void)waitpid(p->pid, NULL, 0);
	}
}

/* Without a cgroup to try in, everything fails for that one reason. */
static void record_none(struct wdr_check_report *rep, int r, const struct wdr_err *err)
{
	int i;

	for (i = 0; i < _WDR_PROT_MAX; i++)
		if (COVERS & WDR_PROT_BIT(i))
			record(rep, (enum wdr_protection)i, r, err);
}

void wdr_cgroup_check(struct wdr_cgroup_tree *t, struct wdr_check_report *rep)
{
	static const struct wdr_cgroup_limits none = { UINT64_MAX, UINT64_MAX, UINT64_MAX, 0 };
	wdr_cgroup_ struct wdr_cgroup *cg = NULL;
	struct probe p = { .rep = rep };
	struct wdr_err err = { 0 };
	uint64_t cpu_ns;
	char name[32];
	int r;

	(void)snprintf(name, sizeof(name), "probe-%d", (int)getpid());
	r = wdr_cgroup_new(t, name, &none, 0, &cg, &err);
	if (r < 0) {
		record_none(rep, r, &err);
		return;
	}
	p.cg = cg;
	try_all(&p);
	if (wdr_cgroup_cpu_ns(cg, &cpu_ns) == 0)
		wdr_check_stand_in(rep, WDR_PROT_CPU_BUDGET,
				   "by the supervisor, not by the kernel");
	(void)!wdr_cgroup_remove(cg, DEATH_MS, NULL);
}

static void probe_machine(struct wdr_check_report *rep)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	struct wdr_err err = { 0 };
	int r;

	r = wdr_cgroup_tree_new(NULL, &t, &err);
	if (r < 0) {
		record_none(rep, r, &err);
		return;
	}
	wdr_cgroup_check(t, rep);
}

const struct wdr_probe wdr_cgroup_probe = { "cgroup", COVERS, 0, probe_machine };
