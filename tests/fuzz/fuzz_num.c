/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a number, a size, a duration: what is read is printed so that it reads back the same. */
#include <stdint.h>
#include <string.h>

#include "base/wdr_num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	wdr_free_ char *s = calloc(1, size + 1);
	char buf[WDR_NUM_TEXT_MAX];
	struct wdr_err err = { 0 };
	uint64_t v, back;
	double d;

	if (!s)
		return 0;
	if (size)
		memcpy(s, data, size);
	if (wdr_num_duration(s, &v, &err) == 0 &&
	    (wdr_num_duration(wdr_num_duration_text(v, buf), &back, NULL) < 0 || back != v))
		abort();
	if (wdr_num_size(s, &v, &err) == 0 &&
	    (wdr_num_size(wdr_num_size_text(v, buf), &back, NULL) < 0 || back != v))
		abort();
	if (wdr_num_integer(s, 1, UINT32_MAX, &v, &err) == 0 && (v < 1 || v > UINT32_MAX))
		abort();
	if (wdr_num_decimal(s, &d, &err) == 0 && !(d >= 0 && d < 1e9))
		abort();
	return 0;
}
