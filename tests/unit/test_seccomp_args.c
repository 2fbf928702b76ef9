/* SPDX-License-Identifier: Apache-2.0 */
#include "seccomp_try.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define NOWHERE ((long)"/nonexistent/x")
#define HIGH	(1L << 32) /* garbage in the half that the kernel does not look at */

static const struct wdr_seccomp_spec plain = { .profile = "default" };
static const struct wdr_seccomp_spec strict = { .profile = "strict" };

static void sockets_are_of_three_families(void **state)
{
	static const struct attempt rows[] = {
		{ "socket", { AF_UNIX, SOCK_STREAM }, SAME },
		{ "socket", { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC }, SAME },
		{ "socket", { AF_INET, SOCK_STREAM }, SAME },
		{ "socket", { AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK }, SAME },
		{ "socket", { AF_INET | HIGH, SOCK_STREAM | HIGH }, SAME },
		{ "socket", { AF_NETLINK, SOCK_RAW }, EPERM },
		{ "socket", { AF_NETLINK, SOCK_DGRAM }, EPERM },
		{ "socket", { AF_NETLINK | HIGH, SOCK_DGRAM }, EPERM },
		{ "socket", { AF_PACKET, SOCK_DGRAM }, EPERM },
		{ "socket", { AF_VSOCK, SOCK_STREAM }, EPERM },
		{ "socket", { AF_ALG, SOCK_SEQPACKET }, EPERM },
		{ "socket", { AF_KEY, SOCK_DGRAM }, EPERM },
		{ "socket", { AF_XDP, SOCK_DGRAM }, EPERM },
		{ "socket", { AF_TIPC, SOCK_STREAM }, EPERM },
		{ "socket", { AF_BLUETOOTH, SOCK_STREAM }, EPERM },
		{ "socket", { AF_UNSPEC, SOCK_STREAM }, EPERM },
		{ "socket", { 0x102, SOCK_STREAM }, EPERM },
		{ "socket", { AF_INET, SOCK_RAW, 1 }, EPERM },
		{ "socket", { AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1 }, EPERM },
		{ "socket", { AF_INET, SOCK_RAW | HIGH, 1 }, EPERM },
		{ "socket", { AF_INET6, SOCK_RAW, 58 }, EPERM },
		{ "socket", { AF_INET, SOCK_PACKET, 0x300 }, EPERM },
		{ "socket", { AF_INET, SOCK_DCCP }, EPERM },
		{ "socket", { AF_UNIX, SOCK_RAW }, EPERM },
		{ "socketpair", { AF_TIPC, SOCK_STREAM, 0, 8 }, EPERM },
		{ "socketpair", { AF_UNIX, SOCK_STREAM, 0, 8 }, SAME },
	};

	(void)state;
	make_attempts(&plain, rows, N_OF(rows));
}

static void cap_net_raw_opens_raw_sockets_and_no_more(void **state)
{
	static const struct attempt rows[] = {
		{ "socket", { AF_INET, SOCK_RAW, 1 }, SAME },
		{ "socket", { AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58 }, SAME },
		{ "socket", { AF_PACKET, SOCK_RAW, 0x300 }, SAME },
		{ "socket", { AF_INET, SOCK_STREAM }, SAME },
		{ "socket", { AF_INET, SOCK_PACKET, 0x300 }, EPERM },
		{ "socket", { AF_NETLINK, SOCK_RAW }, EPERM },
		{ "socket", { AF_VSOCK, SOCK_STREAM }, EPERM },
	};
	struct wdr_seccomp_spec spec = { .profile = "default",
					 .capabilities = UINT64_C(1) << CAP_NET_RAW };

	(void)state;
	make_attempts(&spec, rows, N_OF(rows));
}

static void strict_has_unix_sockets_only(void **state)
{
	static const struct attempt rows[] = {
		{ "socket", { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC }, SAME },
		{ "socketpair", { AF_UNIX, SOCK_DGRAM, 0, 8 }, SAME },
		{ "socket", { AF_INET, SOCK_STREAM }, EPERM },
		{ "socket", { AF_INET6, SOCK_DGRAM }, EPERM },
		{ "socket", { AF_NETLINK, SOCK_DGRAM }, EPERM },
		{ "setsid", { 0 }, EPERM },
		{ "memfd_create", { (long)"x", 0 }, EPERM },
		{ "personality", { 0 }, EPERM },
		{ "setpgid", { 0 }, SAME },
	};

	(void)state;
	make_attempts(&strict, rows, N_OF(rows));
}

