/* SPDX-License-Identifier: Apache-2.0 */
#include "job/events.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "base/wdr_log.h"
#include "base/wdr_syscall.h"
#include "base/wdr_text.h"
#include "job/events_priv.h"
#include "job/guest.h"
#include "job/guest_flow.h"
#include "job/job_priv.h"

static const char *const kills[] = {
	[WDR_KILL_CPU_BUDGET] = "cpu-budget",
	[WDR_KILL_CPU_SHARE] = "detect.cpu",
	[WDR_KILL_EGRESS] = "egress",
};

#define N_KILLS (sizeof(kills) / sizeof(kills[0]))

static json_t *instant(struct timespec t)
{
	char text[WDR_TEXT_INSTANT_MAX];

	return json_string(wdr_text_instant(t, text));
}

/* Text of the job's: any bytes, and at most @size of them. */
static json_t *job_text(const char *s, size_t size)
{
	char out[WDR_EVENTS_ESCAPED_MAX];

	return json_string(wdr_text_escape(s, strnlen(s, size), out, sizeof(out)));
}

void wdr_job_put_text(json_t *o, const char *key, const char *s, size_t size)
{
	(void)json_object_set_new(o, key, job_text(s, size));
}

void wdr_job_put_cut(json_t *o)
{
	(void)json_object_set_new(o, "cut", json_true());
}

json_t *wdr_job_new_line(const struct wdr_job *j, const char *event, struct timespec when)
{
	json_t *o = json_object();

	(void)json_object_set_new(o, "time", instant(when));
	(void)json_object_set_new(o, "job", json_string(j->spec.id));
	(void)json_object_set_new(o, "event", json_string(event));
	return o;
}

/* How much of a file's room may be taken by the lines of each kind. */
static const uint64_t rooms[] = {
	[WDR_ROOM_MANY] = WDR_EVENTS_MAX_BYTES - WDR_EVENTS_KEPT_BYTES,
	[WDR_ROOM_FEW] = WDR_EVENTS_MAX_BYTES,
	[WDR_ROOM_LAST] = UINT64_MAX,
};

void wdr_job_write_line(struct wdr_job *j, json_t *o, enum wdr_event_room room)
{
	wdr_free_ char *text = NULL;
	char *line = NULL;
	int n = -1;

	if (o && wdr_json_dump(o, JSON_COMPACT, &text) == 0)
		n = asprintf(&line, "%s\n", text);
	wdr_lines_put(&j->events, n < 0 ? NULL : line, n < 0 ? 0 : (size_t)n, rooms[room]);
}

void wdr_job_put_number(json_t *o, const char *key, uint64_t value)
{
	(void)json_object_set_new(o, key, json_integer((json_int_t)value));
}

/* As the kernel's events have it, if we can know; else as we do. */
static uint64_t first_pid(const struct wdr_job *j)
{
	uint32_t pid = j->kslot ? wdr_kern_slot_first_pid(j->kslot) : 0;

	return pid ? pid : (uint64_t)j->o.backend->pid(j->b);
}

void wdr_job_event_started(struct wdr_job *j)
{
	wdr_json_ json_t *o = NULL;
	struct timespec now;

	if (j->o.events_fd < 0)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	o = wdr_job_new_line(j, "started", now);
	(void)json_object_set_new(o, "backend", json_string(j->o.backend->name));
	wdr_job_put_number(o, "pid", first_pid(j));
	wdr_job_write_line(j, o, WDR_ROOM_FEW);
}

static void put_exec(const struct wdr_job *j, json_t *o, const struct wdr_ev_hdr *ev)
{
	const struct wdr_ev_exec *e = (const struct wdr_ev_exec *)ev;

	(void)j;
	wdr_job_put_number(o, "parent", e->parent);
	wdr_job_put_number(o, "uid", e->uid);
	(void)json_object_set_new(o, "path", job_text(e->path, sizeof(e->path)));
	if (strnlen(e->path, sizeof(e->path)) >= sizeof(e->path) - 1)
		wdr_job_put_cut(o);
}

static void put_fork(const struct wdr_job *j, json_t *o, const struct wdr_ev_hdr *ev)
{
	const struct wdr_ev_fork *e = (const struct wdr_ev_fork *)ev;

	(void)j;
	wdr_job_put_number(o, "child", e->child);
	(void)json_object_set_new(o, "thread", json_boolean(e->child != e->child_process));
}

