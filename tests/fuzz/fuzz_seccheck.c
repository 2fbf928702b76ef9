/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a message of a sentry's, or as its greeting. An event must be whole. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "seccheck.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct wdr_guest_text *t)
{
	if (strnlen(t->s, sizeof(t->s)) == sizeof(t->s))
		abort();
}

static void check(const struct wdr_guest_event *ev)
{
	int family = ev->connect.to.family;

	if (ev->type >= _WDR_GUEST_MAX || strnlen(ev->comm, sizeof(ev->comm)) == sizeof(ev->comm))
		abort();
	if (ev->type == WDR_GUEST_START || ev->type == WDR_GUEST_EXEC) {
		check_text(&ev->exec.path);
		check_text(&ev->exec.args);
	}
	if (ev->type == WDR_GUEST_OPEN)
		check_text(&ev->open.path);
	if (ev->type == WDR_GUEST_CONNECT && family && family != AF_INET && family != AF_INET6)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wdr_guest_event ev;
	uint32_t dropped = 0;
	int r = wdr_seccheck_parse(data, size, &ev, &dropped);

	if (r == 0)
		check(&ev);
	else if (r != 1 && r != -EPROTO)
		abort();
	r = wdr_seccheck_greeting(data, size);
	if (r != 0 && r != -EPROTO)
		abort();
	return 0;
}
