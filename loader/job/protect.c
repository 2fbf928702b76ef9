/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before anything is made: which protections does this policy ask for, and which of them can't be
 * had? One that is missing is a refusal, or with --allow-degraded a line in the result.
 */
#include <errno.h>
#include <string.h>

#include "base/wdr_log.h"
#include "job/job_priv.h"
#include "native/landlock.h"

static bool always(const struct wdr_policy *p)
{
	(void)p;
	return true;
}

static bool own_net(const struct wdr_policy *p)
{
	return p->net.mode != WDR_NET_HOST;
}

static bool has_mounts(const struct wdr_policy *p)
{
	return p->fs.n_mounts > 0 || p->fs.root;
}

static bool limits_memory(const struct wdr_policy *p)
{
	return p->limits.memory_bytes != WDR_UNLIMITED;
}

static bool limits_swap(const struct wdr_policy *p)
{
	return limits_memory(p) && p->limits.swap_bytes != WDR_UNLIMITED;
}

static bool limits_pids(const struct wdr_policy *p)
{
	return p->limits.pids != WDR_UNLIMITED;
}

static bool limits_cpus(const struct wdr_policy *p)
{
	return p->limits.cpus > 0;
}

static bool limits_cpu(const struct wdr_policy *p)
{
	return p->limits.cpu_ns != WDR_UNLIMITED;
}

static bool limits_disk(const struct wdr_policy *p)
{
	return p->limits.disk_bytes != WDR_UNLIMITED;
}

static bool filters_egress(const struct wdr_policy *p)
{
	return p->net.mode != WDR_NET_NONE;
}

static bool counts_syscalls(const struct wdr_policy *p)
{
	return p->syscalls.count;
}

static bool detects_cpu(const struct wdr_policy *p)
{
	return p->detect.cpu_action != WDR_DETECT_OFF;
}

static bool detects_mining(const struct wdr_policy *p)
{
	return p->detect.mining_action != WDR_DETECT_OFF;
}

static const struct {
	enum wdr_protection protection;
	bool (*asked)(const struct wdr_policy *p);
} asks[] = {
	{ WDR_PROT_USER_NS, always },
	{ WDR_PROT_MOUNT_NS, always },
	{ WDR_PROT_PID_NS, always },
	{ WDR_PROT_NET_NS, own_net },
	{ WDR_PROT_IPC_NS, always },
	{ WDR_PROT_UTS_NS, always },
	{ WDR_PROT_CGROUP_NS, always },
	{ WDR_PROT_TIME_NS, always },
	{ WDR_PROT_HOST_UID, always },
	{ WDR_PROT_IDMAP, has_mounts },
	{ WDR_PROT_PIVOT_ROOT, always },
	{ WDR_PROT_MASKED_PATHS, always },
	{ WDR_PROT_NO_NEW_PRIVS, always },
	{ WDR_PROT_CAPABILITIES, always },
	{ WDR_PROT_SECCOMP, always },
	{ WDR_PROT_LANDLOCK, always },
	{ WDR_PROT_RLIMITS, always },
	{ WDR_PROT_KEYRING, always },
	{ WDR_PROT_CGROUP_ENTRY, always },
	{ WDR_PROT_CGROUP_KILL, always },
	{ WDR_PROT_MEMORY_LIMIT, limits_memory },
	{ WDR_PROT_SWAP_LIMIT, limits_swap },
	{ WDR_PROT_PIDS_LIMIT, limits_pids },
	{ WDR_PROT_CPU_LIMIT, limits_cpus },
	{ WDR_PROT_OOM_EVENTS, limits_memory },
	{ WDR_PROT_CPU_BUDGET, limits_cpu },
	{ WDR_PROT_DISK_LIMIT, limits_disk },
	{ WDR_PROT_EGRESS_SOCKET, filters_egress },
	{ WDR_PROT_EGRESS_PACKET, filters_egress },
	{ WDR_PROT_SYSCALL_COUNT, counts_syscalls },
	{ WDR_PROT_HEARTBEAT, filters_egress },
	{ WDR_PROT_DETECT_CPU, detects_cpu },
	{ WDR_PROT_DETECT_MINING, detects_mining },
};

