/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as the value of --mount, and of the other options that take a path or a variable. */
#include <stdint.h>
#include <string.h>

#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const options[] = { "mount", "root", "workdir", "env", "user" };
	wdr_free_ char *s = calloc(1, size + 1);
	wdr_policy_ struct wdr_policy *p = NULL;
	wdr_policy_ struct wdr_policy *q = NULL;
	wdr_free_ char *text = NULL;

	if (!s || wdr_policy_default(&p) < 0)
		return 0;
	if (size)
		memcpy(s, data, size);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		struct wdr_err err = { 0 };

		if (wdr_policy_override(p, options[i], s, &err) < 0 &&
		    (!err.msg[0] || strncmp(err.where, "--", 2) != 0))
			abort();
	}
	/* What an option may say, a policy may say as well. */
	if (wdr_policy_show_text(p, &text) < 0 ||
	    wdr_policy_parse("shown.json", text, strlen(text), &q, NULL) < 0)
		abort();
	return 0;
}
