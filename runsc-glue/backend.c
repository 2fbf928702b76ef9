/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side: everything that can be checked from outside, the clone, the messages. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "ahead.h"
#include "base/wdr_msg.h"
#include "base/wdr_pidfd.h"
#include "base/wdr_tree.h"
#include "model/protection.h"
#include "runsc.h"
#include "sandbox_priv.h"
#include "seccheck.h"

/* Where the supervisor's own cache is (state/state.h); not there yet: asked each time. */

static void runsc_freep(struct wdr_backend_job **pb)
{
	struct wdr_backend_job *b = *pb;

	if (!b)
		return;
	wdr_pidfd_end(&b->pidfd);
	wdr_closep(&b->ctl_fd);
	wdr_closep(&b->root.fd);
	for (size_t i = 0; i < b->n_mounts; i++)
		wdr_closep(&b->mounts[i].fd);
	for (size_t i = 0; i < WDR_SPEC_MAX_VIEWS; i++)
		wdr_closep(&b->views[i].fd);
	free(b->mounts);
	free(b->config);
	free(b->session);
	wdr_ahead_done(&b->ahead);
	wdr_freep(pb);
}

#define runsc_job_ wdr_cleanup(runsc_freep)

static int new_job(const struct wdr_spec *s, struct wdr_backend_job **ret)
{
	runsc_job_ struct wdr_backend_job *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->spec = s;
	b->pidfd = b->ctl_fd = b->root.fd = -1;
	b->ahead = (struct wdr_ahead)WDR_AHEAD_NONE;
	for (size_t i = 0; i < WDR_SPEC_MAX_VIEWS; i++)
		b->views[i].fd = -1;
	b->mounts = calloc(s->policy->fs.n_mounts + 1, sizeof(*b->mounts));
	if (!b->mounts)
		return -ENOMEM;
	*ret = WDR_TAKE_PTR(b);
	return 0;
}

char *wdr_mount_source(const struct wdr_mount *m)
{
	bool whole = m->source[0] == '/';
	char *path = NULL;

	if (asprintf(&path, "%s%s%s",
		     whole   ? "" :
		     m->base ? m->base :
			       ".",
		     whole ? "" : "/", m->source) < 0)
		return NULL;
	return path;
}

static int open_source(struct wdr_backend_job *b, const struct wdr_mount *m, struct wdr_box_tree *t,
		       struct wdr_err *err)
{
	const struct wdr_spec *s = b->spec;
	enum wdr_idmap map =
		s->waived & WDR_PROT_BIT(WDR_PROT_IDMAP) ? WDR_IDMAP_NONE : WDR_IDMAP_SWAP;
	struct wdr_ids as = { s->policy->user.uid, s->policy->user.gid };
	wdr_free_ char *path = wdr_mount_source(m);

	if (!path)
		return -ENOMEM;
	/* The guest's user has the number for the gofer, and so for the mount, that he has inside. */
	t->fd = wdr_tree_open(path, m->readonly, map, as, &t->is_dir, err);
	return t->fd < 0 ? WDR_TAKE_FD(t->fd) : 0;
}

static int open_root(struct wdr_backend_job *b, struct wdr_err *err)
{
	const struct wdr_policy *p = b->spec->policy;
	struct wdr_ids as = { p->user.uid, p->user.gid };
	const char *root = p->fs.root;

	if (!root)
		return 0;
	b->root.fd = wdr_tree_open(root, true, WDR_IDMAP_SWAP, as, &b->root.is_dir, err);
	if (b->root.fd < 0)
		return wdr_err_wrap(err, WDR_TAKE_FD(b->root.fd), "root");
	if (!b->root.is_dir)
		return wdr_err_set(err, -ENOTDIR, "root %s is not a directory", root);
	return 0;
}

static int open_trees(struct wdr_backend_job *b, struct wdr_err *err)
{
	const struct wdr_spec *s = b->spec;
	const struct wdr_policy *p = s->policy;
	int r = open_root(b, err);

	for (size_t i = 0; r == 0 && i < p->fs.n_mounts; i++)
		r = open_source(b, &p->fs.mounts[i], &b->mounts[b->n_mounts++], err);
	for (unsigned int i = 0; r == 0 && i < s->n_views; i++) {
		struct wdr_box_tree *t = &b->views[i];

		t->is_dir = true;
		t->fd = wdr_tree_clone(s->views[i].dir_fd, "", AT_EMPTY_PATH,
				       MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					       MOUNT_ATTR_NOEXEC);
		if (t->fd < 0)
			r = wdr_err_wrap(err, WDR_TAKE_FD(t->fd), "show the job its cgroup %s",
					 s->views[i].name);
	}
	return r;
}

