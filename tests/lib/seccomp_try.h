/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One system call, made in children of their own with the filter and without: a refusal that would
 * have happened anyway proves nothing.
 */
#pragma once

#include "wdr_test.h"

#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "native/seccomp_priv.h"

#define SAME	(-1) /* whatever comes without the filter */
#define SIGNAL	1000 /* plus its number: how the child died */
#define N_OF(a) (sizeof(a) / sizeof((a)[0]))
#define MINUS_1S                       \
	{                              \
		-1, -1, -1, -1, -1, -1 \
	}

struct attempt {
	const char *call;
	long args[6];
	int with; /* errno under the filter, 0: success */
};

/* Not so under valgrind, which does not know the call. */
static inline bool has_seccomp(void)
{
	uint32_t action = SECCOMP_RET_ALLOW;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static inline struct wdr_seccomp_filter build(const struct wdr_seccomp_spec *spec)
{
	struct wdr_seccomp_filter f = { 0 };
	struct wdr_err err = { 0 };

	if (!has_seccomp())
		skip();
	assert_int_equal(wdr_seccomp_build(spec, &f, &err), 0);
	return f;
}

static inline int reap(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL + WTERMSIG(status);
}

static inline void enter(const struct wdr_seccomp_filter *f)
{
	/* cmocka's handlers would go on testing in the child. */
	(void)signal(SIGILL, SIG_DFL);
	(void)signal(SIGSEGV, SIG_DFL);
	(void)alarm(20);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || (f && wdr_seccomp_install(f) < 0))
		_exit(255);
}

/* errno of the call made in a child, 0 for success, SIGNAL + n if it died of it. */
static inline int try_call(const struct wdr_seccomp_filter *f, long nr, const long *a)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return reap(pid);
	if (nr == SYS_vhangup)
		(void)setsid();
	enter(f);
	_exit(syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 ? errno : 0);
}

static inline void make_attempts(const struct wdr_seccomp_spec *spec, const struct attempt *a,
				 size_t n)
{
	struct wdr_seccomp_filter f = build(spec);

	for (size_t i = 0; i < n; i++) {
		int nr = wdr_syscall_number(a[i].call), without, with;

		if (nr < 0)
			continue;
		without = try_call(NULL, nr, a[i].args);
		with = try_call(&f, nr, a[i].args);
		if (with == (a[i].with == SAME ? without : a[i].with) &&
		    (a[i].with == SAME || with != without || geteuid() != 0))
			continue;
		fail_msg("row %zu: %s: %d with the filter, %d without, want %d", i, a[i].call, with,
			 without, a[i].with);
	}
	wdr_seccomp_filter_free(&f);
}
