/* SPDX-License-Identifier: Apache-2.0 */
/* The main process between fork and execve: everything it can give up, it gives up here. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "native/caps.h"
#include "native/landlock.h"
#include "native/native_priv.h"

#define EXIT_NOT_STARTED    125
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND	    127

static int take_stdio(const int stdio[3])
{
	for (int i = 0; i < 3; i++) {
		if (dup2(stdio[i], i) < 0)
			return -errno;
	}
	return 0;
}

static int start_session(const struct wdr_spec *s)
{
	if (setsid() < 0)
		return -errno;
	if (s->tty && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
		return -errno;
	return 0;
}

static int set_rlimits(const struct wdr_spec *s)
{
	const struct wdr_limits *l = &s->policy->limits;
	const struct {
		int what;
		uint64_t soft, hard;
	} rows[] = {
		{ RLIMIT_CORE, 0, 0 },
		{ RLIMIT_NOFILE, l->files, l->files },
		{ RLIMIT_FSIZE, l->file_size_bytes, l->file_size_bytes },
		{ RLIMIT_MEMLOCK, 8 << 20, 8 << 20 }, /* the kernel's own default since 5.16 */
		{ RLIMIT_STACK, 8 << 20, RLIM_INFINITY },
		{ RLIMIT_RTPRIO, 0, 0 },
		{ RLIMIT_NICE, 0, 0 },
		/* Where no cgroup counts: the kernel counts a user's tasks per user namespace (5.14). */
		{ RLIMIT_NPROC,
		  s->waived & WDR_PROT_BIT(WDR_PROT_PIDS_LIMIT) ? l->pids : WDR_UNLIMITED,
		  WDR_UNLIMITED },
		{ RLIMIT_CPU,
		  s->waived & WDR_PROT_BIT(WDR_PROT_CPU_BUDGET) && l->cpu_ns != WDR_UNLIMITED ?
			  l->cpu_ns / 1000000000ULL + 1 :
			  WDR_UNLIMITED,
		  WDR_UNLIMITED },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rlimit have;
		struct rlimit want = { .rlim_cur = rows[i].soft, .rlim_max = rows[i].hard };

		/* What is already lower stays: raising takes a capability that we may not have. */
		if (getrlimit(rows[i].what, &have) < 0)
			return -errno;
		if (want.rlim_max > have.rlim_max)
			want.rlim_max = have.rlim_max;
		if (want.rlim_cur > want.rlim_max)
			want.rlim_cur = want.rlim_max;
		if (rows[i].soft != WDR_UNLIMITED && rows[i].hard == WDR_UNLIMITED)
			want.rlim_max = want.rlim_cur;
		if (setrlimit(rows[i].what, &want) < 0)
			return -errno;
	}
	return 0;
}

/* Ignored signals stay ignored over execve, and a blocked mask too: a job starts with neither. */
static int reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++) {
		/* EINVAL: SIGKILL, SIGSTOP, and what the C library keeps for itself. */
		if (signal(sig, SIG_DFL) == SIG_ERR && errno != EINVAL)
			return -errno;
	}
	(void)sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

static int landlock(const struct wdr_backend_job *b)
{
	struct wdr_landlock_rule rules[8 + WDR_POLICY_MAX_TMPFS + WDR_POLICY_MAX_MOUNTS];
	const struct wdr_policy *p = b->spec->policy;
	size_t n = 0;

	rules[n++] = (struct wdr_landlock_rule){ "/", p->fs.readonly ? WDR_LANDLOCK_READ_EXEC :
								       WDR_LANDLOCK_WRITE };
	rules[n++] = (struct wdr_landlock_rule){ "/dev", WDR_LANDLOCK_DEVICE };
	rules[n++] = (struct wdr_landlock_rule){ "/dev/shm", WDR_LANDLOCK_WRITE };
	rules[n++] = (struct wdr_landlock_rule){ "/dev/mqueue", WDR_LANDLOCK_WRITE };
	rules[n++] = (struct wdr_landlock_rule){ "/proc", WDR_LANDLOCK_DEVICE };
	for (size_t i = 0; i < p->fs.n_tmpfs; i++)
		rules[n++] = (struct wdr_landlock_rule){ p->fs.tmpfs[i], WDR_LANDLOCK_WRITE };
	for (size_t i = 0; i < b->n_mounts; i++)
		rules[n++] =
			(struct wdr_landlock_rule){ b->mounts[i].target,
						    b->mounts[i].readonly ? WDR_LANDLOCK_READ_EXEC :
									    WDR_LANDLOCK_WRITE };
	return wdr_landlock_restrict(rules, n);
}

