/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs on tracepoints cost every task of the machine, so most are there only while a job asks.
 * Two links of one program would count twice, so all processes hold descriptors of the same link,
 * found by its kernel id in the shared cell: it ends with the last of them, however that ends.
 *
 * Those of which other tasks feel nothing stay from the first job that asks: attaching and taking
 * off is the kernel rewriting its own code, which costs more than all else that a job's events do.
 * Their links are pinned among the generation's programs, and end with it. What they cost others:
 * docs/performance.md.
 */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const struct trace {
	uint32_t flag;
	enum wdr_kern_prog prog;
	uint8_t cell; /* in wdr_shared.link_ids: part of the maps' layout, append only */
	bool stays;   /* pinned when it is attached */
} traces[] = {
	{ WDR_SLOT_COUNT, WDR_PROG_SYS_ENTER, 0, false },
	{ WDR_SLOT_COUNT, WDR_PROG_SYS_EXIT, 1, false },
	{ WDR_SLOT_COUNT, WDR_PROG_SYS_FORK, 2, false },
	{ WDR_SLOT_COUNT, WDR_PROG_URING_REQ, 3, false },
	{ WDR_SLOT_COUNT, WDR_PROG_URING_SQE, 3, false },
	{ WDR_SLOT_PROC, WDR_PROG_EXEC, 4, true },
	{ WDR_SLOT_PROC, WDR_PROG_FORK, 5, true },
	{ WDR_SLOT_PROC, WDR_PROG_EXIT, 6, true },
	{ WDR_SLOT_PROC, WDR_PROG_OOM, 7, true },
	{ WDR_SLOT_PROC, WDR_PROG_OOM_PID, 7, true },
	{ WDR_SLOT_PROC, WDR_PROG_CAP, 8, false }, /* asked with each piece of memory */
	{ WDR_SLOT_SIGSYS, WDR_PROG_SIGSYS, 9, false },
};

#define N_TRACES (sizeof(traces) / sizeof(traces[0]))

_Static_assert(N_TRACES <= sizeof(((struct wdr_shared *)0)->link_ids) / sizeof(uint32_t) + 2,
	       "a cell each");

/* Ids are used again after four billion others: is this link still one of @prog? */
static bool is_link_of(int link_fd, enum wdr_kern_prog prog)
{
	struct bpf_link_info link = { 0 };
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(link);
	wdr_close_ int fd = -1;

	if (bpf_obj_get_info_by_fd(link_fd, &link, &len))
		return false;
	fd = bpf_prog_get_fd_by_id(link.prog_id);
	len = sizeof(info);
	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
	       !strncmp(info.name, wdr_kern_program(prog)->name, sizeof(info.name) - 1);
}

/* Attached here and now, and pinned if it is to stay. */
static int new_link(struct wdr_kern *k, const struct trace *t, uint32_t *id)
{
	struct bpf_link_info info = { 0 };
	char name[64], pin[WDR_KERN_PATH_MAX];
	uint32_t len = sizeof(info);
	wdr_close_ int fd = -1;
	wdr_close_ int own = -1;
	int r;

	/* What stays must be this generation's: what we have open may be one's that ours took over. */
	if (t->stays)
		r = own = wdr_kern_pin_get(k->gen, wdr_kern_program(t->prog)->name);
	else
		r = wdr_kern_prog_fd(k, t->prog);
	if (r < 0)
		return r;
	fd = bpf_raw_tracepoint_open(NULL, r);
	if (fd < 0)
		return fd;
	r = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (r >= 0 && t->stays) {
		(void)snprintf(name, sizeof(name), "%s_link", wdr_kern_program(t->prog)->name);
		wdr_kern_path(pin, k->gen, name);
		(void)unlink(pin); /* not the one that is shared: together they would tell twice */
		r = bpf_obj_pin(fd, pin);
	}
	if (r < 0)
		return r;
	*id = info.id;
	return WDR_TAKE_FD(fd);
}

static int share_link(struct wdr_kern *k, const struct trace *t, uint32_t *id)
{
	wdr_close_ int fd = -1;

	if (*id) {
		fd = bpf_link_get_fd_by_id(*id);
		if (fd >= 0 && is_link_of(fd, t->prog))
			return WDR_TAKE_FD(fd);
	}
	return new_link(k, t, id);
}

/* A contained job's links outlive its supervisor, so that nothing goes uncounted. */
static int pin_link(const struct wdr_kern_slot *s, int fd, const char *prog)
{
	char name[64], path[WDR_KERN_PATH_MAX];
	int r;

	(void)snprintf(name, sizeof(name), WDR_KERN_JOBS "/%" PRIu64 "/%s", s->job, prog);
	wdr_kern_path(path, s->kern_ref->root, name);
	r = bpf_obj_pin(fd, path);
	return r == -EEXIST ? 0 : r;
}

static int start_trace(struct wdr_kern_slot *s, const struct trace *t, struct wdr_err *err)
{
	struct wdr_kern *k = s->kern_ref;
	bool pin = k->slots[s->n].flags & WDR_SLOT_CONTAIN;
	const char *name = wdr_kern_program(t->prog)->name;
	int fd, r;

	fd = share_link(k, t, &k->shared->link_ids[t->cell]);
	if (fd < 0)
		return wdr_err_set(err, fd, "attach %s: %s", name, strerror(-fd));
	s->link_fd[t->prog] = fd;
	r = pin ? wdr_kern_job_folder(k, s->job, err) : 0;
	if (r < 0)
		return r;
	r = pin ? pin_link(s, fd, name) : 0;
	return r < 0 ? wdr_err_set(err, r, "pin %s: %s", name, strerror(-r)) : 0;
}

void wdr_kern_trace_stop(struct wdr_kern_slot *s)
{
	unsigned int p;

	for (p = 0; p < _WDR_PROG_MAX; p++)
		wdr_closep(&s->link_fd[p]);
}

int wdr_kern_trace_start(struct wdr_kern_slot *s, uint32_t flags, struct wdr_err *err)
{
	struct wdr_kern *k = s->kern_ref;
	enum wdr_kern_prog prog;
	unsigned int i;
	int r;

	for (i = 0; i < N_TRACES; i++) {
		prog = traces[i].prog;
		if (!(flags & traces[i].flag))
			continue;
		if (!(k->shared->programs & WDR_PROG_BIT(prog))) {
			if (!wdr_kern_program(prog)->protections)
				continue;
			return wdr_err_set(err, -EOPNOTSUPP, "this kernel does not load %s",
					   wdr_kern_program(prog)->name);
		}
		r = start_trace(s, &traces[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}
