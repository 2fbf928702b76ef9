/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader may tell its supervisor, and what shows that it is the enemy's. */
#include "wdr_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "feed.h"

#define S UINT64_C(1000000000)

static struct wdr_feed feed;
static struct wdr_guest_event last;
static unsigned int n_ready, n_events, n_answers;

static void on_ready(void *userdata)
{
	(void)userdata;
	n_ready++;
}

static void on_event(const struct wdr_guest_event *ev, void *userdata)
{
	(void)userdata;
	last = *ev;
	n_events++;
}

static void on_answer(uint32_t value, void *userdata)
{
	(void)value;
	(void)userdata;
	n_answers++;
}

static const struct wdr_feed_ops ops = { on_ready, on_event, on_answer };

static int start(void **state)
{
	(void)state;
	n_ready = n_events = n_answers = 0;
	wdr_feed_init(&feed, &ops, NULL);
	return 0;
}

static int take(const void *m, size_t n)
{
	return wdr_feed_take(&feed, m, n, S, NULL);
}

/* What the reader sends as its first, then what it owes. */
static void bring_to(enum wdr_feed_state state)
{
	static const struct wdr_feed_ready ready = { WDR_FEED_READY };

	wdr_feed_init(&feed, &ops, NULL);
	if (state != WDR_FEED_STARTING)
		assert_ok(take(&ready, sizeof(ready)));
	if (state == WDR_FEED_ASKED)
		wdr_feed_expect(&feed, 7);
	assert_int_equal(feed.state, state);
}

union message {
	uint32_t type;
	struct wdr_feed_ready ready;
	struct wdr_feed_failed failed;
	struct wdr_feed_event event;
	struct wdr_feed_counts counts;
	unsigned char bytes[WDR_FEED_MAX_MSG + 8];
};

static const struct {
	uint32_t type;
	size_t size;
	unsigned int states;
} kinds[] = {
	{ WDR_FEED_READY, sizeof(struct wdr_feed_ready), WDR_FEED_STARTING },
	{ WDR_FEED_FAILED, sizeof(struct wdr_feed_failed), WDR_FEED_STARTING },
	{ WDR_FEED_EVENT, sizeof(struct wdr_feed_event), WDR_FEED_RUNNING | WDR_FEED_ASKED },
	{ WDR_FEED_COUNTS, sizeof(struct wdr_feed_counts), WDR_FEED_ASKED },
};

static const enum wdr_feed_state states[] = { WDR_FEED_STARTING, WDR_FEED_RUNNING, WDR_FEED_ASKED };

static union message good(uint32_t type)
{
	union message m = { 0 };

	m.type = type;
	if (type == WDR_FEED_EVENT)
		m.event.kind = WDR_GUEST_EXIT;
	if (type == WDR_FEED_COUNTS)
		m.counts.answers = 7;
	return m;
}

static void takes_each_message_in_its_states_only(void **state)
{
	(void)state;
	for (size_t k = 0; k < 4; k++) {
		for (size_t s = 0; s < 3; s++) {
			union message m = good(kinds[k].type);
			int want = !(kinds[k].states & states[s])   ? -EPROTO :
				   kinds[k].type == WDR_FEED_FAILED ? -EPROTO :
								      0;

			bring_to(states[s]);
			assert_int_equal(take(&m, kinds[k].size), want);
		}
	}
	assert_int_equal(n_events, 2);
	assert_int_equal(n_answers, 1);
}

static void refuses_any_other_size(void **state)
{
	(void)state;
	for (size_t k = 0; k < 4; k++) {
		for (size_t n = 0; n < sizeof(union message); n++) {
			union message m = good(kinds[k].type);

			if (n == kinds[k].size)
				continue;
			bring_to(kinds[k].type <= WDR_FEED_FAILED ? WDR_FEED_STARTING :
								    WDR_FEED_ASKED);
			assert_int_equal(take(&m, n), -EPROTO);
		}
	}
	assert_int_equal(n_events + n_answers, 0);
}

static void refuses_types_that_are_none(void **state)
{
	static const uint32_t types[] = { 0, _WDR_FEED_MAX, 1u << 31, UINT32_MAX };
	union message m = { 0 };
	struct wdr_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		m.type = types[i];
		for (size_t s = 0; s < 3; s++) {
			bring_to(states[s]);
			assert_int_equal(take(&m, sizeof(m.counts)), -EPROTO);
		}
	}
	assert_int_equal(wdr_feed_take(&feed, &m, 4, S, &err), -EPROTO);
	assert_string_equal(err.msg, "a message of type 4294967295");
}

static void passes_on_why_a_reader_failed(void **state)
{
	struct wdr_feed_failed m = { WDR_FEED_FAILED, -EPERM, "seccomp: not here" };
	struct wdr_err err = { 0 };

	(void)state;
	assert_int_equal(wdr_feed_take(&feed, &m, sizeof(m), S, &err), -EPERM);
	assert_string_equal(err.msg, "seccomp: not here");
	/* neither an end of text nor an errno */
	memset(m.msg, 'x', sizeof(m.msg));
	m.code = 5;
	memset(&err, 0, sizeof(err));
	assert_int_equal(wdr_feed_take(&feed, &m, sizeof(m), S, &err), -EPROTO);
	assert_true(strlen(err.msg) < sizeof(err.msg));
}

