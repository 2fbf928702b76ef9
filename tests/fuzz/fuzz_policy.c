/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a policy. What is taken must have a normal form that is its own, and compile or say why. */
#include <stdint.h>
#include <string.h>

#include "policy/compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The normal form of @text, or NULL if it is no policy. */
static char *normalize(const char *text, size_t len, struct wdr_policy **ret)
{
	struct wdr_err err = { 0 };
	char *shown = NULL;
	int r;

	r = wdr_policy_parse("fuzz.json", text, len, ret, &err);
	if (r < 0) {
		/* A refusal says what and where. */
		if (err.code != r || !err.msg[0] || strncmp(err.where, "fuzz.json", 9) != 0)
			abort();
		return NULL;
	}
	if (wdr_policy_show_text(*ret, &shown) < 0)
		abort();
	return shown;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	wdr_policy_ struct wdr_policy *q = NULL;
	wdr_compiled_ struct wdr_compiled *c = NULL;
	wdr_free_ char *once = normalize((const char *)data, size, &p);
	wdr_free_ char *twice = NULL;
	struct wdr_err err = { 0 };

	if (!once)
		return 0;
	twice = normalize(once, strlen(once), &q);
	if (!twice || strcmp(once, twice) != 0)
		abort();
	if (wdr_policy_finish(p, &err) == 0 && wdr_compiled_new(p, &c, &err) < 0 && !err.msg[0])
		abort();
	return 0;
}