/* Each in an order of its own need: groups and tty while there are rights, seccomp last of all. */
static int give_up(struct wdr_backend_job *b, struct wdr_err *err)
{
	const struct wdr_spec *s = b->spec;
	uint64_t waived = s->waived;
	int r;

	r = start_session(s);
	if (r < 0)
		return wdr_err_wrap(err, r, "new session");
	if (!(waived & WDR_PROT_BIT(WDR_PROT_KEYRING)) &&
	    syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return wdr_err_set(err, -errno, "new session keyring: %s", strerror(errno));
	r = waived & WDR_PROT_BIT(WDR_PROT_RLIMITS) ? 0 : set_rlimits(s);
	if (r < 0)
		return wdr_err_wrap(err, r, "resource limits");
	/* Without any to keep, pid 1 has dropped them before it started us. */
	r = !s->policy->capabilities || (waived & WDR_PROT_BIT(WDR_PROT_CAPABILITIES)) ?
		    0 :
		    wdr_caps_drop(s->policy->capabilities);
	if (r < 0)
		return wdr_err_wrap(err, r, "drop capabilities");
	if (!(waived & WDR_PROT_BIT(WDR_PROT_NO_NEW_PRIVS)) &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return wdr_err_set(err, -errno, "no_new_privs: %s", strerror(errno));
	r = waived & WDR_PROT_BIT(WDR_PROT_LANDLOCK) ? 0 : landlock(b);
	if (r < 0)
		return wdr_err_wrap(err, r, "landlock");
	return 0;
}

/* What execvp(3) does, but for its shell: a file that is no program is not executable. */
static int execute(const struct wdr_spec *s)
{
	const char *file = s->argv[0];
	const char *path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char full[PATH_MAX];
	int found = ENOENT;

	if (strchr(file, '/') || !*file) {
		if (*file)
			(void)execve(file, s->argv, s->envp);
		return *file ? -errno : -ENOENT;
	}
	for (size_t i = 0; s->envp[i]; i++) {
		if (!strncmp(s->envp[i], "PATH=", 5))
			path = s->envp[i] + 5;
	}
	while (*path) {
		size_t len = strcspn(path, ":");

		if (len > 0 && len + strlen(file) + 2 <= sizeof(full)) {
			(void)snprintf(full, sizeof(full), "%.*s/%s", (int)len, path, file);
			(void)execve(full, s->argv, s->envp);
			if (errno != ENOENT && errno != ENOTDIR)
				found = errno;
			if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
				break;
		}
		path += len + (path[len] == ':');
	}
	return -found;
}

int wdr_native_exec(struct wdr_backend_job *b, const int stdio[3], int *ret_exit,
		    struct wdr_err *err)
{
	int r;

	*ret_exit = EXIT_NOT_STARTED;
	r = take_stdio(stdio);
	if (r < 0)
		return wdr_err_wrap(err, r, "stdio");
	r = give_up(b, err);
	if (r < 0)
		return r;
	if (syscall(SYS_close_range, 3U, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */) < 0)
		return wdr_err_set(err, -errno, "close descriptors: %s", strerror(errno));
	r = reset_signals();
	if (r < 0)
		return wdr_err_wrap(err, r, "reset signals");
	r = b->filter.n_insns > 0 ? wdr_seccomp_install(&b->filter) : 0;
	if (r < 0)
		return wdr_err_wrap(err, r, "seccomp");
	r = execute(b->spec);
	*ret_exit = r == -ENOENT || r == -ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	if (r == -ENOENT || r == -ENOTDIR)
		return wdr_err_set(err, r, "%s: not found",
				   *b->spec->argv[0] ? b->spec->argv[0] : "\"\"");
	return wdr_err_set(err, r, "%s: %s", b->spec->argv[0], strerror(-r));
}
