/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side of a reader: size, then state, then every value. */
#include "feed.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define NS_PER_S UINT64_C(1000000000)
/* A reader's rate by its own clock may be late here: twice is more than it can be. */
#define EVENT_NS  (NS_PER_S / WDR_SECCHECK_RATE / 2)
#define CUT_PATH  1u
#define CUT_ARGS  2u
#define MAX_TIME  ((uint64_t)INT64_MAX)
#define MAX_WAIT  0xffffu /* of a wait status */
#define MAX_COUNT (UINT64_MAX / 4)

static int lie(struct wdr_err *err, const char *what)
{
	return wdr_err_set(err, -EPROTO, "%s", what);
}

static int take_ready(struct wdr_feed *f, const void *msg, struct wdr_err *err)
{
	(void)msg;
	(void)err;
	f->state = WDR_FEED_RUNNING;
	f->ops->ready(f->userdata);
	return 0;
}

static int take_failed(struct wdr_feed *f, const void *msg, struct wdr_err *err)
{
	struct wdr_feed_failed m;

	(void)f;
	memcpy(&m, msg, sizeof(m));
	m.msg[sizeof(m.msg) - 1] = '\0';
	return wdr_err_set(err, m.code < 0 && m.code > -4096 ? m.code : -EPROTO, "%s", m.msg);
}

static bool has_end(const char *s, size_t size)
{
	return memchr(s, '\0', size);
}

static bool is_zero(const void *p, size_t n)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < n; i++)
		if (b[i])
			return false;
	return true;
}

static void take_text(struct wdr_guest_text *t, const char *s, bool cut)
{
	memcpy(t->s, s, sizeof(t->s));
	t->cut = cut;
}

static bool put_exec(const struct wdr_feed_event *m, struct wdr_guest_event *ev)
{
	take_text(&ev->exec.path, m->path, m->cut & CUT_PATH);
	take_text(&ev->exec.args, m->args, m->cut & CUT_ARGS);
	return !m->a && !m->b;
}

static bool put_clone(const struct wdr_feed_event *m, struct wdr_guest_event *ev)
{
	ev->clone.pid = (int32_t)m->a;
	ev->clone.tid = (int32_t)m->b;
	return m->a <= INT32_MAX && m->b <= INT32_MAX;
}

static bool put_exit(const struct wdr_feed_event *m, struct wdr_guest_event *ev)
{
	ev->exit.status = (int32_t)m->a;
	return m->a <= MAX_WAIT && !m->b;
}

static bool put_open(const struct wdr_feed_event *m, struct wdr_guest_event *ev)
{
	take_text(&ev->open.path, m->path, m->cut & CUT_PATH);
	ev->open.flags = m->a;
	return !m->b && !(m->cut & CUT_ARGS);
}

static bool put_connect(const struct wdr_feed_event *m, struct wdr_guest_event *ev)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct wdr_prefix *to = &ev->connect.to;

	to->family = (uint8_t)m->a;
	to->len = m->a == AF_INET ? 32 : m->a == AF_INET6 ? 128 : 0;
	memcpy(to->addr, m->addr, sizeof(to->addr));
	ev->connect.port = (uint16_t)m->b;
	if (m->b > UINT16_MAX)
		return false;
	if (m->a == AF_INET)
		return is_zero(m->addr + 4, sizeof(m->addr) - 4);
	if (m->a == AF_INET6) /* a mapped one has become AF_INET (base/wdr_addr.h) */
		return memcmp(m->addr, mapped, sizeof(mapped)) != 0;
	return !m->a && !m->b && is_zero(m->addr, sizeof(m->addr));
}

/* NULL: no event by itself. */
static const struct {
	bool has_path, has_args, has_addr;
	bool (*put)(const struct wdr_feed_event *m, struct wdr_guest_event *ev);
} kinds[_WDR_GUEST_MAX] = {
	[WDR_GUEST_START] = { true, true, false, put_exec },
	[WDR_GUEST_CLONE] = { false, false, false, put_clone },
	[WDR_GUEST_EXEC] = { true, true, false, put_exec },
	[WDR_GUEST_EXIT] = { false, false, false, put_exit },
	[WDR_GUEST_OPEN] = { true, false, false, put_open },
	[WDR_GUEST_CONNECT] = { false, false, true, put_connect },
};

/* What is left of a field behind the text's end is nobody's to fill. */
static bool is_text(const char *s, size_t size, bool used)
{
	size_t n = strnlen(s, size);

	return n < size && (used || !n) && is_zero(s + n, size - n);
}

static bool is_event(const struct wdr_feed_event *m)
{
	if (m->kind >= _WDR_GUEST_MAX || !kinds[m->kind].put)
		return false;
	return m->time_ns <= MAX_TIME && m->pid >= 0 && m->tid >= 0 && !m->zero &&
	       m->cut <= (CUT_PATH | CUT_ARGS) && has_end(m->comm, sizeof(m->comm)) &&
	       is_text(m->path, sizeof(m->path), kinds[m->kind].has_path) &&
	       is_text(m->args, sizeof(m->args), kinds[m->kind].has_args) &&
	       (kinds[m->kind].has_path || !m->cut) &&
	       (kinds[m->kind].has_addr || is_zero(m->addr, sizeof(m->addr)));
}

