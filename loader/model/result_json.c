/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of the result object, in the order of docs/result.schema.json. A constructor that
 * has no memory returns NULL; json_pack() then frees its other arguments and returns NULL as well.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/wdr_text.h"
#include "base/wdr_utf8.h"
#include "model/result_priv.h"

#define WDR_RESULT_VERSION 1

/* U+FFFD in place of what is no UTF-8: arguments of a command may be any bytes. */
static json_t *text_repaired(const char *s, size_t n)
{
	wdr_free_ char *copy = malloc(3 * n + 1);
	size_t used = 0;

	if (!copy)
		return NULL;
	for (size_t i = 0; i < n;) {
		size_t len = wdr_utf8_char(s + i, n - i);

		memcpy(copy + used, len ? s + i : "\xef\xbf\xbd", len ? len : 3);
		used += len ? len : 3;
		i += len ? len : 1;
	}
	return json_stringn_nocheck(copy, used);
}

static json_t *text(const char *s)
{
	size_t n = strlen(s);
	struct wdr_utf8 u = { 0 };

	if (wdr_utf8_feed(&u, s, n) && !u.want)
		return json_stringn_nocheck(s, n);
	return text_repaired(s, n);
}

static json_t *text_or_null(const char *s)
{
	return s[0] ? text(s) : json_null();
}

/* jansson's integers end at 2^63 - 1, which is still more than anything counted here. */
static json_t *count(uint64_t n)
{
	if (n == WDR_UNKNOWN)
		return json_null();
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

/* JSON has no infinity and no NaN. */
static json_t *number(double d)
{
	return isfinite(d) ? json_real(d) : json_null();
}

static json_t *instant(const struct timespec *t)
{
	char buf[WDR_TEXT_INSTANT_MAX];

	(void)wdr_text_instant(*t, buf);
	return buf[0] ? json_string(buf) : json_null();
}

static json_t *command(char *const *argv)
{
	wdr_json_ json_t *a = json_array();

	for (; argv && *argv; argv++)
		if (json_array_append_new(a, text(*argv)) < 0)
			return NULL;
	return WDR_TAKE_PTR(a);
}

static json_t *exit_object(const struct wdr_result *r)
{
	char explanation[WDR_RESULT_LINE_MAX], signal_name[WDR_TEXT_UNIT_MAX] = "";
	json_t *code = NULL;

	wdr_result_explain(r, explanation, sizeof(explanation));
	if (r->exit.signal)
		(void)wdr_text_signal(r->exit.signal, signal_name);
	if (r->exit.reason == WDR_EXIT_EXITED)
		code = json_integer(r->exit.code);
	else if (r->exit.reason == WDR_EXIT_ERROR)
		code = count(r->exit.value);
	else
		code = json_null();
	return json_pack("{s:s, s:o, s:o, s:o}", "reason", wdr_exit_reason_name(r->exit.reason),
			 "code", code, "signal", text_or_null(signal_name), "explanation",
			 text_or_null(explanation));
}

json_t *wdr_result_head(const struct wdr_result *r)
{
	return json_pack("{s:i, s:o, s:o, s:s, s:o, s:o, s:o}", "version", WDR_RESULT_VERSION,
			 "job", text(r->job), "name", text_or_null(r->name), "backend", r->backend,
			 "command", command(r->command_ref), "started", instant(&r->started),
			 "exit", exit_object(r));
}

static int by_count(const void *a, const void *b)
{
	const struct wdr_syscall_count *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Name to count, the most frequent first; @denied: of refused calls, only those that were. */
static json_t *syscall_table(const struct wdr_syscall_count *c, size_t n, bool denied)
{
	wdr_json_ json_t *o = json_object();

	for (size_t i = 0; i < n; i++) {
		uint64_t v = denied ? c[i].denied : c[i].total;

		if (v && json_object_set_new(o, c[i].name, count(v)) < 0)
			return NULL;
	}
	return WDR_TAKE_PTR(o);
}

static json_t *syscalls(const struct wdr_usage *u)
{
	size_t n =
		u->n_syscalls < WDR_RESULT_MAX_SYSCALLS ? u->n_syscalls : WDR_RESULT_MAX_SYSCALLS;
	wdr_free_ struct wdr_syscall_count *sorted = NULL;

	if (!u->syscalls_counted)
		return json_null();
	sorted = calloc(n ? n : 1, sizeof(*sorted));
	if (!sorted)
		return NULL;
	if (n) {
		memcpy(sorted, u->syscalls, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), by_count);
	}
	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "origin",
			 u->syscalls_origin == WDR_ORIGIN_GUEST ? "guest" : "host", "total",
			 count(u->syscalls_total), "by_name", syscall_table(sorted, n, false),
			 "denied", syscall_table(sorted, n, true), "lost", count(u->syscalls_lost));
}

