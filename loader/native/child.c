/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pid 1 of a job: a fork of the supervisor that never executes anything. It becomes the job's
 * user, builds the root, starts the main process and then only reaps. When it ends, the kernel
 * kills what is left of its pid namespace, so its end is the job's end.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/wdr_io.h"
#include "native/caps.h"
#include "native/init_priv.h"
#include "policy/etc.h"

/* Of the main process until execve: a path and a message are the most it holds. */
#define MAIN_STACK_BYTES 65536

#define ROOT_WAIVED (WDR_PROT_BIT(WDR_PROT_MOUNT_NS) | WDR_PROT_BIT(WDR_PROT_PIVOT_ROOT))

static _Noreturn void fail(struct child *c, int exit_code, const struct wdr_err *err)
{
	struct native_msg m = { .type = NATIVE_MSG_FAILED, .value = exit_code, .err = *err };

	wdr_init_send(c, &m, -1);
	_exit(EXIT_NOT_STARTED);
}

/* No command but the expected one can come here; end of file is a dead supervisor. */
static void wait_for(struct child *c, uint32_t type)
{
	struct native_cmd cmd;
	ssize_t n;

	do {
		n = recv(c->ctl, &cmd, sizeof(cmd), 0);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(cmd) || cmd.type != type)
		_exit(EXIT_NOT_STARTED);
}

/* While it is one thread and the caller's user: spec.h, enter_fds. */
static int enter_cgroups(struct child *c, struct wdr_err *err)
{
	const struct wdr_spec *s = c->b->spec;

	for (unsigned int i = 0; i < s->n_enter_fds; i++) {
		if (write(s->enter_fds[i], "0", 1) < 0)
			return wdr_err_set(err, -errno, "enter cgroup: %s", strerror(errno));
	}
	return 0;
}

/* After that: the namespace is rooted where we are now. */
static int enter_cgroup_ns(struct child *c, struct wdr_err *err)
{
	if (c->b->spec->waived & WDR_PROT_BIT(WDR_PROT_CGROUP_NS))
		return 0;
	if (unshare(CLONE_NEWCGROUP) < 0)
		return wdr_err_set(err, -errno, "cgroup namespace: %s", strerror(errno));
	return 0;
}

/* Keep what the job's start needs; the rest of the supervisor's descriptors goes at once. */
static int close_others(struct child *c, struct wdr_err *err)
{
	int keep[3 + 1 + 3 + WDR_SPEC_MAX_VIEWS + WDR_POLICY_MAX_MOUNTS];
	struct wdr_backend_job *b = c->b;
	size_t n = 0;
	int r;

	for (int i = 0; i < 3; i++)
		keep[n++] = c->stdio[i];
	keep[n++] = c->ctl;
	keep[n++] = b->root.fd;
	keep[n++] = b->prepared.fd;
	keep[n++] = b->prepared.lock_fd;
	for (unsigned int i = 0; i < WDR_SPEC_MAX_VIEWS; i++)
		keep[n++] = b->views[i].fd;
	for (size_t i = 0; i < b->n_mounts; i++)
		keep[n++] = b->mounts[i].fd;
	r = wdr_close_except(keep, n);
	return r < 0 ? wdr_err_wrap(err, r, "close descriptors") : 0;
}

static int become_user(struct child *c, struct wdr_err *err)
{
	const struct wdr_spec *s = c->b->spec;
	uint32_t uid = s->policy->user.uid;
	uint32_t gid = s->policy->user.gid;
	bool mapped = !(s->waived & WDR_PROT_BIT(WDR_PROT_USER_NS));

	if (!mapped)
		uid = gid = s->host_uid;
	/* Groups of the caller's would be rights of the caller's. An ordinary user can't drop them. */
	if (s->privileged && setgroups(0, NULL) < 0)
		return wdr_err_set(err, -errno, "drop groups: %s", strerror(errno));
	/* Without a user namespace the capabilities are needed until the root is built. */
	if (!mapped && prctl(PR_SET_SECUREBITS, 0x4 /* SECBIT_NO_SETUID_FIXUP */) < 0)
		return wdr_err_set(err, -errno, "securebits: %s", strerror(errno));
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return wdr_err_set(err, -errno, "become %u:%u: %s", uid, gid, strerror(errno));
	return 0;
}

