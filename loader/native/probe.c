/* SPDX-License-Identifier: Apache-2.0 */
#include "native/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/wdr_tree.h"
#include "native/probe_priv.h"

/* The child is a copy of its parent: a literal's address means the same in both. */
struct outcome {
	int r;
	const char *step;
};

struct pipes {
	int go[2];	/* closed by the parent once the child is mapped */
	int outcome[2]; /* one struct outcome */
};

static void close_pipes(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		wdr_closep(&p->go[i]);
		wdr_closep(&p->outcome[i]);
	}
}

static void be_trial(const struct wdr_trial *t, struct pipes *p)
{
	struct outcome o = { .step = "begin" };
	char byte;

	wdr_closep(&p->go[1]);
	if (read(p->go[0], &byte, 1) != 1)
		_exit(1);
	o.r = t->fn(&o.step);
	_exit(write(p->outcome[1], &o, sizeof(o)) != sizeof(o));
}

/* Map the child, let it go, take its outcome. */
static int converse(const struct wdr_trial *t, pid_t pid, struct pipes *p, const char **ret_step)
{
	uint32_t uid = t->as_uid ? t->as_uid : geteuid();
	uint32_t gid = t->as_uid ? t->as_uid : getegid();
	struct outcome o = { 0 };
	int r = 0;

	*ret_step = "map the ids of a user namespace";
	if (t->namespaces & CLONE_NEWUSER)
		r = wdr_userns_map(pid, 0, 0, uid, gid, geteuid() != 0, NULL);
	if (r < 0)
		return r;
	*ret_step = "speak to a child";
	if (write(p->go[1], "", 1) != 1)
		return -errno;
	wdr_closep(&p->outcome[1]);
	if (read(p->outcome[0], &o, sizeof(o)) != sizeof(o))
		return -ECHILD;
	*ret_step = o.step;
	return o.r;
}

static int try_one(const struct wdr_trial *t, const char **ret_step)
{
	struct clone_args ca = { .flags = t->namespaces, .exit_signal = SIGCHLD };
	struct pipes p = { { -1, -1 }, { -1, -1 } };
	long pid;
	int r;

	*ret_step = "make a pipe";
	r = pipe2(p.go, O_CLOEXEC) < 0 || pipe2(p.outcome, O_CLOEXEC) < 0 ? -errno : 0;
	if (r < 0)
		goto out;
	*ret_step = t->namespaces ? "clone3 with new namespaces" : "clone3";
	pid = syscall(SYS_clone3, &ca, sizeof(ca));
	if (pid == 0)
		be_trial(t, &p);
	r = pid < 0 ? -errno : converse(t, (pid_t)pid, &p, ret_step);
	if (pid < 0)
		goto out;
	wdr_closep(&p.go[1]); /* it ends with its pipe where no signal may be sent */
	(void)kill((pid_t)pid, SIGKILL);
	while (waitpid((pid_t)pid, NULL, 0) < 0 && errno == EINTR)
		;
out:
	close_pipes(&p);
	return r;
}

void wdr_native_try(const struct wdr_trial *trials, size_t n, struct wdr_check_report *rep)
{
	for (size_t i = 0; i < n; i++) {
		const char *step = "";
		int r = try_one(&trials[i], &step);

		if (r < 0)
			wdr_check_no(rep, trials[i].protection, "%s: %s", step, strerror(-r));
		else
			wdr_check_yes(rep, trials[i].protection, "%s", "");
	}
}
