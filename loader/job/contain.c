/* SPDX-License-Identifier: Apache-2.0 */
#include "job/contain.h"

#include "job/contain_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/wdr_io.h"
#include "base/wdr_log.h"
#include "cgroup/cgroup.h"
#include "job/kernel.h"
#include "job/peers.h"
#include "kern/kern.h"
#include "policy/compile.h"
#include "policy/policy.h"

#define MAX_PEERS 16

/* cgroup.procs of where this process was before, so that it can leave what it has to remove. */
static int g_home_fd = -1;

/* What this process has begun: a slot's supervisor is alive as long as we are, so no one adopts it. */
static struct wdr_kern *g_kern;
static struct wdr_kern_slot *g_slot;
static char g_name[256];

bool wdr_contain_is_hybrid(void)
{
	return access(WDR_CONTAIN_V2 "/cgroup.procs", F_OK) == 0;
}

int wdr_contain_place(int pid, char ret[WDR_CONTAIN_PATH_MAX])
{
	wdr_free_ char *text = NULL;
	char file[40];
	char *line;
	int r;

	(void)snprintf(file, sizeof(file), pid ? "/proc/%d/cgroup" : "/proc/self/cgroup", pid);
	r = wdr_read_file(AT_FDCWD, file, WDR_CONTAIN_PATH_MAX, &text, NULL);
	if (r < 0)
		return r;
	line = strstr(text, "0::/");
	if (!line)
		return -ENXIO;
	line[strcspn(line, "\n")] = '\0';
	(void)snprintf(ret, WDR_CONTAIN_PATH_MAX, "%s", line + 3);
	return 0;
}

static void remember_home(void)
{
	char place[WDR_CONTAIN_PATH_MAX], path[WDR_CONTAIN_PATH_MAX + 64];

	if (g_home_fd >= 0 || wdr_contain_place(0, place) < 0)
		return;
	(void)snprintf(path, sizeof(path), "%s%s/cgroup.procs",
		       wdr_contain_is_hybrid() ? WDR_CONTAIN_V2 : WDR_CONTAIN_CGROUPS, place);
	g_home_fd = open(path, O_WRONLY | O_CLOEXEC);
}

void wdr_contain_step_out(void)
{
	if (g_home_fd >= 0)
		(void)!write(g_home_fd, "0", 1);
}

/* What only a process that lives beside the container could do. */
static int check_policy(const struct wdr_policy *p, bool host_net, struct wdr_err *err)
{
	const struct {
		bool asked;
		const char *what, *why;
	} rows[] = {
		{ p->syscalls.count, "syscalls.count",
		  ": the host sees the calls of the sandbox, not those of its guest" },
		{ p->detect.cpu_action == WDR_DETECT_ALERT, "detect.cpu with action \"alert\"",
		  ": \"kill\" does not" },
		{ p->detect.cpu_action == WDR_DETECT_THROTTLE,
		  "detect.cpu with action \"throttle\"", ": \"kill\" does not" },
		{ p->detect.mining_action != WDR_DETECT_OFF, "detect.mining", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].asked)
			return wdr_err_set(
				err, -EOPNOTSUPP,
				"policy \"%s\": %s needs a supervisor, which a container "
				"of an engine does not have%s",
				p->name, rows[i].what, rows[i].why);
	}
	if (host_net && !wdr_contain_is_hybrid())
		return wdr_err_set(
			err, -EOPNOTSUPP,
			"policy \"%s\": a container in the host's network can't be held to "
			"rules where cgroup v2 alone is mounted: give it a network of its own",
			p->name);
	return 0;
}

static int enter_cgroup(struct wdr_cgroup_tree *t, const char *name, struct wdr_cgroup **ret,
			struct wdr_err *err)
{
	static const struct wdr_cgroup_limits none = { UINT64_MAX, UINT64_MAX, UINT64_MAX, 0 };
	int r;

	r = wdr_cgroup_new(t, name, &none, UINT64_MAX, ret, err);
	if (r < 0)
		return r;
	remember_home();
	r = wdr_write_file(wdr_cgroup_entry_fd(*ret), "cgroup.procs", "0");
	return r < 0 ? wdr_err_wrap(err, r, "enter cgroup %s", name) : 0;
}

/* What a container that nobody saw end has left closed is free when nobody is there any more. */
static int link_peer(struct wdr_kern_slot *slot, struct wdr_kern *k, unsigned int peer,
		     const char *netns, struct wdr_err *err)
{
	int r = wdr_kern_slot_link(slot, peer, NULL, NULL, err);

	if (r != -EUCLEAN || !wdr_job_netns_is_empty(netns))
		return r;
	if (err)
		*err = (struct wdr_err){ 0 };
	r = wdr_kern_reopen(k, peer, err);
	return r < 0 ? r : wdr_kern_slot_link(slot, peer, NULL, NULL, err);
}

/* Returns how many there were. */
static int link_peers(struct wdr_kern *k, struct wdr_kern_slot *slot, const char *netns,
		      struct wdr_err *err)
{
	unsigned int peers[MAX_PEERS];
	int n = wdr_job_find_peers(netns, peers, MAX_PEERS, err);
	int r = 0;

