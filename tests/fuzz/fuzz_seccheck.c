/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a message of a sentry's, or as its greeting. An event must be whole, and one that the
 * supervisor takes when the reader passes it on.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "feed.h"
#include "guest_event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_ready(void *userdata)
{
	(void)userdata;
}

static void on_event(const struct wdr_guest_event *ev, void *userdata)
{
	if (memcmp(ev, userdata, sizeof(*ev)) != 0)
		abort();
}

static void pass_on(struct wdr_guest_event *ev)
{
	static const struct wdr_feed_ops ops = { on_ready, on_event, NULL };
	struct wdr_feed_event m;
	struct wdr_feed f;

	if (ev->type == WDR_GUEST_SYSCALL)
		return;
	wdr_feed_init(&f, &ops, ev);
	f.state = WDR_FEED_RUNNING;
	wdr_feed_put_event(ev, &m);
	if (wdr_feed_take(&f, &m, sizeof(m), 1, NULL) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wdr_guest_event ev;
	uint32_t dropped = 0;
	int r = wdr_seccheck_parse(data, size, &ev, &dropped);

	if (r == 0) {
		check_guest_event(&ev);
		pass_on(&ev);
	} else if (r != 1 && r != -EPROTO)
		abort();
	r = wdr_seccheck_greeting(data, size);
	if (r != 0 && r != -EPROTO)
		abort();
	return 0;
}
