/* SPDX-License-Identifier: Apache-2.0 */
/* What an event of a guest must be, wherever it was read from. */
#pragma once

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "seccheck.h"

static inline void check_text(const struct wdr_guest_text *t)
{
	if (strnlen(t->s, sizeof(t->s)) == sizeof(t->s))
		abort();
}

static inline void check_guest_event(const struct wdr_guest_event *ev)
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
