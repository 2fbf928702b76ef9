/* SPDX-License-Identifier: Apache-2.0 */
/* Pids as the programs know them: of the first pid namespace, while we may be in one of our own. */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_PIDNS 0xeffffffc /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

uint32_t wdr_kern_pidns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (uint32_t)st.st_ino;
}

/* An iterator over one task (6.1, f0d74c4da1f0), found by its pid in our namespace. */
static uint32_t ask_kernel(int prog_fd, pid_t pid)
{
	union bpf_iter_link_info info = { .task.tid = (uint32_t)pid };
	LIBBPF_OPTS(bpf_link_create_opts, opts, .iter_info = &info, .iter_info_len = sizeof(info));
	wdr_close_ int link = -1;
	wdr_close_ int iter = -1;
	uint32_t first = 0;

	link = bpf_link_create(prog_fd, 0, BPF_TRACE_ITER, &opts);
	if (link >= 0)
		iter = bpf_iter_create(link);
	if (iter < 0 || read(iter, &first, sizeof(first)) != (ssize_t)sizeof(first))
		return 0;
	return first;
}

uint32_t wdr_kern_first_pid(struct wdr_kern *k, pid_t pid)
{
	int fd;

	if (wdr_kern_pidns() == FIRST_PIDNS)
		return (uint32_t)pid;
	fd = wdr_kern_prog_fd(k, WDR_PROG_PID);
	return fd < 0 ? 0 : ask_kernel(fd, pid);
}
