/* SPDX-License-Identifier: Apache-2.0 */
#include "job/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "base/wdr_io.h"
#include "job/end.h"

#define BUF_BYTES    65536 /* a pipe's default size: pipe(7) */
#define SPLICE_BYTES (1 << 20)
/* Moves in one callback, so that a flood on one stream starves neither timers nor the other. */
#define MAX_MOVES 16

enum way {
	WAY_COPY,
	WAY_SPLICE
};

struct wdr_pump {
	struct wdr_pump_opts o; /* but for the descriptors, which are the ends' */
	struct wdr_end from, to;
	struct wdr_source *src, *dst; /* NULL: that file can't be polled and is always ready */
	struct wdr_source *again;     /* for a source that can't be polled */
	enum way way;
	int capture_fd;
	uint64_t bytes, kept;
	char *buf; /* allocated with the first copy */
	size_t n_buf, buf_off;
	char last; /* byte that was read */
	bool draining, ended, limit_told, at_end, end_bytes_put;
	bool src_ready, dst_ready; /* said epoll, and nothing was moved since; of ends that block */
	int error;
};

void wdr_pump_stop(struct wdr_pump *p)
{
	p->ended = true;
	wdr_source_freep(&p->src);
	wdr_source_freep(&p->dst);
	wdr_source_freep(&p->again);
	wdr_closep(&p->from.fd);
	wdr_closep(&p->to.fd);
	wdr_freep(&p->buf);
}

void wdr_pump_freep(struct wdr_pump **pp)
{
	if (!*pp)
		return;
	wdr_pump_stop(*pp);
	wdr_closep(&(*pp)->capture_fd);
	wdr_freep(pp);
}

static void end(struct wdr_pump *p)
{
	if (p->ended)
		return;
	wdr_pump_stop(p);
	p->o.on_end(p, p->o.userdata);
}

/* A source that can't be switched on would be waited for in vain. */
static void switch_source(struct wdr_pump *p, struct wdr_source *s, bool on)
{
	int r = wdr_source_enable(s, on);

	if (r < 0) {
		p->error = r;
		end(p);
	}
}

static void wait_for_src(struct wdr_pump *p)
{
	if (p->dst)
		switch_source(p, p->dst, false);
	if (!p->ended)
		switch_source(p, p->src ? p->src : p->again, true);
}

static void wait_for_dst(struct wdr_pump *p)
{
	if (!p->dst)
		return;
	if (p->src)
		switch_source(p, p->src, false);
	if (!p->ended)
		switch_source(p, p->dst, true);
}

static uint64_t room(const struct wdr_pump *p)
{
	return p->kept < p->o.limit ? p->o.limit - p->kept : 0;
}

/* The reader is gone or broken. The job's next write must fail as it would without us: SIGPIPE. */
static void lose_dst(struct wdr_pump *p, int e)
{
	if (!wdr_end_is_gone(&p->to, e))
		p->error = e;
	end(p);
}

/* @n is a count or -errno. Returns 1: go on; 0: wait (sources are set) or ended; -1: the end. */
static int after_read(struct wdr_pump *p, ssize_t n)
{
	if (n > 0)
		return 1;
	if (n == -EAGAIN && !p->draining) {
		wait_for_src(p);
		return 0;
	}
	/* A pty's end of file is EIO (tty_io.c); when draining, empty is the end. */
	if (n < 0 && !p->draining && !wdr_end_is_gone(&p->from, (int)n))
		p->error = (int)n;
	p->at_end = true;
	return -1;
}

/* Returns 1 once the buffer is empty; 0: wait (sources are set) or ended. */
static int flush(struct wdr_pump *p)
{
	while (p->buf_off < p->n_buf) {
		ssize_t w = -EAGAIN;

		if (!p->to.blocks || !p->dst || p->dst_ready)
			w = wdr_end_write(&p->to, p->buf + p->buf_off, p->n_buf - p->buf_off);
		p->dst_ready = false;
		if (w == -EAGAIN) {
			wait_for_dst(p);
			return 0;
		}
		if (w < 0) {
			lose_dst(p, (int)w);
			return 0;
		}
		p->buf_off += (size_t)w;
	}
	p->n_buf = p->buf_off = 0;
	return 1;
}

static int need_buf(struct wdr_pump *p)
{
	if (!p->buf)
		p->buf = malloc(BUF_BYTES);
	if (!p->buf)
		lose_dst(p, -ENOMEM);
	return p->buf ? 1 : 0;
}

static void tell_limit(struct wdr_pump *p)
{
	if (p->limit_told)
		return;
	p->limit_told = true;
	p->o.on_limit(p, p->o.userdata);
}

/* One buffer: read, keep, pass on. */
static int move_copy(struct wdr_pump *p)
{
	uint64_t left = room(p);
	size_t pass;
	ssize_t n;
	int r;

	r = p->to.fd >= 0 ? flush(p) : 1;
	if (r > 0)
		r = need_buf(p);
	if (r <= 0)
		return r;
	n = -EAGAIN;
	if (!p->from.blocks || !p->src || p->src_ready)
		n = wdr_end_read(&p->from, p->buf, BUF_BYTES);
	p->src_ready = false;
	r = after_read(p, n);
	if (r <= 0)
		return r;
	p->last = p->buf[n - 1];
	p->bytes += (uint64_t)n;
	pass = (uint64_t)n > left ? (size_t)left : (size_t)n;
	if (p->capture_fd >= 0 && pass > 0) {
		r = wdr_write_all(p->capture_fd, p->buf, pass);
		if (r < 0) {
			lose_dst(p, r);
			return 0;
		}
	}
	p->kept += pass; /* not before: what could not be kept was not */
	if (p->to.fd >= 0)
		p->n_buf = pass;
	if (pass < (size_t)n)
		tell_limit(p);
	return 1;
}

