/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's side: events and counts as the supervisor wants them. */
#include <string.h>

#include "feed.h"

/* The rest of the field stays zero: nothing of this process's memory goes along. */
static void put_text(char *field, const struct wdr_guest_text *t)
{
	memcpy(field, t->s, strnlen(t->s, sizeof(t->s) - 1));
}

void wdr_feed_put_event(const struct wdr_guest_event *ev, struct wdr_feed_event *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->type = WDR_FEED_EVENT;
	ret->kind = (uint32_t)ev->type;
	ret->time_ns = ev->time_ns;
	ret->pid = ev->pid;
	ret->tid = ev->tid;
	memcpy(ret->comm, ev->comm, strnlen(ev->comm, sizeof(ev->comm) - 1));
	switch (ev->type) {
	case WDR_GUEST_START:
	case WDR_GUEST_EXEC:
		put_text(ret->path, &ev->exec.path);
		put_text(ret->args, &ev->exec.args);
		ret->cut = ev->exec.path.cut | (uint32_t)ev->exec.args.cut << 1;
		break;
	case WDR_GUEST_CLONE:
		ret->a = (uint32_t)ev->clone.pid;
		ret->b = (uint32_t)ev->clone.tid;
		break;
	case WDR_GUEST_EXIT:
		ret->a = (uint32_t)ev->exit.status;
		break;
	case WDR_GUEST_OPEN:
		put_text(ret->path, &ev->open.path);
		ret->cut = ev->open.path.cut;
		ret->a = ev->open.flags;
		break;
	case WDR_GUEST_CONNECT:
		ret->a = ev->connect.to.family;
		ret->b = ev->connect.port;
		memcpy(ret->addr, ev->connect.to.addr, sizeof(ret->addr));
		break;
	case WDR_GUEST_SYSCALL:
	case _WDR_GUEST_MAX:
		break;
	}
}

void wdr_feed_put_counts(const struct wdr_guest_stats *st, uint32_t answers,
			 struct wdr_feed_counts *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->type = WDR_FEED_COUNTS;
	ret->answers = answers;
	ret->dropped = st->dropped;
	ret->suppressed = st->suppressed;
	ret->malformed = st->malformed;
	ret->calls_total = st->calls_total;
	ret->connected = st->connected;
	memcpy(ret->calls, st->calls, sizeof(ret->calls));
}
