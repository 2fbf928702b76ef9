/* SPDX-License-Identifier: Apache-2.0 */
/* The reader: connections of a seccheck sink, their greeting, and what is counted of them. */
#include "seccheck.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define NS_PER_S UINT64_C(1000000000)

struct conn {
	int fd; /* -1: free */
	bool greeted;
	uint32_t dropped; /* as last told */
};

struct wdr_seccheck {
	int epoll_fd, listen_fd;
	const struct wdr_guest_ops *ops;
	void *userdata;
	struct conn conns[WDR_SECCHECK_MAX_CONNS];
	struct wdr_guest_stats stats;
	uint64_t tokens_ns; /* time saved up for events: each costs 1 s / WDR_SECCHECK_RATE */
	uint64_t last_ns;
	unsigned char buf[WDR_SECCHECK_MAX_MSG + 1];
};

static int watch(struct wdr_seccheck *s, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

int wdr_seccheck_new(int listen_fd, const struct wdr_guest_ops *ops, void *userdata,
		     struct wdr_seccheck **ret)
{
	wdr_seccheck_ struct wdr_seccheck *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->listen_fd = -1;
	for (size_t i = 0; i < WDR_SECCHECK_MAX_CONNS; i++)
		s->conns[i].fd = -1;
	s->ops = ops;
	s->userdata = userdata;
	s->tokens_ns = NS_PER_S;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return -errno;
	r = watch(s, listen_fd);
	if (r < 0)
		return r;
	s->listen_fd = listen_fd;
	*ret = WDR_TAKE_PTR(s);
	return 0;
}

void wdr_seccheck_freep(struct wdr_seccheck **sp)
{
	struct wdr_seccheck *s = *sp;

	*sp = NULL;
	if (!s)
		return;
	for (size_t i = 0; i < WDR_SECCHECK_MAX_CONNS; i++)
		wdr_closep(&s->conns[i].fd);
	wdr_closep(&s->listen_fd);
	wdr_closep(&s->epoll_fd);
	free(s);
}

int wdr_seccheck_fd(const struct wdr_seccheck *s)
{
	return s->epoll_fd;
}

const struct wdr_guest_stats *wdr_seccheck_stats(const struct wdr_seccheck *s)
{
	return &s->stats;
}

static void cut_off(struct conn *c)
{
	wdr_closep(&c->fd); /* which takes it out of the epoll set */
	*c = (struct conn){ .fd = -1 };
}

static void accept_one(struct wdr_seccheck *s)
{
	int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	for (size_t i = 0; i < WDR_SECCHECK_MAX_CONNS; i++) {
		if (s->conns[i].fd >= 0)
			continue;
		if (watch(s, fd) < 0)
			break;
		s->conns[i] = (struct conn){ .fd = fd };
		return;
	}
	s->stats.malformed++; /* one that is not expected */
	(void)close(fd);
}

/* 08 01 is version 1 in protobuf: ours, as theirs. */
static void greet(struct wdr_seccheck *s, struct conn *c, size_t n)
{
	static const unsigned char version[] = { 0x08, 0x01 };

	if (wdr_seccheck_greeting(s->buf, n) < 0 ||
	    send(c->fd, version, sizeof(version), MSG_NOSIGNAL | MSG_DONTWAIT) !=
		    (ssize_t)sizeof(version)) {
		s->stats.malformed++;
		cut_off(c);
		return;
	}
	c->greeted = true;
	s->stats.connected = true;
}

static bool may_pass(struct wdr_seccheck *s)
{
	const uint64_t cost = NS_PER_S / WDR_SECCHECK_RATE;

	if (s->tokens_ns < cost)
		return false;
	s->tokens_ns -= cost;
	return true;
}

static void count_call(struct wdr_guest_stats *st, uint32_t nr)
{
	st->calls_total++;
	if (nr < WDR_SYSCALL_MAX)
		st->calls[nr]++;
}

static void take_message(struct wdr_seccheck *s, struct conn *c, size_t n)
{
	uint32_t dropped = c->dropped;
	struct wdr_guest_event ev;
	int r = wdr_seccheck_parse(s->buf, n, &ev, &dropped);

	/* A counter that wraps; a lying one costs no more than a wrong figure of its own job. */
	s->stats.dropped += (uint32_t)(dropped - c->dropped);
	c->dropped = dropped;
	if (r < 0) {
		s->stats.malformed++;
		return;
	}
	if (r > 0)
		return;
	if (ev.type == WDR_GUEST_SYSCALL)
		count_call(&s->stats, ev.call.nr);
	else if (!s->ops)
		return; /* nobody is told; the start comes unasked */
	else if (may_pass(s))
		s->ops->event(&ev, s->userdata);
	else
		s->stats.suppressed++;
}

/* 1: took one; 0: nothing there. */
static int read_one(struct wdr_seccheck *s, struct conn *c)
{
	ssize_t n = recv(c->fd, s->buf, sizeof(s->buf), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n <= 0) {
		cut_off(c);
		return 0;
	}
	if ((size_t)n > WDR_SECCHECK_MAX_MSG)
		s->stats.malformed++; /* too long: its rest is gone */
	else if (!c->greeted)
		greet(s, c, (size_t)n);
	else
		take_message(s, c, (size_t)n);
	return 1;
}

int wdr_seccheck_pump(struct wdr_seccheck *s, uint64_t now_ns)
{
	int left = WDR_SECCHECK_BATCH, took = 1;

	if (s->last_ns && now_ns > s->last_ns)
		s->tokens_ns += now_ns - s->last_ns;
	if (s->tokens_ns > NS_PER_S)
		s->tokens_ns = NS_PER_S;
	s->last_ns = now_ns;
	accept_one(s);
	while (took && left > 0) {
		took = 0;
		for (size_t i = 0; i < WDR_SECCHECK_MAX_CONNS; i++) {
			if (s->conns[i].fd < 0)
				continue;
			left--;
			took |= read_one(s, &s->conns[i]);
		}
	}
	return took;
}
