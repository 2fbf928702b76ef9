/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a system call costs that does nothing: blocks of getppid(2), of which it prints the median
 * in nanoseconds a call, as "calls NS". A block is short, so that most of them are not interrupted.
 *
 * usage: calls BLOCKS CALLS
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_BLOCKS 10000
#define NS_PER_S   1e9

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

int main(int argc, char **argv)
{
	static double took[MAX_BLOCKS];
	long blocks = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	long calls = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	cpu_set_t set;

	if (blocks < 1 || blocks > MAX_BLOCKS || calls < 1) {
		(void)fprintf(stderr, "usage: calls BLOCKS CALLS\n");
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET((int)sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	for (long i = 0; i < blocks; i++) {
		double began = now_ns();

		for (long k = 0; k < calls; k++)
			(void)syscall(SYS_getppid);
		took[i] = (now_ns() - began) / (double)calls;
	}
	qsort(took, (size_t)blocks, sizeof(took[0]), by_size);
	(void)printf("calls %.1f\n", took[blocks / 2]);
	return 0;
}
