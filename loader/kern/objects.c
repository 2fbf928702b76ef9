/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF objects in this binary, and how libbpf loads them. Only who loads comes by here. */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/wdr_log.h"
#include "cpu_budget.skel.h"
#include "egress_skb.skel.h"
#include "egress_sock.skel.h"
#include "egress_tc.skel.h"
#include "proc.skel.h"
#include "syscalls.skel.h"

#define LOG_STATS 4 /* BPF_LOG_STATS, include/linux/bpf_verifier.h: the summary without each step */

static const struct object {
	const char *name;
	const void *(*bytes)(size_t *size);
} objects[] = {
	{ "egress_sock", egress_sock__elf_bytes }, { "egress_skb", egress_skb__elf_bytes },
	{ "egress_tc", egress_tc__elf_bytes },	   { "cpu_budget", cpu_budget__elf_bytes },
	{ "syscalls", syscalls__elf_bytes },	   { "proc", proc__elf_bytes },
};

enum {
	SOCK,
	SKB,
	TC,
	CPU,
	SYSCALLS,
	PROC,
	N_OBJECTS
};

_Static_assert(sizeof(objects) / sizeof(objects[0]) == N_OBJECTS, "a number each");

#define PROT_SOCKET WDR_PROT_BIT(WDR_PROT_EGRESS_SOCKET)
#define PROT_PACKET WDR_PROT_BIT(WDR_PROT_EGRESS_PACKET)
#define PROT_CPU    (WDR_PROT_BIT(WDR_PROT_CPU_BUDGET) | WDR_PROT_BIT(WDR_PROT_DETECT_CPU))
#define PROT_COUNT  WDR_PROT_BIT(WDR_PROT_SYSCALL_COUNT)
#define PROT_PROC   WDR_PROT_BIT(WDR_PROT_PROC_EVENTS)

static const struct wdr_kern_program programs[] = {
	[WDR_PROG_CONNECT4] = { "wdr_connect4", SOCK, BPF_CGROUP_INET4_CONNECT, PROT_SOCKET, 0 },
	[WDR_PROG_CONNECT6] = { "wdr_connect6", SOCK, BPF_CGROUP_INET6_CONNECT, PROT_SOCKET, 0 },
	[WDR_PROG_SENDMSG4] = { "wdr_sendmsg4", SOCK, BPF_CGROUP_UDP4_SENDMSG, PROT_SOCKET, 0 },
	[WDR_PROG_SENDMSG6] = { "wdr_sendmsg6", SOCK, BPF_CGROUP_UDP6_SENDMSG, PROT_SOCKET, 0 },
	[WDR_PROG_SOCK_CREATE] = { "wdr_sock_create", SOCK, BPF_CGROUP_INET_SOCK_CREATE,
				   PROT_SOCKET, 0 },
	[WDR_PROG_SKB_OUT] = { "wdr_skb_out", SKB, BPF_CGROUP_INET_EGRESS, PROT_PACKET, 0 },
	[WDR_PROG_SKB_IN] = { "wdr_skb_in", SKB, BPF_CGROUP_INET_INGRESS, PROT_PACKET, 0 },
	[WDR_PROG_TC_OUT] = { "wdr_tc_out", TC, 0, PROT_PACKET, 0 },
	[WDR_PROG_TC_IN] = { "wdr_tc_in", TC, 0, PROT_PACKET, 0 },
	[WDR_PROG_CPU_CLOCK] = { "wdr_cpu_clock", CPU, 0, PROT_CPU, 0 },
	[WDR_PROG_CPU_LEAVE] = { "wdr_cpu_leave", CPU, 0, PROT_CPU, 0 },
	[WDR_PROG_SYS_ENTER] = { "wdr_sys_enter", SYSCALLS, 0, PROT_COUNT, 0 },
	[WDR_PROG_SYS_EXIT] = { "wdr_sys_exit", SYSCALLS, 0, PROT_COUNT, 0 },
	[WDR_PROG_SYS_FORK] = { "wdr_sys_fork", SYSCALLS, 0, PROT_COUNT, 0 },
	[WDR_PROG_URING_REQ] = { "wdr_uring_req", SYSCALLS, 0, 0, 0 },
	[WDR_PROG_URING_SQE] = { "wdr_uring_sqe", SYSCALLS, 0, 0, WDR_PROG_URING_REQ },
	[WDR_PROG_EXEC] = { "wdr_exec", PROC, 0, PROT_PROC, 0 },
	[WDR_PROG_FORK] = { "wdr_fork", PROC, 0, PROT_PROC, 0 },
	[WDR_PROG_EXIT] = { "wdr_exit", PROC, 0, PROT_PROC, 0 },
	[WDR_PROG_OOM] = { "wdr_oom", PROC, 0, 0, 0 },
	[WDR_PROG_OOM_PID] = { "wdr_oom_pid", PROC, 0, 0, WDR_PROG_OOM },
	[WDR_PROG_CAP] = { "wdr_cap", PROC, 0, 0, 0 },
	[WDR_PROG_SIGSYS] = { "wdr_sigsys", PROC, 0, 0, 0 },
	[WDR_PROG_PID] = { "wdr_pid", PROC, 0, 0, 0 },
};

