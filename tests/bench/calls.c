/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a system call costs: blocks of one kind of call, of which it prints the median in
 * nanoseconds a call, as "calls NS". A block is short, so that most of them are not interrupted.
 *
 * usage: calls BLOCKS CALLS [KIND]
 *	KIND: getppid, which does nothing and is what is meant without; fork: a child that ends at
 *	once; exec: one that executes this program, which then ends at once; map: of memory, by an
 *	ordinary user, whom the kernel asks for a capability
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_BLOCKS 10000
#define NS_PER_S   1e9
#define NOBODY	   65534

static double now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * NS_PER_S + (double)ts.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void call_nothing(void)
{
	(void)syscall(SYS_getppid);
}

static void call_fork(void)
{
	if (fork() == 0)
		_exit(0);
	(void)wait(NULL);
}

static void call_exec(void)
{
	if (vfork() == 0) {
		(void)execl("/proc/self/exe", "calls", (char *)NULL);
		_exit(127);
	}
	(void)wait(NULL);
}

static void call_map(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	(void)munmap(at, 4096);
}

static const struct {
	const char *name;
	void (*call)(void);
} kinds[] = {
	{ "getppid", call_nothing },
	{ "fork", call_fork },
	{ "exec", call_exec },
	{ "map", call_map },
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

int main(int argc, char **argv)
{
	static double took[MAX_BLOCKS];
	size_t kind = 0;
	long blocks = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	long calls = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	cpu_set_t set;

	if (argc < 2)
		return 0; /* as what "exec" executes */
	while (argc > 3 && kind < N_KINDS && strcmp(kinds[kind].name, argv[3]) != 0)
		kind++;
	if (kind == N_KINDS || blocks < 1 || blocks > MAX_BLOCKS || calls < 1) {
		(void)fprintf(stderr, "usage: calls BLOCKS CALLS [getppid|fork|exec|map]\n");
		return 2;
	}
	if (kinds[kind].call == call_map && setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return 1;
	CPU_ZERO(&set);
	CPU_SET((int)sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	for (long i = 0; i < blocks; i++) {
		double began = now_ns();

		for (long k = 0; k < calls; k++)
			kinds[kind].call();
		took[i] = (now_ns() - began) / (double)calls;
	}
	qsort(took, (size_t)blocks, sizeof(took[0]), by_size);
	(void)printf("calls %.1f\n", took[blocks / 2]);
	return 0;
}
