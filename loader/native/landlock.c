/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers are those of include/uapi/linux/landlock.h. They are ours because the headers of
 * Debian 12 end at ABI 2, and the build machine's headers say nothing about the kernel anyway.
 */
#include "native/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "native/landlock_priv.h"

#define ASK_VERSION	  (1u << 0) /* LANDLOCK_CREATE_RULESET_VERSION */
#define RULE_PATH_BENEATH 1

/* ABI 1, Linux 5.13 */
#define FS_EXECUTE     (UINT64_C(1) << 0)
#define FS_WRITE_FILE  (UINT64_C(1) << 1)
#define FS_READ_FILE   (UINT64_C(1) << 2)
#define FS_READ_DIR    (UINT64_C(1) << 3)
#define FS_REMOVE_DIR  (UINT64_C(1) << 4)
#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_CHAR   (UINT64_C(1) << 6)
#define FS_MAKE_DIR    (UINT64_C(1) << 7)
#define FS_MAKE_REG    (UINT64_C(1) << 8)
#define FS_MAKE_SOCK   (UINT64_C(1) << 9)
#define FS_MAKE_FIFO   (UINT64_C(1) << 10)
#define FS_MAKE_BLOCK  (UINT64_C(1) << 11)
#define FS_MAKE_SYM    (UINT64_C(1) << 12)
#define FS_ABI_1       ((FS_MAKE_SYM << 1) - 1)

#define FS_REFER	(UINT64_C(1) << 13) /* ABI 2, Linux 5.19 */
#define FS_TRUNCATE	(UINT64_C(1) << 14) /* ABI 3, Linux 6.2 */
#define FS_IOCTL_DEV	(UINT64_C(1) << 15) /* ABI 5, Linux 6.10 */
#define FS_RESOLVE_UNIX (UINT64_C(1) << 16) /* ABI 9, Linux 7.1 */

#define SCOPE_ABSTRACT_UNIX (UINT64_C(1) << 0) /* ABI 6, Linux 6.12 */
#define SCOPE_SIGNAL	    (UINT64_C(1) << 1) /* ABI 6, Linux 6.12 */

/* What a rule may say of something that is no folder (security/landlock/fs.c: ACCESS_FILE). */
#define FS_OF_FILES \
	(FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV | FS_RESOLVE_UNIX)

/* struct landlock_ruleset_attr; a kernel that knows less of it takes zeroes for the rest. */
struct ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

/* struct landlock_path_beneath_attr */
struct path_beneath_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

static const struct rung {
	int abi;
	uint64_t fs, scoped;
} ladder[] = {
	{ .abi = 1, .fs = FS_ABI_1 },
	{ .abi = 2, .fs = FS_REFER },
	{ .abi = 3, .fs = FS_TRUNCATE },
	{ .abi = 5, .fs = FS_IOCTL_DEV },
	{ .abi = 6, .scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL },
	{ .abi = 9, .fs = FS_RESOLVE_UNIX },
};

static const uint64_t granted[] = {
	[WDR_LANDLOCK_READ_EXEC] = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR | FS_RESOLVE_UNIX,
	[WDR_LANDLOCK_DEVICE] =
		FS_READ_FILE | FS_WRITE_FILE | FS_READ_DIR | FS_TRUNCATE | FS_IOCTL_DEV,
	[WDR_LANDLOCK_WRITE] = (FS_ABI_1 & ~(FS_MAKE_CHAR | FS_MAKE_BLOCK)) | FS_REFER |
			       FS_TRUNCATE | FS_RESOLVE_UNIX,
};

int wdr_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);

	if (abi < 0)
		return errno == ENOSYS ? -EOPNOTSUPP : -errno;
	return (int)abi;
}

static int add_rule(int ruleset_fd, const struct wdr_landlock_rule *rule, uint64_t handled)
{
	struct path_beneath_attr attr = { .allowed = granted[rule->access] & handled };
	wdr_close_ int fd = open(rule->path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		attr.allowed &= FS_OF_FILES;
	attr.parent_fd = fd;
	if (syscall(SYS_landlock_add_rule, ruleset_fd, RULE_PATH_BENEATH, &attr, 0) < 0)
		return -errno;
	return 0;
}

int wdr_landlock_restrict_abi(int abi, const struct wdr_landlock_rule *rules, size_t n)
{
	struct ruleset_attr attr = { 0 };
	wdr_close_ int fd = -1;
	int r;

	for (size_t i = 0; i < sizeof(ladder) / sizeof(ladder[0]) && ladder[i].abi <= abi; i++) {
		attr.handled_fs |= ladder[i].fs;
		attr.scoped |= ladder[i].scoped;
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < n; i++) {
		r = add_rule(fd, &rules[i], attr.handled_fs);
		if (r < 0)
			return r;
	}
	return syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}

int wdr_landlock_restrict(const struct wdr_landlock_rule *rules, size_t n)
{
	int abi = wdr_landlock_abi();

	return abi < 0 ? abi : wdr_landlock_restrict_abi(abi, rules, n);
}