_Static_assert(sizeof(programs) / sizeof(programs[0]) == _WDR_PROG_MAX, "a row each");

static const char *const map_names[] = {
	[WDR_MAP_SHARED] = "wdr_shared",
	[WDR_MAP_SLOTS] = "wdr_slots",
	[WDR_MAP_LIVE] = "wdr_live",
	[WDR_MAP_SUPS] = "wdr_sups",
	[WDR_MAP_CGROUPS] = "wdr_cgroups",
	[WDR_MAP_IFACES] = "wdr_ifaces",
	[WDR_MAP_RINGS] = "wdr_rings",
	[WDR_MAP_TRIES] = "wdr_tries",
	[WDR_MAP_ROWS] = "wdr_rows",
	[WDR_MAP_POLICIES] = "wdr_policies",
	[WDR_MAP_HOSTS] = "wdr_hosts",
	[WDR_MAP_FLOWS] = "wdr_flows",
	[WDR_MAP_FRAGS] = "wdr_frags",
	[WDR_MAP_DENIALS] = "wdr_denials",
	[WDR_MAP_DENIAL_KEYS] = "wdr_denial_keys",
	[WDR_MAP_CPU_SLICES] = "wdr_cpu_slices",
	[WDR_MAP_CPU_TASKS] = "wdr_cpu_tasks",
	[WDR_MAP_COUNTS] = "wdr_counts",
	[WDR_MAP_CALLS] = "wdr_calls",
};

_Static_assert(sizeof(map_names) / sizeof(map_names[0]) == _WDR_MAP_MAX, "a name each");

const char *wdr_kern_map_name(enum wdr_kern_map m)
{
	return map_names[m];
}

const struct wdr_kern_program *wdr_kern_program(enum wdr_kern_prog p)
{
	return &programs[p];
}

static int print_debug(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[512];

	if (level == LIBBPF_DEBUG)
		return 0;
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	wdr_debug("msg=\"%s\"", line);
	return 0;
}

void wdr_kern_hear_libbpf(void)
{
	(void)libbpf_set_print(print_debug);
}

static int find_map(const char *name)
{
	int m;

	for (m = 0; m < _WDR_MAP_MAX; m++) {
		if (!strcmp(map_names[m], name))
			return m;
	}
	return -ENOENT;
}