/* Paired with flags that the kernel itself finds contradictory, so that no child is born. */
static void namespaces_are_not_made(void **state)
{
	static const struct attempt rows[] = {
		{ "clone", { CLONE_NEWNS | CLONE_SIGHAND }, EPERM },
		{ "clone", { CLONE_NEWUSER | CLONE_SIGHAND }, EPERM },
		{ "clone", { CLONE_NEWPID | CLONE_SIGHAND }, EPERM },
		{ "clone", { CLONE_NEWNET | CLONE_SIGHAND }, EPERM },
		{ "clone", { CLONE_NEWIPC | CLONE_SIGHAND }, EPERM },
		{ "clone", { CLONE_NEWUTS | CLONE_SIGHAND }, EPERM },
		{ "clone", { CLONE_NEWCGROUP | CLONE_SIGHAND }, EPERM },
		{ "clone", { CLONE_NEWUSER | CLONE_SIGHAND | HIGH }, EPERM },
		{ "clone", { CLONE_SIGHAND }, SAME },
		{ "clone", { CLONE_SIGHAND | 0xff }, SAME },
		{ "unshare", { CLONE_NEWNS }, EPERM },
		{ "unshare", { CLONE_NEWUSER }, EPERM },
		{ "unshare", { CLONE_NEWPID }, EPERM },
		{ "unshare", { CLONE_NEWNET }, EPERM },
		{ "unshare", { CLONE_NEWIPC }, EPERM },
		{ "unshare", { CLONE_NEWUTS }, EPERM },
		{ "unshare", { CLONE_NEWCGROUP }, EPERM },
		{ "unshare", { 0x80 /* CLONE_NEWTIME */ }, EPERM },
		{ "unshare", { CLONE_NEWUSER | CLONE_FS }, EPERM },
		{ "unshare", { HIGH }, EPERM },
		{ "unshare", { 0 }, SAME },
		{ "unshare", { CLONE_FILES | CLONE_FS | CLONE_SYSVSEM }, SAME },
	};

	(void)state;
	make_attempts(&plain, rows, N_OF(rows));
}

static void one_may_tighten_but_not_listen(void **state)
{
	static const struct attempt rows[] = {
		{ "seccomp", { SECCOMP_SET_MODE_FILTER, 0, 0 }, SAME },
		{ "seccomp", { SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, 0 }, SAME },
		{ "seccomp",
		  { SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0 },
		  EPERM },
		{ "seccomp",
		  { SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | HIGH, 0 },
		  EPERM },
		{ "seccomp",
		  { SECCOMP_SET_MODE_FILTER | HIGH, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0 },
		  EPERM },
		{ "prctl", { PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0 }, SAME },
		{ "landlock_create_ruleset", { 0, 0, 1 }, SAME },
		{ "landlock_restrict_self", { -1 }, SAME },
	};

	(void)state;
	make_attempts(&plain, rows, N_OF(rows));
}

static void a_filter_of_the_jobs_own_stacks(void **state)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { .len = 1, .filter = &allow };
	struct wdr_seccomp_filter f = build(&plain);
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (!pid) {
		enter(&f);
		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
			_exit(1);
		_exit(syscall(SYS_ptrace, -1, -1, 0, 0) < 0 && errno == EPERM ? 0 : 2);
	}
	assert_int_equal(reap(pid), 0);
	wdr_seccomp_filter_free(&f);
}

static void terminals_processes_and_domains_stay_as_they_are(void **state)
{
	static const struct attempt rows[] = {
		{ "ioctl", { -1, TIOCSTI }, EPERM },
		{ "ioctl", { -1, TIOCSTI | HIGH }, EPERM },
		{ "ioctl", { -1, TIOCLINUX }, EPERM },
		{ "ioctl", { -1, TIOCCONS }, EPERM },
		{ "ioctl", { -1, TIOCSETD | HIGH }, EPERM },
		{ "ioctl", { -1, TCGETS }, SAME },
		{ "ioctl", { -1, TIOCGWINSZ | HIGH }, SAME },
		{ "prctl", { PR_SET_MM, -1, -1, -1, -1 }, EPERM },
		{ "prctl", { PR_SET_MM | HIGH, -1, -1, -1, -1 }, EPERM },
		{ "prctl", { 62 /* PR_SCHED_CORE */, -1, -1, -1, -1 }, EPERM },
		{ "prctl", { PR_SET_NAME, (long)"x" }, SAME },
		{ "personality", { ADDR_NO_RANDOMIZE }, EPERM },
		{ "personality", { READ_IMPLIES_EXEC }, EPERM },
		{ "personality", { READ_IMPLIES_EXEC | HIGH }, EPERM },
		{ "personality", { PER_SVR4 }, EPERM },
		{ "personality", { PER_LINUX }, SAME },
		{ "personality", { PER_LINUX32 }, SAME },
		{ "personality", { 0x20000 /* UNAME26 */ }, SAME },
		{ "personality", { 0x20008 }, SAME },
		{ "personality", { 0xffffffff }, SAME },
		{ "personality", { -1 }, SAME },
	};

	(void)state;
	make_attempts(&plain, rows, N_OF(rows));
}