/* One field that no honest reader would send so: @at of the message, @n bytes of @byte. */
#define AT(kind, field, byte)                                         \
	{                                                             \
		kind, offsetof(struct wdr_feed_event, field), 1, byte \
	}
#define HIGH(kind, field, byte)                                           \
	{                                                                 \
		kind, offsetof(struct wdr_feed_event, field) + 3, 1, byte \
	}

static const struct {
	uint32_t kind;
	size_t at, n;
	unsigned char byte;
} bad_events[] = {
	AT(WDR_GUEST_SYSCALL, kind, WDR_GUEST_SYSCALL),
	AT(_WDR_GUEST_MAX, kind, _WDR_GUEST_MAX),
	HIGH(WDR_GUEST_EXIT, kind, 0xff),
	HIGH(WDR_GUEST_EXIT, pid, 0x80),
	HIGH(WDR_GUEST_EXIT, tid, 0x80),
	{ WDR_GUEST_EXIT, offsetof(struct wdr_feed_event, time_ns) + 7, 1, 0x80 },
	{ WDR_GUEST_EXIT, offsetof(struct wdr_feed_event, comm), 16, 'x' },
	AT(WDR_GUEST_EXIT, zero, 1),
	AT(WDR_GUEST_EXIT, b, 1),
	HIGH(WDR_GUEST_EXIT, a, 1),
	AT(WDR_GUEST_EXIT, cut, 1),
	AT(WDR_GUEST_EXIT, path, 'x'),
	AT(WDR_GUEST_EXIT, args, 'x'),
	AT(WDR_GUEST_EXIT, addr, 1),
	AT(WDR_GUEST_EXEC, a, 1),
	AT(WDR_GUEST_EXEC, b, 1),
	AT(WDR_GUEST_EXEC, addr, 1),
	AT(WDR_GUEST_EXEC, cut, 4),
	{ WDR_GUEST_EXEC, offsetof(struct wdr_feed_event, path), WDR_GUEST_TEXT_MAX, 'x' },
	{ WDR_GUEST_EXEC, offsetof(struct wdr_feed_event, args), WDR_GUEST_TEXT_MAX, 'x' },
	{ WDR_GUEST_EXEC, offsetof(struct wdr_feed_event, args) + 9, 1, 'x' }, /* behind the end */
	HIGH(WDR_GUEST_CLONE, a, 0x80),
	HIGH(WDR_GUEST_CLONE, b, 0x80),
	AT(WDR_GUEST_OPEN, b, 1),
	AT(WDR_GUEST_OPEN, cut, 2),
	AT(WDR_GUEST_OPEN, args, 'x'),
	AT(WDR_GUEST_CONNECT, a, AF_UNIX),
	AT(WDR_GUEST_CONNECT, b, 1), /* a port of no address */
	AT(WDR_GUEST_CONNECT, addr, 1),
	AT(WDR_GUEST_CONNECT, path, 'x'),
	AT(WDR_GUEST_CONNECT, cut, 1),
};

static void refuses_values_that_no_event_has(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_events) / sizeof(bad_events[0]); i++) {
		union message m = good(WDR_FEED_EVENT);

		m.event.kind = bad_events[i].kind;
		bring_to(WDR_FEED_RUNNING);
		memset(m.bytes + bad_events[i].at, bad_events[i].byte, bad_events[i].n);
		if (take(&m, sizeof(m.event)) != -EPROTO)
			fail_msg("row %zu was taken", i);
	}
	assert_int_equal(n_events, 0);
}

static void refuses_addresses_that_are_none(void **state)
{
	union message m = good(WDR_FEED_EVENT);

	(void)state;
	bring_to(WDR_FEED_RUNNING);
	m.event.kind = WDR_GUEST_CONNECT;
	m.event.a = AF_INET;
	m.event.addr[4] = 1;
	assert_int_equal(take(&m, sizeof(m.event)), -EPROTO);
	memset(m.event.addr, 0, sizeof(m.event.addr));
	m.event.b = 1 << 16;
	assert_int_equal(take(&m, sizeof(m.event)), -EPROTO);
	m.event.b = 80;
	assert_ok(take(&m, sizeof(m.event)));
	assert_int_equal(last.connect.to.len, 32);
	/* a mapped one is IPv4 long before it comes here */
	m.event.a = AF_INET6;
	m.event.addr[10] = m.event.addr[11] = 0xff;
	assert_int_equal(take(&m, sizeof(m.event)), -EPROTO);
	m.event.addr[0] = 0x20;
	assert_ok(take(&m, sizeof(m.event)));
	assert_int_equal(last.connect.to.len, 128);
}

