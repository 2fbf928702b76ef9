/* SPDX-License-Identifier: Apache-2.0 */
/* What a process gives up before it becomes the job. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "native/caps.h"
#include "native/landlock.h"
#include "native/native_priv.h"
#include "native/probe.h"
#include "native/probe_priv.h"

static int gain_no_privileges(const char **step)
{
	*step = "set no_new_privs";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	*step = "find no_new_privs set";
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -EPERM;
}

static int drop_capabilities(const char **step)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];
	int r;

	*step = "drop every capability";
	r = wdr_caps_drop(0);
	if (r < 0)
		return r;
	*step = "find none left";
	if (syscall(SYS_capget, &h, d) < 0)
		return -errno;
	if (d[0].permitted || d[1].permitted || prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0) != 0)
		return -EPERM;
	return 0;
}

/* The profile that a job gets, and a call that it refuses. */
static int filter_calls(const char **step)
{
	static const struct wdr_seccomp_spec spec = { .profile = "default" };
	struct wdr_seccomp_filter f = { 0 };
	int r;

	*step = "set no_new_privs";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	*step = "build the seccomp profile";
	r = wdr_seccomp_build(&spec, &f, NULL);
	if (r < 0)
		return r;
	*step = "install a seccomp filter";
	r = wdr_seccomp_install(&f);
	wdr_seccomp_filter_free(&f);
	if (r < 0)
		return r;
	*step = "be refused keyctl";
	if (syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 0) >= 0)
		return -EBADE;
	return errno == EPERM ? 0 : -errno;
}

static int restrict_paths(const char **step)
{
	static const struct wdr_landlock_rule rules[] = { { "/proc", WDR_LANDLOCK_READ_EXEC } };
	int r;

	*step = "set no_new_privs";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	*step = "enter a Landlock domain";
	r = wdr_landlock_restrict(rules, 1);
	if (r < 0)
		return r;
	*step = "be refused to open / by Landlock";
	if (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0)
		return -EBADE;
	return errno == EACCES ? 0 : -errno;
}

static int limit_resources(const char **step)
{
	static const struct rlimit none = { 0, 0 };
	int fd = memfd_create("probe", MFD_CLOEXEC);

	*step = "set resource limits";
	if (fd < 0 || setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_FSIZE, &none) < 0 ||
	    setrlimit(RLIMIT_NOFILE, &none) < 0)
		return -errno;
	*step = "be stopped by RLIMIT_FSIZE";
	(void)signal(SIGXFSZ, SIG_IGN);
	if (pwrite(fd, "", 1, 0) >= 0)
		return -EBADE;
	if (errno != EFBIG)
		return -errno;
	*step = "be stopped by RLIMIT_NOFILE";
	if (dup(fd) >= 0)
		return -EBADE;
	return errno == EMFILE ? 0 : -errno;
}

/* A kernel without keyrings has none to share. */
static int join_keyring(const char **step)
{
	*step = "join a new session keyring";
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return -errno;
	return 0;
}

static const struct wdr_trial trials[] = {
	{ WDR_PROT_NO_NEW_PRIVS, 0, 0, gain_no_privileges },
	{ WDR_PROT_CAPABILITIES, 0, CLONE_NEWUSER, drop_capabilities },
	{ WDR_PROT_SECCOMP, 0, 0, filter_calls },
	{ WDR_PROT_LANDLOCK, 0, 0, restrict_paths },
	{ WDR_PROT_RLIMITS, 0, 0, limit_resources },
	{ WDR_PROT_KEYRING, 0, 0, join_keyring },
};

#define COVERS                                                                       \
	(WDR_PROT_BIT(WDR_PROT_NO_NEW_PRIVS) | WDR_PROT_BIT(WDR_PROT_CAPABILITIES) | \
	 WDR_PROT_BIT(WDR_PROT_SECCOMP) | WDR_PROT_BIT(WDR_PROT_LANDLOCK) |          \
	 WDR_PROT_BIT(WDR_PROT_RLIMITS) | WDR_PROT_BIT(WDR_PROT_KEYRING))

static void probe(struct wdr_check_report *rep)
{
	int abi = wdr_landlock_abi();

	wdr_native_try(trials, sizeof(trials) / sizeof(trials[0]), rep);
	if (abi > 0)
		wdr_check_fact(rep, "landlock", "ABI %d", abi);
}

const struct wdr_probe wdr_native_exec_probe = { "exec", COVERS, 0, probe };
