/* SPDX-License-Identifier: Apache-2.0 */
/* The result object as bytes: the captured texts go from file to descriptor in pieces. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wdr_io.h"
#include "base/wdr_utf8.h"
#include "model/result_priv.h"

#define PIECE	   (48 * 1024) /* read at a time: a multiple of 3, so that base64 has no seams */
#define OUT_SIZE   (64 * 1024)
#define MAX_ESCAPE 6 /* \u001f */
#define DUMP_FLAGS (JSON_EMBED | JSON_REAL_PRECISION(15))

_Static_assert(PIECE % 3 == 0, "whole base64 groups");

struct out {
	int fd;
	int r; /* first failure; nothing is written after it */
	size_t n;
	char buf[OUT_SIZE];
	unsigned char piece[PIECE];
};

static void flush(struct out *o)
{
	if (o->r == 0)
		o->r = wdr_write_all(o->fd, o->buf, o->n);
	o->n = 0;
}

static void put(struct out *o, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		size_t fit = OUT_SIZE - o->n < n ? OUT_SIZE - o->n : n;

		memcpy(o->buf + o->n, p, fit);
		o->n += fit;
		p += fit;
		n -= fit;
		if (o->n == OUT_SIZE)
			flush(o);
	}
}

static void put_text(struct out *o, const char *s)
{
	put(o, s, strlen(s));
}

static int put_dumped(const char *bytes, size_t n, void *ctx)
{
	struct out *o = ctx;

	put(o, bytes, n);
	return o->r < 0 ? -1 : 0;
}

/* The members of @obj without its braces. Takes @obj, NULL being a lack of memory. */
static void put_members(struct out *o, json_t *obj)
{
	if (obj && json_dump_callback(obj, put_dumped, o, DUMP_FLAGS) < 0 && o->r == 0)
		o->r = -ENOMEM;
	if (!obj && o->r == 0)
		o->r = -ENOMEM;
	json_decref(obj);
}

/* Next piece of a capture into o->piece; 0 at its end or after a failure. */
static size_t next_piece(struct out *o, int fd, uint64_t at, uint64_t end)
{
	size_t n = end - at < PIECE ? (size_t)(end - at) : PIECE;

	if (o->r < 0 || !n)
		return 0;
	o->r = wdr_pread_all(fd, o->piece, n, (off_t)at);
	return o->r < 0 ? 0 : n;
}

/*
 * How many bytes of @c are its text as UTF-8: all, or up to the last whole character of a
 * truncated one. -1: it is not UTF-8.
 */
static int64_t utf8_length(struct out *o, const struct wdr_capture *c)
{
	struct wdr_utf8 u = { 0 };
	uint64_t at = 0;
	size_t n;

	while ((n = next_piece(o, c->fd, at, c->kept_bytes)) > 0) {
		if (!wdr_utf8_feed(&u, o->piece, n))
			return -1;
		at += n;
	}
	if (!u.want)
		return (int64_t)at;
	return c->truncated ? (int64_t)(at - u.have) : -1;
}

/* What must not stand for itself, 0: may. C1 controls are legal JSON, and drive terminals. */
static bool must_escape(const unsigned char *p, size_t len)
{
	if (len == 1)
		return *p < 0x20 || *p == '"' || *p == '\\' || *p == 0x7f;
	return len == 2 && p[0] == 0xc2 && p[1] < 0xa0;
}

/* @p is a character that must_escape(): its code point is its last byte. */
static void put_escaped(struct out *o, const unsigned char *p, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	static const char from[] = "\"\\\n\r\t\b\f";
	static const char to[] = "\"\\nrtbf";
	unsigned char c = p[len - 1];
	const char *at = c ? strchr(from, c) : NULL;
	char esc[MAX_ESCAPE] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

	if (at)
		esc[1] = to[at - from];
	put(o, esc, at ? 2 : sizeof(esc));
}

/* @p holds @n bytes of valid UTF-8 and perhaps the beginning of one more character. */
static size_t put_characters(struct out *o, const unsigned char *p, size_t n)
{
	size_t plain = 0; /* start of what stands for itself */
	size_t i = 0;

	while (i < n) {
		size_t len = p[i] < 0x80 ? 1 : p[i] < 0xe0 ? 2 : p[i] < 0xf0 ? 3 : 4;

		if (len > n - i)
			break;
		if (must_escape(p + i, len)) {
			put(o, p + plain, i - plain);
			put_escaped(o, p + i, len);
			plain = i + len;
		}
		i += len;
	}
	put(o, p + plain, i - plain);
	return i;
}

static void put_utf8(struct out *o, const struct wdr_capture *c, uint64_t length)
{
	uint64_t at = 0;
	size_t n;

	while ((n = next_piece(o, c->fd, at, length)) > 0) {
		size_t took = put_characters(o, o->piece, n);

		/* A piece holds whole characters unless the file changed under us. */
		if (!took)
			o->r = -EILSEQ;
		at += took;
	}
}

static void put_base64(struct out *o, const struct wdr_capture *c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	uint64_t at = 0;
	size_t n;

	while ((n = next_piece(o, c->fd, at, c->kept_bytes)) > 0) {
		for (size_t i = 0; i < n; i += 3) {
			size_t have = n - i < 3 ? n - i : 3;
			const unsigned char *p = o->piece + i;
			uint32_t v = (uint32_t)p[0] << 16 | (have > 1 ? (uint32_t)p[1] << 8 : 0) |
				     (have > 2 ? p[2] : 0);
			char group[4] = { digits[v >> 18], digits[v >> 12 & 63],
					  digits[v >> 6 & 63], digits[v & 63] };

			memset(group + have + 1, '=', 3 - have);
			put(o, group, sizeof(group));
		}
		at += n;
	}
}

/* , "stdout": "...", "stdout_encoding": ..., "stdout_bytes": ..., "stdout_truncated": ... */
static void put_capture(struct out *o, const char *name, const struct wdr_capture *c)
{
	int64_t length = c->fd < 0 ? 0 : utf8_length(o, c);
	char rest[160];

	put_text(o, ", \"");
	put_text(o, name);
	put_text(o, "\": \"");
	if (length < 0)
		put_base64(o, c);
	else
		put_utf8(o, c, (uint64_t)length);
	(void)snprintf(rest, sizeof(rest),
		       "\", \"%s_encoding\": \"%s\", \"%s_bytes\": %llu, \"%s_truncated\": %s",
		       name, length < 0 ? "base64" : "utf-8", name, (unsigned long long)c->bytes,
		       name, c->truncated ? "true" : "false");
	put_text(o, rest);
}

int wdr_result_write(const struct wdr_result *r, int fd, struct wdr_err *err)
{
	wdr_free_ struct out *o = malloc(sizeof(*o));

	if (!o)
		return wdr_err_wrap(err, -ENOMEM, "write the result");
	o->fd = fd;
	o->n = 0;
	o->r = 0;
	put_text(o, "{");
	put_members(o, wdr_result_head(r));
	put_capture(o, "stdout", &r->out);
	put_capture(o, "stderr", &r->err);
	put_text(o, ", ");
	put_members(o, wdr_result_tail(r));
	put_text(o, "}\n");
	flush(o);
	if (o->r < 0)
		return wdr_err_wrap(err, o->r, "write the result");
	return 0;
}
