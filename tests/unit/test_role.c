/* SPDX-License-Identifier: Apache-2.0 */
/* This program executes itself as a role: what that finds, and that nobody else can start one. */
#include "wdr_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/wdr_role.h"

#define NAME	"test: role"
#define WAIT_MS 10000

/* What the role says of itself. */
struct report {
	int check;	  /* wdr_role_check() */
	int n_env, n_fds; /* descriptors from 0 on, without a gap */
	char handed[8];	  /* read from the first it was given */
	char cwd[8];
	int sid_is_own, blocked;
};

static _Noreturn void be_role(char **envp)
{
	struct report r = { 0 };
	sigset_t set;

	r.check = wdr_role_check(NULL);
	while (envp[r.n_env])
		r.n_env++;
	for (int fd = 0; fd < 1024; fd++)
		r.n_fds += fcntl(fd, F_GETFD) >= 0;
	(void)!read(WDR_ROLE_FDS, r.handed, sizeof(r.handed) - 1);
	(void)!getcwd(r.cwd, sizeof(r.cwd));
	r.sid_is_own = getsid(0) == getpid();
	(void)sigprocmask(SIG_SETMASK, NULL, &set);
	r.blocked = sigismember(&set, SIGTERM);
	(void)!write(WDR_ROLE_SOCK, &r, sizeof(r));
	for (;;)
		(void)pause();
}

static void hear(int sock, struct report *r)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_int_equal(recv(sock, r, sizeof(*r), 0), sizeof(*r));
}

static void has_what_it_was_handed_and_nothing_else(void **state)
{
	struct wdr_role role = WDR_ROLE_NONE;
	struct report r;
	sigset_t set, old;
	int pair[2], status;

	(void)state;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	assert_ok(sigprocmask(SIG_BLOCK, &set, &old));
	assert_ok(pipe(pair)); /* no close-on-exec: it must not get there for all that */
	assert_int_equal(write(pair[1], "gift", 5), 5);
	assert_ok(wdr_role_start(NAME, pair, 1, &role, NULL));
	assert_ok(sigprocmask(SIG_SETMASK, &old, NULL));
	hear(role.sock, &r);
	assert_int_equal(r.check, 0);
	assert_int_equal(r.n_env, 0);
	assert_int_equal(r.n_fds, 5);
	assert_string_equal(r.handed, "gift");
	assert_string_equal(r.cwd, "/");
	assert_true(r.sid_is_own);
	assert_false(r.blocked);
	wdr_role_end(&role, &status);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(role.pid, -1);
	wdr_role_end(&role, NULL); /* once more does no harm */
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void refuses_more_than_it_can_hand_over(void **state)
{
	const int fds[WDR_ROLE_MAX_FDS + 1] = { 0 };
	struct wdr_role role = WDR_ROLE_NONE;

	(void)state;
	assert_int_equal(wdr_role_start(NAME, fds, WDR_ROLE_MAX_FDS + 1, &role, NULL), -E2BIG);
	assert_int_equal(role.pid, -1);
}

/* Without the socket of ours, and with one of the right kind that somebody else made. */
static void is_nobody_elses_to_start(void **state)
{
	char script[] =
		"import os,socket,sys\n"
		"a,b=socket.socketpair(socket.AF_UNIX,socket.SOCK_SEQPACKET)\n"
		"pid=os.fork()\n"
		"if not pid:\n"
		"  os.dup2(a.fileno() if sys.argv[2]=='pair' else os.open('/dev/null',2),3)\n"
		"  os.set_inheritable(3,True)\n"
		"  os.execv(sys.argv[1],['" NAME " check'])\n"
		"sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid,0)[1]))\n";
	static const char *const how[] = { "pair", "null" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char exe[] = "/proc/self/exe", path[512] = { 0 };
		int status = -1;
		pid_t pid;

		assert_true(readlink(exe, path, sizeof(path) - 1) > 0);
		pid = fork();
		if (pid == 0) {
			(void)execlp("python3", "python3", "-c", script, path, how[i], NULL);
			_exit(99);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(WEXITSTATUS(status), EPERM);
	}
}

int main(int argc, char **argv, char **envp)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_what_it_was_handed_and_nothing_else),
		cmocka_unit_test(refuses_more_than_it_can_hand_over),
		cmocka_unit_test(is_nobody_elses_to_start),
	};

	if (argc == 1 && !strcmp(argv[0], NAME))
		be_role(envp);
	if (argc == 1 && !strcmp(argv[0], NAME " check"))
		return -wdr_role_check(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
