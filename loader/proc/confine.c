/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/confine.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "native/caps.h"
#include "native/landlock.h"
#include "native/seccomp.h"

struct asked {
	uint32_t uid;
	const char *calls;
	pid_t parent;
};

static int set_limits(const struct asked *a)
{
	static const struct {
		int what;
		rlim_t max;
	} rows[] = {
		{ RLIMIT_AS, WDR_PROC_MEMORY },
		{ RLIMIT_NOFILE, WDR_PROC_FILES },
		{ RLIMIT_NPROC, 0 },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_MEMLOCK, 0 },
		{ RLIMIT_MSGQUEUE, 0 },
		{ RLIMIT_SIGPENDING, 0 },
	};

	(void)a;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rlimit l = { rows[i].max, rows[i].max };

		if (setrlimit(rows[i].what, &l) < 0)
			return -errno;
	}
	return 0;
}

static int bound_caps(const struct asked *a)
{
	(void)a;
	return wdr_caps_bound(0);
}

static int change_user(const struct asked *a)
{
	if (setgroups(0, NULL) < 0 || setresgid(a->uid, a->uid, a->uid) < 0 ||
	    setresuid(a->uid, a->uid, a->uid) < 0)
		return -errno;
	return 0;
}

static int clear_caps(const struct asked *a)
{
	(void)a;
	return wdr_caps_set(0);
}

/* A change of user clears the parent-death signal (prctl(2)). */
static int die_with_parent(const struct asked *a)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	return getppid() == a->parent ? 0 : -ECANCELED;
}

static int bar_privileges(const struct asked *a)
{
	(void)a;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* It can open nothing anyway: a second wall, where the kernel has it. */
static int bar_files(const struct asked *a)
{
	int r = wdr_landlock_restrict(NULL, 0);

	(void)a;
	return r == -EOPNOTSUPP ? 0 : r;
}

static int bar_calls(const struct asked *a)
{
	struct wdr_seccomp_filter f = { 0 };
	int r = wdr_seccomp_only(a->calls, &f);

	if (r == 0)
		r = wdr_seccomp_install(&f);
	/* Not freed: free(3) may make a call that is refused from here on. */
	return r;
}

static const struct {
	const char *name;
	int (*doit)(const struct asked *a);
} steps[] = {
	{ "resource limits", set_limits },
	{ "bounding set", bound_caps },
	{ "user", change_user },
	{ "capabilities", clear_caps },
	{ "parent death", die_with_parent },
	{ "no_new_privs", bar_privileges },
	{ "landlock", bar_files },
	{ "seccomp", bar_calls },
};

int wdr_proc_confine(uint32_t uid, const char *calls, struct wdr_err *err)
{
	const struct asked a = { uid, calls, getppid() };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int r = steps[i].doit(&a);

		if (r < 0)
			return wdr_err_set(err, r, "%s: %s", steps[i].name, strerror(-r));
	}
	return 0;
}
