/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox made ahead, and a job for it: the options before "::" make it, as those of `warder run`,
 * the others are the job's, and so are the streams, the result and the exit status. Refused, the job
 * is started cold.
 *
 * usage: ahead_try [-2 | -w] [OPTIONS] :: [OPTIONS] -- PROGRAM [ARG...]
 *           -2: ask for a second job, too; -w: say "held" and wait for ever
 *        ahead_try -n ROUNDS [OPTIONS] :: [OPTIONS] -- PROGRAM [ARG...]
 *           a line each, in us from the request: to the program's exec, to its end, to that of all
 */
#include <errno.h>
#include <string.h>

#include "base/wdr_event.h"
#include "cli/run_args.h"
#include "cli/run_signals.h"
#include "job/job.h"
#include "runsc.h"

#define MAX_ARGS 256

struct side {
	struct wdr_run_args args;
	struct wdr_policy *policy;
};

struct
try {
	struct side made, job;
	bool twice, waits, quiet;
	struct wdr_event *event;
	struct wdr_job *j;
	bool cold;
	uint64_t begun_ns, ended_ns;
};

static struct wdr_err g_err;

static int read_side(int argc, char **argv, struct side *s)
{
	int e = wdr_run_args_parse(argc, argv, &s->args, &g_err);

	if (e == 0)
		e = wdr_policy_get(s->args.policy, &s->policy, &g_err);
	for (size_t i = 0; e == 0 && i < s->args.overrides.n; i++)
		e = wdr_policy_override(s->policy, s->args.overrides.items[i].option,
					s->args.overrides.items[i].value, &g_err);
	return e < 0 ? e : wdr_policy_finish(s->policy, &g_err);
}

static void done_side(struct side *s)
{
	wdr_policy_freep(&s->policy);
	wdr_run_args_done(&s->args);
}

static void on_done(struct wdr_job *j, void *userdata)
{
	struct try *t = userdata;

	(void)j;
	t->ended_ns = wdr_now_ns();
	wdr_event_exit(t->event, 0);
}

static struct wdr_job_take job_of(const struct try *t)
{
	bool json = t->job.args.json || t->quiet;

	return (struct wdr_job_take){
		.policy = t->job.policy,
		.argv = t->job.args.command,
		.label = t->job.args.name,
		.allow_degraded = t->job.args.allow_degraded,
		.capture = t->job.args.json,
		.in_fd = t->quiet ? -1 : 0,
		.out_fd = json ? -1 : 1,
		.err_fd = json ? -1 : 2,
		.begun_ns = wdr_now_ns(),
	};
}

/* A refusal leaves the loop, and main() starts the job cold. */
static void on_held(struct wdr_job *j, void *userdata)
{
	struct try *t = userdata;
	const struct wdr_job_take job = job_of(t);
	struct wdr_err second = { 0 };

	if (t->waits) {
		(void)puts("held");
		(void)fflush(stdout);
		return;
	}
	t->begun_ns = job.begun_ns;
	if (wdr_job_take(j, &job, &g_err) < 0) {
		t->cold = true;
		wdr_event_exit(t->event, 0);
	} else if (t->twice && wdr_job_take(j, &job, &second) < 0) {
		(void)fprintf(stderr, "second: %s\n", second.msg);
	}
}

static int run(struct try *t, const struct wdr_job_opts *o)
{
	int e;

	wdr_job_freep(&t->j);
	wdr_event_freep(&t->event);
	e = wdr_event_new(&t->event, &g_err);
	if (e == 0)
		e = wdr_job_new(o, &t->j, &g_err);
	if (e == 0)
		e = wdr_job_attach(t->j, t->event, &g_err);
	return e < 0 ? e : wdr_event_loop(t->event);
}

static int run_ahead(struct try *t)
{
	const struct wdr_job_opts o = {
		.policy = t->made.policy,
		.backend = &wdr_runsc_ops,
		.ahead = true,
		.allow_degraded = t->made.args.allow_degraded,
		.in_fd = -1,
		.out_fd = -1,
		.err_fd = -1,
		.events_fd = -1,
		.begun_ns = wdr_now_ns(),
		.on_done = on_done,
		.on_held = on_held,
		.userdata = t,
	};

	t->cold = false;
	return run(t, &o);
}

