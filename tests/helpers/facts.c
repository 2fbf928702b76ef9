/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job is surrounded by, a line each, the same for every job of a policy: two starts that
 * print the same gave the same protection.
 *
 *	facts HOST_NS...	the host's namespaces, as readlink(1) prints /proc/self/ns/NAME
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void print_ids(void)
{
	gid_t groups[64];

	(void)printf("ids %u %u %u %u groups %d\n", getuid(), geteuid(), getgid(), getegid(),
		     getgroups(64, groups));
	(void)printf("session %s, parent %d\n", getsid(0) == getpid() ? "own" : "another's",
		     getppid());
}

static void print_status(void)
{
	static const char *const keys[] = { "Cap", "NoNewPrivs", "Seccomp", "SigBlk", "SigIgn" };
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (!strncmp(line, keys[i], strlen(keys[i])))
				(void)fputs(line, stdout);
	if (f)
		(void)fclose(f);
}

static void print_limits(void)
{
	for (int i = 0; i < RLIMIT_NLIMITS; i++) {
		struct rlimit l;

		/* What the caller's are is not the job's to decide. */
		if (i != RLIMIT_SIGPENDING && i != RLIMIT_NPROC && getrlimit(i, &l) == 0)
			(void)printf("limit %d %lld %lld\n", i, (long long)l.rlim_cur,
				     (long long)l.rlim_max);
	}
}

static void print_namespaces(char **host)
{
	static const char *const names[] = { "user", "mnt", "pid",    "net",
					     "ipc",  "uts", "cgroup", "time" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[32];
		char now[64] = "";
		bool same = false;

		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		if (readlink(path, now, sizeof(now) - 1) < 0)
			(void)snprintf(now, sizeof(now), "none");
		for (char **h = host; *h; h++)
			same |= !strcmp(*h, now);
		(void)printf("namespace %s %s\n", names[i], same ? "the host's" : "own");
	}
}

/* Names, options and types: the numbers change from start to start. */
static void print_mounts(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		char at[512] = "";
		char options[256] = "";
		char *dash = strstr(line, " - ");
		char type[64] = "";

		if (sscanf(line, "%*s %*s %*s %*s %511s %255s", at, options) == 2 && dash &&
		    sscanf(dash, " - %63s", type) == 1)
			(void)printf("mount %s %s %s\n", at, options, type);
	}
	if (f)
		(void)fclose(f);
}

static void print_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	char name[64] = "";
	char cwd[256] = "";
	int n = -1; /* d's own */
	mode_t mask = umask(0);

	while (d && readdir(d))
		n++;
	if (d)
		(void)closedir(d);
	(void)gethostname(name, sizeof(name) - 1);
	(void)printf("descriptors %d umask %o host %s in %s dumpable %d\n", n - 2, mask, name,
		     getcwd(cwd, sizeof(cwd)), prctl(PR_GET_DUMPABLE));
}

static const char *said(int r)
{
	return r < 0 ? strerror(errno) : "done";
}

/* Each is refused by one layer alone. */
static void print_refusals(void)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	struct timespec now;

	/* Landlock's doing: it has the same user (ABI 6). */
	(void)printf("signal to pid 1: %s\n", said(kill(1, 0)));
	(void)printf("pid 1: %s\n", said(open("/proc/1/environ", O_RDONLY | O_CLOEXEC)));
	(void)printf("own program: %s\n", said(open("/proc/self/exe", O_RDWR | O_CLOEXEC)));
	(void)printf("keys: %s\n", said(open("/proc/keys", O_RDONLY | O_CLOEXEC)));
	(void)printf("timers: %ld bytes\n",
		     (long)read(open("/proc/timer_list", O_RDONLY), &now, 1));
	(void)printf("sysctl: %s\n", said(open("/proc/sys/kernel/hostname", O_WRONLY | O_CLOEXEC)));
	(void)printf("loopback: %s\n", s < 0 || ioctl(s, SIOCGIFFLAGS, &ifr) < 0 ? strerror(errno) :
				       ifr.ifr_flags & IFF_UP			 ? "up" :
										   "down");
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	(void)printf("clock: %s\n", now.tv_sec < 60 ? "own" : "the host's");
}

int main(int argc, char **argv)
{
	(void)argc;
	print_ids();
	print_status();
	print_limits();
	print_namespaces(argv + 1);
	print_mounts();
	print_files();
	print_refusals();
	return 0;
}
