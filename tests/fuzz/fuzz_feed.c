/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any messages of a reader's, to the supervisor. The input is a run of them: a byte that asks first
 * if it is odd, a length of two bytes, the message. What is passed on must be whole.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
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
	struct wdr_feed_event again;

	(void)userdata;
	check_guest_event(ev);
	if (ev->type == WDR_GUEST_SYSCALL || ev->pid < 0 || ev->tid < 0)
		abort();
	wdr_feed_put_event(ev, &again);
}

static void on_answer(uint32_t value, void *userdata)
{
	const struct wdr_feed *f = userdata;

	if (value != f->asked || f->state != WDR_FEED_RUNNING)
		abort();
}

static const struct wdr_feed_ops ops = { on_ready, on_event, on_answer };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wdr_feed f;
	uint64_t now = 1;

	wdr_feed_init(&f, &ops, &f);
	while (size >= 3) {
		size_t n = data[1] | (size_t)data[2] << 8;
		struct wdr_err err = { 0 };
		int r;

		if (data[0] & 1 && f.state == WDR_FEED_RUNNING)
			wdr_feed_expect(&f, data[0]);
		data += 3;
		size -= 3;
		n = n < size ? n : size;
		r = wdr_feed_take(&f, data, n, now += data[-3], &err);
		if (r > 0 || (r < 0 && err.code != r))
			abort();
		data += n;
		size -= n;
	}
	return 0;
}