static void nothing_gets_set_id_bits(void **state)
{
	static const struct attempt rows[] = {
		{ "chmod", { NOWHERE, 04755 }, EPERM },
		{ "chmod", { NOWHERE, 02755 }, EPERM },
		{ "chmod", { NOWHERE, 04755 | HIGH }, EPERM },
		{ "chmod", { NOWHERE, 04755 | 1 << 16 }, EPERM },
		{ "chmod", { NOWHERE, 01777 }, SAME },
		{ "chmod", { NOWHERE, 0755 | 04000 * HIGH }, SAME },
		{ "fchmod", { -1, 04755 }, EPERM },
		{ "fchmod", { -1, 0755 }, SAME },
		{ "fchmodat", { -1, NOWHERE, 06755 }, EPERM },
		{ "fchmodat", { -1, NOWHERE, 0755 }, SAME },
		{ "fchmodat2", { -1, NOWHERE, 04755 }, EPERM },
		{ "fchmodat2", { -1, NOWHERE, 0755 }, SAME },
		{ "creat", { NOWHERE, 04755 }, EPERM },
		{ "creat", { NOWHERE, 0644 }, SAME },
		{ "open", { NOWHERE, O_WRONLY | O_CREAT, 04755 }, EPERM },
		{ "open", { NOWHERE, O_CREAT | HIGH, 02755 | HIGH }, EPERM },
		{ "open", { (long)"/nonexistent", O_WRONLY | O_TMPFILE, 04755 }, EPERM },
		{ "open", { NOWHERE, O_WRONLY | O_CREAT, 0755 }, SAME },
		{ "open", { NOWHERE, O_RDONLY, 04755 }, SAME },
		{ "open", { NOWHERE, O_RDONLY | O_CREAT * HIGH, 04755 }, SAME },
		{ "openat", { AT_FDCWD, NOWHERE, O_WRONLY | O_CREAT, 04755 }, EPERM },
		{ "openat", { AT_FDCWD, (long)"/nonexistent", O_RDWR | O_TMPFILE, 06755 }, EPERM },
		{ "openat", { AT_FDCWD, NOWHERE, O_RDWR | O_CREAT, 0666 }, SAME },
		{ "openat", { AT_FDCWD, NOWHERE, O_RDONLY, -1 }, SAME },
		{ "mknod", { NOWHERE, S_IFREG | 04755 }, EPERM },
		{ "mknodat", { AT_FDCWD, NOWHERE, S_IFREG | 02755 }, EPERM },
	};

	(void)state;
	make_attempts(&plain, rows, N_OF(rows));
}

static void no_device_nodes(void **state)
{
	static const struct attempt rows[] = {
		{ "mknod", { NOWHERE, S_IFCHR | 0666, 0x103 }, EPERM },
		{ "mknod", { NOWHERE, S_IFBLK | 0666, 0x800 }, EPERM },
		{ "mknod", { NOWHERE, S_IFCHR | 0666 | HIGH, 0x103 }, EPERM },
		{ "mknod", { NOWHERE, S_IFCHR | 0666 | 1 << 16, 0x103 }, EPERM },
		{ "mknodat", { AT_FDCWD, NOWHERE, S_IFCHR | 0666, 0x103 }, EPERM },
		{ "mknodat", { AT_FDCWD, NOWHERE, S_IFBLK | 0666, 0x800 }, EPERM },
		{ "mknod", { NOWHERE, S_IFIFO | 0666 }, SAME },
		{ "mknod", { NOWHERE, S_IFSOCK | 0666 }, SAME },
		{ "mknodat", { AT_FDCWD, NOWHERE, S_IFREG | 0666 }, SAME },
		{ "mknodat", { AT_FDCWD, NOWHERE, 0666 }, SAME },
	};

	(void)state;
	make_attempts(&plain, rows, N_OF(rows));
}

static void *hello(void *arg)
{
	*(int *)arg = 1;
	return NULL;
}

static void threads_start_without_clone3(void **state)
{
	static const struct wdr_seccomp_spec *const specs[] = { &plain, &strict };

	(void)state;
	for (size_t i = 0; i < N_OF(specs); i++) {
		struct wdr_seccomp_filter f = build(specs[i]);
		pid_t pid = fork();
		pthread_t t;
		int said = 0;

		assert_true(pid >= 0);
		if (!pid) {
			enter(&f);
			if (pthread_create(&t, NULL, hello, &said) || pthread_join(t, NULL))
				_exit(1);
			_exit(!said);
		}
		assert_int_equal(reap(pid), 0);
		wdr_seccomp_filter_free(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_are_of_three_families),
		cmocka_unit_test(cap_net_raw_opens_raw_sockets_and_no_more),
		cmocka_unit_test(strict_has_unix_sockets_only),
		cmocka_unit_test(namespaces_are_not_made),
		cmocka_unit_test(one_may_tighten_but_not_listen),
		cmocka_unit_test(a_filter_of_the_jobs_own_stacks),
		cmocka_unit_test(terminals_processes_and_domains_stay_as_they_are),
		cmocka_unit_test(nothing_gets_set_id_bits),
		cmocka_unit_test(no_device_nodes),
		cmocka_unit_test(threads_start_without_clone3),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