static int run_cold(struct try *t)
{
	const struct wdr_job_take job = job_of(t);
	const struct wdr_job_opts o = {
		.policy = job.policy,
		.backend = &wdr_runsc_ops,
		.argv = job.argv,
		.label = job.label,
		.allow_degraded = job.allow_degraded,
		.capture = job.capture,
		.in_fd = job.in_fd,
		.out_fd = job.out_fd,
		.err_fd = job.err_fd,
		.events_fd = -1,
		.begun_ns = job.begun_ns,
		.on_done = on_done,
		.userdata = t,
	};

	(void)fprintf(stderr, "cold: %s\n", g_err.msg);
	memset(&g_err, 0, sizeof(g_err));
	return run(t, &o);
}

static int report(struct try *t)
{
	const struct wdr_result *res = wdr_job_result(t->j);
	char line[WDR_RESULT_LINE_MAX];

	if (t->job.args.json && wdr_result_write(res, 1, &g_err) < 0)
		return 125;
	if (wdr_result_line(res, line) > 0)
		(void)fprintf(stderr, "%s\n", line);
	return wdr_result_status(res);
}

static void print_times(const struct try *t)
{
	const struct wdr_usage *u = &wdr_job_result(t->j)->usage;

	(void)printf("%llu %llu %llu\n", (unsigned long long)u->start_ns / 1000,
		     (unsigned long long)(u->start_ns + u->wall_ns) / 1000,
		     (unsigned long long)(t->ended_ns - t->begun_ns) / 1000);
}

static int time_rounds(struct try *t, long rounds)
{
	int e = 0;

	t->quiet = true;
	for (long i = 0; e == 0 && i < rounds; i++) {
		e = run_ahead(t);
		if (e == 0 && (t->cold || wdr_result_status(wdr_job_result(t->j)) != 0))
			e = -EREMOTEIO;
		if (e == 0)
			print_times(t);
	}
	return e;
}

/* Both sides have a program, as `warder run` wants one: before "::" it is none that is run. */
static int read_args(struct try *t, char **argv)
{
	static char run_word[] = "run", none[] = "none";
	char *made[MAX_ARGS] = { run_word };
	int n = 1;

	for (; *argv && strcmp(*argv, "::") && n < MAX_ARGS - 2; argv++)
		made[n++] = *argv;
	if (!*argv || strcmp(*argv, "::"))
		return -EINVAL;
	made[n++] = none;
	*argv = run_word;
	for (int i = 0; argv[i]; i++)
		if (!argv[i + 1]) {
			int e = read_side(n, made, &t->made);

			return e < 0 ? e : read_side(i + 1, argv, &t->job);
		}
	return -EINVAL;
}

int main(int argc, char **argv)
{
	struct try t = { 0 };
	long rounds = 0;
	int e;

	e = wdr_run_signals_reset(&g_err);
	argv++;
	if (argc > 2 && !strcmp(*argv, "-n")) {
		rounds = strtol(argv[1], NULL, 10);
		argv += 2;
	}
	t.twice = argc > 1 && !strcmp(*argv, "-2");
	t.waits = argc > 1 && !strcmp(*argv, "-w");
	if (e == 0)
		e = read_args(&t, argv + (t.twice || t.waits));
	if (e == 0)
		e = rounds ? time_rounds(&t, rounds) : run_ahead(&t);
	if (e == 0 && t.cold)
		e = run_cold(&t);
	if (e < 0)
		(void)fprintf(stderr, "ahead_try: %s: %s\n", strerror(-e), g_err.msg);
	e = e < 0 ? 125 : rounds ? 0 : report(&t);
	wdr_job_freep(&t.j);
	wdr_event_freep(&t.event);
	done_side(&t.made);
	done_side(&t.job);
	return e;
}
