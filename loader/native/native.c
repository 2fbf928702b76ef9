/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side: clone, map, release, and the messages that come back. */
#include "native/native.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/wdr_pidfd.h"
#include "native/native_priv.h"

static const struct {
	enum wdr_protection protection;
	uint64_t flag;
} namespaces[] = {
	{ WDR_PROT_USER_NS, CLONE_NEWUSER }, { WDR_PROT_MOUNT_NS, CLONE_NEWNS },
	{ WDR_PROT_PID_NS, CLONE_NEWPID },   { WDR_PROT_IPC_NS, CLONE_NEWIPC },
	{ WDR_PROT_UTS_NS, CLONE_NEWUTS },
};

static void free_tree(struct native_tree *t)
{
	wdr_closep(&t->fd);
	wdr_freep(&t->source);
}

static void native_freep(struct wdr_backend_job **pb)
{
	struct wdr_backend_job *b = *pb;

	if (!b)
		return;
	wdr_pidfd_end(&b->pidfd);
	wdr_closep(&b->ctl_fd);
	for (size_t i = 0; i < b->n_mounts; i++)
		free_tree(&b->mounts[i]);
	for (size_t i = 0; i < WDR_SPEC_MAX_VIEWS; i++)
		free_tree(&b->views[i]);
	free_tree(&b->root);
	wdr_native_close_prepared(b);
	free(b->mounts);
	wdr_seccomp_filter_free(&b->filter);
	wdr_freep(pb);
}

#define native_job_ wdr_cleanup(native_freep)

static int new_job(const struct wdr_spec *s, struct wdr_backend_job **ret)
{
	struct wdr_backend_job *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->spec = s;
	b->pidfd = b->ctl_fd = b->root.fd = b->prepared.fd = b->prepared.lock_fd = -1;
	for (size_t i = 0; i < WDR_SPEC_MAX_VIEWS; i++)
		b->views[i].fd = -1;
	b->mounts = calloc(s->policy->fs.n_mounts + 1, sizeof(*b->mounts));
	if (!b->mounts) {
		free(b);
		return -ENOMEM;
	}
	*ret = b;
	return 0;
}

static uint64_t clone_flags(const struct wdr_spec *s)
{
	uint64_t flags = CLONE_PIDFD;

	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		if (!(s->waived & WDR_PROT_BIT(namespaces[i].protection)))
			flags |= namespaces[i].flag;
	}
	if (s->net_fd < 0 && s->policy->net.mode != WDR_NET_HOST &&
	    !(s->waived & WDR_PROT_BIT(WDR_PROT_NET_NS)))
		flags |= CLONE_NEWNET;
	return flags;
}

static long clone_now(struct clone_args *ca, struct wdr_err *err)
{
	long pid = syscall(SYS_clone3, ca, sizeof(*ca));

	return pid < 0 ?
		       wdr_err_set(err, -errno, "clone3 with new namespaces: %s", strerror(errno)) :
		       pid;
}

/*
 * clone3 as @owner, with our capabilities. What a user namespace's processes take of per-user
 * quotas (inotify, pending signals, locked memory, namespaces: kernel/ucount.c) is charged to its
 * creator outside, too: as root, every job and root itself would share one quota. A change of user
 * clears the parent-death signal; ours may be our caller's, so it is put back.
 */
static long clone_owned(struct clone_args *ca, uid_t owner, struct wdr_err *err)
{
	int bits = prctl(PR_GET_SECUREBITS);
	int death = 0;
	long pid;

	if (bits < 0 || prctl(PR_GET_PDEATHSIG, &death) < 0 ||
	    prctl(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP) < 0 || seteuid(owner) < 0)
		return wdr_err_set(err, -errno, "become the job's uid %u: %s", owner,
				   strerror(errno));
	pid = clone_now(ca, err);
	if (pid == 0 || (seteuid(0) == 0 && prctl(PR_SET_SECUREBITS, bits) == 0 &&
			 prctl(PR_SET_PDEATHSIG, death) == 0))
		return pid;
	if (pid > 0)
		(void)kill((pid_t)pid, SIGKILL);
	return wdr_err_set(err, -errno, "be root again: %s", strerror(errno));
}

