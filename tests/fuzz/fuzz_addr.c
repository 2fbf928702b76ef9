/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a destination: what is read has no host bits and prints as what reads back the same. */
#include <stdint.h>
#include <string.h>

#include "base/wdr_addr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_prefix(const struct wdr_prefix *p)
{
	char buf[WDR_PREFIX_TEXT_MAX];
	struct wdr_prefix back;

	if (wdr_addr_prefix(wdr_prefix_text(p, buf), &back, NULL) < 0 ||
	    wdr_prefix_cmp(p, &back) != 0 || !wdr_prefix_contains(p, &back))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	wdr_free_ char *s = calloc(1, size + 1);
	struct wdr_err err = { 0 };
	struct wdr_prefix p;
	struct wdr_dest d;

	if (!s)
		return 0;
	if (size)
		memcpy(s, data, size);
	if (wdr_addr_prefix(s, &p, &err) == 0)
		check_prefix(&p);
	if (wdr_addr_host(s, &p, &err) == 0)
		check_prefix(&p);
	if (wdr_addr_dest(s, &d, &err) == 0) {
		check_prefix(&d.to);
		if (d.has_ports && (!d.ports.min || d.ports.min > d.ports.max))
			abort();
	}
	if (wdr_addr_target(s, &d, &err) == 0) {
		check_prefix(&d.to);
		if (!d.proto || d.ports.min != d.ports.max)
			abort();
	}
	return 0;
}
