/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a list file: what is read compiles. */
#include <stdint.h>
#include <string.h>

#include "policy/compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] = "{\"version\":1,\"network\":{\"mode\":\"egress\",\"rules\":["
				   "{\"action\":\"allow\",\"list\":\"l\",\"ports\":[443]},"
				   "{\"action\":\"deny\",\"list\":\"l\"}]}}";
	wdr_policy_ struct wdr_policy *p = NULL;
	wdr_compiled_ struct wdr_compiled *c = NULL;
	struct wdr_err err = { 0 };

	if (wdr_policy_parse("l.json", text, sizeof(text) - 1, &p, NULL) < 0)
		return 0;
	if (wdr_policy_add_list(p, 0, "l", (const char *)data, size, &err) < 0) {
		if (strncmp(err.where, "l:", 2) != 0 || !err.msg[0])
			abort();
		return 0;
	}
	if (wdr_policy_add_list(p, 1, "l", (const char *)data, size, NULL) < 0 ||
	    wdr_policy_finish(p, NULL) < 0 || wdr_compiled_new(p, &c, NULL) < 0)
		abort();
	return 0;
}
