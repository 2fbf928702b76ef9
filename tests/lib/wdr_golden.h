/* SPDX-License-Identifier: Apache-2.0 */
/* Golden files: compared by `make check`, written anew by `make golden` for the reviewer's diff. */
#pragma once

#include "wdr_test.h"

#include <fcntl.h>

#include "base/wdr_io.h"

#define WDR_GOLDEN_MAX (1 << 20)

/* Fails unless tests/unit/golden/@name holds exactly the @n bytes of @text. */
static inline void assert_golden(const char *name, const char *text, size_t n)
{
	wdr_free_ char *want = NULL;
	size_t n_want = 0;
	char path[256];

	(void)snprintf(path, sizeof(path), "tests/unit/golden/%s", name);
	if (getenv("WDR_GOLDEN")) {
		wdr_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

		assert_true(fd >= 0);
		assert_ok(wdr_write_all(fd, text, n));
		return;
	}
	assert_ok(wdr_read_file(AT_FDCWD, path, WDR_GOLDEN_MAX, &want, &n_want));
	if (n_want == n && !memcmp(want, text, n))
		return;
	print_error("%s is not what came out (make golden rewrites it):\n%.*s\n", path, (int)n,
		    text);
	fail();
}