/* Those that hang on a cgroup of the job's own. */
#define ON_CGROUP                                                                   \
	(WDR_PROT_BIT(WDR_PROT_CGROUP_ENTRY) | WDR_PROT_BIT(WDR_PROT_CGROUP_KILL) | \
	 WDR_PROT_BIT(WDR_PROT_MEMORY_LIMIT) | WDR_PROT_BIT(WDR_PROT_SWAP_LIMIT) |  \
	 WDR_PROT_BIT(WDR_PROT_PIDS_LIMIT) | WDR_PROT_BIT(WDR_PROT_CPU_LIMIT) |     \
	 WDR_PROT_BIT(WDR_PROT_OOM_EVENTS) | WDR_PROT_BIT(WDR_PROT_CPU_BUDGET))

/* Those that are the kernel side's. The CPU budget is its too, but has a stand-in: the supervisor. */
#define ON_KERNEL                                                                      \
	(WDR_PROT_BIT(WDR_PROT_EGRESS_SOCKET) | WDR_PROT_BIT(WDR_PROT_EGRESS_PACKET) | \
	 WDR_PROT_BIT(WDR_PROT_SYSCALL_COUNT) | WDR_PROT_BIT(WDR_PROT_DETECT_CPU) |    \
	 WDR_PROT_BIT(WDR_PROT_PROC_EVENTS) | WDR_PROT_BIT(WDR_PROT_HEARTBEAT))

struct lack {
	uint64_t missing;
	char why[_WDR_PROT_MAX][160];
};

static void lack(struct lack *l, uint64_t which, const char *why)
{
	for (int p = 0; p < _WDR_PROT_MAX; p++) {
		if (!(which & WDR_PROT_BIT(p)) || (l->missing & WDR_PROT_BIT(p)))
			continue;
		l->missing |= WDR_PROT_BIT(p);
		(void)snprintf(l->why[p], sizeof(l->why[p]), "%s", why);
	}
}

/* Everything but what only the start itself can find out: there each step names its failure. */
/* Which call seccomp killed for: told if it can be had; the verdict is the same without. */
static bool names_calls(const struct wdr_job *j)
{
	return j->o.policy->syscalls.on_deny == WDR_ON_SYSCALL_KILL;
}

static bool wants_kernel(const struct wdr_job *j, uint64_t asked, const struct lack *l)
{
	return names_calls(j) || asked & ~l->missing & ~j->o.backend->gives &
					 (ON_KERNEL | WDR_PROT_BIT(WDR_PROT_CPU_BUDGET));
}

/* Between the two, `warder unload` may have removed what was opened: then once more. */
static int open_kernel(struct wdr_job *j, struct wdr_err *err)
{
	int r = -ESTALE;

	for (int i = 0; i < 2 && r == -ESTALE; i++) {
		struct wdr_err e = { 0 };

		wdr_kern_freep(&j->kern);
		r = wdr_kern_open(NULL, &j->kern, &e);
		if (r == 0)
			r = wdr_kern_sweep(j->kern, wdr_cgroup_tree_fd(j->tree), &e);
		if (r < 0)
			*err = e;
	}
	return r < 0 ? r : 0;
}

/* With nothing of the kernel side left, j->tree stays NULL: the job goes to the plain folder. */
static void find_kernel_lacks(struct wdr_job *j, uint64_t asked, struct lack *l)
{
	struct wdr_err err = { 0 };
	int r;

	r = wdr_cgroup_tree_new(NULL, &j->tree, &err);
	if (r == 0)
		r = open_kernel(j, &err);
	if (r < 0) {
		(void)wdr_err_wrap(&err, r, "kernel side");
		lack(l, ON_KERNEL & ~j->o.backend->gives, err.msg);
		wdr_kern_freep(&j->kern);
	} else {
		lack(l, ON_KERNEL & ~wdr_kern_can(j->kern) & ~j->o.backend->gives,
		     "its program did not load: see warder check");
		j->kernel_budget = WDR_PROT_BIT(WDR_PROT_CPU_BUDGET) & asked & ~l->missing &
				   wdr_kern_can(j->kern);
	}
	if (j->kern && (j->kernel_budget || names_calls(j) || (asked & ON_KERNEL & ~l->missing)))
		return;
	wdr_kern_freep(&j->kern);
	wdr_cgroup_tree_freep(&j->tree);
}

