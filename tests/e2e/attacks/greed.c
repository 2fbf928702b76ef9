/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks by using more than was given. Each stops at the amount it is told, or where it is stopped. */
#include "attack.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MIB (1L << 20)

static int verdict_of_amount(long have, long want, const char *unit)
{
	return have < want ? say(REFUSED, "%ld of %ld %s: %s", have, want, unit, strerror(errno)) :
			     say(GOT, "%ld %s", have, unit);
}

/* Children that stay; with zombies, that end and are not waited for. */
static int bear(char **args, int zombies)
{
	long want = number(args[0]);
	long n = 0;
	int r;

	/* Who ends them by process group must not hit others. */
	if (setpgid(0, 0) < 0 && getpgrp() != getpid())
		return say(BROKEN, "setpgid: %s", strerror(errno));
	for (pid_t pid = 1; pid > 0 && n<want; n += pid> 0) {
		pid = fork();
		if (pid == 0 && !zombies)
			(void)pause();
		if (pid == 0)
			_exit(0);
	}
	r = verdict_of_amount(n, want, zombies ? "zombies" : "processes");
	(void)signal(SIGTERM, SIG_IGN);
	(void)kill(0, SIGTERM);
	return r;
}

static int processes(char **args)
{
	return bear(args, 0);
}

static int zombies(char **args)
{
	return bear(args, 1);
}

static int memory(char **args)
{
	long want = number(args[0]);
	char *p = mmap(NULL, (size_t)(want * MIB), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return verdict_of(-1, "mmap");
	for (long i = 0; i < want * MIB; i += 4096)
		p[i] = 1;
	return say(GOT, "%ld MiB of memory", want);
}

/* Whole MiB that were written. A write may take less than all: gVisor's to a pipe takes what there is room for. */
static long fill(int fd, long want)
{
	static char block[MIB];
	ssize_t left = want * MIB;
	ssize_t n;

	memset(block, 1, sizeof(block));
	while (left > 0 && (n = write(fd, block, (size_t)(left < MIB ? left : MIB))) > 0)
		left -= n;
	return want - (left + MIB - 1) / MIB;
}

static int nameless_file(char **args)
{
	long want = number(args[0]);
	int fd = memfd_create("greed", MFD_CLOEXEC);

	if (fd < 0)
		return verdict_of(fd, "memfd_create");
	return verdict_of_amount(fill(fd, want), want, "MiB in a memfd");
}

/* MiB in several files, so that the size of one is not what stops it. */
static int disk(char **args)
{
	long want = number(args[1]);
	long done = 0;
	char path[4096];

	for (int i = 0; done < want; i++) {
		long part = want - done < 16 ? want - done : 16;
		long got;
		int fd;

		(void)snprintf(path, sizeof(path), "%s/greed%d", args[0], i);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			break;
		got = fill(fd, part);
		(void)close(fd);
		done += got;
		if (got < part)
			break;
	}
	for (int i = 0; i < want / 16 + 1; i++) {
		(void)snprintf(path, sizeof(path), "%s/greed%d", args[0], i);
		(void)unlink(path);
	}
	return verdict_of_amount(done, want, "MiB of files");
}

static int one_file(char **args)
{
	long want = number(args[1]);
	char path[4096];
	int fd;
	int r;

	(void)signal(SIGXFSZ, SIG_IGN);
	(void)snprintf(path, sizeof(path), "%s/greed", args[0]);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return say(BROKEN, "%s: %s", path, strerror(errno));
	r = verdict_of_amount(fill(fd, want), want, "MiB in one file");
	(void)unlink(path);
	return r;
}

static int descriptors(char **args)
{
	struct rlimit l;
	long want = number(args[0]);
	long n = 0;

	/* As far as one may. */
	(void)getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l);
	while (n < want && dup(STDOUT_FILENO) >= 0)
		n++;
	return verdict_of_amount(n, want, "descriptors");
}

static int names(char **args)
{
	long want = number(args[1]);
	long n = 0;
	char path[64];

	if (mkdir(args[0], 0700) < 0 || chdir(args[0]) < 0)
		return say(BROKEN, "%s: %s", args[0], strerror(errno));
	for (; n < want; n++) {
		(void)snprintf(path, sizeof(path), "%ld", n);
		if (symlink("nowhere", path) < 0)
			break;
	}
	return verdict_of_amount(n, want, "symbolic links");
}

static int deep(char **args)
{
	long want = number(args[1]);
	long n = 0;

	if (mkdir(args[0], 0700) < 0 || chdir(args[0]) < 0)
		return say(BROKEN, "%s: %s", args[0], strerror(errno));
	while (n < want && mkdir("d", 0700) == 0 && chdir("d") == 0)
		n++;
	return verdict_of_amount(n, want, "folders deep");
}

static int flood(char **args)
{
	long want = number(args[0]);

	return verdict_of_amount(fill(STDOUT_FILENO, want), want, "MiB of output");
}

/* Of all that a user may have; @args[1], if there, is waited for until it can be read to the end. */
static int watches(char **args)
{
	long want = number(args[0]);
	long n = 0;
	int r;

	while (n < want && inotify_init1(IN_CLOEXEC) >= 0)
		n++;
	r = verdict_of_amount(n, want, "inotify instances");
	if (args[1]) {
		char c;

		while (read(STDIN_FILENO, &c, 1) > 0)
			;
	}
	return r;
}

static const struct attack attacks[] = {
	{ "processes", processes }, { "zombies", zombies }, { "memory", memory },
	{ "memfd", nameless_file }, { "disk", disk },	    { "file", one_file },
	{ "fds", descriptors },	    { "names", names },	    { "deep", deep },
	{ "flood", flood },	    { "inotify", watches },
};

int main(int argc, char **argv)
{
	(void)argc;
	return attack_main(attacks, N_OF(attacks), argv);
}