/* After the change of user, which clears it (prctl(2)). A supervisor that died before: end of file. */
static int die_with_supervisor(struct child *c, struct wdr_err *err)
{
	struct pollfd p = { .fd = c->ctl };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return wdr_err_set(err, -errno, "parent-death signal: %s", strerror(errno));
	if (poll(&p, 1, 0) < 0 || (p.revents & (POLLHUP | POLLERR)))
		_exit(EXIT_NOT_STARTED);
	/* Overlay layers are named through our own /proc/self/fd, which must be ours for that. */
	return prctl(PR_SET_DUMPABLE, 1) < 0 ? -errno : 0;
}

static int name_host(struct child *c, struct wdr_err *err)
{
	if (c->b->spec->waived & WDR_PROT_BIT(WDR_PROT_UTS_NS))
		return 0;
	if (sethostname(WDR_JOB_HOSTNAME, strlen(WDR_JOB_HOSTNAME)) < 0)
		return wdr_err_set(err, -errno, "host name: %s", strerror(errno));
	return 0;
}

static int start_clocks(struct child *c, struct wdr_err *err)
{
	int r = c->b->spec->waived & WDR_PROT_BIT(WDR_PROT_TIME_NS) ? 0 : wdr_native_start_clocks();

	return r < 0 ? wdr_err_wrap(err, r, "time namespace") : 0;
}

static int raise_loopback(struct child *c, struct wdr_err *err)
{
	const struct wdr_spec *s = c->b->spec;
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	wdr_close_ int fd = -1;

	if (s->policy->net.mode == WDR_NET_HOST || s->net_fd >= 0 ||
	    (s->waived & WDR_PROT_BIT(WDR_PROT_NET_NS)))
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr) < 0)
		return wdr_err_set(err, -errno, "bring up loopback: %s", strerror(errno));
	return 0;
}

static int enter_root(struct child *c, struct wdr_err *err)
{
	int r;

	/* In the host's mount namespace there is nothing to build without hurting the host. */
	if (c->b->spec->waived & ROOT_WAIVED)
		return 0;
	r = wdr_native_enter_root(c->b, err);
	return r < 0 ? wdr_err_wrap(err, r, "build the root") : 0;
}

static int enter_workdir(struct child *c, struct wdr_err *err)
{
	const char *dir = c->b->spec->policy->workdir;

	if (c->b->spec->waived & ROOT_WAIVED)
		return 0;
	if (chdir(dir) < 0)
		return wdr_err_set(err, -errno, "workdir %s: %s", dir, strerror(errno));
	return 0;
}

