/* SPDX-License-Identifier: Apache-2.0 */
/* Where programs hang: on cgroups by pinned links, on interfaces by filters of clsact. */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define TC_PRIORITY 1
#define TC_HANDLE   1

static const enum wdr_kern_prog parent_programs[] = {
	WDR_PROG_CONNECT4, WDR_PROG_CONNECT6,	 WDR_PROG_SENDMSG4,
	WDR_PROG_SENDMSG6, WDR_PROG_SOCK_CREATE,
};

static const enum wdr_kern_prog job_programs[] = { WDR_PROG_SKB_OUT, WDR_PROG_SKB_IN };

static const struct {
	enum bpf_tc_attach_point point;
	enum wdr_kern_prog prog;
} tc_programs[] = {
	{ BPF_TC_INGRESS, WDR_PROG_TC_OUT },
	{ BPF_TC_EGRESS, WDR_PROG_TC_IN },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void folder_path(const struct wdr_kern *k, const char *kind, uint64_t n,
			char ret[WDR_KERN_PATH_MAX])
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%s/%" PRIu64, kind, n);
	wdr_kern_path(ret, k->root, name);
}

/* Who forbids us to hang a program there, by name, for the message. */
static int explain_refusal(int cgroup_fd, enum wdr_kern_prog prog, int r, struct wdr_err *err)
{
	const struct wdr_kern_program *p = wdr_kern_program(prog);
	struct bpf_prog_info info = { 0 };
	uint32_t ids[8], n = COUNT(ids), len = sizeof(info), flags = 0;
	wdr_close_ int fd = -1;

	if (r == -EPERM &&
	    !bpf_prog_query(cgroup_fd, (enum bpf_attach_type)p->attach, BPF_F_QUERY_EFFECTIVE,
			    &flags, ids, &n) &&
	    n > 0) {
		fd = bpf_prog_get_fd_by_id(ids[0]);
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len))
			return wdr_err_set(
				err, r,
				"attach %s to a cgroup: the program \"%s\" (id %u) hangs "
				"there or above and allows no other",
				p->name, info.name, info.id);
	}
	return wdr_err_set(err, r, "attach %s to a cgroup: %s", p->name, strerror(-r));
}

static int attach_pinned(struct wdr_kern *k, int cgroup_fd, enum wdr_kern_prog prog,
			 const char *folder, struct wdr_err *err)
{
	const struct wdr_kern_program *p = wdr_kern_program(prog);
	char path[WDR_KERN_PATH_MAX];
	wdr_close_ int link = -1;
	int fd, r;

	wdr_kern_path(path, folder, p->name);
	if (!access(path, F_OK))
		return 0;
	fd = wdr_kern_prog_fd(k, prog);
	if (fd < 0)
		return wdr_err_set(err, -EOPNOTSUPP, "this kernel does not load %s", p->name);
	link = bpf_link_create(fd, cgroup_fd, (enum bpf_attach_type)p->attach, NULL);
	if (link < 0)
		return explain_refusal(cgroup_fd, prog, link, err);
	r = bpf_obj_pin(link, path);
	return r < 0 ? wdr_err_set(err, r, "pin %s: %s", path, strerror(-r)) : 0;
}

static int make_folder(const struct wdr_kern *k, const char *kind, const char *path,
		       struct wdr_err *err)
{
	char above[WDR_KERN_PATH_MAX];

	if (!mkdir(path, 0700) || errno == EEXIST)
		return 0;
	wdr_kern_path(above, k->root, kind);
	if (errno == ENOENT && (!mkdir(above, 0700) || errno == EEXIST) && !mkdir(path, 0700))
		return 0;
	return wdr_err_set(err, -errno, "make %s: %s", path, strerror(errno));
}

static int attach_set(struct wdr_kern *k, int cgroup_fd, const enum wdr_kern_prog *progs, size_t n,
		      const char *kind, uint64_t number, struct wdr_err *err)
{
	char path[WDR_KERN_PATH_MAX];
	size_t i;
	int r;

	folder_path(k, kind, number, path);
	r = make_folder(k, kind, path, err);
	for (i = 0; i < n && r >= 0; i++)
		r = attach_pinned(k, cgroup_fd, progs[i], path, err);
	return r;
}

int wdr_kern_attach_parent(struct wdr_kern *k, int fd, uint64_t id, struct wdr_err *err)
{
	return attach_set(k, fd, parent_programs, COUNT(parent_programs), WDR_KERN_PARENTS, id,
			  err);
}

int wdr_kern_job_folder(struct wdr_kern *k, uint64_t job, struct wdr_err *err)
{
	char path[WDR_KERN_PATH_MAX];

	folder_path(k, WDR_KERN_JOBS, job, path);
	return make_folder(k, WDR_KERN_JOBS, path, err);
}

int wdr_kern_attach_job(struct wdr_kern *k, int fd, uint64_t job, struct wdr_err *err)
{
	return attach_set(k, fd, job_programs, COUNT(job_programs), WDR_KERN_JOBS, job, err);
}