	for (int i = 0; r == 0 && i < n; i++)
		r = link_peer(slot, k, peers[i], netns, err);
	return r < 0 ? r : n;
}

static int judge(struct wdr_kern *k, const struct wdr_policy *p, int cgroup_fd, const char *netns,
		 bool host_net, struct wdr_err *err)
{
	wdr_compiled_ struct wdr_compiled *c = NULL;
	struct wdr_kern_policy kp;
	struct wdr_kern_ask ask = { .cgroup_fd = cgroup_fd, .netns = !host_net, .contain = true };
	struct wdr_kern_slot *slot = NULL;
	int r;

	r = wdr_compiled_new(p, &c, err);
	if (r == 0)
		r = wdr_job_tell_own_addresses(k, err);
	if (r == 0)
		r = wdr_kern_join(k, err);
	if (r < 0)
		return r;
	kp = wdr_job_kern_policy(c);
	ask.policy = &kp;
	ask.on_denied = wdr_job_on_denied(p->net.on_deny);
	r = wdr_kern_slot_new(k, &ask, &slot, err);
	if (r == 0 && netns)
		r = link_peers(k, slot, netns, err);
	if (r < 0 && slot)
		wdr_kern_slot_unlink(slot);
	if (r < 0) {
		wdr_kern_slot_drop(&slot);
		wdr_kern_leave(k);
		return r;
	}
	/* The slot stays, and its memory here ends with this process or its image. */
	g_slot = slot;
	return 0;
}

int wdr_contain_begin(const struct wdr_policy *p, const char *name, const char *netns,
		      bool host_net, struct wdr_err *err)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	wdr_cgroup_ struct wdr_cgroup *cg = NULL;
	wdr_kern_ struct wdr_kern *k = NULL;
	int r;

	r = check_policy(p, host_net, err);
	if (r == 0)
		r = wdr_cgroup_tree_new(WDR_CONTAIN_CGROUPS, &t, err);
	if (r == 0)
		r = wdr_kern_open(NULL, &k, err);
	if (r == 0)
		r = wdr_kern_sweep(k, wdr_cgroup_tree_fd(t), err);
	if (r < 0)
		return r;
	r = enter_cgroup(t, name, &cg, err);
	if (r == 0)
		r = judge(k, p, wdr_cgroup_entry_fd(cg), netns, host_net, err);
	if (r < 0 && cg)
		wdr_contain_end(name);
	if (r < 0)
		return r;
	g_kern = WDR_TAKE_PTR(k);
	(void)snprintf(g_name, sizeof(g_name), "%s", name);
	return 0;
}

int wdr_contain_mark(const char *name, int *ret_fd, struct wdr_err *err)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	int r;

	r = wdr_cgroup_tree_new(WDR_CONTAIN_CGROUPS, &t, err);
	if (r < 0)
		return r;
	*ret_fd = openat(wdr_cgroup_tree_fd(t), name,
			 O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 ? wdr_err_wrap(err, -errno, "open cgroup %s", name) : 0;
}

/* The slot of another process, which has ended. */
static int adopt(const char *name, struct wdr_err *err)
{
	wdr_close_ int fd = -1;
	int r;

	r = wdr_contain_mark(name, &fd, err);
	if (r == 0)
		r = wdr_kern_open(NULL, &g_kern, err);
	if (r == 0)
		r = wdr_kern_join(g_kern, err);
	return r < 0 ? r : wdr_kern_slot_adopt(g_kern, fd, NULL, &g_slot, err);
}

int wdr_contain_slot(const char *name, struct wdr_kern_slot **ret, struct wdr_err *err)
{
	int r = g_slot ? 0 : adopt(name, err);

	if (r == 0)
		*ret = g_slot;
	return r;
}

static bool is_our_netns(const char *netns)
{
	struct stat a, b;

	return stat("/proc/self/ns/net", &a) == 0 && stat(netns, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

int wdr_contain_link(const char *name, const char *netns, struct wdr_err *err)
{
	struct wdr_kern_slot *slot = NULL;
	int r;

	if (is_our_netns(netns))
		return 0;
	r = wdr_contain_slot(name, &slot, err);
	return r < 0 ? r : link_peers(g_kern, slot, netns, err);
}

void wdr_contain_end(const char *name)
{
	wdr_cgroup_tree_ struct wdr_cgroup_tree *t = NULL;
	wdr_kern_ struct wdr_kern *k = NULL;
	struct wdr_err err = { 0 };
	int r;

	wdr_contain_step_out();
	if (g_slot && !strcmp(name, g_name)) {
		/* No sweep takes it while we live. What is alive below its cgroup reaches nothing. */
		wdr_kern_slot_drop(&g_slot);
		wdr_kern_leave(g_kern);
	}
	r = wdr_cgroup_tree_new(WDR_CONTAIN_CGROUPS, &t, &err);
	if (r == 0)
		r = wdr_cgroup_sweep(t, name, &err);
	if (r == 0)
		r = wdr_kern_open(NULL, &k, &err);
	if (r == 0)
		r = wdr_kern_sweep(k, wdr_cgroup_tree_fd(t), &err);
	if (r < 0)
		wdr_warn("container=%s step=end err=\"%s\"", name,
			 err.code ? err.msg : strerror(-r));
}
