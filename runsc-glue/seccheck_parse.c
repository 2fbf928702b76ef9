/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One message of the sentry's, from bytes to an event. The decoder works in a fixed piece of
 * memory: a message that would need more, by many small fields or deep nesting, is malformed.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <protobuf-c/protobuf-c.h>
#include <string.h>
#include <sys/socket.h>

#include "seccheck.h"
#include "seccheck.pb-c.h"

/* u16 size of the header, u16 type, u32 dropped, all little-endian; then the message. */
#define HEADER_MIN	8
#define HEADER_MAX	64
#define ARENA_BYTES	(4 * WDR_SECCHECK_MAX_MSG)
#define ARENA_ALIGN	16
#define GREETING_MAX	64
#define WAIT_STATUS_MAX 0xffff

struct arena {
	size_t used;
	_Alignas(ARENA_ALIGN) unsigned char bytes[ARENA_BYTES];
};

static void *arena_alloc(void *userdata, size_t size)
{
	struct arena *a = userdata;
	void *p = a->bytes + a->used;

	if (size > ARENA_BYTES - a->used)
		return NULL;
	size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	a->used = size > ARENA_BYTES - a->used ? ARENA_BYTES : a->used + size;
	return p;
}

/* All of it goes at once, with the arena. */
static void arena_free(void *userdata, void *p)
{
	(void)userdata;
	(void)p;
}

static void copy_text(struct wdr_guest_text *t, const char *s)
{
	size_t n = strlen(s);

	t->cut = n >= sizeof(t->s);
	if (t->cut)
		n = sizeof(t->s) - 1;
	memcpy(t->s, s, n);
	t->s[n] = '\0';
}

static void join_args(struct wdr_guest_text *t, char *const *args, size_t n_args)
{
	size_t n = 0, len;

	t->cut = false;
	for (size_t i = 0; i < n_args && !t->cut; i++) {
		if (i > 0 && n < sizeof(t->s) - 1)
			t->s[n++] = ' ';
		len = strlen(args[i]);
		t->cut = len > sizeof(t->s) - 1 - n;
		if (t->cut)
			len = sizeof(t->s) - 1 - n;
		memcpy(t->s + n, args[i], len);
		n += len;
	}
	t->s[n] = '\0';
}

/* There are no negative ones: not said. */
static int32_t take_id(int32_t id)
{
	return id > 0 ? id : 0;
}

static void take_context(struct wdr_guest_event *ev, const WdrSeccheck__Context *c)
{
	if (!c)
		return;
	ev->time_ns = c->time_ns > 0 ? (uint64_t)c->time_ns : 0;
	ev->tid = take_id(c->thread_id);
	ev->pid = take_id(c->thread_group_id);
	(void)snprintf(ev->comm, sizeof(ev->comm), "%s", c->process_name);
}

static int take_start(const ProtobufCMessage *m, struct wdr_guest_event *ev)
{
	const WdrSeccheck__Start *s = (const void *)m;

	take_context(ev, s->context);
	join_args(&ev->exec.args, s->args, s->n_args);
	return 0;
}

static int take_clone(const ProtobufCMessage *m, struct wdr_guest_event *ev)
{
	const WdrSeccheck__Clone *s = (const void *)m;

	take_context(ev, s->context);
	ev->clone.tid = take_id(s->created_thread_id);
	ev->clone.pid = take_id(s->created_thread_group_id);
	return 0;
}

static int take_exec(const ProtobufCMessage *m, struct wdr_guest_event *ev)
{
	const WdrSeccheck__Exec *s = (const void *)m;

	take_context(ev, s->context);
	copy_text(&ev->exec.path, s->binary_path);
	join_args(&ev->exec.args, s->argv, s->n_argv);
	return 0;
}

static int take_exit(const ProtobufCMessage *m, struct wdr_guest_event *ev)
{
	const WdrSeccheck__TaskExit *s = (const void *)m;

	take_context(ev, s->context);
	ev->exit.status = s->exit_status;
	return s->exit_status < 0 || s->exit_status > WAIT_STATUS_MAX ? -EPROTO : 0;
}

static int take_call(const ProtobufCMessage *m, struct wdr_guest_event *ev)
{
	const WdrSeccheck__RawSyscall *s = (const void *)m;

	take_context(ev, s->context);
	ev->call.nr = s->sysno > UINT32_MAX ? UINT32_MAX : (uint32_t)s->sysno;
	return s->exit != NULL; /* the other half of a call that was counted */
}

static int take_open(const ProtobufCMessage *m, struct wdr_guest_event *ev)
{
	const WdrSeccheck__Open *s = (const void *)m;
	const char *dir = s->pathname[0] == '/' ? "" : s->fd_path;
	char path[WDR_GUEST_TEXT_MAX * 2];

	take_context(ev, s->context);
	/* One more than the text holds shows that it was cut. */
	(void)snprintf(path, sizeof(path), "%.*s%s%.*s", WDR_GUEST_TEXT_MAX - 2, dir,
		       dir[0] ? "/" : "", WDR_GUEST_TEXT_MAX, s->pathname);
	copy_text(&ev->open.path, path);
	ev->open.flags = s->flags;
	return s->exit != NULL;
}