static long clone_as(const struct wdr_spec *s, struct clone_args *ca, struct wdr_err *err)
{
	return s->privileged && (ca->flags & CLONE_NEWUSER) ? clone_owned(ca, s->host_uid, err) :
							      clone_now(ca, err);
}

/* In the network namespace that was made for the job, to be born there: once it is in a user
 * namespace of its own it may not enter one that is root's. */
static long clone_in_net(const struct wdr_spec *s, struct clone_args *ca, struct wdr_err *err)
{
	wdr_close_ int home = -1;
	int left, back;
	long pid;

	if (s->net_fd < 0)
		return clone_as(s, ca, err);
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (home < 0 || setns(s->net_fd, CLONE_NEWNET) < 0)
		return wdr_err_set(err, -errno, "enter the job's network: %s", strerror(errno));
	pid = clone_as(s, ca, err);
	/* Short of memory once is no reason to undo all else in the wrong namespace. */
	if (pid == 0 || setns(home, CLONE_NEWNET) == 0)
		return pid;
	left = errno;
	back = setns(home, CLONE_NEWNET);
	if (pid > 0)
		(void)kill((pid_t)pid, SIGKILL);
	return wdr_err_set(err, -left, "leave the job's network: %s%s", strerror(left),
			   back < 0 ? ", twice" : "");
}

