/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: the WDR_FAIL_AT-th allocation of the process fails, as if memory were out just then. */
#include <errno.h>
#include <stdlib.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static int out_of_memory(void)
{
	static long fail_at = -1, n;
	const char *text;

	if (fail_at < 0) {
		text = getenv("WDR_FAIL_AT");
		fail_at = text ? strtol(text, NULL, 10) : 0;
	}
	if (++n != fail_at)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t n)
{
	return out_of_memory() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return out_of_memory() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return out_of_memory() ? NULL : __libc_realloc(p, n);
}
