/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of --events about the inside of a sandbox: the sandbox's word, marked as such. */
#include <string.h>
#include <sys/wait.h>

#include "base/wdr_text.h"
#include "job/events.h"
#include "job/events_priv.h"
#include "job/job_priv.h"
#include "seccheck.h"

#define NS_PER_S 1000000000ULL

_Static_assert(WDR_EVENTS_ESCAPED_MAX >= 4 * WDR_GUEST_TEXT_MAX, "\\xNN for each byte");

static void put_exec(json_t *o, const struct wdr_guest_event *ev)
{
	wdr_job_put_text(o, "path", ev->exec.path.s, sizeof(ev->exec.path.s));
	wdr_job_put_text(o, "args", ev->exec.args.s, sizeof(ev->exec.args.s));
	if (ev->exec.path.cut || ev->exec.args.cut)
		wdr_job_put_cut(o);
}

static void put_clone(json_t *o, const struct wdr_guest_event *ev)
{
	wdr_job_put_number(o, "child", (uint64_t)ev->clone.tid);
	(void)json_object_set_new(o, "thread", json_boolean(ev->clone.tid != ev->clone.pid));
}

static void put_exit(json_t *o, const struct wdr_guest_event *ev)
{
	char name[WDR_TEXT_UNIT_MAX];

	if (WIFSIGNALED(ev->exit.status))
		(void)json_object_set_new(
			o, "signal", json_string(wdr_text_signal(WTERMSIG(ev->exit.status), name)));
	else
		wdr_job_put_number(o, "code", (uint64_t)WEXITSTATUS(ev->exit.status));
}

static void put_open(json_t *o, const struct wdr_guest_event *ev)
{
	wdr_job_put_text(o, "path", ev->open.path.s, sizeof(ev->open.path.s));
	wdr_job_put_number(o, "flags", ev->open.flags);
	if (ev->open.path.cut)
		wdr_job_put_cut(o);
}

static void put_connect(json_t *o, const struct wdr_guest_event *ev)
{
	char addr[WDR_PREFIX_TEXT_MAX], to[WDR_PREFIX_TEXT_MAX + 16];
	bool six = ev->connect.to.family == AF_INET6;

	(void)snprintf(to, sizeof(to), "%s%s%s:%u", six ? "[" : "",
		       wdr_prefix_addr_text(&ev->connect.to, addr), six ? "]" : "",
		       ev->connect.port);
	(void)json_object_set_new(o, "to", json_string(to));
}

/* NULL: not a line of its own. */
static const struct {
	const char *name;
	void (*put)(json_t *o, const struct wdr_guest_event *ev);
} kinds[_WDR_GUEST_MAX] = {
	[WDR_GUEST_CLONE] = { "fork", put_clone },	  [WDR_GUEST_EXEC] = { "exec", put_exec },
	[WDR_GUEST_EXIT] = { "exit", put_exit },	  [WDR_GUEST_OPEN] = { "open", put_open },
	[WDR_GUEST_CONNECT] = { "connect", put_connect },
};

static bool is_worth_a_line(const struct wdr_guest_event *ev)
{
	if (ev->type == WDR_GUEST_CONNECT)
		return ev->connect.to.family != 0;
	/* Of a process that ends, the line of its last thread: as the kernel has it. */
	return kinds[ev->type].name && (ev->type != WDR_GUEST_EXIT || ev->pid == ev->tid);
}

void wdr_job_event_guest(struct wdr_job *j, const struct wdr_guest_event *ev)
{
	/* The guest's clock is the host's, whatever the guest does; a message may lack the time. */
	struct timespec when = { (time_t)(ev->time_ns / NS_PER_S), (long)(ev->time_ns % NS_PER_S) };
	wdr_json_ json_t *o = NULL;

	if (j->o.events_fd < 0 || !is_worth_a_line(ev))
		return;
	if (!ev->time_ns)
		(void)clock_gettime(CLOCK_REALTIME, &when);
	o = wdr_job_new_line(j, kinds[ev->type].name, when);
	(void)json_object_set_new(o, "origin", json_string("guest"));
	wdr_job_put_number(o, "pid", (uint64_t)ev->pid);
	wdr_job_put_text(o, "comm", ev->comm, sizeof(ev->comm));
	kinds[ev->type].put(o, ev);
	wdr_job_write_line(j, o, WDR_ROOM_MANY);
}
