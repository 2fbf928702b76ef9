/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of a sentry, encoded here by hand, as events; and the sessions that policies ask for. */
#include "wdr_golden.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "seccheck.h"

struct buf {
	unsigned char b[WDR_SECCHECK_MAX_MSG * 2];
	size_t n;
};

static void put(struct buf *m, const void *p, size_t n)
{
	assert_true(m->n + n <= sizeof(m->b));
	memcpy(m->b + m->n, p, n);
	m->n += n;
}

static void varint(struct buf *m, uint64_t v)
{
	unsigned char c;

	do {
		c = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		put(m, &c, 1);
		v >>= 7;
	} while (v);
}

static void number(struct buf *m, unsigned int field, uint64_t v)
{
	varint(m, field << 3);
	varint(m, v);
}

static void bytes(struct buf *m, unsigned int field, const void *p, size_t n)
{
	varint(m, field << 3 | 2);
	varint(m, n);
	put(m, p, n);
}

static void text(struct buf *m, unsigned int field, const char *s)
{
	bytes(m, field, s, strlen(s));
}

static void header(struct buf *m, unsigned int type, uint32_t dropped)
{
	unsigned char h[] = { 8,
			      0,
			      (unsigned char)type,
			      (unsigned char)(type >> 8),
			      (unsigned char)dropped,
			      (unsigned char)(dropped >> 8),
			      (unsigned char)(dropped >> 16),
			      (unsigned char)(dropped >> 24) };

	m->n = 0;
	put(m, h, sizeof(h));
}

static void context(struct buf *m)
{
	static struct buf c;

	c.n = 0;
	number(&c, 1, 1764500000123456789);
	number(&c, 2, 12);
	number(&c, 3, 5); /* not read */
	number(&c, 4, 11);
	text(&c, 9, "a-process-with-a-long-name");
	bytes(m, 1, c.b, c.n);
}

static struct buf m;
static struct wdr_guest_event ev;
static uint32_t dropped;

static int parse(void)
{
	memset(&ev, 0xee, sizeof(ev));
	return wdr_seccheck_parse(m.b, m.n, &ev, &dropped);
}

static void reads_an_exec(void **state)
{
	(void)state;
	header(&m, 3, 0x01020304);
	context(&m);
	text(&m, 2, "/usr/bin/python3.11");
	text(&m, 3, "python3");
	text(&m, 3, "-c");
	text(&m, 3, "print(1)\n");
	text(&m, 4, "SECRET=x"); /* env is not read */
	assert_ok(parse());
	assert_int_equal(dropped, 0x01020304);
	assert_int_equal(ev.type, WDR_GUEST_EXEC);
	assert_int_equal(ev.time_ns, 1764500000123456789);
	assert_int_equal(ev.pid, 11);
	assert_int_equal(ev.tid, 12);
	assert_string_equal(ev.comm, "a-process-with-");
	assert_string_equal(ev.exec.path.s, "/usr/bin/python3.11");
	assert_string_equal(ev.exec.args.s, "python3 -c print(1)\n");
	assert_false(ev.exec.args.cut);
}

static void cuts_what_is_long(void **state)
{
	static char long_text[2000];

	(void)state;
	memset(long_text, 'a', sizeof(long_text) - 1);
	header(&m, 3, 0);
	text(&m, 2, long_text);
	text(&m, 3, "x");
	text(&m, 3, long_text);
	assert_ok(parse());
	assert_int_equal(strlen(ev.exec.path.s), WDR_GUEST_TEXT_MAX - 1);
	assert_true(ev.exec.path.cut);
	assert_int_equal(strlen(ev.exec.args.s), WDR_GUEST_TEXT_MAX - 1);
	assert_memory_equal(ev.exec.args.s, "x aaa", 5);
	assert_true(ev.exec.args.cut);
	/* to the last byte it fits */
	long_text[WDR_GUEST_TEXT_MAX - 1] = '\0';
	header(&m, 3, 0);
	text(&m, 2, long_text);
	assert_ok(parse());
	assert_false(ev.exec.path.cut);
	assert_string_equal(ev.exec.path.s, long_text);
	assert_string_equal(ev.exec.args.s, "");
	assert_int_equal(ev.pid, 0);
}