static void put_exit(const struct wdr_job *j, json_t *o, const struct wdr_ev_hdr *ev)
{
	const struct wdr_ev_exit *e = (const struct wdr_ev_exit *)ev;
	char name[WDR_TEXT_UNIT_MAX];
	int status = (int)e->status;

	(void)j;
	wdr_job_put_number(o, "parent", e->parent);
	if (WIFSIGNALED(status))
		(void)json_object_set_new(o, "signal",
					  json_string(wdr_text_signal(WTERMSIG(status), name)));
	else
		wdr_job_put_number(o, "code", (uint64_t)WEXITSTATUS(status));
}

static void put_capability(const struct wdr_job *j, json_t *o, const struct wdr_ev_hdr *ev)
{
	const struct wdr_ev_cap *e = (const struct wdr_ev_cap *)ev;
	const char *name = wdr_policy_capability_name(e->cap);

	(void)j;
	(void)json_object_set_new(o, "capability",
				  name ? json_string(name) : json_integer((json_int_t)e->cap));
}

static void put_cpu(const struct wdr_job *j, json_t *o, const struct wdr_ev_hdr *ev)
{
	const struct wdr_ev_cpu *e = (const struct wdr_ev_cpu *)ev;

	(void)j;
	wdr_job_put_number(o, "used_ns", e->used_ns);
	wdr_job_put_number(o, "window_ns", e->window_ns);
}

static void put_killed(const struct wdr_job *j, json_t *o, const struct wdr_ev_hdr *ev)
{
	const struct wdr_ev_killed *e = (const struct wdr_ev_killed *)ev;

	(void)j;
	(void)json_object_set_new(
		o, "why", json_string(e->why < N_KILLS && kills[e->why] ? kills[e->why] : "?"));
	wdr_job_put_number(o, "value", e->value);
}

static void put_sigsys(const struct wdr_job *j, json_t *o, const struct wdr_ev_hdr *ev)
{
	const struct wdr_ev_sigsys *e = (const struct wdr_ev_sigsys *)ev;
	const char *name = wdr_syscall_name(e->nr);

	(void)j;
	(void)json_object_set_new(o, "syscall", name ? json_string(name) : json_integer(e->nr));
}

static void put_denied(const struct wdr_job *j, json_t *o, const struct wdr_ev_hdr *ev)
{
	const struct wdr_ev_verdict *e = (const struct wdr_ev_verdict *)ev;
	struct wdr_denial d = { 0 };

	wdr_job_name_denial(j->o.policy, &e->key, &d);
	(void)json_object_set_new(o, "to", json_string(d.to));
	(void)json_object_set_new(o, "reason", json_string(wdr_deny_reason_name(d.reason)));
	(void)json_object_set_new(o, "rule", d.rule < 0 ? json_null() : json_integer(d.rule));
	(void)json_object_set_new(o, "rule_name",
				  d.rule_name[0] ? json_string(d.rule_name) : json_null());
}

static void put_allowed(const struct wdr_job *j, json_t *o, const struct wdr_ev_hdr *ev)
{
	const struct wdr_ev_verdict *e = (const struct wdr_ev_verdict *)ev;

	put_denied(j, o, ev);
	if (e->key.reason == WDR_REASON_DNS)
		(void)json_object_set_new(o, "reason", json_string("dns"));
}

/* Who it was is all there is to say. */
static void put_oom(const struct wdr_job *j, json_t *o, const struct wdr_ev_hdr *ev)
{
	(void)j;
	(void)o;
	(void)ev;
}

/* By WDR_EV_*. */
static const struct {
	const char *name;
	void (*put)(const struct wdr_job *j, json_t *o, const struct wdr_ev_hdr *ev);
	enum wdr_event_room room;
} kinds[WDR_EV_MAX] = {
	[WDR_EV_DENIED] = { "denied", put_denied, WDR_ROOM_FEW },
	[WDR_EV_KILLED] = { "killed", put_killed, WDR_ROOM_FEW },
	[WDR_EV_CPU] = { "cpu", put_cpu, WDR_ROOM_FEW },
	[WDR_EV_EXEC] = { "exec", put_exec, WDR_ROOM_MANY },
	[WDR_EV_FORK] = { "fork", put_fork, WDR_ROOM_MANY },
	[WDR_EV_EXIT] = { "exit", put_exit, WDR_ROOM_MANY },
	[WDR_EV_OOM] = { "oom", put_oom, WDR_ROOM_FEW },
	[WDR_EV_CAP] = { "capability", put_capability, WDR_ROOM_FEW },
	[WDR_EV_SIGSYS] = { "syscall", put_sigsys, WDR_ROOM_FEW },
	[WDR_EV_ALLOWED] = { "allowed", put_allowed, WDR_ROOM_MANY },
};