static int make_config(struct wdr_backend_job *b, struct wdr_err *err)
{
	bool net = b->spec->policy->net.mode == WDR_NET_EGRESS;
	wdr_json_ json_t *config = NULL;
	char net_path[32];
	int r;

	if (net && b->spec->net_fd < 0)
		return wdr_err_set(err, -EOPNOTSUPP, "no network was made for this job");
	/* As runsc will find it: the keeper holds the same descriptor, and is pid 1 there. */
	(void)snprintf(net_path, sizeof(net_path), "/proc/1/fd/%d", b->spec->net_fd);
	r = wdr_bundle_config(b->spec, &b->runsc, net ? net_path : NULL, &config, err);
	if (r < 0)
		return r;
	b->config = json_dumps(config, JSON_COMPACT);
	return b->config ? 0 : -ENOMEM;
}

static int make_session(struct wdr_backend_job *b, struct wdr_err *err)
{
	wdr_json_ json_t *session = NULL;
	int r;

	if (b->spec->tell && !(b->runsc.features & WDR_RUNSC_TRACE))
		return wdr_err_set(err, -EOPNOTSUPP, "%s can't tell of its guest", b->runsc.path);
	r = wdr_seccheck_session(b->spec->tell, WDR_BOX_SINK, &session);
	if (r < 0 || !session)
		return r;
	b->session = json_dumps(session, JSON_COMPACT);
	return b->session ? 0 : -ENOMEM;
}