/* The sockaddr that the guest passed to connect(2), as far as it goes. */
static void take_address(struct wdr_guest_event *ev, const uint8_t *p, size_t n)
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	struct wdr_prefix *to = &ev->connect.to;
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		uint16_t family;
	} a = { 0 };

	if (n) /* else @p is NULL */
		memcpy(&a, p, n < sizeof(a) ? n : sizeof(a));
	if (n >= sizeof(a.in) && a.family == AF_INET) {
		*to = (struct wdr_prefix){ .family = AF_INET, .len = 32 };
		memcpy(to->addr, &a.in.sin_addr, 4);
		ev->connect.port = ntohs(a.in.sin_port);
	} else if (n >= offsetof(struct sockaddr_in6, sin6_scope_id) && a.family == AF_INET6) {
		*to = (struct wdr_prefix){ .family = AF_INET6, .len = 128 };
		memcpy(to->addr, &a.in6.sin6_addr, 16);
		ev->connect.port = ntohs(a.in6.sin6_port);
		if (!memcmp(to->addr, mapped, sizeof(mapped))) {
			*to = (struct wdr_prefix){ .family = AF_INET, .len = 32 };
			memcpy(to->addr, (const uint8_t *)&a.in6.sin6_addr + 12, 4);
		}
	}
}

static int take_connect(const ProtobufCMessage *m, struct wdr_guest_event *ev)
{
	const WdrSeccheck__Connect *s = (const void *)m;

	take_context(ev, s->context);
	take_address(ev, s->address.data, s->address.len);
	return s->exit != NULL;
}

/* Types as in gVisor's pkg/sentry/seccheck/points/common.proto, MessageType. */
static const struct row {
	uint16_t wire_type;
	enum wdr_guest_type type;
	const ProtobufCMessageDescriptor *descriptor;
	/* 1: not used; -EPROTO */
	int (*take)(const ProtobufCMessage *m, struct wdr_guest_event *ev);
} rows[] = {
	{ 1, WDR_GUEST_START, &wdr_seccheck__start__descriptor, take_start },
	{ 2, WDR_GUEST_CLONE, &wdr_seccheck__clone__descriptor, take_clone },
	{ 3, WDR_GUEST_EXEC, &wdr_seccheck__exec__descriptor, take_exec },
	{ 5, WDR_GUEST_EXIT, &wdr_seccheck__task_exit__descriptor, take_exit },
	{ 6, WDR_GUEST_SYSCALL, &wdr_seccheck__raw_syscall__descriptor, take_call },
	{ 7, WDR_GUEST_OPEN, &wdr_seccheck__open__descriptor, take_open },
	{ 10, WDR_GUEST_CONNECT, &wdr_seccheck__connect__descriptor, take_connect },
};

static const struct row *find_row(uint16_t wire_type)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].wire_type == wire_type)
			return &rows[i];
	return NULL;
}

static ProtobufCMessage *unpack(const ProtobufCMessageDescriptor *d, const uint8_t *p, size_t n,
				struct arena *arena)
{
	ProtobufCAllocator allocator = { arena_alloc, arena_free, arena };

	arena->used = 0;
	return protobuf_c_message_unpack(d, &allocator, n, p);
}

int wdr_seccheck_parse(const void *msg, size_t n, struct wdr_guest_event *ret,
		       uint32_t *ret_dropped)
{
	const uint8_t *p = msg;
	struct wdr_guest_event ev;
	const struct row *row;
	ProtobufCMessage *m;
	struct arena arena;
	uint16_t size, type;
	int r;

	if (n < HEADER_MIN || n > WDR_SECCHECK_MAX_MSG)
		return -EPROTO;
	size = (uint16_t)(p[0] | p[1] << 8);
	type = (uint16_t)(p[2] | p[3] << 8);
	*ret_dropped = p[4] | (uint32_t)p[5] << 8 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 24;
	if (size < HEADER_MIN || size > HEADER_MAX || size > n)
		return -EPROTO;
	row = find_row(type);
	if (!row)
		return 1;
	m = unpack(row->descriptor, p + size, n - size, &arena);
	if (!m)
		return -EPROTO;
	memset(&ev, 0, sizeof(ev));
	ev.type = row->type;
	r = row->take(m, &ev);
	if (r == 0)
		*ret = ev;
	return r;
}

int wdr_seccheck_greeting(const void *msg, size_t n)
{
	const WdrSeccheck__Handshake *h;
	struct arena arena;

	if (n > GREETING_MAX)
		return -EPROTO;
	h = (const void *)unpack(&wdr_seccheck__handshake__descriptor, msg, n, &arena);
	return h && h->version >= 1 ? 0 : -EPROTO;
}