static void reads_the_other_types(void **state)
{
	(void)state;
	header(&m, 1, 0);
	text(&m, 4, "sh");
	text(&m, 4, "-c");
	assert_ok(parse());
	assert_int_equal(ev.type, WDR_GUEST_START);
	assert_string_equal(ev.exec.args.s, "sh -c");
	header(&m, 2, 0);
	number(&m, 3, 21);
	number(&m, 4, 20);
	number(&m, 6, 17);
	assert_ok(parse());
	assert_int_equal(ev.type, WDR_GUEST_CLONE);
	assert_int_equal(ev.clone.tid, 21);
	assert_int_equal(ev.clone.pid, 20);
	header(&m, 5, 0);
	number(&m, 2, 0x700);
	assert_ok(parse());
	assert_int_equal(ev.type, WDR_GUEST_EXIT);
	assert_int_equal(ev.exit.status, 0x700);
	header(&m, 6, 0);
	number(&m, 4, 39);
	number(&m, 5, UINT64_MAX);
	assert_ok(parse());
	assert_int_equal(ev.type, WDR_GUEST_SYSCALL);
	assert_int_equal(ev.call.nr, 39);
	header(&m, 6, 0);
	number(&m, 4, UINT64_C(1) << 40);
	assert_ok(parse());
	assert_int_equal(ev.call.nr, UINT32_MAX);
}

static void leaves_out_the_second_half_of_a_call(void **state)
{
	static const unsigned int types[] = { 6, 7, 10 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		header(&m, types[i], 9);
		bytes(&m, 2, "\x08\x01", 2);
		assert_int_equal(parse(), 1);
		assert_int_equal(dropped, 9);
	}
}

static void names_a_file_from_where_it_was_opened(void **state)
{
	static const struct {
		const char *dir, *path, *want;
	} cases[] = {
		{ "/home/user", "a.txt", "/home/user/a.txt" },
		{ "/home/user", "/etc/passwd", "/etc/passwd" },
		{ "", "a.txt", "a.txt" },
		{ "/tmp", "", "/tmp/" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		header(&m, 7, 0);
		number(&m, 4, 3);
		text(&m, 5, cases[i].dir);
		text(&m, 6, cases[i].path);
		number(&m, 7, 0x241);
		assert_ok(parse());
		assert_string_equal(ev.open.path.s, cases[i].want);
		assert_false(ev.open.path.cut);
		assert_int_equal(ev.open.flags, 0x241);
	}
}

static void reads_addresses_of_connect(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *to; /* NULL: no IP address */
		unsigned int port;
	} cases[] = {
		{ "\x02\0\x01\xbb\xc6\x33\x64\x07\0\0\0\0\0\0\0\0", 16, "198.51.100.7", 443 },
		{ "\x0a\0\0\x35\0\0\0\0\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0", 28,
		  "2001:db8::1", 53 },
		/* mapped is that IPv4 address; without the scope is long enough (RFC 3493) */
		{ "\x0a\0\0\x35\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xc6\x33\x64\x07", 24,
		  "198.51.100.7", 53 },
		{ "\x01\0/run/x", 8, NULL, 0 },
		{ "\x02\0\x01\xbb\xc6\x33\x64", 7, NULL, 0 },
		{ "\x0a\0\x01\xbb\xc6\x33\x64\x07\0\0\0\0\0\0\0\0", 16, NULL, 0 },
		{ "", 0, NULL, 0 },
		{ "\x02", 1, NULL, 0 },
	};
	char got[INET6_ADDRSTRLEN];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		header(&m, 10, 0);
		bytes(&m, 6, cases[i].bytes, cases[i].n);
		assert_ok(parse());
		assert_int_equal(ev.connect.to.family != 0, cases[i].to != NULL);
		assert_int_equal(ev.connect.port, cases[i].port);
		if (!cases[i].to)
			continue;
		(void)inet_ntop(ev.connect.to.family, ev.connect.to.addr, got, sizeof(got));
		assert_string_equal(got, cases[i].to);
	}
}

static void passes_over_what_later_versions_add(void **state)
{
	(void)state;
	header(&m, 77, 5);
	text(&m, 1, "not for us");
	assert_int_equal(parse(), 1);
	assert_int_equal(dropped, 5);
	/* a longer header, fields that are not known */
	header(&m, 5, 0);
	m.b[0] = 12;
	put(&m, "\1\2\3\4", 4);
	number(&m, 2, 256);
	text(&m, 200, "new");
	varint(&m, 201 << 3 | 1);
	put(&m, "12345678", 8);
	assert_ok(parse());
	assert_int_equal(ev.exit.status, 256);
}

