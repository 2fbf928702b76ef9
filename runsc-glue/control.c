/* SPDX-License-Identifier: Apache-2.0 */
/* The connection: requests out, and one JSON value back, whose end only its braces tell. */
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/wdr_event.h"
#include "base/wdr_io.h"
#include "base/wdr_msg.h"
#include "base/wdr_text.h"

#define FIRST_BYTES 4096
#define MAX_DEPTH   64
#define NS_PER_MS   UINT64_C(1000000)

struct wdr_control {
	int fd;
	bool waiting; /* for an answer */
	char *buf;
	size_t n, size;
	/* Where the scan for the end stands. */
	size_t at;
	int depth;
	bool in_string, escaped;
};

/* Go up to 1.20 counted the NUL behind an abstract name as part of it, later ones do not. */
static int connect_at(int fd, struct sockaddr_un *a, size_t n)
{
	const socklen_t head = offsetof(struct sockaddr_un, sun_path);
	bool abstract = a->sun_path[0] == '@';

	if (abstract)
		a->sun_path[0] = '\0';
	if (connect(fd, (struct sockaddr *)a, head + (socklen_t)n + 1) == 0)
		return 0;
	if (!abstract || errno != ECONNREFUSED)
		return -errno;
	return connect(fd, (struct sockaddr *)a, head + (socklen_t)n) < 0 ? -errno : 0;
}

int wdr_control_open(const char *path, struct wdr_control **ret, struct wdr_err *err)
{
	wdr_control_ struct wdr_control *c = calloc(1, sizeof(*c));
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = strlen(path);
	int r;

	if (!c)
		return -ENOMEM;
	c->fd = -1;
	if (n >= sizeof(a.sun_path))
		return wdr_err_wrap(err, -ENAMETOOLONG, "control socket %s", path);
	memcpy(a.sun_path, path, n);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	r = c->fd < 0 ? -errno : connect_at(c->fd, &a, n);
	if (r < 0)
		return wdr_err_wrap(err, r, "control socket %s", path);
	*ret = WDR_TAKE_PTR(c);
	return 0;
}

void wdr_control_freep(struct wdr_control **cp)
{
	struct wdr_control *c = *cp;

	*cp = NULL;
	if (!c)
		return;
	wdr_closep(&c->fd);
	free(c->buf);
	free(c);
}

int wdr_control_fd(const struct wdr_control *c)
{
	return c->fd;
}

int wdr_control_send(struct wdr_control *c, const char *method, json_t *arg, const int *fds,
		     size_t n_fds)
{
	wdr_json_ json_t *call = json_pack("{s:s, s:O}", "method", method, "arg", arg);
	wdr_free_ char *text = call ? json_dumps(call, JSON_COMPACT) : NULL;
	size_t n, first;
	int r;

	if (c->waiting)
		return -EBUSY;
	if (!text)
		return -ENOMEM;
	/* The descriptors go with the first byte: the rest may need more than one write. */
	n = strlen(text);
	first = n_fds ? 1 : 0;
	r = first ? wdr_msg_send(c->fd, text, first, fds, n_fds, 0) : 0;
	if (r == 0)
		r = wdr_write_all(c->fd, text + first, n - first);
	if (r < 0)
		return r;
	c->waiting = true;
	c->n = c->at = 0;
	c->depth = 0;
	c->in_string = c->escaped = false;
	return 0;
}

static int grow(struct wdr_control *c)
{
	size_t want = c->size ? c->size * 2 : FIRST_BYTES;
	char *p;

	if (c->n < c->size)
		return 0;
	if (want > WDR_CONTROL_MAX_REPLY)
		return -EPROTO;
	p = realloc(c->buf, want);
	if (!p)
		return -ENOMEM;
	c->buf = p;
	c->size = want;
	return 0;
}

static void scan_string(struct wdr_control *c, char b)
{
	if (c->escaped)
		c->escaped = false;
	else if (b == '\\')
		c->escaped = true;
	else if (b == '"')
		c->in_string = false;
}

/* Whether the object that starts the buffer is complete. -EPROTO if it can't become one. */
static int scan(struct wdr_control *c)
{
	for (; c->at < c->n; c->at++) {
		char b = c->buf[c->at];

		if (c->in_string) {
			scan_string(c, b);
			continue;
		}
		if (c->depth == 0 && b != '{')
			return -EPROTO;
		if (b == '"')
			c->in_string = true;
		else if (b == '{' || b == '[')
			c->depth++;
		else if (b == '}' || b == ']')
			c->depth--;
		if (c->depth > MAX_DEPTH)
			return -EPROTO;
		if (c->depth == 0) {
			c->at++;
			return 1;
		}
	}
	return 0;
}

/* What gVisor says of a method that it lacks (pkg/urpc, ErrUnknownMethod). */
static int refuse(const char *text, struct wdr_err *err)
{
	char safe[200];

	if (!strcmp(text, "unknown method"))
		return wdr_err_set(err, -EPROTO, "the sandbox does not know this call");
	return wdr_err_set(err, -EREMOTEIO, "sandbox: %s",
			   wdr_text_escape(text, strlen(text), safe, sizeof(safe)));
}

static int take_reply(struct wdr_control *c, json_t **ret, struct wdr_err *err)
{
	wdr_json_ json_t *o = json_loadb(c->buf, c->at, 0, NULL);
	json_t *success = json_object_get(o, "success");
	const char *text = json_string_value(json_object_get(o, "err"));
	json_t *result = json_object_get(o, "result");

	if (!json_is_boolean(success))
		return wdr_err_set(err, -EPROTO, "no answer of a sandbox");
	if (!json_is_true(success))
		return refuse(text ? text : "no reason given", err);
	*ret = result ? json_incref(result) : json_null();
	return 1;
}

int wdr_control_pump(struct wdr_control *c, json_t **ret, struct wdr_err *err)
{
	ssize_t n;
	int r;

	while (c->waiting) {
		r = scan(c);
		if (r > 0) {
			c->waiting = false;
			return take_reply(c, ret, err);
		}
		if (r == 0)
			r = grow(c);
		if (r < 0)
			return wdr_err_set(err, r, "no answer of a sandbox");
		n = recv(c->fd, c->buf + c->n, c->size - c->n, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return wdr_err_set(err, -EPIPE, "the sandbox is gone");
		c->n += (size_t)n;
	}
	return -EINVAL;
}

int wdr_control_call(struct wdr_control *c, const char *method, json_t *arg, const int *fds,
		     size_t n_fds, int timeout_ms, json_t **ret, struct wdr_err *err)
{
	uint64_t deadline = wdr_now_ns() + (uint64_t)timeout_ms * NS_PER_MS, now;
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	int r = wdr_control_send(c, method, arg, fds, n_fds);

	if (r < 0)
		return wdr_err_wrap(err, r, "speak to the sandbox");
	while ((r = wdr_control_pump(c, ret, err)) == 0) {
		now = wdr_now_ns();
		if (now >= deadline)
			return wdr_err_set(err, -ETIMEDOUT, "no answer of the sandbox within %d ms",
					   timeout_ms);
		if (poll(&p, 1, (int)((deadline - now) / NS_PER_MS) + 1) < 0 && errno != EINTR)
			return wdr_err_wrap(err, -errno, "wait for the sandbox");
	}
	return r < 0 ? r : 0;
}