static json_t *egress(const struct wdr_usage *u)
{
	if (!u->net_counted)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "packets", count(u->egress_packets), "bytes",
			 count(u->egress_bytes), "denied", count(u->egress_denied));
}

static json_t *ingress(const struct wdr_usage *u)
{
	if (!u->net_counted)
		return json_null();
	return json_pack("{s:o, s:o}", "packets", count(u->ingress_packets), "bytes",
			 count(u->ingress_bytes));
}

static json_t *usage(const struct wdr_usage *u)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "wall_ns",
			 count(u->wall_ns), "start_ns", count(u->start_ns), "cpu_ns",
			 count(u->cpu_ns), "user_ns", count(u->user_ns), "system_ns",
			 count(u->system_ns), "memory_peak_bytes", count(u->memory_peak_bytes),
			 "pids_peak", count(u->pids_peak), "egress", egress(u), "ingress",
			 ingress(u), "syscalls", syscalls(u));
}

static json_t *denial(const struct wdr_denial *d)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "kind", "egress", "to",
			 text(d->to), "count", count(d->count), "rule",
			 d->rule < 0 ? json_null() : json_integer(d->rule), "rule_name",
			 text_or_null(d->rule_name), "reason", wdr_deny_reason_name(d->reason),
			 "first", d->first.tv_sec ? instant(&d->first) : json_null(), "last",
			 d->last.tv_sec ? instant(&d->last) : json_null());
}

static json_t *denials(const struct wdr_result *r)
{
	wdr_json_ json_t *a = json_array();

	for (size_t i = 0; i < r->n_denials; i++)
		if (json_array_append_new(a, denial(&r->denials[i])) < 0)
			return NULL;
	return WDR_TAKE_PTR(a);
}

static json_t *evidence(const struct wdr_finding *f)
{
	wdr_json_ json_t *a = json_array();

	for (size_t i = 0; i < f->n_evidence && i < WDR_RESULT_MAX_EVIDENCE; i++) {
		const struct wdr_evidence *e = &f->evidence[i];
		json_t *o = json_pack("{s:o, s:o, s:o, s:o}", "family", text(e->family), "what",
				      text(e->what), "value", number(e->value), "threshold",
				      number(e->threshold));

		if (json_array_append_new(a, o) < 0)
			return NULL;
	}
	return WDR_TAKE_PTR(a);
}

static json_t *findings(const struct wdr_result *r)
{
	wdr_json_ json_t *a = json_array();

	for (size_t i = 0; i < r->n_findings; i++) {
		const struct wdr_finding *f = &r->findings[i];
		json_t *o = json_pack("{s:o, s:s, s:o, s:o, s:o}", "detector", text(f->detector),
				      "action", wdr_finding_action_name(f->action), "score",
				      number(f->score), "threshold", number(f->threshold),
				      "evidence", evidence(f));

		if (json_array_append_new(a, o) < 0)
			return NULL;
	}
	return WDR_TAKE_PTR(a);
}

static const char *protection_state(const struct wdr_result *r, enum wdr_protection p)
{
	if (r->prot_missing & WDR_PROT_BIT(p))
		return "missing";
	return r->prot_on & WDR_PROT_BIT(p) ? "on" : "off";
}

static json_t *protections(const struct wdr_result *r)
{
	wdr_json_ json_t *o = json_object();
	wdr_json_ json_t *degraded = json_array();

	for (enum wdr_protection p = 0; p < _WDR_PROT_MAX; p++) {
		const char *name = wdr_protection_name(p);

		if (json_object_set_new(o, name, json_string(protection_state(r, p))) < 0)
			return NULL;
		if ((r->prot_missing & WDR_PROT_BIT(p)) &&
		    json_array_append_new(degraded, json_string(name)) < 0)
			return NULL;
	}
	if (json_object_set_new(o, "degraded", WDR_TAKE_PTR(degraded)) < 0)
		return NULL;
	return WDR_TAKE_PTR(o);
}

json_t *wdr_result_tail(const struct wdr_result *r)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "usage", usage(&r->usage),
			 "denials", denials(r), "denials_lost", count(r->denials_lost), "findings",
			 findings(r), "findings_lost", count(r->findings_lost), "events_lost",
			 count(r->events_lost), "protections", protections(r));
}