/* Maps that an earlier object, or another generation, has made are shared. */
static int share_maps(struct bpf_object *obj, const struct wdr_kern_loaded *l)
{
	struct bpf_map *map = NULL;
	int m, r;

	while ((map = bpf_object__next_map(obj, map)) != NULL) {
		if (bpf_map__is_internal(map))
			continue; /* constants, which live with their programs */
		m = find_map(bpf_map__name(map));
		if (m < 0)
			return -EPROTO;
		if (l->map_fd[m] < 0)
			continue;
		r = bpf_map__reuse_fd(map, l->map_fd[m]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int dup_fd(int fd)
{
	int r = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return r < 0 ? -errno : r;
}

static int keep_maps(struct bpf_object *obj, struct wdr_kern_loaded *l)
{
	struct bpf_map *map = NULL;
	int m, fd;

	while ((map = bpf_object__next_map(obj, map)) != NULL) {
		m = find_map(bpf_map__name(map));
		if (m < 0 || l->map_fd[m] >= 0)
			continue;
		fd = dup_fd(bpf_map__fd(map));
		if (fd < 0)
			return fd;
		l->map_fd[m] = fd;
	}
	return 0;
}

static int keep_programs(struct bpf_object *obj, int object, struct wdr_kern_loaded *l)
{
	struct bpf_program *prog;
	int p, fd;

	for (p = 0; p < _WDR_PROG_MAX; p++) {
		if (programs[p].object != object || l->prog_fd[p] >= 0)
			continue;
		prog = bpf_object__find_program_by_name(obj, programs[p].name);
		if (!prog)
			return -EPROTO;
		if (!bpf_program__autoload(prog) || bpf_program__fd(prog) < 0)
			continue;
		fd = dup_fd(bpf_program__fd(prog));
		if (fd < 0)
			return fd;
		l->prog_fd[p] = fd;
		l->programs |= WDR_PROG_BIT(p);
	}
	return 0;
}

static enum wdr_kern_prog find_program(const char *name)
{
	enum wdr_kern_prog p;

	for (p = 0; p < _WDR_PROG_MAX; p++) {
		if (!strcmp(programs[p].name, name))
			break;
	}
	return p;
}

#define ALL  _WDR_PROG_MAX	 /* that are not there instead of others */
#define NONE (_WDR_PROG_MAX + 1) /* the maps alone */

/* @only: one program, ALL or NONE. */
static int select_programs(struct bpf_object *obj, int only, bool verbose, char *log)
{
	struct bpf_program *prog = NULL;
	enum wdr_kern_prog p;
	bool wanted;

	while ((prog = bpf_object__next_program(obj, prog)) != NULL) {
		p = find_program(bpf_program__name(prog));
		if (p == _WDR_PROG_MAX)
			return -EPROTO;
		wanted = only == ALL ? !programs[p].instead_of : (int)p == only;
		(void)bpf_program__set_autoload(prog, wanted);
		if (wanted && log) {
			(void)bpf_program__set_log_buf(prog, log, WDR_KERN_LOG_MAX);
			(void)bpf_program__set_log_level(prog, verbose ? LOG_STATS : 0);
		}
	}
	return 0;
}

static int load_object(int object, int only, bool verbose, char *log, struct wdr_kern_loaded *l)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = objects[object].name);
	struct bpf_object *obj;
	const void *bytes;
	size_t size;
	int r;

	wdr_kern_hear_libbpf();
	bytes = objects[object].bytes(&size);
	obj = bpf_object__open_mem(bytes, size, &opts);
	if (!obj)
		return -errno;
	r = share_maps(obj, l);
	if (!r)
		r = select_programs(obj, only, verbose, log);
	if (!r)
		r = bpf_object__load(obj);
	if (!r)
		r = keep_maps(obj, l);
	if (!r)
		r = keep_programs(obj, object, l);
	bpf_object__close(obj);
	return r;
}

/*
 * Failures that say something of this process at this moment, and not of the kernel: they must not
 * become what is pinned for all.
 */
static bool is_passing(int r)
{
	return r == -EPERM || r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -EAGAIN ||
	       r == -EINTR;
}

/* Program @p by itself; that the kernel refuses it is no failure. */
static int load_one(enum wdr_kern_prog p, struct wdr_kern_loaded *l, struct wdr_err *err)
{
	int r = load_object(programs[p].object, p, false, NULL, l);

	return is_passing(r) ? wdr_err_set(err, r, "load %s: %s", programs[p].name, strerror(-r)) :
			       0;
}

static int load_singly(int object, struct wdr_kern_loaded *l, struct wdr_err *err)
{
	int p, r = 0;

	for (p = 0; p < _WDR_PROG_MAX && !r; p++) {
		if (programs[p].object == object && !programs[p].instead_of)
			r = load_one(p, l, err);
	}
	if (!r) /* with none of its programs it still has maps, which others may share */
		(void)load_object(object, NONE, false, NULL, l);
	return r;
}

/* Every program goes by them: without, what is refused says nothing of the kernel. */
static int check_types(struct wdr_err *err)
{
	struct btf *types = btf__load_vmlinux_btf();

	if (!types)
		return wdr_err_set(err, -ENOENT,
				   "no type information of the kernel in /sys/kernel/btf/vmlinux "
				   "(CONFIG_DEBUG_INFO_BTF): %s",
				   strerror(errno));
	btf__free(types);
	return 0;
}

/* An object all of whose programs load is loaded at once. */
int wdr_kern_objects_load(struct wdr_kern_loaded *l, struct wdr_err *err)
{
	int i, r = 0;

	for (i = 0; i < N_OBJECTS && !r; i++) {
		if (load_object(i, ALL, false, NULL, l) >= 0)
			continue;
		r = check_types(err);
		if (!r)
			r = load_singly(i, l, err);
	}
	for (i = 0; i < _WDR_PROG_MAX && !r; i++) {
		if (programs[i].instead_of && l->prog_fd[programs[i].instead_of] < 0)
			r = load_one(i, l, err);
	}
	if (r < 0)
		return r;
	for (i = 0; i < _WDR_MAP_MAX; i++) {
		if (l->map_fd[i] < 0)
			return wdr_err_set(err, -EOPNOTSUPP, "the kernel makes no map %s",
					   map_names[i]);
	}
	return 0;
}

void wdr_kern_loaded_init(struct wdr_kern_loaded *l)
{
	int i;

	l->programs = 0;
	for (i = 0; i < _WDR_MAP_MAX; i++)
		l->map_fd[i] = -1;
	for (i = 0; i < _WDR_PROG_MAX; i++)
		l->prog_fd[i] = -1;
}

void wdr_kern_loaded_done(struct wdr_kern_loaded *l)
{
	int i;

	for (i = 0; i < _WDR_MAP_MAX; i++)
		wdr_closep(&l->map_fd[i]);
	for (i = 0; i < _WDR_PROG_MAX; i++)
		wdr_closep(&l->prog_fd[i]);
}

int wdr_kern_program_try(enum wdr_kern_prog p, bool verbose, char *log)
{
	struct wdr_kern_loaded l;
	int r;

	log[0] = '\0';
	wdr_kern_loaded_init(&l);
	r = load_object(programs[p].object, p, verbose, log, &l);
	/* Of one that is refused every step is wanted, which libbpf asks for by itself at level 0. */
	if (r < 0 && verbose)
		r = load_object(programs[p].object, p, false, log, &l);
	if (!r && !(l.programs & WDR_PROG_BIT(p)))
		r = -EPROTO;
	wdr_kern_loaded_done(&l);
	return r;
}

/* The verifier's reason is the last line before its statistics. */
void wdr_kern_log_line(const char *log, char *ret, size_t size)
{
	const char *line = log, *last = "", *end;

	for (; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (end > line && strncmp(line, "processed ", 10) &&
		    strncmp(line, "verification time", 17) && strncmp(line, "stack depth", 11))
			last = line;
	}
	(void)snprintf(ret, size, "%.*s", (int)strcspn(last, "\n"), last);
}
