/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a program some of whose system calls fail.
 *
 *	fault CALL=ERRNO[,CALL=ERRNO...] PROGRAM [ARG...]
 *		these calls always fail, its children's too
 *	fault N=ERRNO PROGRAM [ARG...]
 *		only the N-th call fails, counted over the program and its forks, from the first
 *		rt_sigaction on (what comes before is the loader's), for as long as they have its name.
 *		Standard error gets "fault: N: CALL of COMM", or "fault: only N calls"
 *	fault N:CALL[,CALL...]=ERRNO PROGRAM [ARG...]
 *		the same, but of these calls only, the N-th of them together
 *
 * ERRNO is a number. The exit status is the program's, 128 + a signal that ended it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/wdr_syscall.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* linux/seccomp.h, 5.19 */
#endif

#define MAX_CALLS   16
#define LISTENER_FD 3

#define LOAD_NR	  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define RET(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define IF_NR(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1)

/* A failed end would be none, what ends here is not undone by failing, and brk(2) returns no errno. */
static const unsigned int never[] = { SYS_exit,	 SYS_exit_group, SYS_rt_sigreturn,
				      SYS_close, SYS_munmap,	 SYS_brk };

static void die(const char *what)
{
	perror(what);
	exit(99);
}

static unsigned int number(const char *s)
{
	return (unsigned int)strtoul(s, NULL, 10);
}

static int install(struct sock_filter *f, size_t n, unsigned int flags)
{
	const struct sock_fprog prog = { .len = (unsigned short)n, .filter = f };
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);

	if (r < 0)
		die("seccomp");
	return (int)r;
}

static void fail_always(char *list)
{
	struct sock_filter f[2 * MAX_CALLS + 2] = { LOAD_NR };
	size_t n = 1;

	for (char *s = strtok(list, ","); s; s = strtok(NULL, ",")) {
		char *error = strchr(s, '=');
		int nr;

		*error++ = '\0';
		nr = wdr_syscall_number(s);
		if (nr < 0 || n > 2 * MAX_CALLS) {
			(void)fprintf(stderr, "no call %s\n", s);
			exit(99);
		}
		f[n++] = (struct sock_filter)IF_NR((unsigned int)nr);
		f[n++] = (struct sock_filter)RET(SECCOMP_RET_ERRNO | number(error));
	}
	f[n++] = (struct sock_filter)RET(SECCOMP_RET_ALLOW);
	(void)install(f, n, 0);
}

static void ask_always(void)
{
	struct sock_filter f[2 * sizeof(never) / sizeof(never[0]) + 2] = { LOAD_NR };
	size_t n = 1;

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		f[n++] = (struct sock_filter)IF_NR(never[i]);
		f[n++] = (struct sock_filter)RET(SECCOMP_RET_ALLOW);
	}
	f[n++] = (struct sock_filter)RET(SECCOMP_RET_USER_NOTIF);
	/* The listener takes the lowest number, where the parent looks for it. */
	(void)syscall(SYS_close_range, LISTENER_FD, ~0U, 0);
	(void)install(f, n,
		      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
}

/* The child can't hand it over: every call of its waits for us by then. */
static int fetch_listener(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int fd = -1;

	while (fd < 0 && waitpid(pid, NULL, WNOHANG) == 0) {
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, LISTENER_FD, 0);
		if (fd < 0)
			(void)usleep(100);
	}
	(void)close(pidfd);
	if (fd < 0)
		die("listener");
	return fd;
}

struct count {
	char name[16]; /* of the program, as /proc has it */
	int calls[MAX_CALLS];
	size_t n_calls; /* 0: all of them */
	unsigned long n, at;
	int error;
	bool begun;
};

/* Whether task @pid is still the program or a fork that only renamed itself after it. */
static bool is_program(const struct count *c, pid_t pid, char comm[16])
{
	char path[48];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	comm[0] = '\0';
	(void)!fscanf(f, "%15s", comm);
	(void)fclose(f);
	return !strncmp(comm, c->name, strlen(c->name));
}

static bool is_counted(const struct count *c, int nr)
{
	for (size_t i = 0; i < c->n_calls; i++) {
		if (c->calls[i] == nr)
			return true;
	}
	return !c->n_calls;
}

static void answer(int fd, struct count *c)
{
	struct seccomp_notif req = { 0 };
	struct seccomp_notif_resp resp = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
	char comm[16];

	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
		return;
	resp.id = req.id;
	if (is_program(c, (pid_t)req.pid, comm)) {
		c->begun |= req.data.nr == SYS_rt_sigaction;
		if (c->begun && is_counted(c, req.data.nr) && ++c->n == c->at) {
			resp.flags = 0;
			resp.error = -c->error;
			(void)fprintf(stderr, "fault: %lu: %s of %s\n", c->n,
				      wdr_syscall_name((unsigned int)req.data.nr), comm);
		}
	}
	(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

/* Until the program has ended, and whatever it forked: then nobody has the filter any more. */
static void answer_all(int fd, struct count *c)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			die("poll");
		if (p.revents & POLLIN)
			answer(fd, c);
		else if (p.revents)
			return;
	}
}

/* "N=ERRNO" or "N:CALL[,CALL...]=ERRNO" */
static void parse_count(char *s, struct count *c)
{
	char *error = strchr(s, '=');

	*error++ = '\0';
	c->error = (int)number(error);
	c->at = strtoul(s, &s, 10);
	for (s = strtok(*s ? s + 1 : s, ","); s; s = strtok(NULL, ",")) {
		if (c->n_calls == MAX_CALLS || wdr_syscall_number(s) < 0) {
			(void)fprintf(stderr, "no call %s\n", s);
			exit(99);
		}
		c->calls[c->n_calls++] = wdr_syscall_number(s);
	}
}

int main(int argc, char **argv)
{
	struct count c = { .n = 0 };
	bool counted = argc > 2 && argv[1][0] >= '0' && argv[1][0] <= '9';
	const char *base;
	int status = 0;
	pid_t pid;

	if (argc < 3 || !strchr(argv[1], '='))
		return 99;
	if (!counted) {
		fail_always(argv[1]);
		(void)execvp(argv[2], argv + 2);
		die(argv[2]);
	}
	parse_count(argv[1], &c);
	base = strrchr(argv[2], '/');
	(void)snprintf(c.name, sizeof(c.name), "%s", base ? base + 1 : argv[2]);
	pid = fork();
	if (pid == 0) {
		ask_always();
		(void)execvp(argv[2], argv + 2);
		_exit(99);
	}
	answer_all(fetch_listener(pid), &c);
	(void)waitpid(pid, &status, 0);
	if (c.n < c.at)
		(void)fprintf(stderr, "fault: only %lu calls\n", c.n);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
