/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs on tracepoints cost every task of the machine, so they are there only while a job asks.
 * Two links of one program would count twice, so all processes hold descriptors of the same link,
 * found by its kernel id in the shared cell: it ends with the last of them, however that ends.
 */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const struct {
	uint32_t flag;
	enum wdr_kern_prog prog;
	uint8_t cell; /* in wdr_shared.link_ids: part of the maps' layout, append only */
} traces[] = {
	{ WDR_SLOT_COUNT, WDR_PROG_SYS_ENTER, 0 }, { WDR_SLOT_COUNT, WDR_PROG_SYS_EXIT, 1 },
	{ WDR_SLOT_COUNT, WDR_PROG_SYS_FORK, 2 },  { WDR_SLOT_COUNT, WDR_PROG_URING_REQ, 3 },
	{ WDR_SLOT_COUNT, WDR_PROG_URING_SQE, 3 }, { WDR_SLOT_PROC, WDR_PROG_EXEC, 4 },
	{ WDR_SLOT_PROC, WDR_PROG_FORK, 5 },	   { WDR_SLOT_PROC, WDR_PROG_EXIT, 6 },
	{ WDR_SLOT_PROC, WDR_PROG_OOM, 7 },	   { WDR_SLOT_PROC, WDR_PROG_OOM_PID, 7 },
	{ WDR_SLOT_PROC, WDR_PROG_CAP, 8 },	   { WDR_SLOT_SIGSYS, WDR_PROG_SIGSYS, 9 },
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

static int share_link(struct wdr_kern *k, enum wdr_kern_prog prog, uint32_t *id)
{
	struct bpf_link_info info = { 0 };
	uint32_t len = sizeof(info);
	wdr_close_ int fd = -1;
	int r;

	if (*id) {
		fd = bpf_link_get_fd_by_id(*id);
		if (fd >= 0 && is_link_of(fd, prog))
			return WDR_TAKE_FD(fd);
		wdr_closep(&fd);
	}
	r = wdr_kern_prog_fd(k, prog);
	if (r < 0)
		return r;
	fd = bpf_raw_tracepoint_open(NULL, r);
	if (fd < 0)
		return fd;
	r = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (r < 0)
		return r;
	*id = info.id;
	return WDR_TAKE_FD(fd);
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

static int start_trace(struct wdr_kern_slot *s, enum wdr_kern_prog prog, uint32_t *id,
		       struct wdr_err *err)
{
	struct wdr_kern *k = s->kern_ref;
	bool pin = k->slots[s->n].flags & WDR_SLOT_CONTAIN;
	int fd, r;

	fd = share_link(k, prog, id);
	if (fd < 0)
		return wdr_err_set(err, fd, "attach %s: %s", wdr_kern_program(prog)->name,
				   strerror(-fd));
	s->link_fd[prog] = fd;
	r = pin ? wdr_kern_job_folder(k, s->job, err) : 0;
	if (r < 0)
		return r;
	r = pin ? pin_link(s, fd, wdr_kern_program(prog)->name) : 0;
	return r < 0 ? wdr_err_set(err, r, "pin %s: %s", wdr_kern_program(prog)->name,
				   strerror(-r)) :
		       0;
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
		r = start_trace(s, prog, &k->shared->link_ids[traces[i].cell], err);
		if (r < 0)
			return r;
	}
	return 0;
}
