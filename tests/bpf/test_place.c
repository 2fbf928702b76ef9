/* SPDX-License-Identifier: Apache-2.0 */
/* Opening where a file system is not there: the kernel's types, a place for pins. */
#include "wdr_test.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kern_env.h"

static struct kern_env env;

static const char *mask; /* a folder that is not to be seen */

static int open_masked(const struct wdr_kern_place *at, struct wdr_kern **ret, struct wdr_err *err)
{
	if (unshare(CLONE_NEWNS) || mount("tmpfs", mask, "tmpfs", 0, NULL))
		return -EIO;
	return wdr_kern_open(at, ret, err);
}

/* What is pinned without type information would be without programs, for everybody. */
static int open_without_btf(void)
{
	struct wdr_kern_place at = env.at;
	struct wdr_kern *k = NULL;
	struct wdr_err err = { 0 };
	char other[2 * KE_PATH];

	(void)snprintf(other, sizeof(other), "%s-other", env.bpffs);
	at.bpffs = other;
	mask = "/sys/kernel/btf";
	if (open_masked(&at, &k, &err) != -ENOENT || !strstr(err.msg, "/sys/kernel/btf/vmlinux")) {
		print_error("%d: %s\n", err.code, err.msg);
		return 1;
	}
	/* The folder may be there, and nothing in it. */
	return rmdir(other) && errno != ENOENT;
}

/* With no bpffs where others have it, a place of our own is made, found again, and removed. */
static int open_without_bpffs(void)
{
	struct wdr_kern *k = NULL;
	struct wdr_err err = { 0 };
	int r;

	mask = "/run";
	r = unshare(CLONE_NEWNS) || mount("tmpfs", "/sys/fs/bpf", "tmpfs", 0, NULL);
	r = r ? -EIO : open_masked(NULL, &k, &err);
	if (r || access("/run/warder/bpf/warder", F_OK)) {
		print_error("%d: %s\n", r, err.msg);
		return 1;
	}
	wdr_kern_freep(&k);
	r = wdr_kern_open(NULL, &k, &err);
	wdr_kern_freep(&k);
	r = r ? r : wdr_kern_unload(NULL, &err);
	return r || !access("/run/warder/bpf", F_OK);
}

static int run_apart(int (*run)(void))
{
	pid_t pid = kern_env_fork();
	int status;

	if (!pid)
		_exit(run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void a_kernel_without_types_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(run_apart(open_without_btf), 0);
}

static void a_file_system_for_pins_is_mounted(void **state)
{
	(void)state;
	assert_int_equal(run_apart(open_without_bpffs), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_without_types_is_an_error),
		cmocka_unit_test(a_file_system_for_pins_is_mounted),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_stop(&env);
	return r;
}