static int clone_keeper(struct wdr_backend_job *b, int child_ctl, struct wdr_err *err)
{
	struct clone_args ca = {
		.flags = CLONE_PIDFD | CLONE_NEWPID | CLONE_NEWNS,
		.pidfd = (uint64_t)(uintptr_t)&b->pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid;

	if (b->spec->cgroup_fd >= 0) {
		ca.flags |= CLONE_INTO_CGROUP;
		ca.cgroup = (uint64_t)b->spec->cgroup_fd;
	}
	pid = syscall(SYS_clone3, &ca, sizeof(ca));
	if (pid == 0)
		wdr_keep(b, child_ctl);
	if (pid < 0) {
		b->pidfd = -1;
		return wdr_err_wrap(err, -errno, "clone3 with new namespaces");
	}
	b->pid = (pid_t)pid;
	return 0;
}

int wdr_sandbox_spawn(const struct wdr_spec *s, const struct wdr_runsc *r,
		      struct wdr_backend_job **ret, struct wdr_err *err)
{
	runsc_job_ struct wdr_backend_job *b = NULL;
	wdr_close_ int child_ctl = -1;
	int pair[2];
	int e;

	e = new_job(s, &b);
	if (e < 0)
		return e;
	b->runsc = *r;
	if (!(r->features & WDR_RUNSC_OCI_SECCOMP) && !(s->waived & WDR_PROT_BIT(WDR_PROT_SECCOMP)))
		return wdr_err_set(err, -EOPNOTSUPP,
				   "%s has no --oci-seccomp: the policy's profile can't be applied",
				   r->path);
	e = wdr_bundle_check_calls(s->policy, err);
	if (e == 0)
		e = wdr_ahead_open(b, err);
	if (e == 0)
		e = open_trees(b, err);
	if (e == 0)
		e = make_config(b, err);
	if (e == 0)
		e = make_session(b, err);
	if (e < 0)
		return e;
	if (mkdir(WDR_BOX, 0755) < 0 && errno != EEXIST)
		return wdr_err_wrap(err, -errno, "make %s", WDR_BOX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return wdr_err_wrap(err, -errno, "control socket");
	b->ctl_fd = pair[0];
	child_ctl = pair[1];
	e = clone_keeper(b, child_ctl, err);
	if (e < 0)
		return e;
	wdr_ahead_close_childs(&b->ahead);
	*ret = WDR_TAKE_PTR(b);
	return 0;
}

static int runsc_spawn(const struct wdr_spec *s, struct wdr_backend_job **ret, struct wdr_err *err)
{
	struct wdr_runsc r;
	int e;

	if (!s->privileged)
		return wdr_err_set(err, -EPERM,
				   "the runsc backend needs root: take --backend native");
	e = wdr_runsc_get(s->cache_dir, &r, err);
	return e < 0 ? e : wdr_sandbox_spawn(s, &r, ret, err);
}

int wdr_sandbox_tell(struct wdr_backend_job *b, const struct wdr_keep_cmd *c)
{
	return wdr_msg_send(b->ctl_fd, c, sizeof(*c), NULL, 0, MSG_DONTWAIT);
}

static int send_cmd(struct wdr_backend_job *b, uint32_t type, int32_t value)
{
	const struct wdr_keep_cmd c = { .type = type, .value = value };

	return wdr_sandbox_tell(b, &c);
}

static int runsc_release(struct wdr_backend_job *b, struct wdr_err *err)
{
	int r = send_cmd(b, WDR_KEEP_GO, 0);

	/* A keeper that failed early is gone; its message, still to be read, says why. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return wdr_err_wrap(err, r, "speak to the sandbox's keeper");
	return 0;
}

static int runsc_signal(struct wdr_backend_job *b, int signo)
{
	return send_cmd(b, WDR_KEEP_SIGNAL, signo);
}

static int runsc_kill(struct wdr_backend_job *b)
{
	return wdr_pidfd_kill(b->pidfd);
}

static void take_err(const struct wdr_keep_msg *m, struct wdr_err *err)
{
	if (!err)
		return;
	*err = m->err;
	err->where[sizeof(err->where) - 1] = '\0';
	err->msg[sizeof(err->msg) - 1] = '\0';
}

static int take_message(const struct wdr_backend_job *b, const struct wdr_keep_msg *m,
			struct wdr_backend_msg *ret, struct wdr_err *err)
{
	switch (m->type) {
	case WDR_KEEP_HELD:
		ret->event = WDR_BACKEND_HELD;
		return 0;
	case WDR_KEEP_ANSWER:
		ret->event = WDR_BACKEND_FAILED;
		ret->exit_code = wdr_ahead_failure(m->step, m->value, b->spec, err);
		return 0;
	case WDR_KEEP_RUNNING:
		ret->event = WDR_BACKEND_RUNNING;
		return 0;
	case WDR_KEEP_FAILED:
		ret->event = WDR_BACKEND_FAILED;
		ret->exit_code = m->value;
		take_err(m, err);
		return 0;
	case WDR_KEEP_SINK:
		ret->event = WDR_BACKEND_SINK;
		return 0;
	case WDR_KEEP_LOST:
		ret->event = WDR_BACKEND_LOST;
		take_err(m, err);
		return 0;
	case WDR_KEEP_EXITED:
		ret->event = WDR_BACKEND_EXITED;
		ret->status = m->value;
		return 0;
	default:
		return -EPROTO;
	}
}

static int runsc_receive(struct wdr_backend_job *b, struct wdr_backend_msg *ret,
			 struct wdr_err *err)
{
	wdr_close_ int fd = -1;
	struct wdr_keep_msg m;
	ssize_t n;
	int r;

	n = wdr_msg_recv(b->ctl_fd, &m, sizeof(m), &fd, MSG_DONTWAIT);
	if (n <= 0)
		return n < 0 ? (int)n : -EPIPE;
	if (n != (ssize_t)sizeof(m))
		return -EPROTO;
	*ret = (struct wdr_backend_msg){ .fd = -1 };
	r = take_message(b, &m, ret, err);
	if (r == 0)
		ret->fd = WDR_TAKE_FD(fd);
	return r;
}

static pid_t runsc_pid(const struct wdr_backend_job *b)
{
	return b->pid;
}

static int runsc_pidfd(const struct wdr_backend_job *b)
{
	return b->pidfd;
}

static int runsc_msg_fd(const struct wdr_backend_job *b)
{
	return b->ctl_fd;
}

static int runsc_probe(struct wdr_err *err)
{
	struct wdr_runsc r;

	if (geteuid() != 0)
		return wdr_err_set(err, -EPERM, "the runsc backend needs root");
	return wdr_runsc_get(WDR_RUNSC_CACHE, &r, err);
}

const struct wdr_backend_ops wdr_runsc_ops = {
	.name = "runsc",
	/*
	 * Measured on two cores: 24 to 38 when idle (keeper, sentry, gofer, their Go threads, the
	 * first stubs). For each process of the guest 2 with systrap, up to 8 with ptrace, which
	 * keeps threads for tracing. RLIMIT_NPROC inside bounds the guest's own number.
	 */
	.own_tasks = 256,
	.tasks_each = 10,
	/* The guest's, by seccheck: on the host there is only the sandbox to be seen. */
	.gives = WDR_PROT_BIT(WDR_PROT_SYSCALL_COUNT) | WDR_PROT_BIT(WDR_PROT_PROC_EVENTS),
	.late_cpus = true, /* 110 ms of CPU, which half a CPU would stretch by 50 */
	.probe = runsc_probe,
	.spawn = runsc_spawn,
	.release = runsc_release,
	.take = wdr_ahead_take,
	.pid = runsc_pid,
	.pidfd = runsc_pidfd,
	.msg_fd = runsc_msg_fd,
	.receive = runsc_receive,
	.signal = runsc_signal,
	.kill = runsc_kill,
	.freep = runsc_freep,
};