void wdr_kern_detach_job(struct wdr_kern *k, uint64_t job)
{
	char path[WDR_KERN_PATH_MAX];

	folder_path(k, WDR_KERN_JOBS, job, path);
	(void)wdr_kern_pins_remove(path);
}

static int is_dead(void *arg, const char *name)
{
	struct bpf_link_info info = { 0 };
	char path[WDR_KERN_PATH_MAX];
	uint32_t len = sizeof(info);
	wdr_close_ int fd = -1;

	wdr_kern_path(path, arg, name);
	fd = bpf_obj_get(path);
	/* A link whose cgroup was removed has detached itself and tells of id 0. */
	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) && !info.cgroup.cgroup_id;
}

static int trim_parent(void *arg, const char *name)
{
	char path[WDR_KERN_PATH_MAX];

	wdr_kern_path(path, arg, name);
	if (wdr_kern_pins_each(path, is_dead, path) == 1)
		(void)wdr_kern_pins_remove(path);
	return 0;
}

void wdr_kern_attach_trim(struct wdr_kern *k)
{
	char path[WDR_KERN_PATH_MAX];

	wdr_kern_path(path, k->root, WDR_KERN_PARENTS);
	(void)wdr_kern_pins_each(path, trim_parent, path);
}

static int attach_filter(unsigned int ifindex, enum bpf_tc_attach_point point, int prog_fd,
			 bool replace)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = TC_HANDLE, .priority = TC_PRIORITY,
		    .prog_fd = prog_fd, .flags = replace ? BPF_TC_F_REPLACE : 0);

	return bpf_tc_attach(&hook, &opts);
}

/* Is the filter that holds our place one of ours, of this or of another generation? */
static bool is_our_filter(unsigned int ifindex, enum bpf_tc_attach_point point,
			  enum wdr_kern_prog prog)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = TC_HANDLE, .priority = TC_PRIORITY);
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	wdr_close_ int fd = -1;

	if (bpf_tc_query(&hook, &opts))
		return false;
	fd = bpf_prog_get_fd_by_id(opts.prog_id);
	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
	       !strcmp(info.name, wdr_kern_program(prog)->name);
}

static int attach_direction(struct wdr_kern *k, unsigned int ifindex, unsigned int i,
			    struct wdr_err *err)
{
	enum bpf_tc_attach_point point = tc_programs[i].point;
	enum wdr_kern_prog prog = tc_programs[i].prog;
	int fd = wdr_kern_prog_fd(k, prog), r;

	if (fd < 0)
		return wdr_err_set(err, -EOPNOTSUPP, "this kernel does not load %s",
				   wdr_kern_program(prog)->name);
	r = attach_filter(ifindex, point, fd, false);
	if (r == -EEXIST && is_our_filter(ifindex, point, prog))
		r = attach_filter(ifindex, point, fd, true);
	if (r == -EEXIST)
		return wdr_err_set(err, r,
				   "interface %u has another tool's tc filter at priority %d, "
				   "handle %d, where ours must be",
				   ifindex, TC_PRIORITY, TC_HANDLE);
	if (r < 0)
		return wdr_err_set(err, r, "attach %s to interface %u: %s",
				   wdr_kern_program(prog)->name, ifindex, strerror(-r));
	return 0;
}

static void detach_direction(unsigned int ifindex, unsigned int i)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex,
		    .attach_point = tc_programs[i].point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = TC_HANDLE, .priority = TC_PRIORITY);

	(void)bpf_tc_detach(&hook, &opts);
}

bool wdr_kern_has_filter(unsigned int ifindex)
{
	bool has = false;

	for (unsigned int i = 0; i < COUNT(tc_programs) && !has; i++)
		has = is_our_filter(ifindex, tc_programs[i].point, tc_programs[i].prog);
	return has;
}

void wdr_kern_detach_iface(unsigned int ifindex)
{
	for (unsigned int i = 0; i < COUNT(tc_programs); i++) {
		if (is_our_filter(ifindex, tc_programs[i].point, tc_programs[i].prog))
			detach_direction(ifindex, i);
	}
}

int wdr_kern_attach_iface(struct wdr_kern *k, unsigned int ifindex, struct wdr_err *err)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex,
		    .attach_point = (enum bpf_tc_attach_point)(BPF_TC_INGRESS | BPF_TC_EGRESS));
	unsigned int i;
	int r;

	r = bpf_tc_hook_create(&hook);
	if (r < 0 && r != -EEXIST)
		return wdr_err_set(err, r, "make clsact on interface %u: %s", ifindex,
				   strerror(-r));
	for (i = 0; i < COUNT(tc_programs); i++) {
		r = attach_direction(k, ifindex, i, err);
		if (r < 0)
			break;
	}
	while (r < 0 && i-- > 0)
		detach_direction(ifindex, i);
	return r;
}

void wdr_kern_replace_iface(unsigned int ifindex, const int *prog_fd)
{
	unsigned int i;

	for (i = 0; i < COUNT(tc_programs); i++) {
		if (prog_fd[tc_programs[i].prog] >= 0)
			(void)attach_filter(ifindex, tc_programs[i].point,
					    prog_fd[tc_programs[i].prog], true);
	}
}
