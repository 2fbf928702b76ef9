/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of our own that make and end slots: how they are started, and the one message that a
 * maker sends, with the descriptors in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/wdr_io.h"
#include "net_nl_priv.h"
#include "net_priv.h"

#define MAX_FDS 4

struct report {
	int result;
	bool has[MAX_FDS]; /* which descriptors come along, in the order of fds_of() */
	struct wdr_net_slot_info info;
	struct wdr_err err;
};

static void fds_of(struct wdr_net_made *m, int *ret[MAX_FDS])
{
	ret[0] = &m->lock_fd;
	ret[1] = &m->netns_fd;
	ret[2] = &m->tcp4;
	ret[3] = &m->tcp6;
}

void wdr_net_made_close(struct wdr_net_made *m)
{
	int *fds[MAX_FDS];

	fds_of(m, fds);
	for (int i = 0; i < MAX_FDS; i++)
		wdr_closep(fds[i]);
}

int wdr_net_report_send(int sock, int result, struct wdr_net_made *m, const struct wdr_err *err)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
	} control = { 0 };
	struct report rep = { .result = result, .info = m->info, .err = *err };
	struct iovec iov = { .iov_base = &rep, .iov_len = sizeof(rep) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control };
	int *fds[MAX_FDS];
	size_t n = 0;

	fds_of(m, fds);
	for (int i = 0; i < MAX_FDS; i++) {
		rep.has[i] = result == 0 && *fds[i] >= 0;
		if (rep.has[i])
			memcpy(CMSG_DATA(&control.head) + n++ * sizeof(int), fds[i], sizeof(int));
	}
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
	msg.msg_controllen = n ? CMSG_SPACE(n * sizeof(int)) : 0;
	return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

long wdr_net_fork(int *ret_pidfd)
{
	struct clone_args args = { .flags = CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)ret_pidfd };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	return pid < 0 ? -errno : pid;
}

int wdr_net_report_receive(int sock, struct wdr_net_made *ret, struct wdr_err *err)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
	} control = { 0 };
	struct report rep;
	struct iovec iov = { .iov_base = &rep, .iov_len = sizeof(rep) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	int *fds[MAX_FDS];
	ssize_t got;
	size_t n = 0;

	do {
		got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return wdr_err_set(err, -ECHILD, "hear the maker of a network slot: %s",
				   strerror(errno));
	if (got != sizeof(rep))
		return wdr_err_set(err, -ECHILD, "the maker of a network slot was killed");
	fds_of(ret, fds);
	for (int i = 0; i < MAX_FDS; i++) {
		*fds[i] = -1;
		if (rep.has[i])
			memcpy(fds[i], CMSG_DATA(&control.head) + n++ * sizeof(int), sizeof(int));
	}
	ret->info = rep.info;
	if (rep.result < 0 && err)
		*err = rep.err;
	return rep.result;
}

/*
 * In the child. TCP sockets that still want to tell a peer something may do so once more, and not
 * for minutes, which their namespace would live as long (tcp_orphan_retries).
 */
static int end_slot(const struct wdr_net_ending *e)
{
	wdr_close_ int nl_fd = -1, fd = -1;
	struct wdr_err err = { 0 };
	int r = wdr_nl_open(NETLINK_ROUTE, &nl_fd);

	if (e->netns_fd >= 0 && setns(e->netns_fd, CLONE_NEWNET) == 0)
		fd = open("/proc/sys/net/ipv4/tcp_orphan_retries", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, "1", 1);
	if (r == 0)
		r = wdr_net_flows_forget(e->nf_fd, e->slot);
	return r < 0 ? r : wdr_net_link_delete(nl_fd, e->slot->link, &err);
}

int wdr_net_end_aside(const struct wdr_net_ending *e)
{
	int keep[] = { e->nf_fd, e->netns_fd };
	int pidfd = -1;
	long pid = wdr_net_fork(&pidfd);

	if (pid == 0) {
		/* Somebody may wait for the end of our output. */
		if (close_range(0, 2, 0) < 0 || wdr_close_except(keep, 2) < 0)
			_exit(1);
		_exit(e->slot && end_slot(e) < 0);
	}
	return pidfd;
}
