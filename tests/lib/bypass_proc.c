/* SPDX-License-Identifier: Apache-2.0 */
/* Ways that are about who sends: other processes, users, cgroups, and sockets from elsewhere. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bypass.h"
#include "kern_net.h"

static void use(int fd, const struct bypass *b)
{
	struct sockaddr_storage addr;
	socklen_t len = kern_net_addr(b->to, b->port, &addr);

	(void)!connect(fd, (const struct sockaddr *)&addr, len);
	(void)!send(fd, "x", 1, MSG_NOSIGNAL);
}

void bypass_brought(const struct bypass *b)
{
	use(b->brought_fd, b);
}

void bypass_passed(const struct bypass *b)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} c = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
			  .cmsg_level = SOL_SOCKET,
			  .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)
	};
	int pair[2], fd;

	memcpy(CMSG_DATA(&c.head), &b->brought_fd, sizeof(int));
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) || sendmsg(pair[0], &msg, 0) < 0 ||
	    recvmsg(pair[1], &msg, 0) < 0)
		return;
	memcpy(&fd, CMSG_DATA(&c.head), sizeof(int));
	use(fd, b);
}

void bypass_child(const struct bypass *b)
{
	pid_t pid = fork();

	if (!pid) {
		(void)setsid();
		if (!fork())
			bypass_udp(b);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

static void *in_thread(void *arg)
{
	bypass_udp(arg);
	return NULL;
}

void bypass_thread(const struct bypass *b)
{
	struct bypass copy = *b;
	pthread_t t;

	if (!pthread_create(&t, NULL, in_thread, &copy))
		(void)pthread_join(t, NULL);
}

void bypass_deeper(const struct bypass *b)
{
	int procs;

	(void)mkdirat(b->job_cgroup_fd, "deeper", 0755);
	procs = openat(b->job_cgroup_fd, "deeper/cgroup.procs", O_WRONLY | O_CLOEXEC);
	(void)!write(procs, "0", 1);
	bypass_tcp(b);
	bypass_udp(b);
	(void)close(procs);
	procs = openat(b->job_cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	(void)!write(procs, "0", 1);
	(void)unlinkat(b->job_cgroup_fd, "deeper", AT_REMOVEDIR);
}

void bypass_other_user(const struct bypass *b)
{
	if (!setuid(12345))
		bypass_udp(b);
}
