/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_id.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>

#define N_RANDOM 10

/* Crockford's base 32 in lower case: no i, l, o, u. */
static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

_Static_assert(sizeof(digits) - 1 == 32, "five bits a digit");
_Static_assert(sizeof("j-") + N_RANDOM <= WDR_JOB_ID_SIZE, "an id fits");

int wdr_job_id(char ret[WDR_JOB_ID_SIZE])
{
	unsigned char random[N_RANDOM];
	char *p = stpcpy(ret, "j-");
	ssize_t got;

	/* Up to 256 bytes come whole and without EINTR once the pool is ready (getrandom(2)). */
	got = getrandom(random, sizeof(random), 0);
	if (got < 0)
		return -errno;
	if (got != sizeof(random))
		return -EIO;
	for (size_t i = 0; i < N_RANDOM; i++)
		*p++ = digits[random[i] % 32];
	*p = '\0';
	return 0;
}

static bool alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool wdr_job_label_ok(const char *s)
{
	size_t n = strlen(s);

	if (n < 1 || n > WDR_JOB_LABEL_MAX || !alnum(s[0]))
		return false;
	for (size_t i = 1; i < n; i++)
		if (!alnum(s[i]) && !strchr("._-", s[i]))
			return false;
	return true;
}