void wdr_job_event_kernel(struct wdr_job *j, const struct wdr_ev_hdr *ev)
{
	wdr_json_ json_t *o = NULL;

	/* On the wire of a sandbox the kernel sees the sandbox alone: whose doing it was is asked. */
	if ((ev->type == WDR_EV_DENIED || ev->type == WDR_EV_ALLOWED) && j->guest) {
		wdr_job_guest_verdict(j, (const struct wdr_ev_verdict *)ev);
		return;
	}
	if (j->o.events_fd < 0 || ev->type >= WDR_EV_MAX || !kinds[ev->type].name)
		return;
	o = wdr_job_new_line(j, kinds[ev->type].name, wdr_job_wall_time(ev->ts_ns));
	wdr_job_put_number(o, "pid", ev->pid);
	(void)json_object_set_new(o, "comm", job_text(ev->comm, sizeof(ev->comm)));
	kinds[ev->type].put(j, o, ev);
	wdr_job_write_line(j, o, kinds[ev->type].room);
}

void wdr_job_event_guest_verdict(struct wdr_job *j, const struct wdr_ev_verdict *ev,
				 const struct wdr_guest_who *who)
{
	wdr_json_ json_t *o = NULL;

	if (j->o.events_fd < 0)
		return;
	o = wdr_job_new_line(j, kinds[ev->hdr.type].name, wdr_job_wall_time(ev->hdr.ts_ns));
	(void)json_object_set_new(o, "origin", json_string("guest"));
	(void)json_object_set_new(o, "pid", who ? json_integer(who->pid) : json_null());
	(void)json_object_set_new(o, "comm",
				  who && who->comm[0] ? job_text(who->comm, sizeof(who->comm)) :
							json_null());
	kinds[ev->hdr.type].put(j, o, &ev->hdr);
	wdr_job_write_line(j, o, kinds[ev->hdr.type].room);
}

void wdr_job_event_guest_lost(struct wdr_job *j, const char *why)
{
	wdr_json_ json_t *o = NULL;
	struct timespec now;

	if (j->o.events_fd < 0)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	o = wdr_job_new_line(j, "lost", now);
	(void)json_object_set_new(o, "why", json_string(why));
	wdr_job_write_line(j, o, WDR_ROOM_FEW);
}

static uint64_t lost_in_kernel(const struct wdr_job *j)
{
	struct wdr_live live;
	uint64_t lost = 0;

	if (!j->kslot)
		return 0;
	wdr_kern_slot_live(j->kslot, &live);
	for (int i = 0; i < WDR_EV_MAX; i++)
		lost += live.ev_lost[i];
	return lost;
}

void wdr_job_event_ended(struct wdr_job *j)
{
	uint64_t kernel = lost_in_kernel(j), guest = j->guest ? wdr_job_guest_lost(j) : 0;
	const struct wdr_exit *e = &j->result.exit;
	wdr_json_ json_t *o = NULL;
	struct timespec now;
	uint64_t lost;

	if (j->o.events_fd < 0)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	o = wdr_job_new_line(j, "ended", now);
	(void)json_object_set_new(o, "reason", json_string(wdr_exit_reason_name(e->reason)));
	(void)json_object_set_new(
		o, "code", e->reason == WDR_EXIT_EXITED ? json_integer(e->code) : json_null());
	if (j->guest)
		wdr_job_put_number(o, "lost_in_sandbox", guest);
	wdr_job_put_number(o, "lost_in_kernel", kernel);
	/* A reader that is only slow hears the end. What it can't be told shows in the next write. */
	(void)!wdr_lines_wait(&j->events, wdr_now_ns() + WDR_EVENTS_LAST_WAIT_NS);
	lost = wdr_lines_lost(&j->events);
	wdr_job_put_number(o, "lost_in_writing", lost);
	wdr_job_write_line(j, o, WDR_ROOM_LAST);
	if (wdr_lines_lost(&j->events) > lost)
		wdr_warn("job=%s step=events lost=%" PRIu64 " err=\"%s\"", j->spec.id,
			 wdr_lines_lost(&j->events), strerror(-j->events.error));
	j->result.events_lost = kernel + guest + wdr_lines_lost(&j->events);
}
