/* SPDX-License-Identifier: Apache-2.0 */
/* A result in one line for people, and in one number for the shell. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/wdr_text.h"
#include "model/result.h"

#define NS_PER_S UINT64_C(1000000000)

/* Explanations are written piece by piece into one buffer that is never overrun. */
struct line {
	char *buf;
	size_t size, n;
};

static void add(struct line *l, const char *fmt, ...) wdr_printf(2, 3);

static void add(struct line *l, const char *fmt, ...)
{
	char piece[640];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(piece, sizeof(piece), fmt, ap);
	va_end(ap);
	l->n += strlen(wdr_text_copy(l->buf + l->n, l->size - l->n, piece));
}

/* Text that a job may have had a hand in. */
static void add_escaped(struct line *l, const char *text)
{
	char safe[512];

	add(l, "%s", wdr_text_escape(text, strlen(text), safe, sizeof(safe)));
}

static const char *plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* The finding that killed, or NULL. */
static const struct wdr_finding *killing_finding(const struct wdr_result *r)
{
	for (size_t i = r->n_findings; i-- > 0;)
		if (r->findings[i].action == WDR_FINDING_KILL)
			return &r->findings[i];
	return NULL;
}

static void add_finding(struct line *l, const struct wdr_finding *f)
{
	add(l, "score %.2f, threshold %.2f", f->score, f->threshold);
	for (size_t i = 0; i < f->n_evidence; i++) {
		const struct wdr_evidence *e = &f->evidence[i];

		add(l, "%s%s: ", i ? "; " : ": ", e->family);
		add_escaped(l, e->what);
		add(l, " (%.4g, threshold %.4g)", e->value, e->threshold);
	}
}

static void explain_signaled(const struct wdr_result *r, struct line *l)
{
	char name[WDR_TEXT_UNIT_MAX];
	const char *text = sigdescr_np(r->exit.signal);

	add(l, "ended by %s", wdr_text_signal(r->exit.signal, name));
	if (text)
		add(l, " (%s)", text);
}

static void explain_timeout(const struct wdr_result *r, struct line *l)
{
	char limit[WDR_TEXT_UNIT_MAX];

	add(l, "wall-clock limit of %s reached", wdr_text_duration(r->exit.limit, limit));
}

/* Two ways to this reason: the budget in seconds, and detect.cpu's share of the quota. */
static void explain_cpu(const struct wdr_result *r, struct line *l)
{
	const struct wdr_finding *f = killing_finding(r);
	char limit[WDR_TEXT_UNIT_MAX], used[WDR_TEXT_UNIT_MAX];

	if (!r->exit.limit && f) {
		add(l, "detector %s: ", f->detector);
		add_finding(l, f);
		return;
	}
	add(l, "CPU budget of %s reached", wdr_text_duration(r->exit.limit, limit));
	if (r->exit.value)
		add(l, ": %s used", wdr_text_duration(r->exit.value, used));
}

static void explain_oom(const struct wdr_result *r, struct line *l)
{
	uint64_t n = r->exit.value;
	char limit[WDR_TEXT_UNIT_MAX];

	if (r->exit.limit == WDR_UNKNOWN)
		add(l, "the machine ran out of memory");
	else
		add(l, "memory limit of %s reached", wdr_text_size(r->exit.limit, limit));
	if (n)
		add(l, ": the OOM killer took %llu %s", (unsigned long long)n,
		    plural(n, "process", "processes"));
}

static void explain_pids(const struct wdr_result *r, struct line *l)
{
	uint64_t n = r->exit.value;

	add(l, "limit of %llu processes and threads reached", (unsigned long long)r->exit.limit);
	if (n)
		add(l, ": %llu %s refused", (unsigned long long)n, plural(n, "fork", "forks"));
}

static void explain_output(const struct wdr_result *r, struct line *l)
{
	char limit[WDR_TEXT_UNIT_MAX];

	add(l, "more than %s of output on %s", wdr_text_size(r->exit.limit, limit), r->exit.what);
}

static void explain_mining(const struct wdr_result *r, struct line *l)
{
	const struct wdr_finding *f = killing_finding(r);

	if (f)
		add_finding(l, f);
	else
		add(l, "found to be mining");
}