static int clone_waiting(struct wdr_backend_job *b, int child_ctl, struct wdr_err *err)
{
	const struct wdr_spec *s = b->spec;
	struct clone_args ca = {
		.flags = clone_flags(s),
		.pidfd = (uint64_t)(uintptr_t)&b->pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid;

	if (s->cgroup_fd >= 0) {
		ca.flags |= CLONE_INTO_CGROUP;
		ca.cgroup = (uint64_t)s->cgroup_fd;
	}
	pid = clone_in_net(s, &ca, err);
	if (pid == 0)
		wdr_native_child(b, child_ctl);
	if (pid < 0) {
		b->pidfd = -1;
		return (int)pid;
	}
	b->pid = (pid_t)pid;
	return 0;
}

static int send_cmd(struct wdr_backend_job *b, uint32_t type, int32_t value)
{
	struct native_cmd c = { .type = type, .value = value };

	return send(b->ctl_fd, &c, sizeof(c), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int map_ids(struct wdr_backend_job *b, struct wdr_err *err)
{
	const struct wdr_spec *s = b->spec;
	uint32_t uid = s->privileged ? s->host_uid : geteuid();
	uint32_t gid = s->privileged ? s->host_uid : getegid();

	if (s->waived & WDR_PROT_BIT(WDR_PROT_USER_NS))
		return 0;
	return wdr_userns_map(b->pid, s->policy->user.uid, s->policy->user.gid, uid, gid,
			      !s->privileged, err);
}

static int native_spawn(const struct wdr_spec *s, struct wdr_backend_job **ret, struct wdr_err *err)
{
	native_job_ struct wdr_backend_job *b = NULL;
	wdr_close_ int child_ctl = -1;
	int pair[2];
	int r;

	r = new_job(s, &b);
	if (r < 0)
		return r;
	if (!(s->waived & WDR_PROT_BIT(WDR_PROT_SECCOMP))) {
		const struct wdr_seccomp_spec spec = {
			.profile = s->policy->syscalls.profile,
			.allow = s->policy->syscalls.allow,
			.deny = s->policy->syscalls.deny,
			.n_allow = s->policy->syscalls.n_allow,
			.n_deny = s->policy->syscalls.n_deny,
			.capabilities = s->policy->capabilities,
			.kill = s->policy->syscalls.on_deny == WDR_ON_SYSCALL_KILL,
		};

		r = wdr_seccomp_build(&spec, &b->filter, err);
		if (r < 0)
			return r;
	}
	r = wdr_native_open_trees(b, err);
	if (r < 0)
		return r;
	wdr_native_open_prepared(b);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return wdr_err_set(err, -errno, "control socket: %s", strerror(errno));
	b->ctl_fd = pair[0];
	child_ctl = pair[1];

	r = clone_waiting(b, child_ctl, err);
	if (r < 0)
		return r;
	r = wdr_native_level_oom(b->pid, err);
	if (r == 0)
		r = map_ids(b, err);
	if (r < 0)
		return r;
	r = send_cmd(b, NATIVE_CMD_MAPPED, 0);
	if (r < 0)
		return wdr_err_wrap(err, r, "speak to pid 1");
	*ret = WDR_TAKE_PTR(b);
	return 0;
}

static int native_release(struct wdr_backend_job *b, struct wdr_err *err)
{
	int r = send_cmd(b, NATIVE_CMD_GO, 0);

	/* A pid 1 that failed early is gone; its message, still to be read, says why. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return wdr_err_wrap(err, r, "speak to pid 1");
	return 0;
}

static int native_signal(struct wdr_backend_job *b, int signo)
{
	return send_cmd(b, NATIVE_CMD_SIGNAL, signo);
}

static int native_kill(struct wdr_backend_job *b)
{
	return wdr_pidfd_kill(b->pidfd);
}

static int native_receive(struct wdr_backend_job *b, struct wdr_backend_msg *ret,
			  struct wdr_err *err)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct native_msg m;
	struct iovec iov = { .iov_base = &m, .iov_len = sizeof(m) };
	struct msghdr h = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	wdr_close_ int fd = -1;
	struct cmsghdr *c;
	ssize_t n;

	do {
		n = recvmsg(b->ctl_fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (n == 0)
		return -EPIPE;
	c = CMSG_FIRSTHDR(&h);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (n != (ssize_t)sizeof(m))
		return -EPROTO;
	*ret = (struct wdr_backend_msg){ .fd = -1 };
	switch (m.type) {
	case NATIVE_MSG_RUNNING:
		ret->event = WDR_BACKEND_RUNNING;
		ret->fd = WDR_TAKE_FD(fd);
		return 0;
	case NATIVE_MSG_FAILED:
		ret->event = WDR_BACKEND_FAILED;
		ret->exit_code = m.value >= 125 && m.value <= 127 ? m.value : 125;
		m.err.where[sizeof(m.err.where) - 1] = '\0';
		m.err.msg[sizeof(m.err.msg) - 1] = '\0';
		if (err)
			*err = m.err;
		return 0;
	case NATIVE_MSG_EXITED:
		ret->event = WDR_BACKEND_EXITED;
		ret->status = m.value;
		return 0;
	default:
		return -EPROTO;
	}
}

static pid_t native_pid(const struct wdr_backend_job *b)
{
	return b->pid;
}

static int native_pidfd(const struct wdr_backend_job *b)
{
	return b->pidfd;
}

static int native_msg_fd(const struct wdr_backend_job *b)
{
	return b->ctl_fd;
}

/* Whether a sandbox really starts is seen at the start itself: each step of it names its failure. */
static int native_probe(struct wdr_err *err)
{
	(void)err;
	return 0;
}

const struct wdr_backend_ops wdr_native_ops = {
	.name = "native",
	.own_tasks = 1, /* its pid 1 */
	.tasks_each = 1,
	.probe = native_probe,
	.spawn = native_spawn,
	.release = native_release,
	.pid = native_pid,
	.pidfd = native_pidfd,
	.msg_fd = native_msg_fd,
	.receive = native_receive,
	.signal = native_signal,
	.kill = native_kill,
	.freep = native_freep,
};