static void find_lacks(struct wdr_job *j, uint64_t asked, struct lack *l)
{
	struct wdr_err err = { 0 };
	int r;

	lack(l, j->o.disabled, "turned off by WARDER_DISABLE");
	lack(l, WDR_PROT_BIT(WDR_PROT_DETECT_MINING), "this build has no detector for it");
	if (!j->spec.privileged)
		lack(l, WDR_PROT_BIT(WDR_PROT_HOST_UID), "only root can give a job its own uid");
	r = wdr_landlock_abi();
	if (r < 0)
		lack(l, WDR_PROT_BIT(WDR_PROT_LANDLOCK),
		     r == -EOPNOTSUPP ? "this kernel has no Landlock" : strerror(-r));
	if (!j->spec.privileged)
		lack(l, ON_KERNEL & ~j->o.backend->gives,
		     "only root may load programs into the kernel");
	else if (wants_kernel(j, asked, l))
		find_kernel_lacks(j, asked, l);
	if (j->tree)
		return;
	r = wdr_cgroup_tree_new_plain(NULL, &j->tree, &err);
	if (r < 0) {
		(void)wdr_err_wrap(&err, r, "cgroups");
		lack(l, ON_CGROUP, err.msg);
	}
}

static int refuse(const struct lack *l, uint64_t missing, struct wdr_err *err)
{
	char names[128];
	int first = 0;

	while (!(missing & WDR_PROT_BIT(first)))
		first++;
	return wdr_err_set(err, -EOPNOTSUPP,
			   "missing protection %s: %.100s; --allow-degraded runs without",
			   wdr_protection_list(missing, names, sizeof(names)), l->why[first]);
}

/* Of a guest, for what nothing on the host can see: @given are the protections that do it. */
static unsigned int what_to_tell(const struct wdr_job *j, uint64_t given)
{
	unsigned int tell = 0;

	if (given & WDR_PROT_BIT(WDR_PROT_SYSCALL_COUNT))
		tell |= WDR_TELL_CALLS;
	if (given & WDR_PROT_BIT(WDR_PROT_PROC_EVENTS))
		tell |= WDR_TELL_EXEC | WDR_TELL_NET;
	if (tell & WDR_TELL_EXEC && j->o.policy->audit_events & WDR_AUDIT_FILE)
		tell |= WDR_TELL_FILE;
	return tell;
}

uint64_t wdr_job_asks(const struct wdr_job *j, const struct wdr_policy *p)
{
	uint64_t asked = 0;

	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		if (asks[i].asked(p))
			asked |= WDR_PROT_BIT(asks[i].protection);
	}
	if (j->o.events_fd >= 0)
		asked |= WDR_PROT_BIT(WDR_PROT_PROC_EVENTS);
	return asked;
}

int wdr_job_check_protections(struct wdr_job *j, struct wdr_err *err)
{
	const uint64_t need_nnp = WDR_PROT_BIT(WDR_PROT_SECCOMP) | WDR_PROT_BIT(WDR_PROT_LANDLOCK);
	const uint64_t asked = wdr_job_asks(j, j->o.policy);
	struct lack l = { 0 };
	uint64_t missing;

	find_lacks(j, asked, &l);
	missing = asked & l.missing;
	if (missing && !j->o.allow_degraded)
		return refuse(&l, missing, err);
	if ((l.missing & WDR_PROT_BIT(WDR_PROT_NO_NEW_PRIVS)) && (need_nnp & ~l.missing))
		return wdr_err_set(err, -EINVAL,
				   "seccomp and landlock need no_new_privs: turn them off, too");
	j->spec.waived = l.missing;
	j->spec.tell = what_to_tell(j, j->o.backend->gives & asked & ~missing);
	j->result.prot_missing = missing;
	j->result.prot_on = asked & ~missing;
	return 0;
}
