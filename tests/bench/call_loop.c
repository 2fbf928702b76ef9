/* SPDX-License-Identifier: Apache-2.0 */
/* usage: call_loop N: getppid N times, and the nanoseconds of one call to stdout. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	long long begun_ns;

	if (n <= 0) {
		(void)fprintf(stderr, "usage: call_loop N\n");
		return 2;
	}
	begun_ns = now_ns();
	for (long i = 0; i < n; i++)
		(void)getppid();
	(void)printf("%lld\n", (now_ns() - begun_ns) / n);
	return 0;
}