static void refuses_what_is_no_message(void **state)
{
	(void)state;
	header(&m, 3, 0);
	for (size_t n = 0; n < 8; n++)
		assert_int_equal(wdr_seccheck_parse(m.b, n, &ev, &dropped), -EPROTO);
	m.b[0] = 7;
	assert_int_equal(parse(), -EPROTO);
	m.b[0] = 9; /* past the end */
	assert_int_equal(parse(), -EPROTO);
	header(&m, 3, 0);
	put(&m,
	    "\x12\x7f"
	    "abc",
	    5); /* a string longer than what is there */
	assert_int_equal(parse(), -EPROTO);
	header(&m, 3, 0);
	put(&m, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11);
	assert_int_equal(parse(), -EPROTO);
	header(&m, 3, 0);
	m.n = WDR_SECCHECK_MAX_MSG + 1;
	assert_int_equal(parse(), -EPROTO);
	/* so many fields that reading them would take more memory than a message may */
	header(&m, 3, 0);
	while (m.n + 2 <= WDR_SECCHECK_MAX_MSG)
		put(&m, "\x1a\0", 2);
	assert_int_equal(parse(), -EPROTO);
	/* nested without end: a context in a context... is a message of the wrong kind */
	header(&m, 3, 0);
	while (m.n + 2 <= 2000)
		put(&m, "\x0a\x7f", 2);
	assert_int_equal(parse(), -EPROTO);
}

static void greets_version_1_and_later(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		int code;
	} cases[] = {
		{ "\x08\x01", 2, 0 },	       { "\x08\x7f", 2, 0 },
		{ "\x08\0", 2, -EPROTO },      { "", 0, -EPROTO },
		{ "\x08", 1, -EPROTO },	       { "GET / HTTP/1.1", 14, -EPROTO },
		{ "\x08\x01\x12\x01x", 5, 0 },
	};
	char big[100] = "\x08\x01";

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(wdr_seccheck_greeting(cases[i].bytes, cases[i].n), cases[i].code);
	assert_int_equal(wdr_seccheck_greeting(big, sizeof(big)), -EPROTO);
}

static void asks_for_what_is_to_be_told(void **state)
{
	static const struct {
		const char *file; /* NULL: no session */
		unsigned int what;
	} cases[] = {
		{ NULL, 0 },
		{ "session_events.json", WDR_TELL_EXEC | WDR_TELL_NET | WDR_TELL_FILE },
		{ "session_egress.json", WDR_TELL_NET },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *o = (json_t *)(uintptr_t)-1;
		wdr_free_ char *line = NULL;
		wdr_free_ char *s = NULL;

		assert_ok(wdr_seccheck_session(cases[i].what, "/run/warder/sink", &o));
		if (!cases[i].file) {
			assert_null(o);
			continue;
		}
		s = json_dumps(o, JSON_INDENT(1) | JSON_SORT_KEYS);
		json_decref(o);
		assert_true(asprintf(&line, "%s\n", s) > 0);
		assert_golden(cases[i].file, line, strlen(line));
	}
}

static void counts_every_call_that_has_a_name(void **state)
{
	wdr_json_ json_t *o = NULL;
	json_t *points;
	size_t named = 0;

	(void)state;
	for (unsigned int nr = 0; nr < WDR_SYSCALL_MAX; nr++)
		named += wdr_syscall_name(nr) != NULL;
	assert_ok(wdr_seccheck_session(WDR_TELL_CALLS, "x", &o));
	points = json_object_get(json_object_get(o, "trace_session"), "points");
	assert_int_equal(json_array_size(points), named + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_an_exec),
		cmocka_unit_test(cuts_what_is_long),
		cmocka_unit_test(reads_the_other_types),
		cmocka_unit_test(leaves_out_the_second_half_of_a_call),
		cmocka_unit_test(names_a_file_from_where_it_was_opened),
		cmocka_unit_test(reads_addresses_of_connect),
		cmocka_unit_test(passes_over_what_later_versions_add),
		cmocka_unit_test(refuses_what_is_no_message),
		cmocka_unit_test(greets_version_1_and_later),
		cmocka_unit_test(asks_for_what_is_to_be_told),
		cmocka_unit_test(counts_every_call_that_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
