/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler of a job's CPU time: a software clock of its cgroup on each CPU. */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>

#define HZ 250 /* 1.5 % of the job's own time; 1 kHz would be 6 % */

static const struct {
	enum wdr_kern_prog prog;
	uint64_t config, period;
} events[] = {
	{ WDR_PROG_CPU_CLOCK, PERF_COUNT_SW_CPU_CLOCK, 1000000000 / HZ },
	{ WDR_PROG_CPU_LEAVE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1 },
};

#define N_EVENTS (sizeof(events) / sizeof(events[0]))

static int open_event(unsigned int i, int cgroup_fd, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = events[i].config,
		.sample_period = events[i].period,
	};
	long fd;

	fd = syscall(SYS_perf_event_open, &attr, cgroup_fd, cpu, -1,
		     PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

/* The link holds the event. -ENODEV for a CPU that is not there. */
static int new_link(struct wdr_kern_slot *s, unsigned int i, int cgroup_fd, int cpu)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = s->n);
	wdr_close_ int event = -1;
	int prog = wdr_kern_prog_fd(s->kern_ref, events[i].prog);

	if (prog < 0)
		return -EOPNOTSUPP;
	event = open_event(i, cgroup_fd, cpu);
	return event < 0 ? event : bpf_link_create(prog, event, BPF_PERF_EVENT, &opts);
}

/* A contained job's events outlive its supervisor, and are taken over by the next. */
static int start_on(struct wdr_kern_slot *s, unsigned int i, int cgroup_fd, int cpu, bool pin)
{
	char name[96], path[WDR_KERN_PATH_MAX];
	wdr_close_ int link = -1;
	int r;

	(void)snprintf(name, sizeof(name), WDR_KERN_JOBS "/%" PRIu64 "/%s_%d", s->job,
		       wdr_kern_program(events[i].prog)->name, cpu);
	wdr_kern_path(path, s->kern_ref->root, name);
	if (pin)
		link = bpf_obj_get(path);
	if (link < 0) {
		link = new_link(s, i, cgroup_fd, cpu);
		if (link < 0)
			return link == -ENODEV ? 0 : link;
		r = pin ? bpf_obj_pin(link, path) : 0;
		if (r < 0)
			return r;
	}
	s->cpu_fd[s->n_cpu++] = WDR_TAKE_FD(link);
	return 0;
}

void wdr_kern_cpu_stop(struct wdr_kern_slot *s)
{
	while (s->n_cpu > 0)
		wdr_closep(&s->cpu_fd[--s->n_cpu]);
	wdr_freep(&s->cpu_fd);
}

static int explain(int r, int cpu, struct wdr_err *err)
{
	const char *hint = "";

	if (r == -EOPNOTSUPP)
		return wdr_err_set(err, r, "this kernel does not load %s or %s",
				   wdr_kern_program(WDR_PROG_CPU_CLOCK)->name,
				   wdr_kern_program(WDR_PROG_CPU_LEAVE)->name);
	if (r == -EBADF)
		hint = ": perf_event is a cgroup v1 hierarchy here";
	/* kernel/cgroup/cgroup.c: what is implicit reaches children with the first explicit one. */
	if (r == -ENOENT)
		hint = ": the root of cgroup v2 hands down no controller: enable one in its "
		       "cgroup.subtree_control";
	return wdr_err_set(err, r, "watch the CPU time of the job's cgroup on CPU %d: %s%s", cpu,
			   strerror(-r), hint);
}

static int attach(struct wdr_kern_slot *s, int cgroup_fd, struct wdr_err *err)
{
	bool pin = s->kern_ref->slots[s->n].flags & WDR_SLOT_CONTAIN;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	unsigned int i;
	int cpu, r;

	r = pin ? wdr_kern_job_folder(s->kern_ref, s->job, err) : 0;
	if (r < 0)
		return r;
	s->cpu_fd = calloc(cpus > 0 ? (size_t)cpus * N_EVENTS : 1, sizeof(*s->cpu_fd));
	if (!s->cpu_fd)
		return -ENOMEM;
	for (cpu = 0; cpu < cpus; cpu++) {
		for (i = 0; i < N_EVENTS; i++) {
			r = start_on(s, i, cgroup_fd, cpu, pin);
			if (r < 0)
				return explain(r, cpu, err);
		}
	}
	return 0;
}

int wdr_kern_cpu_start(struct wdr_kern_slot *s, int cgroup_fd, struct wdr_err *err)
{
	const struct wdr_slot *slot = &s->kern_ref->slots[s->n];

	return slot->cpu_budget_ns || slot->cpu_act ? attach(s, cgroup_fd, err) : 0;
}

int wdr_kern_slot_watch(struct wdr_kern_slot *s, int cgroup_fd, const struct wdr_kern_cpu *c,
			struct wdr_err *err)
{
	struct wdr_slot *slot = &s->kern_ref->slots[s->n];
	wdr_close_ int lock = -1;
	int r;

	if (s->cpu_fd)
		return 0;
	r = wdr_kern_lock_current(s->kern_ref, &lock, err);
	if (r >= 0)
		r = attach(s, cgroup_fd, err);
	if (r < 0) {
		wdr_kern_cpu_stop(s);
		return r;
	}
	/* Last: whoever finds them, finds all events there. */
	slot->cpu_window_ns = c->window_ns;
	slot->cpu_max_ns = c->max_ns;
	slot->cpu_act = c->window_ns ? (uint8_t)c->act : 0;
	__atomic_store_n(&slot->cpu_budget_ns, c->budget_ns, __ATOMIC_RELEASE);
	return 0;
}