static void explain_egress(const struct wdr_result *r, struct line *l)
{
	const struct wdr_denial *d = r->n_denials ? &r->denials[r->n_denials - 1] : NULL;

	if (!d) {
		add(l, "connection refused by the policy");
		return;
	}
	add(l, "connection to ");
	add_escaped(l, d->to);
	add(l, " refused: %s", wdr_deny_reason_name(d->reason));
	if (d->rule < 0)
		return;
	add(l, " %d", (int)d->rule);
	if (!d->rule_name[0])
		return;
	add(l, " \"");
	add_escaped(l, d->rule_name);
	add(l, "\"");
}

static void explain_syscall(const struct wdr_result *r, struct line *l)
{
	if (r->exit.what[0])
		add(l, "call of %s, which the policy refuses", r->exit.what);
	else
		add(l, "a call that the policy refuses");
}

static void explain_killed(const struct wdr_result *r, struct line *l)
{
	char name[WDR_TEXT_UNIT_MAX];

	if (r->exit.value)
		add(l, "warder got %s", wdr_text_signal((int)r->exit.value, name));
	else if (r->exit.what[0])
		add(l, "by %s", r->exit.what);
	else
		add(l, "on request");
}

static void explain_lost(const struct wdr_result *r, struct line *l)
{
	char silence[WDR_TEXT_UNIT_MAX];

	if (r->exit.limit)
		add(l, "its supervisor was silent for %s",
		    wdr_text_duration(r->exit.limit, silence));
	else
		add(l, "its supervisor ended before it");
}

static void explain_error(const struct wdr_result *r, struct line *l)
{
	char safe[2 * sizeof(r->exit.what)];

	add(l, "%s", wdr_text_printable(r->exit.what, strlen(r->exit.what), safe, sizeof(safe)));
}

static void (*const explain[])(const struct wdr_result *r, struct line *l) = {
	[WDR_EXIT_EXITED] = NULL,
	[WDR_EXIT_SIGNALED] = explain_signaled,
	[WDR_EXIT_TIMEOUT] = explain_timeout,
	[WDR_EXIT_CPU_BUDGET] = explain_cpu,
	[WDR_EXIT_OOM] = explain_oom,
	[WDR_EXIT_PIDS_LIMIT] = explain_pids,
	[WDR_EXIT_OUTPUT_LIMIT] = explain_output,
	[WDR_EXIT_MINING] = explain_mining,
	[WDR_EXIT_EGRESS] = explain_egress,
	[WDR_EXIT_SYSCALL] = explain_syscall,
	[WDR_EXIT_KILLED] = explain_killed,
	[WDR_EXIT_SUPERVISOR_LOST] = explain_lost,
	[WDR_EXIT_ERROR] = explain_error,
};

_Static_assert(sizeof(explain) / sizeof(explain[0]) == _WDR_EXIT_MAX, "one each");

void wdr_result_explain(const struct wdr_result *r, char *buf, size_t size)
{
	struct line l = { .buf = buf, .size = size };

	buf[0] = '\0';
	if (explain[r->exit.reason])
		explain[r->exit.reason](r, &l);
}

static bool never_ran(const struct wdr_result *r)
{
	return r->exit.reason == WDR_EXIT_ERROR && !r->usage.wall_ns;
}

size_t wdr_result_line(const struct wdr_result *r, char buf[WDR_RESULT_LINE_MAX])
{
	struct line l = { .buf = buf, .size = WDR_RESULT_LINE_MAX };

	buf[0] = '\0';
	if (r->exit.reason == WDR_EXIT_EXITED)
		return 0;
	add(&l, "warder: ");
	if (!never_ran(r))
		add(&l, "%s killed: %s: ", r->job, wdr_exit_reason_name(r->exit.reason));
	explain[r->exit.reason](r, &l);
	return l.n;
}

int wdr_result_status(const struct wdr_result *r)
{
	switch (r->exit.reason) {
	case WDR_EXIT_EXITED:
		return r->exit.code;
	case WDR_EXIT_SIGNALED:
		return 128 + r->exit.signal;
	case WDR_EXIT_TIMEOUT:
		return 124;
	case WDR_EXIT_ERROR:
		return (int)r->exit.value;
	case WDR_EXIT_KILLED:
		return r->exit.value ? 128 + (int)r->exit.value : 137;
	default:
		return 137;
	}
}
