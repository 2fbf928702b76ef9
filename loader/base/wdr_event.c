/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_event.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define NS_PER_S   1000000000ULL
#define MAX_EVENTS 16 /* a turn: more wait for the next */
#define NEVER	   UINT64_MAX

enum kind {
	KIND_IO,
	KIND_TIME,
	KIND_SIGNAL,
	KIND_DEFER
};

struct wdr_source {
	struct wdr_event *event_ref;
	struct wdr_source *next, *prev; /* in the loop's list */
	enum kind kind;
	bool on;
	union {
		struct {
			int fd;
			uint32_t events;
			wdr_io_fn fn;
		} io;
		struct {
			uint64_t at_ns; /* NEVER while off */
			wdr_time_fn fn;
		} time;
		struct {
			int signo;
			wdr_signal_fn fn;
		} signal;
		struct {
			wdr_defer_fn fn;
		} defer;
	} u;
	void *userdata;
};

struct wdr_event {
	int epoll_fd;
	int signal_fd;
	sigset_t signals;
	struct wdr_source *sources;
	struct wdr_source *walk; /* next in the walk under way; moved on when that one is freed */
	struct epoll_event ready[MAX_EVENTS];
	int n_ready;
	bool exiting;
	int code;
};

uint64_t wdr_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

int wdr_event_new(struct wdr_event **ret, struct wdr_err *err)
{
	wdr_event_ struct wdr_event *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->signal_fd = -1;
	(void)sigemptyset(&e->signals);
	e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (e->epoll_fd < 0)
		return wdr_err_set(err, -errno, "event loop: %s", strerror(errno));
	*ret = WDR_TAKE_PTR(e);
	return 0;
}

void wdr_event_freep(struct wdr_event **pe)
{
	struct wdr_event *e = *pe;

	if (!e)
		return;
	assert(!e->sources);
	wdr_closep(&e->epoll_fd);
	wdr_closep(&e->signal_fd);
	wdr_freep(pe);
}

void wdr_event_exit(struct wdr_event *e, int code)
{
	e->exiting = true;
	e->code = code;
}

static struct wdr_source *new_source(struct wdr_event *e, enum kind kind, void *userdata)
{
	struct wdr_source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->event_ref = e;
	s->kind = kind;
	s->userdata = userdata;
	s->next = e->sources;
	if (s->next)
		s->next->prev = s;
	e->sources = s;
	return s;
}

/* The callback of an event that was already fetched must not come for a source that is gone. */
static void forget_ready(struct wdr_event *e, const struct wdr_source *s)
{
	for (int i = 0; i < e->n_ready; i++) {
		if (e->ready[i].data.ptr == s)
			e->ready[i].data.ptr = NULL;
	}
}

int wdr_source_enable(struct wdr_source *s, bool on)
{
	struct wdr_event *e = s->event_ref;
	struct epoll_event ev = { .data.ptr = s };

	if (s->on == on)
		return 0;
	if (s->kind == KIND_IO) {
		ev.events = s->u.io.events;
		if (epoll_ctl(e->epoll_fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, s->u.io.fd, &ev) < 0)
			return -errno;
		if (!on)
			forget_ready(e, s);
	}
	if (s->kind == KIND_TIME && !on)
		s->u.time.at_ns = NEVER;
	s->on = on;
	return 0;
}

void wdr_source_freep(struct wdr_source **ps)
{
	struct wdr_source *s = *ps;
	struct wdr_event *e;

	if (!s)
		return;
	e = s->event_ref;
	(void)!wdr_source_enable(s, false);
	if (e->walk == s)
		e->walk = s->next;
	if (s->next)
		s->next->prev = s->prev;
	if (s->prev)
		s->prev->next = s->next;
	else
		e->sources = s->next;
	wdr_freep(ps);
}

int wdr_event_add_io(struct wdr_event *e, struct wdr_source **ret, int fd, uint32_t events,
		     wdr_io_fn fn, void *userdata)
{
	wdr_source_ struct wdr_source *s = new_source(e, KIND_IO, userdata);
	int r;

	if (!s)
		return -ENOMEM;
	s->u.io.fd = fd;
	s->u.io.events = events;
	s->u.io.fn = fn;
	r = wdr_source_enable(s, true);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(s);
	return 0;
}

