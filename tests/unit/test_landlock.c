/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every attempt is made on each rung of the ladder that this kernel has, and on none (ABI 0):
 * what a rung refuses must succeed below it.
 */
#include "wdr_test.h"

#include <fcntl.h>
#include <linux/random.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "native/landlock_priv.h"
#include "native/seccomp.h"

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

static char g_dir[] = "/tmp/warder-landlock-XXXXXX";
static char g_abstract[32]; /* an abstract socket that listens outside */
static int g_listener = -1;

static const char *at(const char *name)
{
	static char path[8][128];
	static unsigned int i;

	i = (i + 1) % N_OF(path);
	(void)snprintf(path[i], sizeof(path[i]), "%s/%s", g_dir, name);
	return path[i];
}

static int err_of(long r)
{
	return r < 0 ? errno : 0;
}

static int try_open(const char *path, int flags)
{
	wdr_close_ int fd = open(path, flags | O_CLOEXEC, 0600);

	return err_of(fd);
}

static int read_allowed(void)
{
	return try_open(at("ro/file"), O_RDONLY);
}

static int read_single_file(void)
{
	return try_open(at("single"), O_RDONLY);
}

static int read_outside(void)
{
	return try_open(at("out/file"), O_RDONLY);
}

static int write_readonly(void)
{
	return try_open(at("ro/file"), O_WRONLY);
}

static int create_readonly(void)
{
	return try_open(at("ro/new"), O_WRONLY | O_CREAT);
}

static int truncate_readonly(void)
{
	return err_of(truncate(at("ro/file"), 0));
}

static int truncate_writable(void)
{
	return err_of(truncate(at("rw/a/file"), 0));
}

static int create_writable(void)
{
	return try_open(at("rw/new"), O_WRONLY | O_CREAT);
}

static int mkdir_writable(void)
{
	return err_of(mkdir(at("rw/dir"), 0700));
}

static int rename_across_writable(void)
{
	return err_of(rename(at("rw/a/file"), at("rw/b/file")));
}

static int link_across_writable(void)
{
	return err_of(link(at("rw/a/file"), at("rw/b/link")));
}

static int link_in_from_readonly(void)
{
	return err_of(link(at("ro/file"), at("rw/link")));
}

/* No program: ENOEXEC once it may be executed. */
static int execute(const char *path)
{
	char *const argv[] = { NULL };

	return err_of(execv(path, argv));
}

static int execute_allowed(void)
{
	return execute(at("ro/file"));
}

static int execute_outside(void)
{
	return execute(at("out/file"));
}

static int use_device(void)
{
	wdr_close_ int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
	int bits;

	return fd < 0 ? errno : err_of(ioctl(fd, RNDGETENTCNT, &bits));
}

static int ioctl_readonly_device(void)
{
	wdr_close_ int fd = open("/dev/random", O_RDONLY | O_CLOEXEC);
	int bits;

	return fd < 0 ? errno : err_of(ioctl(fd, RNDGETENTCNT, &bits));
}

static int open_other_device(void)
{
	return try_open("/dev/zero", O_RDONLY);
}

static int signal_outside(void)
{
	return err_of(kill(getppid(), 0));
}

static int signal_inside(void)
{
	pid_t pid = fork();
	int r;

	if (!pid) {
		(void)pause();
		_exit(0);
	}
	r = err_of(kill(pid, SIGKILL));
	(void)waitpid(pid, NULL, 0);
	return r;
}

static int connect_abstract(void)
{
	wdr_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	memcpy(sa.sun_path + 1, g_abstract, sizeof(g_abstract));
	return err_of(connect(
		fd, (struct sockaddr *)&sa,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + sizeof(g_abstract))));
}

static const struct attempt {
	const char *what;
	int (*run)(void);
	int from;  /* the ABI that refuses; 0: none */
	int with;  /* errno then */
	int below; /* errno on an ABI of at least 1 that does not; 0: success */
} attempts[] = {
	{ "read ro", read_allowed, 0, 0, 0 },
	{ "read a file with a rule of its own", read_single_file, 0, 0, 0 },
	{ "read outside", read_outside, 1, EACCES, 0 },
	{ "execute outside", execute_outside, 1, EACCES, ENOEXEC },
	{ "execute ro", execute_allowed, 0, 0, ENOEXEC },
	{ "write ro", write_readonly, 1, EACCES, 0 },
	{ "create in ro", create_readonly, 1, EACCES, 0 },
	{ "truncate ro", truncate_readonly, 3, EACCES, 0 },
	{ "truncate rw", truncate_writable, 0, 0, 0 },
	{ "create in rw", create_writable, 0, 0, 0 },
	{ "mkdir in rw", mkdir_writable, 0, 0, 0 },
	{ "link from ro to rw", link_in_from_readonly, 1, EXDEV, 0 },
	{ "use a device", use_device, 0, 0, 0 },
	{ "ioctl of a device with a read rule", ioctl_readonly_device, 5, EACCES, 0 },
	{ "open another device", open_other_device, 1, EACCES, 0 },
	{ "signal outside", signal_outside, 6, EPERM, 0 },
	{ "signal inside", signal_inside, 0, 0, 0 },
	{ "connect to an abstract socket outside", connect_abstract, 6, EPERM, 0 },
};

static void make_file(const char *name)
{
	wdr_close_ int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0700);

	assert_true(fd >= 0 && write(fd, "text\n", 5) == 5);
}

