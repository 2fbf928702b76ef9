/* SPDX-License-Identifier: Apache-2.0 */
/* The first half of a keeper's life: what it does before the supervisor lets runsc start. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/wdr_io.h"
#include "base/wdr_msg.h"
#include "sandbox_priv.h"

/* While it is one thread: spec.h, enter_fds. */
static int enter_cgroups(struct wdr_keeper *k, struct wdr_err *err)
{
	const struct wdr_spec *s = k->b->spec;

	for (unsigned int i = 0; i < s->n_enter_fds; i++)
		if (write(s->enter_fds[i], "0", 1) < 0)
			return wdr_err_wrap(err, -errno, "enter cgroup");
	return 0;
}

static int close_others(struct wdr_keeper *k, struct wdr_err *err)
{
	int keep[3 + 1 + 2 + 4 + WDR_SPEC_MAX_VIEWS + WDR_POLICY_MAX_MOUNTS];
	struct wdr_backend_job *b = k->b;
	size_t n = 0;
	int r;

	for (int i = 0; i < 3; i++)
		keep[n++] = k->stdio[i];
	keep[n++] = k->ctl;
	keep[n++] = b->root.fd;
	keep[n++] = b->spec->net_fd;
	keep[n++] = b->ahead.idle_fd;
	keep[n++] = b->ahead.words_fd;
	keep[n++] = b->ahead.answer_fd;
	keep[n++] = b->ahead.answer_in_fd;
	for (unsigned int i = 0; i < b->spec->n_views; i++)
		keep[n++] = b->views[i].fd;
	for (size_t i = 0; i < b->n_mounts; i++)
		keep[n++] = b->mounts[i].fd;
	r = wdr_close_except(keep, n);
	return r < 0 ? wdr_err_wrap(err, r, "close descriptors") : 0;
}

/* The caller's command line, which `ps` would show for as long as the job runs. */
static int hide(struct wdr_keeper *k, struct wdr_err *err)
{
	const struct wdr_spec *s = k->b->spec;
	sigset_t none;

	(void)err;
	if (s->args_area)
		memset(s->args_area, 0, s->args_area_len);
	(void)prctl(PR_SET_NAME, "warder-keeper");
	(void)setsid();
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	return 0;
}

/* A supervisor that died before this line: end of file on the socket, seen in wait_for_go(). */
static int die_with_supervisor(struct wdr_keeper *k, struct wdr_err *err)
{
	(void)k;
	return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ?
		       wdr_err_wrap(err, -errno, "parent-death signal") :
		       0;
}

/*
 * Mounts of the host still come in; none of ours goes out. Old versions of runsc look for
 * /proc/sys/net/core/rmem_default to tell whether they are in the first network namespace, which
 * since Linux 6 every namespace has (gVisor fixed it in 2024): they are not to see it.
 */
static int make_mounts(struct wdr_keeper *k, struct wdr_err *err)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return wdr_err_wrap(err, -errno, "leave the host's mount propagation");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return wdr_err_wrap(err, -errno, "mount /proc of the sandbox's pid namespace");
	if (k->b->spec->policy->net.mode == WDR_NET_EGRESS &&
	    mount("warder", "/proc/sys/net", "tmpfs", MS_RDONLY, "size=0") < 0)
		return wdr_err_wrap(err, -errno, "hide /proc/sys/net from runsc");
	return 0;
}

static int make_box(struct wdr_keeper *k, struct wdr_err *err)
{
	return wdr_box_make(k->b, err);
}

static int listen_at(const char *path, int type)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	wdr_close_ int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 1) < 0)
		return -errno;
	return WDR_TAKE_FD(fd);
}

static int open_console(struct wdr_keeper *k, struct wdr_err *err)
{
	if (!k->b->spec->tty)
		return 0;
	k->console = listen_at(WDR_BOX_CONSOLE, SOCK_STREAM);
	return k->console < 0 ? wdr_err_wrap(err, k->console, "console socket") : 0;
}

/* The supervisor reads it: runsc waits for its greeting. */
static int open_sink(struct wdr_keeper *k, struct wdr_err *err)
{
	struct wdr_keep_msg m = { .type = WDR_KEEP_SINK };
	wdr_close_ int fd = -1;
	int r;

	if (!k->b->session)
		return 0;
	fd = listen_at(WDR_BOX_SINK, SOCK_SEQPACKET);
	r = fd < 0 ? fd : wdr_msg_send(k->ctl, &m, sizeof(m), &fd, 1, 0);
	return r < 0 ? wdr_err_wrap(err, r, "seccheck socket") : 0;
}

int wdr_keep_prepare(struct wdr_keeper *k, struct wdr_err *err)
{
	static const struct {
		const char *name;
		int (*run)(struct wdr_keeper *k, struct wdr_err *err);
	} stages[] = {
		{ "cgroups", enter_cgroups }, { "descriptors", close_others },
		{ "process", hide },	      { "parent death", die_with_supervisor },
		{ "mounts", make_mounts },    { "box", make_box },
		{ "console", open_console },  { "sink", open_sink },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(stages) / sizeof(stages[0]); i++) {
		r = stages[i].run(k, err);
		if (r < 0 && !err->code)
			(void)wdr_err_wrap(err, r, "%s", stages[i].name);
	}
	return r;
}