static int open_tty(struct child *c, struct wdr_err *err)
{
	char slave[24];
	int unlock = 0;
	int n = 0;

	if (!c->b->spec->tty)
		return 0;
	c->tty_master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (c->tty_master < 0 || ioctl(c->tty_master, TIOCSPTLCK, &unlock) < 0 ||
	    ioctl(c->tty_master, TIOCGPTN, &n) < 0)
		return wdr_err_set(err, -errno, "pty: %s", strerror(errno));
	(void)snprintf(slave, sizeof(slave), "/dev/pts/%d", n);
	c->stdio[0] = open(slave, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (c->stdio[0] < 0)
		return wdr_err_set(err, -errno, "%s: %s", slave, strerror(errno));
	c->stdio[1] = c->stdio[2] = c->stdio[0];
	return 0;
}

static int open_null(struct child *c, struct wdr_err *err)
{
	int fd = -1;

	for (int i = 0; i < 3; i++) {
		if (c->stdio[i] >= 0)
			continue;
		if (fd < 0)
			fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return wdr_err_set(err, -errno, "/dev/null: %s", strerror(errno));
		c->stdio[i] = fd;
	}
	return 0;
}

/* The job can read /proc/1: our command line goes, and the rest is closed by not being dumpable. */
static int hide(struct child *c, struct wdr_err *err)
{
	const struct wdr_spec *s = c->b->spec;

	if ((s->waived & WDR_PROT_BIT(WDR_PROT_PID_NS)) && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return wdr_err_set(err, -errno, "subreaper: %s", strerror(errno));
	if (prctl(PR_SET_NAME, "warder-init") < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		return wdr_err_set(err, -errno, "hide pid 1: %s", strerror(errno));
	if (s->args_area_len > 0) {
		memset(s->args_area, 0, s->args_area_len);
		(void)snprintf(s->args_area, s->args_area_len, "warder-init");
	}
	return 0;
}

/* A job that is to have none inherits that from us: what drops them takes a call for each. */
static bool drops_with_job(const struct child *c)
{
	const struct wdr_spec *s = c->b->spec;

	return !s->policy->capabilities && !(s->waived & WDR_PROT_BIT(WDR_PROT_CAPABILITIES));
}

static int drop_caps(struct child *c, struct wdr_err *err)
{
	(void)err;
	return drops_with_job(c) ? wdr_caps_drop(0) : 0;
}

/* What the main process must not inherit, or not from us. */
static int give_up_late(struct child *c, struct wdr_err *err)
{
	int r = drops_with_job(c) ? 0 : wdr_caps_drop(0);

	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	return r < 0 ? wdr_err_wrap(err, r, "rights of pid 1") : 0;
}

/* The caller's own 0, 1 and 2, which every fork begins with, the job's, and what built the root. */
static int close_late(struct child *c, struct wdr_err *err)
{
	int keep[] = { c->ctl, c->chld };
	int r;

	for (int i = 0; i < 3; i++)
		(void)close(i);
	r = wdr_close_except(keep, 2);
	return r < 0 ? wdr_err_wrap(err, r, "descriptors of pid 1") : 0;
}

/* What the main process and pid 1 say to each other in the memory that they share until execve. */
struct main_start {
	struct child *c;
	struct native_msg m; /* RUNNING unless the main process wrote why not */
};

static int run_main(void *userdata)
{
	struct main_start *s = userdata;

	s->m.value = EXIT_NOT_STARTED;
	(void)wdr_native_exec(s->c->b, s->c->stdio, &s->m.value, &s->m.err);
	s->m.type = NATIVE_MSG_FAILED;
	_exit(EXIT_NOT_STARTED);
}

/*
 * We stand still until the program is executed or has failed (CLONE_VFORK): it needs no copy of our
 * memory, and leaves its failure in it.
 */
static void start_main(struct child *c)
{
	struct main_start s = { .c = c, .m = { .type = NATIVE_MSG_RUNNING } };
	char stack[MAIN_STACK_BYTES] __attribute__((aligned(16)));

	c->main_pid = clone(run_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &s);
	if (c->main_pid < 0) {
		(void)wdr_err_set(&s.m.err, -errno, "start the main process: %s", strerror(errno));
		fail(c, EXIT_NOT_STARTED, &s.m.err);
	}
	if (s.m.type == NATIVE_MSG_FAILED)
		fail(c, s.m.value, &s.m.err);
	wdr_init_send(c, &s.m, c->tty_master);
}

struct stage {
	const char *name;
	int (*run)(struct child *c, struct wdr_err *err);
};

static void run_stages(struct child *c, const struct stage *stages, size_t n)
{
	struct wdr_err err = { 0 };

	for (size_t i = 0; i < n; i++) {
		int r = stages[i].run(c, &err);

		if (r < 0 && !err.code)
			(void)wdr_err_wrap(&err, r, "%s", stages[i].name);
		if (r < 0)
			fail(c, EXIT_NOT_STARTED, &err);
	}
}

_Noreturn void wdr_native_child(struct wdr_backend_job *b, int ctl_fd)
{
	static const struct stage first[] = {
		{ "shed", wdr_init_shed },
		{ "cgroups", enter_cgroups },
		{ "cgroup namespace", enter_cgroup_ns },
		{ "close descriptors", close_others },
	};
	static const struct stage mapped[] = {
		{ "close descriptors", close_others },
		{ "user", become_user },
		{ "parent death", die_with_supervisor },
		{ "host name", name_host },
		{ "clocks", start_clocks },
		{ "loopback", raise_loopback },
		{ "root", enter_root },
		{ "workdir", enter_workdir },
		{ "pty", open_tty },
		{ "stdio", open_null },
	};
	static const struct stage last[] = {
		{ "hide", hide },
		{ "drop capabilities", drop_caps },
	};
	/* The program runs: a failure of these ends it, as an error. */
	static const struct stage late[] = {
		{ "close descriptors", close_late },
		{ "give up rights", give_up_late },
	};
	struct child c = { .b = b, .ctl = ctl_fd, .chld = -1, .tty_master = -1 };
	struct wdr_err err = { 0 };

	memcpy(c.stdio, b->spec->stdio_fds, sizeof(c.stdio));
	run_stages(&c, first, sizeof(first) / sizeof(first[0]));
	wait_for(&c, NATIVE_CMD_MAPPED);
	run_stages(&c, mapped, sizeof(mapped) / sizeof(mapped[0]));
	wait_for(&c, NATIVE_CMD_GO);
	c.chld = wdr_init_watch(&err);
	if (c.chld < 0)
		fail(&c, EXIT_NOT_STARTED, &err);
	run_stages(&c, last, sizeof(last) / sizeof(last[0]));
	start_main(&c);
	run_stages(&c, late, sizeof(late) / sizeof(late[0]));
	wdr_init_reap(&c);
}