static int take_event(struct wdr_feed *f, const void *msg, struct wdr_err *err)
{
	struct wdr_guest_event ev;
	struct wdr_feed_event m;

	memcpy(&m, msg, sizeof(m));
	memset(&ev, 0, sizeof(ev));
	if (!is_event(&m) || !kinds[m.kind].put(&m, &ev))
		return lie(err, "an event with a value that none has");
	if (f->tokens_ns < EVENT_NS)
		return lie(err, "more events than it may send");
	f->tokens_ns -= EVENT_NS;
	ev.type = (enum wdr_guest_type)m.kind;
	ev.time_ns = m.time_ns;
	ev.pid = m.pid;
	ev.tid = m.tid;
	memcpy(ev.comm, m.comm, sizeof(ev.comm));
	f->ops->event(&ev, f->userdata);
	return 0;
}

/* Counts only grow, and the calls with a name are no more than all. */
static bool follows(const struct wdr_feed_counts *m, const struct wdr_guest_stats *before)
{
	uint64_t sum = 0;

	if (m->dropped < before->dropped || m->suppressed < before->suppressed ||
	    m->malformed < before->malformed || m->calls_total < before->calls_total ||
	    m->connected > 1 || m->connected < before->connected)
		return false;
	if (m->dropped > MAX_COUNT || m->suppressed > MAX_COUNT || m->malformed > MAX_COUNT ||
	    m->calls_total > MAX_COUNT)
		return false;
	for (size_t i = 0; i < WDR_SYSCALL_MAX; i++) {
		if (m->calls[i] < before->calls[i] || m->calls[i] > m->calls_total - sum)
			return false;
		sum += m->calls[i];
	}
	return true;
}

static int take_counts(struct wdr_feed *f, const void *msg, struct wdr_err *err)
{
	struct wdr_feed_counts m;

	memcpy(&m, msg, sizeof(m));
	if (m.answers != f->asked)
		return lie(err, "an answer to what was not asked");
	if (!follows(&m, &f->stats))
		return lie(err, "counts that can't be");
	memcpy(f->stats.calls, m.calls, sizeof(m.calls));
	f->stats.calls_total = m.calls_total;
	f->stats.dropped = m.dropped;
	f->stats.suppressed = m.suppressed;
	f->stats.malformed = m.malformed;
	f->stats.connected = m.connected;
	f->state = WDR_FEED_RUNNING;
	f->ops->answer(m.answers, f->userdata);
	return 0;
}

static const struct row {
	size_t size;
	unsigned int states; /* enum wdr_feed_state */
	int (*take)(struct wdr_feed *f, const void *msg, struct wdr_err *err);
} rows[_WDR_FEED_MAX] = {
	[WDR_FEED_READY] = { sizeof(struct wdr_feed_ready), WDR_FEED_STARTING, take_ready },
	[WDR_FEED_FAILED] = { sizeof(struct wdr_feed_failed), WDR_FEED_STARTING, take_failed },
	[WDR_FEED_EVENT] = { sizeof(struct wdr_feed_event), WDR_FEED_RUNNING | WDR_FEED_ASKED,
			     take_event },
	[WDR_FEED_COUNTS] = { sizeof(struct wdr_feed_counts), WDR_FEED_ASKED, take_counts },
};

void wdr_feed_init(struct wdr_feed *f, const struct wdr_feed_ops *ops, void *userdata)
{
	memset(f, 0, sizeof(*f));
	f->ops = ops;
	f->userdata = userdata;
	f->state = WDR_FEED_STARTING;
	f->tokens_ns = NS_PER_S;
}

void wdr_feed_expect(struct wdr_feed *f, uint32_t value)
{
	f->asked = value;
	f->state = WDR_FEED_ASKED;
}

static void save_up(struct wdr_feed *f, uint64_t now_ns)
{
	if (f->last_ns && now_ns > f->last_ns)
		f->tokens_ns += now_ns - f->last_ns;
	if (f->tokens_ns > NS_PER_S)
		f->tokens_ns = NS_PER_S;
	f->last_ns = now_ns;
}

int wdr_feed_take(struct wdr_feed *f, const void *msg, size_t n, uint64_t now_ns,
		  struct wdr_err *err)
{
	const struct row *row;
	uint32_t type;

	if (n < sizeof(type))
		return wdr_err_set(err, -EPROTO, "a message of %zu bytes", n);
	memcpy(&type, msg, sizeof(type));
	if (type >= _WDR_FEED_MAX || !rows[type].take)
		return wdr_err_set(err, -EPROTO, "a message of type %u", type);
	row = &rows[type];
	if (n != row->size)
		return wdr_err_set(err, -EPROTO, "a message of type %u with %zu bytes, want %zu",
				   type, n, row->size);
	if (!(row->states & f->state))
		return wdr_err_set(err, -EPROTO, "a message of type %u out of turn", type);
	save_up(f, now_ns);
	return row->take(f, msg, err);
}
