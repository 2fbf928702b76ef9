/* SPDX-License-Identifier: Apache-2.0 */
/* A job's row of system call counts: taken empty, read as the sum of all CPUs. */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

/* io_uring operations in the order of enum io_uring_op (linux/io_uring.h), up to Linux 7.0. */
static const char *const uring_names[] = {
	"nop",
	"readv",
	"writev",
	"fsync",
	"read_fixed",
	"write_fixed",
	"poll_add",
	"poll_remove",
	"sync_file_range",
	"sendmsg",
	"recvmsg",
	"timeout",
	"timeout_remove",
	"accept",
	"async_cancel",
	"link_timeout",
	"connect",
	"fallocate",
	"openat",
	"close",
	"files_update",
	"statx",
	"read",
	"write",
	"fadvise",
	"madvise",
	"send",
	"recv",
	"openat2",
	"epoll_ctl",
	"splice",
	"provide_buffers",
	"remove_buffers",
	"tee",
	"shutdown",
	"renameat",
	"unlinkat",
	"mkdirat",
	"symlinkat",
	"linkat",
	"msg_ring",
	"fsetxattr",
	"setxattr",
	"fgetxattr",
	"getxattr",
	"socket",
	"uring_cmd",
	"send_zc",
	"sendmsg_zc",
	"read_multishot",
	"waitid",
	"futex_wait",
	"futex_wake",
	"futex_waitv",
	"fixed_fd_install",
	"ftruncate",
	"bind",
	"listen",
	"recv_zc",
	"epoll_wait",
	"readv_fixed",
	"writev_fixed",
	"pipe",
};

_Static_assert(sizeof(uring_names) / sizeof(uring_names[0]) <= WDR_URING_MAX, "a count each");

const char *wdr_kern_uring_name(unsigned int opcode)
{
	return opcode < sizeof(uring_names) / sizeof(uring_names[0]) ? uring_names[opcode] : NULL;
}

/* One row for each possible CPU, as the kernel reads and writes them; *ret_n of them. */
static struct wdr_counts *alloc_rows(int *ret_n)
{
	*ret_n = libbpf_num_possible_cpus();
	return *ret_n > 0 ? calloc((size_t)*ret_n, sizeof(struct wdr_counts)) : NULL;
}

/* How often the kernel skipped one of the programs, in whatever task. */
static uint64_t read_misses(struct wdr_kern *k)
{
	static const enum wdr_kern_prog progs[] = { WDR_PROG_SYS_ENTER, WDR_PROG_SYS_EXIT,
						    WDR_PROG_SYS_FORK };
	struct bpf_prog_info info;
	uint64_t sum = 0;
	unsigned int i;
	uint32_t len;
	int fd;

	for (i = 0; i < sizeof(progs) / sizeof(progs[0]); i++) {
		fd = wdr_kern_prog_fd(k, progs[i]);
		memset(&info, 0, sizeof(info));
		len = sizeof(info);
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len))
			sum += info.recursion_misses;
	}
	return sum;
}

int wdr_kern_counts_start(struct wdr_kern_slot *s, struct wdr_err *err)
{
	struct wdr_slot *slot = &s->kern_ref->slots[s->n];
	wdr_free_ struct wdr_counts *rows = NULL;
	uint32_t zero = 0;
	int n, r;

	if (!(slot->flags & WDR_SLOT_COUNT))
		return 0;
	rows = alloc_rows(&n);
	if (!rows)
		return -ENOMEM;
	r = s->counts_fd = wdr_kern_pool_get(s->kern_ref, WDR_MAP_COUNTS, s->n);
	if (r >= 0 && !slot->counts) /* what was counted before an adoption stays */
		r = bpf_map_update_elem(s->counts_fd, &zero, rows, BPF_ANY);
	if (r < 0)
		return wdr_err_set(err, r, "make room for counts of system calls: %s",
				   strerror(-r));
	slot->counts = s->n;
	s->misses = read_misses(s->kern_ref);
	return 0;
}

int wdr_kern_slot_counts(const struct wdr_kern_slot *s, struct wdr_counts *ret)
{
	wdr_free_ struct wdr_counts *rows = NULL;
	uint32_t zero = 0;
	int n, r, cpu;
	size_t i;

	if (s->counts_fd < 0)
		return -ENODATA;
	rows = alloc_rows(&n);
	if (!rows)
		return -ENOMEM;
	r = bpf_map_lookup_elem(s->counts_fd, &zero, rows);
	if (r < 0)
		return r;
	memset(ret, 0, sizeof(*ret));
	for (cpu = 0; cpu < n; cpu++) {
		for (i = 0; i < WDR_SYSCALLS_MAX; i++) {
			ret->total[i] += rows[cpu].total[i];
			ret->denied[i] += rows[cpu].denied[i];
		}
		for (i = 0; i < WDR_URING_MAX; i++)
			ret->uring[i] += rows[cpu].uring[i];
		ret->other += rows[cpu].other;
		ret->lost += rows[cpu].lost;
	}
	ret->lost += read_misses(s->kern_ref) - s->misses;
	return 0;
}
