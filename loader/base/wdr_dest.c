/* SPDX-License-Identifier: Apache-2.0 */
/* DEST: an address or prefix, ports and a protocol in one word. */
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "wdr_addr.h"
#include "wdr_text.h"

#define DEST_MAX 128 /* no good one is longer */

/* One word cut into its parts; a part that is not there is NULL. */
struct parts {
	char buf[DEST_MAX + 8];
	char *addr;
	char *len;
	char *ports;
	char *proto;
};

static int fail(struct wdr_err *err, const char *s, const char *want)
{
	char shown[72];

	return wdr_err_set(err, -EINVAL, "not a destination: \"%s\": want %s",
			   wdr_text_escape(s, strlen(s), shown, sizeof(shown)), want);
}

static bool all_digits(const char *s)
{
	for (; *s; s++)
		if (!isdigit((unsigned char)*s))
			return false;
	return true;
}

/* End the part before the next of @seps and step behind the separator; NULL if there is none. */
static char *cut(char *s, const char *seps, char *ret_sep)
{
	char *at = strpbrk(s, seps);

	*ret_sep = at ? *at : '\0';
	if (!at)
		return NULL;
	*at = '\0';
	return at + 1;
}

/* The address alone, brackets taken off; *ret_rest is what follows it, starting with / or :. */
static int cut_addr(const char *s, struct parts *p, char **ret_rest, struct wdr_err *err)
{
	char *end;

	(void)snprintf(p->buf, sizeof(p->buf), "%s", s);
	p->addr = p->buf;
	if (*p->addr != '[') {
		end = p->addr + strcspn(p->addr, ":/");
		if (*end == ':' && strchr(end + 1, ':'))
			return fail(err, s, "IPv6 in brackets, such as [2001:db8::1]:443");
		*ret_rest = end;
		return 0;
	}
	p->addr++;
	end = strchr(p->addr, ']');
	if (!end || !memchr(p->addr, ':', (size_t)(end - p->addr)))
		return fail(err, s, "an IPv6 address between [ and ]");
	*end = '\0';
	*ret_rest = end + 1;
	if (**ret_rest && **ret_rest != ':' && **ret_rest != '/')
		return fail(err, s, "nothing but /LEN, :PORT and /PROTO behind ]");
	return 0;
}

/*
 * Cut @s into parts. A number right behind the address is its length where @has_len, else a
 * protocol unless something follows it: that is how `policy explain` tells 192.0.2.1/132.
 */
static int split(const char *s, bool has_len, struct parts *p, struct wdr_err *err)
{
	char *rest = NULL, *next;
	char sep, after;
	int r;

	*p = (struct parts){ .addr = NULL };
	if (strlen(s) > DEST_MAX)
		return fail(err, s, "at most 128 characters");
	r = cut_addr(s, p, &rest, err);
	if (r < 0)
		return r;
	sep = *rest;
	if (sep)
		*rest++ = '\0';
	if (sep == '/') {
		next = cut(rest, ":/", &after);
		if (all_digits(rest) && (has_len || next)) {
			p->len = rest;
			rest = next;
			sep = after;
		} else if (next) {
			return fail(err, s, "the protocol last, as in 192.0.2.1:443/tcp");
		}
	}
	if (sep == ':') {
		p->ports = rest;
		rest = cut(rest, "/", &sep);
	}
	p->proto = sep == '/' ? rest : NULL;
	return 0;
}

static int read_parts(const char *s, const struct parts *p, struct wdr_dest *ret,
		      struct wdr_err *err)
{
	char prefix[sizeof(p->buf) * 2];
	int r;

	(void)snprintf(prefix, sizeof(prefix), "%s%s%s", p->addr, p->len ? "/" : "",
		       p->len ? p->len : "");
	r = wdr_addr_prefix(prefix, &ret->to, err);
	if (r < 0)
		return r;
	if (p->ports) {
		ret->has_ports = true;
		r = wdr_addr_ports(p->ports, &ret->ports, err);
		if (r < 0)
			return r;
	}
	if (p->proto) {
		r = wdr_addr_proto(p->proto, &ret->proto, err);
		if (r < 0)
			return r;
	}
	if (p->ports && p->proto && ret->proto != IPPROTO_TCP && ret->proto != IPPROTO_UDP)
		return fail(err, s, "no port: only tcp and udp have ports");
	return 0;
}

int wdr_addr_dest(const char *s, struct wdr_dest *ret, struct wdr_err *err)
{
	struct wdr_dest d = { .has_ports = false };
	struct parts p;
	int r;

	r = split(s, true, &p, err);
	if (r < 0)
		return r;
	r = read_parts(s, &p, &d, err);
	if (r < 0)
		return r;
	*ret = d;
	return 0;
}

int wdr_addr_target(const char *s, struct wdr_dest *ret, struct wdr_err *err)
{
	struct wdr_dest d = { .has_ports = false };
	struct parts p;
	int r;

	r = split(s, false, &p, err);
	if (r < 0)
		return r;
	r = read_parts(s, &p, &d, err);
	if (r < 0)
		return r;
	if (d.to.len != (d.to.family == AF_INET ? 32 : 128))
		return fail(err, s, "one address, not a prefix");
	if (d.has_ports && d.ports.min != d.ports.max)
		return fail(err, s, "one port, not a range");
	if (!d.has_ports && (!d.proto || d.proto == IPPROTO_TCP || d.proto == IPPROTO_UDP))
		return fail(err, s, "a port, such as 192.0.2.1:443 or 192.0.2.1:53/udp");
	if (!d.proto)
		d.proto = IPPROTO_TCP;
	*ret = d;
	return 0;
}