int wdr_event_add_time(struct wdr_event *e, struct wdr_source **ret, uint64_t at_ns, wdr_time_fn fn,
		       void *userdata)
{
	struct wdr_source *s = new_source(e, KIND_TIME, userdata);

	if (!s)
		return -ENOMEM;
	s->u.time.fn = fn;
	wdr_source_set_time(s, at_ns);
	*ret = s;
	return 0;
}

void wdr_source_set_time(struct wdr_source *s, uint64_t at_ns)
{
	s->u.time.at_ns = at_ns;
	s->on = true;
}

int wdr_event_add_defer(struct wdr_event *e, struct wdr_source **ret, wdr_defer_fn fn,
			void *userdata)
{
	struct wdr_source *s = new_source(e, KIND_DEFER, userdata);

	if (!s)
		return -ENOMEM;
	s->u.defer.fn = fn;
	s->on = true;
	*ret = s;
	return 0;
}

/* One signalfd for all of them; epoll knows it by the loop itself in place of a source. */
static int watch_signal(struct wdr_event *e, int signo)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = e };
	bool first = e->signal_fd < 0;
	int fd;

	(void)sigaddset(&e->signals, signo);
	fd = signalfd(e->signal_fd, &e->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	e->signal_fd = fd;
	if (first && epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return -errno;
	return 0;
}

int wdr_event_add_signal(struct wdr_event *e, struct wdr_source **ret, int signo, wdr_signal_fn fn,
			 void *userdata)
{
	wdr_source_ struct wdr_source *s = new_source(e, KIND_SIGNAL, userdata);
	int r;

	if (!s)
		return -ENOMEM;
	s->u.signal.signo = signo;
	s->u.signal.fn = fn;
	s->on = true;
	r = watch_signal(e, signo);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(s);
	return 0;
}

static void dispatch_signals(struct wdr_event *e)
{
	struct signalfd_siginfo si;

	while (!e->exiting && read(e->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		for (struct wdr_source *s = e->sources; s; s = s->next) {
			if (s->kind != KIND_SIGNAL || !s->on ||
			    s->u.signal.signo != (int)si.ssi_signo)
				continue;
			s->u.signal.fn(s, &si, s->userdata);
			break;
		}
	}
}

/* Timers that are due and deferred calls. One that is added on the way waits for the next turn. */
static void dispatch_due(struct wdr_event *e)
{
	uint64_t now = wdr_now_ns();
	struct wdr_source *s;

	for (e->walk = e->sources; (s = e->walk);) {
		e->walk = s->next;
		if (!s->on)
			continue;
		if (s->kind == KIND_DEFER) {
			s->on = false;
			s->u.defer.fn(s, s->userdata);
		} else if (s->kind == KIND_TIME && s->u.time.at_ns <= now) {
			s->on = false;
			s->u.time.at_ns = NEVER;
			s->u.time.fn(s, now, s->userdata);
		}
	}
	e->walk = NULL;
}

/* When the loop must be awake again: 0 if something is deferred. */
static uint64_t next_due(const struct wdr_event *e)
{
	uint64_t at = NEVER;

	for (const struct wdr_source *s = e->sources; s; s = s->next) {
		if (s->on && s->kind == KIND_DEFER)
			return 0;
		if (s->on && s->kind == KIND_TIME && s->u.time.at_ns < at)
			at = s->u.time.at_ns;
	}
	return at;
}

static int wait_ready(struct wdr_event *e)
{
	uint64_t at = next_due(e);
	uint64_t now = wdr_now_ns();
	uint64_t left = at > now ? at - now : 0;
	struct timespec t = { .tv_sec = (time_t)(left / NS_PER_S),
			      .tv_nsec = (long)(left % NS_PER_S) };

	e->n_ready = epoll_pwait2(e->epoll_fd, e->ready, MAX_EVENTS, at == NEVER ? NULL : &t, NULL);
	if (e->n_ready < 0) {
		e->n_ready = 0;
		return errno == EINTR ? 0 : -errno;
	}
	return 0;
}

int wdr_event_loop(struct wdr_event *e)
{
	while (!e->exiting) {
		int r = wait_ready(e);

		if (r < 0)
			return r;
		for (int i = 0; i < e->n_ready && !e->exiting; i++) {
			struct wdr_source *s = e->ready[i].data.ptr;

			if (e->ready[i].data.ptr == e)
				dispatch_signals(e);
			else if (s)
				s->u.io.fn(s, s->u.io.fd, e->ready[i].events, s->userdata);
		}
		e->n_ready = 0;
		dispatch_due(e);
	}
	return e->code;
}
