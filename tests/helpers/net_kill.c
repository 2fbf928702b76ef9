/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kill a supervisor, the maker of its slot, or both, at the N-th system call of one of them.
 *
 * usage: net_kill DIR maker|both|remove N
 *
 *   maker   SIGKILL to the maker at its N-th call: the supervisor says so and cleans up
 *   both    to the supervisor as well
 *   remove  to the supervisor at the N-th call of giving its slot back
 *
 * Exit status 0: killed; 3: there were fewer calls; 1: something else.
 */
#include <errno.h>
#include <linux/prctl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "net/net.h"

#define TRACE	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)
#define NO_SLOT 9

struct hunt {
	const char *mode;
	long n;
	pid_t supervisor, prey;
	bool armed; /* its calls are counted from here on */
	long stops;
	bool done;
};

static _Noreturn void supervise(const char *dir)
{
	const struct wdr_net_slot_spec spec = { .job = "j-kill", .netns_fd = -1 };
	wdr_net_pool_ struct wdr_net_pool *p = NULL;
	wdr_net_slot_ struct wdr_net_slot *s = NULL;
	struct wdr_err err = { 0 };
	int r;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(1);
	(void)raise(SIGSTOP);
	r = wdr_net_pool_new(dir, &p, &err);
	if (r == 0)
		r = wdr_net_slot_new(p, &spec, &s, &err);
	if (r == 0) {
		(void)raise(SIGUSR1); /* tells the tracer; it does not come through */
		r = wdr_net_slot_remove(s, &err);
	}
	wdr_net_slot_freep(&s);
	wdr_net_pool_freep(&p);
	printf("%s\n", err.msg);
	(void)fflush(stdout);
	_exit(r == 0 ? 0 : NO_SLOT);
}

static void strike(struct hunt *h)
{
	if (!strcmp(h->mode, "both"))
		(void)kill(h->supervisor, SIGKILL);
	(void)kill(h->prey, SIGKILL);
	h->done = true;
}

/* One stop of @pid. Returns the signal to go on with. */
static int on_stop(struct hunt *h, pid_t pid, int status)
{
	int sig = WSTOPSIG(status);
	bool removing = !strcmp(h->mode, "remove");

	if (sig == (SIGTRAP | 0x80)) {
		h->stops += h->armed && pid == h->prey;
		/* Two stops a call: going in, coming out. Struck on the way in. */
		if (h->armed && !h->done && pid == h->prey && h->stops == 2 * h->n - 1)
			strike(h);
		return 0;
	}
	if (sig == SIGSTOP && pid != h->supervisor && !h->prey && !removing) {
		h->prey = pid;
		h->armed = true;
		return 0;
	}
	if (sig == SIGUSR1 && pid == h->supervisor && removing) {
		h->prey = pid;
		h->armed = true;
	}
	return sig == SIGSTOP || sig == SIGUSR1 || sig == SIGTRAP ? 0 : sig;
}

static int hunt(struct hunt *h)
{
	int status, result = 1;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status)) {
			if (pid == h->supervisor)
				result = WIFEXITED(status) ? WEXITSTATUS(status) :
							     128 + WTERMSIG(status);
			continue;
		}
		(void)ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(uintptr_t)on_stop(h, pid, status));
	}
	return result;
}

int main(int argc, char **argv)
{
	struct hunt h = { 0 };
	int status, result;

	if (argc != 4)
		return 1;
	h.mode = argv[2];
	h.n = strtol(argv[3], NULL, 10);
	h.supervisor = fork();
	if (h.supervisor == 0)
		supervise(argv[1]);
	if (h.supervisor < 0 || waitpid(h.supervisor, &status, 0) < 0 ||
	    ptrace(PTRACE_SETOPTIONS, h.supervisor, NULL, (void *)TRACE) < 0 ||
	    ptrace(PTRACE_SYSCALL, h.supervisor, NULL, NULL) < 0)
		return 1;
	result = hunt(&h);
	if (!h.done)
		return result == 0 ? 3 : 1;
	if (strcmp(h.mode, "maker"))
		return result == 128 + SIGKILL ? 0 : 1;
	/* Its last calls come after it has said that all is done. */
	return result == NO_SLOT || result == 0 ? 0 : 1;
}
