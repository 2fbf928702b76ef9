/* SPDX-License-Identifier: Apache-2.0 */
#include "net_nl_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define DUMP_BYTES 32768 /* the kernel fills at most this much at once (netlink_dump) */

int wdr_nl_open(int protocol, int *ret_fd)
{
	static const int on = 1;
	wdr_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return -errno;
	/* Without these two, errors have no text and carry the whole request back: both optional. */
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	*ret_fd = WDR_TAKE_FD(fd);
	return 0;
}

/* Room for @n bytes more, zeroed and padded; NULL once something did not fit. */
static void *extend(struct wdr_nl_msg *m, size_t n)
{
	size_t padded = NLMSG_ALIGN(n);
	void *p = m->buf + m->len;

	if (m->full || padded > sizeof(m->buf) - m->len) {
		m->full = true;
		return NULL;
	}
	memset(p, 0, padded);
	m->len += padded;
	return p;
}

static void add_message(struct wdr_nl_msg *m, uint16_t type, uint16_t flags, const void *head,
			size_t n)
{
	struct nlmsghdr *h = extend(m, NLMSG_HDRLEN);

	if (!h)
		return;
	m->at = (size_t)((char *)h - m->buf);
	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	wdr_nl_put_raw(m, head, n);
}

/* A header's length is known when its message is complete. */
static void close_message(struct wdr_nl_msg *m)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(void *)(m->buf + m->at);

	if (!m->full)
		h->nlmsg_len = (uint32_t)(m->len - m->at);
}

void wdr_nl_start(struct wdr_nl_msg *m, uint16_t type, uint16_t flags, const void *head, size_t n)
{
	m->len = m->at = 0;
	m->full = false;
	add_message(m, type, NLM_F_ACK | flags, head, n);
}

void wdr_nl_next(struct wdr_nl_msg *m, uint16_t type, uint16_t flags, const void *head, size_t n)
{
	close_message(m);
	add_message(m, type, flags, head, n);
}

void wdr_nl_put_raw(struct wdr_nl_msg *m, const void *data, size_t n)
{
	void *p = extend(m, n);

	if (p && n)
		memcpy(p, data, n);
}

void wdr_nl_put(struct wdr_nl_msg *m, uint16_t type, const void *data, size_t n)
{
	struct nlattr *a = extend(m, NLA_HDRLEN + n);

	if (!a)
		return;
	a->nla_type = type;
	a->nla_len = (uint16_t)(NLA_HDRLEN + n);
	if (n)
		memcpy((char *)a + NLA_HDRLEN, data, n);
}

void wdr_nl_put_u8(struct wdr_nl_msg *m, uint16_t type, uint8_t v)
{
	wdr_nl_put(m, type, &v, sizeof(v));
}

void wdr_nl_put_u32(struct wdr_nl_msg *m, uint16_t type, uint32_t v)
{
	wdr_nl_put(m, type, &v, sizeof(v));
}

void wdr_nl_put_text(struct wdr_nl_msg *m, uint16_t type, const char *s)
{
	wdr_nl_put(m, type, s, strlen(s) + 1);
}

size_t wdr_nl_nest(struct wdr_nl_msg *m, uint16_t type)
{
	size_t at = m->len;

	wdr_nl_put(m, type | NLA_F_NESTED, NULL, 0);
	return at;
}

void wdr_nl_end(struct wdr_nl_msg *m, size_t at)
{
	struct nlattr *a = (struct nlattr *)(void *)(m->buf + at);

	if (!m->full)
		a->nla_len = (uint16_t)(m->len - at);
}

const void *wdr_nl_find(const void *attrs, size_t n, uint16_t type, size_t min, size_t *ret_n)
{
	const char *p = attrs;

	while (n >= NLA_HDRLEN) {
		const struct nlattr *a = (const struct nlattr *)(const void *)p;
		size_t step = NLA_ALIGN(a->nla_len);

		if (a->nla_len < NLA_HDRLEN || a->nla_len > n)
			return NULL;
		if ((a->nla_type & NLA_TYPE_MASK) == type) {
			if (a->nla_len - (size_t)NLA_HDRLEN < min)
				return NULL;
			if (ret_n)
				*ret_n = a->nla_len - (size_t)NLA_HDRLEN;
			return p + NLA_HDRLEN;
		}
		if (step >= n)
			return NULL;
		p += step;
		n -= step;
	}
	return NULL;
}

const void *wdr_nl_attrs(const struct nlmsghdr *h, size_t head, size_t *ret_n)
{
	size_t skip = NLMSG_LENGTH(NLMSG_ALIGN(head));

	*ret_n = h->nlmsg_len > skip ? h->nlmsg_len - skip : 0;
	return (const char *)h + skip;
}

/* An error or acknowledgement, with what the kernel says about it. */
static int read_ack(const struct nlmsghdr *h, struct wdr_err *err)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);
	const char *text = NULL;
	size_t n = 0;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*e)))
		return -EIO;
	if (!e->error)
		return 0;
	if (h->nlmsg_flags & NLM_F_ACK_TLVS) {
		/* With NLM_F_CAPPED the request's payload is not repeated before the attributes. */
		size_t head = sizeof(*e);
		const void *attrs;

		if (!(h->nlmsg_flags & NLM_F_CAPPED))
			head += e->msg.nlmsg_len - sizeof(e->msg);
		attrs = wdr_nl_attrs(h, head, &n);
		text = wdr_nl_find(attrs, n, NLMSGERR_ATTR_MSG, 1, &n);
	}
	if (!text)
		return wdr_err_set(err, e->error, "%s", strerror(-e->error));
	return wdr_err_set(err, e->error, "%s (%.*s)", strerror(-e->error), (int)n, text);
}

/* One datagram of answers. 1: the acknowledgement or the end of the dump was among them. */
static int take(const struct nlmsghdr *h, ssize_t n, wdr_nl_fn *fn, void *userdata, int *first,
		struct wdr_err *err)
{
	for (; NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n)) {
		int r = 0;

		if (h->nlmsg_type == NLMSG_DONE)
			return 1;
		if (h->nlmsg_type == NLMSG_ERROR)
			r = read_ack(h, err);
		else if (fn)
			r = fn(h, userdata);
		if (r < 0 && !*first)
			*first = r;
		if (h->nlmsg_type == NLMSG_ERROR)
			return 1;
	}
	return 0;
}

static int receive(int fd, wdr_nl_fn *fn, void *userdata, struct wdr_err *err)
{
	union {
		struct nlmsghdr first;
		char bytes[DUMP_BYTES];
	} buf;
	int r = 0;

	for (;;) {
		ssize_t n = recv(fd, buf.bytes, sizeof(buf.bytes), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? -EIO : -errno;
		if (take(&buf.first, n, fn, userdata, &r, err))
			return r;
	}
}

static int exchange(int fd, struct wdr_nl_msg *m, wdr_nl_fn *fn, void *userdata,
		    struct wdr_err *err)
{
	if (m->full)
		return -EMSGSIZE;
	close_message(m);
	if (send(fd, m->buf, m->len, 0) < 0)
		return -errno;
	return receive(fd, fn, userdata, err);
}

int wdr_nl_call(int fd, struct wdr_nl_msg *m, struct wdr_err *err)
{
	return exchange(fd, m, NULL, NULL, err);
}

int wdr_nl_ask(int fd, struct wdr_nl_msg *m, wdr_nl_fn *fn, void *userdata)
{
	return exchange(fd, m, fn, userdata, NULL);
}
