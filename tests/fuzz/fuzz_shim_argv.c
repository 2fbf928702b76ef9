/* SPDX-License-Identifier: Apache-2.0 */
/* Any words, a NUL behind each, as a command line of runsc's. What is taken is one of them. */
#include <stdint.h>
#include <string.h>

#include "shim/argv.h"

#define MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *s, const char *text, size_t size)
{
	if (s && (s < text || s > text + size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	wdr_free_ char *text = malloc(size + 1);
	struct wdr_shim_args a;
	char *argv[MAX + 1];
	int argc = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t at = 0; at < size && argc < MAX; at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	argv[argc] = NULL;
	if (wdr_shim_args_parse(argc, argv, &a) < 0)
		abort();
	check(a.name, text, size);
	check(a.id, text, size);
	check(a.root, text, size);
	check(a.log, text, size);
	check(a.log_format, text, size);
	check(a.bundle, text, size);
	if (a.command != WDR_SHIM_OTHER && !a.name)
		abort();
	return 0;
}