static int move_splice(struct wdr_pump *p)
{
	uint64_t left = room(p);
	int in_pipe = 0;
	ssize_t n;
	int e;

	if (left == 0) {
		p->way = WAY_COPY;
		return 1;
	}
	n = splice(p->from.fd, NULL, p->to.fd, NULL, left < SPLICE_BYTES ? left : SPLICE_BYTES,
		   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n > 0) {
		p->bytes += (uint64_t)n;
		p->kept += (uint64_t)n;
		return 1;
	}
	e = n < 0 ? -errno : 0;
	if (e == -EINTR)
		return 1;
	/* A file that can't be spliced, or a failure: a copy knows which side it is on. */
	if (e < 0 && e != -EAGAIN) {
		p->way = WAY_COPY;
		return 1;
	}
	/* Which side was not ready: the pipe itself says whether it has anything. */
	if (e == -EAGAIN && ioctl(p->from.fd, FIONREAD, &in_pipe) == 0 && in_pipe > 0) {
		if (!p->dst)
			p->way = WAY_COPY;
		wait_for_dst(p);
		return p->dst ? 0 : 1;
	}
	return after_read(p, e);
}

/*
 * A terminal's end of file ends only what was typed of the line (termios(3), VEOF): in the middle of
 * one it takes two.
 */
static void put_end_bytes(struct wdr_pump *p)
{
	bool in_line = p->bytes > 0 && p->last != '\n' && p->last != '\r';

	if (p->end_bytes_put || p->o.end_byte < 0 || p->to.fd < 0 || !need_buf(p))
		return;
	p->end_bytes_put = true;
	p->n_buf = in_line ? 2 : 1;
	memset(p->buf, p->o.end_byte, p->n_buf);
}

static void finish(struct wdr_pump *p)
{
	if (p->to.fd >= 0 && flush(p) <= 0)
		return;
	put_end_bytes(p);
	if (!p->ended && p->to.fd >= 0 && flush(p) <= 0)
		return;
	end(p);
}

static void run(struct wdr_pump *p)
{
	int r = 1;

	for (int i = 0; i < MAX_MOVES && r > 0 && !p->ended && !p->at_end; i++)
		r = p->way == WAY_SPLICE ? move_splice(p) : move_copy(p);
	if (p->ended)
		return;
	if (p->at_end)
		finish(p);
	else if (r > 0)
		wait_for_src(p);
}

static void on_io(struct wdr_source *s, int fd, uint32_t revents, void *userdata)
{
	struct wdr_pump *p = userdata;

	(void)fd;
	(void)revents;
	p->src_ready |= s == p->src;
	p->dst_ready |= s == p->dst;
	run(p);
}

static void on_again(struct wdr_source *s, void *userdata)
{
	(void)s;
	run(userdata);
}

/* A file that epoll refuses (EPERM) is always ready: a regular file, /dev/null. */
static int add_source(struct wdr_event *event, int fd, uint32_t events, struct wdr_pump *p,
		      struct wdr_source **ret)
{
	int r = fd < 0 ? -EPERM : wdr_event_add_io(event, ret, fd, events, on_io, p);

	return r == -EPERM ? 0 : r;
}

static int start(struct wdr_event *event, struct wdr_pump *p)
{
	int r;

	if (p->o.capture) {
		p->capture_fd = memfd_create(p->o.name, MFD_CLOEXEC);
		if (p->capture_fd < 0)
			return -errno;
	}
	/* splice(2) waits for a socket, and for a file that blocks, whatever its flags say. */
	if (p->o.from_job && p->to.fd >= 0 && !p->to.is_socket && !p->to.blocks && !p->o.capture)
		p->way = WAY_SPLICE;
	r = add_source(event, p->from.fd, EPOLLIN, p, &p->src);
	if (r >= 0)
		r = add_source(event, p->to.fd, EPOLLOUT, p, &p->dst);
	if (r == 0 && !p->src)
		r = wdr_event_add_defer(event, &p->again, on_again, p);
	if (r >= 0 && p->dst)
		r = wdr_source_enable(p->dst, false);
	return r;
}

int wdr_pump_new(struct wdr_event *event, const struct wdr_pump_opts *o, struct wdr_pump **ret,
		 struct wdr_err *err)
{
	wdr_close_ int src = o->src_fd;
	wdr_close_ int dst = o->dst_fd;
	wdr_pump_ struct wdr_pump *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->o = *o;
	wdr_end_set(&p->from, WDR_TAKE_FD(src));
	wdr_end_set(&p->to, WDR_TAKE_FD(dst));
	p->capture_fd = -1;
	r = start(event, p);
	if (r < 0)
		return wdr_err_wrap(err, r, "relay %s", o->name);
	*ret = WDR_TAKE_PTR(p);
	return 0;
}

void wdr_pump_drain(struct wdr_pump *p)
{
	if (p->ended)
		return;
	p->draining = true;
	run(p);
}

bool wdr_pump_ended(const struct wdr_pump *p)
{
	return p->ended;
}

int wdr_pump_error(const struct wdr_pump *p)
{
	return p->error;
}

const char *wdr_pump_name(const struct wdr_pump *p)
{
	return p->o.name;
}

uint64_t wdr_pump_bytes(const struct wdr_pump *p)
{
	return p->bytes;
}

int wdr_pump_take_capture(struct wdr_pump *p)
{
	return WDR_TAKE_FD(p->capture_fd);
}

uint64_t wdr_pump_kept(const struct wdr_pump *p)
{
	return p->kept;
}
