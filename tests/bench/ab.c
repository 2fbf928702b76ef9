/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts commands in turn, A B C A B C ..., and tells what each run took: a line a run,
 * "INDEX WALL_NS USER_NS SYSTEM_NS MAXRSS_KB STATUS". What drifts on the machine meanwhile hits
 * all of them alike, and a parent this small costs less than what it measures.
 *
 * usage: ab ROUNDS [-n MNT_NS] -- COMMAND... [[-n MNT_NS] -- COMMAND...]...
 * -n: the mount namespace in which the next command is started. Output goes to /dev/null.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_COMMANDS 16
#define NS_PER_S     1000000000LL

struct command {
	int ns_fd; /* -1: ours */
	char **argv;
};

static long long now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static long long ns_of(struct timeval tv)
{
	return tv.tv_sec * NS_PER_S + tv.tv_usec * 1000LL;
}

static void die(const char *what, int e)
{
	(void)fprintf(stderr, "ab: %s: %s\n", what, strerror(e));
	exit(2);
}

/* Entering a namespace needs a process with a file system view of its own; ours is alone. */
static void enter(int fd)
{
	if (fd >= 0 && setns(fd, CLONE_NEWNS) < 0)
		die("setns", errno);
}

static void run_once(int index, const struct command *c, int home_fd, int null_fd)
{
	posix_spawn_file_actions_t fa;
	struct rusage ru;
	long long started_ns;
	int status = 0;
	pid_t pid;
	int r;

	(void)posix_spawn_file_actions_init(&fa);
	for (int fd = 0; fd <= 2; fd++)
		(void)posix_spawn_file_actions_adddup2(&fa, null_fd, fd);
	enter(c->ns_fd);
	started_ns = now_ns();
	r = posix_spawnp(&pid, c->argv[0], &fa, NULL, c->argv, environ);
	if (r)
		die(c->argv[0], r);
	if (wait4(pid, &status, 0, &ru) < 0)
		die("wait4", errno);
	(void)printf("%d %lld %lld %lld %ld %d\n", index, now_ns() - started_ns, ns_of(ru.ru_utime),
		     ns_of(ru.ru_stime), ru.ru_maxrss, status);
	if (c->ns_fd >= 0)
		enter(home_fd);
	(void)posix_spawn_file_actions_destroy(&fa);
}

/* Fill cs from the arguments; each command ends where the next "-n" or "--" begins. */
static int parse(char **argv, struct command *cs)
{
	int ns_fd = -1;
	int n = 0;

	for (; *argv; argv++) {
		if (!strcmp(*argv, "-n") && argv[1]) {
			*argv = NULL;
			ns_fd = open(*++argv, O_RDONLY | O_CLOEXEC);
			if (ns_fd < 0)
				die(*argv, errno);
		} else if (!strcmp(*argv, "--") && argv[1] && n < MAX_COMMANDS) {
			*argv = NULL;
			cs[n++] = (struct command){ ns_fd, argv + 1 };
			ns_fd = -1;
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	struct command cs[MAX_COMMANDS];
	int home_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
	int n = rounds > 0 ? parse(argv + 2, cs) : 0;

	if (n == 0 || home_fd < 0 || null_fd < 0) {
		(void)fprintf(stderr, "usage: ab ROUNDS [-n MNT_NS] -- COMMAND...\n");
		return 2;
	}
	for (int i = 0; i < rounds; i++)
		for (int j = 0; j < n; j++)
			run_once(j, &cs[j], home_fd, null_fd);
	return 0;
}