static void carries_every_event_whole(void **state)
{
	struct wdr_guest_event events[] = {
		{ .type = WDR_GUEST_START, .exec.args = { "sh -c true", false } },
		{ .type = WDR_GUEST_EXEC, .exec = { { "/bin/sh", false }, { "sh", true } } },
		{ .type = WDR_GUEST_CLONE, .clone = { 5, 6 } },
		{ .type = WDR_GUEST_EXIT, .exit.status = 0xff00 },
		{ .type = WDR_GUEST_OPEN, .open = { { "/etc/passwd", true }, 0x80000000 } },
		{ .type = WDR_GUEST_CONNECT,
		  .connect = { { { 192, 0, 2, 1 }, AF_INET, 32 }, 65535 } },
		{ .type = WDR_GUEST_CONNECT, .connect = { { { 0x20, 1 }, AF_INET6, 128 }, 0 } },
		{ .type = WDR_GUEST_CONNECT },
	};
	struct wdr_feed_event m;

	(void)state;
	bring_to(WDR_FEED_RUNNING);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		events[i].time_ns = INT64_MAX;
		events[i].pid = INT32_MAX;
		events[i].tid = 3;
		(void)snprintf(events[i].comm, sizeof(events[i].comm), "fifteen chars..");
		wdr_feed_put_event(&events[i], &m);
		assert_ok(take(&m, sizeof(m)));
		assert_memory_equal(&last, &events[i], sizeof(last));
	}
}

static void holds_a_reader_to_twice_the_rate_of_an_honest_one(void **state)
{
	union message m = good(WDR_FEED_EVENT);
	unsigned int n = 0;

	(void)state;
	bring_to(WDR_FEED_RUNNING);
	while (n < 10000 && take(&m, sizeof(m.event)) == 0)
		n++;
	assert_int_equal(n, 2 * WDR_SECCHECK_RATE);
	/* half a second later, half as many */
	for (n = 0; n < 10000; n++)
		if (wdr_feed_take(&feed, &m, sizeof(m.event), S + S / 2, NULL) < 0)
			break;
	assert_int_equal(n, WDR_SECCHECK_RATE);
}

static struct wdr_feed_counts counts(uint32_t answers)
{
	struct wdr_feed_counts m = { .type = WDR_FEED_COUNTS,
				     .answers = answers,
				     .dropped = 5,
				     .suppressed = 6,
				     .malformed = 7,
				     .calls_total = 100,
				     .connected = 1 };

	m.calls[39] = 60;
	m.calls[WDR_SYSCALL_MAX - 1] = 40;
	return m;
}

static void takes_counts_that_grow(void **state)
{
	struct wdr_feed_counts m = counts(7);

	(void)state;
	bring_to(WDR_FEED_ASKED);
	assert_ok(take(&m, sizeof(m)));
	assert_int_equal(feed.state, WDR_FEED_RUNNING);
	assert_int_equal(feed.stats.calls[39], 60);
	assert_int_equal(feed.stats.calls_total, 100);
	assert_int_equal(feed.stats.dropped + feed.stats.suppressed + feed.stats.malformed, 18);
	assert_true(feed.stats.connected);
	assert_int_equal(n_answers, 1);
}

#define WORD(field, v)                                     \
	{                                                  \
		offsetof(struct wdr_feed_counts, field), v \
	}

static void refuses_counts_that_cannot_be(void **state)
{
	static const struct {
		size_t at;
		uint64_t value;
	} bad[] = {
		WORD(dropped, 4),
		WORD(dropped, UINT64_MAX),
		WORD(suppressed, 5),
		WORD(suppressed, UINT64_MAX),
		WORD(malformed, 6),
		WORD(malformed, UINT64_MAX),
		WORD(calls_total, 99),
		WORD(calls_total, UINT64_MAX),
		WORD(connected, 0),
		WORD(connected, 2),
		WORD(calls[39], 59),
		WORD(calls[39], 61),
		WORD(calls[39], UINT64_MAX - 39),
		WORD(calls[0], 1),
		WORD(calls[0], UINT64_MAX),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct wdr_feed_counts m = counts(7);

		bring_to(WDR_FEED_ASKED);
		assert_ok(take(&m, sizeof(m)));
		wdr_feed_expect(&feed, 8);
		m = counts(8);
		memcpy((char *)&m + bad[i].at, &bad[i].value, sizeof(bad[i].value));
		if (take(&m, sizeof(m)) != -EPROTO)
			fail_msg("row %zu was taken", i);
		assert_int_equal(feed.stats.calls_total, 100);
	}
	bring_to(WDR_FEED_ASKED);
	{
		struct wdr_feed_counts m = counts(6);

		assert_int_equal(take(&m, sizeof(m)), -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(takes_each_message_in_its_states_only, start),
		cmocka_unit_test_setup(refuses_any_other_size, start),
		cmocka_unit_test_setup(refuses_types_that_are_none, start),
		cmocka_unit_test_setup(passes_on_why_a_reader_failed, start),
		cmocka_unit_test_setup(refuses_values_that_no_event_has, start),
		cmocka_unit_test_setup(refuses_addresses_that_are_none, start),
		cmocka_unit_test_setup(carries_every_event_whole, start),
		cmocka_unit_test_setup(holds_a_reader_to_twice_the_rate_of_an_honest_one, start),
		cmocka_unit_test_setup(takes_counts_that_grow, start),
		cmocka_unit_test_setup(refuses_counts_that_cannot_be, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