static void make_tree(void)
{
	static const char *const dirs[] = { "ro", "rw", "rw/a", "rw/b", "out" };
	static const char *const files[] = { "ro/file", "rw/a/file", "out/file", "single" };

	for (size_t i = 0; i < N_OF(dirs); i++)
		assert_true(mkdir(at(dirs[i]), 0700) == 0 || errno == EEXIST);
	for (size_t i = 0; i < N_OF(files); i++)
		make_file(files[i]);
}

static void drop_tree(void)
{
	static const char *const names[] = { "ro/file",	  "ro/new", "rw/a/file", "rw/b/file",
					     "rw/b/link", "rw/new", "rw/link",	 "out/file",
					     "single",	  "rw/dir", "rw/a",	 "rw/b",
					     "ro",	  "rw",	    "out" };

	for (size_t i = 0; i < N_OF(names); i++)
		(void)remove(at(names[i]));
}

static void restrict_to(int abi)
{
	const struct wdr_landlock_rule rules[] = {
		{ at("ro"), WDR_LANDLOCK_READ_EXEC },	  { at("rw"), WDR_LANDLOCK_WRITE },
		{ at("single"), WDR_LANDLOCK_READ_EXEC }, { at("nowhere"), WDR_LANDLOCK_WRITE },
		{ "/dev/urandom", WDR_LANDLOCK_DEVICE },  { "/dev/random", WDR_LANDLOCK_READ_EXEC },
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    wdr_landlock_restrict_abi(abi, rules, N_OF(rules)) < 0)
		_exit(255);
}

/* errno of @run in a child, restricted by ABI @abi if that is not 0. */
static int try_at(int abi, int (*run)(void))
{
	pid_t pid;
	int status;

	make_tree();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		(void)alarm(20);
		if (abi)
			restrict_to(abi);
		_exit(run());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	drop_tree();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

static int abi_or_skip(void)
{
	int abi = wdr_landlock_abi();

	if (abi == -EOPNOTSUPP)
		skip();
	assert_true(abi >= 1);
	return abi;
}

static void each_rung_refuses_what_it_can(void **state)
{
	int top = abi_or_skip();

	(void)state;
	for (int abi = 0; abi <= top; abi++)
		for (size_t i = 0; i < N_OF(attempts); i++) {
			const struct attempt *a = &attempts[i];
			int want = a->from && abi >= a->from ? a->with : a->below;
			int got = try_at(abi, a->run);

			if (got != want)
				fail_msg("ABI %d: %s: %d, want %d", abi, a->what, got, want);
		}
}

/* ABI 1 could not say who may move files between folders, and let nobody. */
static void moving_between_folders_comes_with_the_second_rung(void **state)
{
	int top = abi_or_skip();

	(void)state;
	for (int abi = 0; abi <= top; abi++) {
		assert_int_equal(try_at(abi, rename_across_writable), abi == 1 ? EXDEV : 0);
		assert_int_equal(try_at(abi, link_across_writable), abi == 1 ? EXDEV : 0);
	}
}

static int restrict_and_read(void)
{
	const struct wdr_landlock_rule rule = { at("ro"), WDR_LANDLOCK_READ_EXEC };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || wdr_landlock_restrict(&rule, 1) < 0)
		return 255;
	return read_allowed() ? 254 : read_outside();
}

static void takes_the_highest_rung_by_itself(void **state)
{
	(void)state;
	(void)abi_or_skip();
	assert_int_equal(try_at(0, restrict_and_read), EACCES);
}

static int restrict_with_a_bad_rule(void)
{
	const struct wdr_landlock_rule rule = { at("single/not-a-folder"), WDR_LANDLOCK_WRITE };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 255;
	return wdr_landlock_restrict(&rule, 1) == -ENOTDIR ? read_outside() : 254;
}

static void a_failure_restricts_nothing(void **state)
{
	(void)state;
	(void)abi_or_skip();
	assert_int_equal(try_at(0, restrict_with_a_bad_rule), 0);
}

static int ask_without_landlock(void)
{
	const struct wdr_landlock_rule rule = { "/", WDR_LANDLOCK_READ_EXEC };
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 444 /* landlock_create_ruleset */, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0x00050000u | ENOSYS), /* SECCOMP_RET_ERRNO */
		BPF_STMT(BPF_RET | BPF_K, 0x7fff0000u),		 /* SECCOMP_RET_ALLOW */
	};
	const struct wdr_seccomp_filter f = { .insns = insns, .n_insns = N_OF(insns) };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || wdr_seccomp_install(&f) < 0)
		return 255;
	if (wdr_landlock_abi() != -EOPNOTSUPP)
		return 1;
	return wdr_landlock_restrict(&rule, 1) == -EOPNOTSUPP ? 0 : 2;
}

static void says_where_there_is_none(void **state)
{
	(void)state;
	(void)abi_or_skip();
	assert_int_equal(try_at(0, ask_without_landlock), 0);
}

static int set_up(void **state)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	(void)state;
	if (!mkdtemp(g_dir))
		return -1;
	(void)snprintf(g_abstract, sizeof(g_abstract), "warder-landlock-%d", getpid());
	memcpy(sa.sun_path + 1, g_abstract, sizeof(g_abstract));
	g_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(g_listener, (struct sockaddr *)&sa,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + sizeof(g_abstract))) < 0)
		return -1;
	return listen(g_listener, 64);
}

static int tear_down(void **state)
{
	(void)state;
	drop_tree();
	wdr_closep(&g_listener);
	return rmdir(g_dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rung_refuses_what_it_can),
		cmocka_unit_test(moving_between_folders_comes_with_the_second_rung),
		cmocka_unit_test(takes_the_highest_rung_by_itself),
		cmocka_unit_test(a_failure_restricts_nothing),
		cmocka_unit_test(says_where_there_is_none),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
