/* SPDX-License-Identifier: Apache-2.0 */
#include "run_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/wdr_id.h"

#define FIRST_ITEMS 8

static int add_override(void *ctx, const struct wdr_option *o, const char *value,
			struct wdr_err *err)
{
	struct wdr_overrides *list = ctx;

	(void)err;
	/* Room is doubled at powers of two; the length of a command line bounds it (execve(2)). */
	if (!(list->n & (list->n - 1)) && (!list->n || list->n >= FIRST_ITEMS)) {
		size_t room = list->n ? 2 * list->n : FIRST_ITEMS;
		void *p = reallocarray(list->items, room, sizeof(*list->items));

		if (!p)
			return -ENOMEM;
		list->items = p;
	}
	list->items[list->n++] = (struct wdr_override){ .option = o->name, .value = value };
	return 0;
}

#define OVERRIDE(name_, letter_, arg_, help_)                                         \
	{                                                                             \
		.name = (name_), .letter = (letter_), .arg = (arg_), .help = (help_), \
		.set = add_override                                                   \
	}

const struct wdr_option wdr_override_options[] = {
	OVERRIDE("backend", 'b', "auto|runsc|native",
		 "what contains the job; auto: runsc if it really starts"),
	OVERRIDE("timeout", 't', "DUR",
		 "wall-clock limit: 500ms, 10s, 5m, 1h; a number is seconds"),
	OVERRIDE("cpu-time", 0, "DUR", "CPU seconds of the whole job"),
	OVERRIDE("cpus", 0, "N", "share of CPUs: 0.5 is half of one"),
	OVERRIDE("memory", 'm', "SIZE", "memory: 512M, 2G (binary units)"),
	OVERRIDE("pids", 0, "N", "processes and threads"),
	OVERRIDE("disk", 0, "SIZE", "bytes in writable tmpfs, /dev/shm included"),
	OVERRIDE("output", 0, "SIZE", "stdout and stderr each; past it the job is killed"),
	OVERRIDE("net", 0, "none|egress|host", "network"),
	OVERRIDE("allow", 0, "DEST",
		 "allow ADDR[/LEN][:PORT[-PORT]][/tcp|udp]; implies --net egress"),
	OVERRIDE("deny", 0, "DEST", "deny it; rules given here come before the policy's"),
	OVERRIDE("mount", 'v', "SRC:DST[:ro|rw]", "show SRC at DST, read-only unless rw"),
	OVERRIDE("root", 0, "DIR", "root file system; default: the host's /usr, read-only"),
	OVERRIDE("workdir", 'w', "DIR", "working directory inside"),
	OVERRIDE("env", 'e', "K=V", "set a variable; K alone takes the caller's value"),
	OVERRIDE("user", 0, "UID[:GID]", "user inside; default 1000:1000"),
	OVERRIDE("syscalls", 0, NULL, "count system calls by name into the result"),
	WDR_OPTION_END,
};

static int set_label(void *ctx, const struct wdr_option *o, const char *value, struct wdr_err *err)
{
	if (!wdr_job_label_ok(value))
		return wdr_err_set(err, -EINVAL,
				   "not a name: want letters, digits and ._-, at most %d, "
				   "a letter or digit first",
				   WDR_JOB_LABEL_MAX);
	return wdr_option_set_string(ctx, o, value, err);
}

static int set_pty(void *ctx, const struct wdr_option *o, const char *value, struct wdr_err *err)
{
	struct wdr_run_args *a = ctx;

	(void)value;
	(void)err;
	a->pty = o->letter == 'i' ? WDR_PTY_YES : WDR_PTY_NO;
	return 0;
}

#define FIELD(name_) .field = offsetof(struct wdr_run_args, name_)

const struct wdr_option wdr_run_options[] = {
	{ .name = "policy",
	  .letter = 'p',
	  .arg = "FILE|NAME",
	  .set = wdr_option_set_string,
	  FIELD(policy),
	  .help = "policy file, or the name of an installed one; default: default" },
	{ .name = "json",
	  .set = wdr_option_set_true,
	  FIELD(json),
	  .help = "print one result object in place of the streams, which are inside it" },
	{ .name = "result",
	  .arg = "FILE",
	  .set = wdr_option_set_string,
	  FIELD(result),
	  .help = "stream as usual, and write the result object to FILE" },
	{ .name = "name",
	  .arg = "NAME",
	  .set = set_label,
	  FIELD(name),
	  .help = "a label for the job" },
	{ .name = "events",
	  .arg = "FILE",
	  .set = wdr_option_set_string,
	  FIELD(events),
	  .help = "what happened, JSON lines" },
	{ .name = "audit",
	  .arg = "FILE",
	  .set = wdr_option_set_string,
	  FIELD(audit),
	  .help = "audit records",
	  .unsupported = "this build writes no audit records" },
	{ .name = "metrics",
	  .arg = "FILE",
	  .set = wdr_option_set_string,
	  FIELD(metrics),
	  .help = "metrics in text form, for node_exporter",
	  .unsupported = "this build writes no metrics" },
	{ .name = "allow-degraded",
	  .set = wdr_option_set_true,
	  FIELD(allow_degraded),
	  .help = "run without protections that this machine lacks; the result names them" },
	{ .name = "pty",
	  .letter = 'i',
	  .set = set_pty,
	  .help = "give the job a terminal of its own; default where stdin is one" },
	{ .name = "no-pty", .letter = 'T', .set = set_pty, .help = "give it none" },
	{ .name = "quiet",
	  .letter = 'q',
	  .set = wdr_option_set_true,
	  FIELD(quiet),
	  .help = "no line on stderr about how the job ended" },
	{ .name = "help",
	  .letter = 'h',
	  .set = wdr_option_set_true,
	  FIELD(help),
	  .help = "this text" },
	WDR_OPTION_END,
};

_Static_assert(offsetof(struct wdr_run_args, overrides) == 0, "ctx of wdr_override_options");

int wdr_run_args_parse(int argc, char **argv, struct wdr_run_args *ret, struct wdr_err *err)
{
	static const struct wdr_option *const tables[] = { wdr_override_options, wdr_run_options,
							   NULL };
	wdr_run_args_ struct wdr_run_args a = { .policy = "default" };
	int first;
	int r;

	r = wdr_options_parse(tables, WDR_OPTIONS_FIRST, argc, argv, &a, &first, err);
	if (r < 0)
		return r;
	if (first == argc && !a.help)
		return wdr_err_set(err, -EINVAL, "no PROGRAM to run");
	a.command = argv + first;
	*ret = a;
	a = (struct wdr_run_args){ 0 };
	return 0;
}

void wdr_overrides_done(struct wdr_overrides *o)
{
	wdr_freep(&o->items);
	o->n = 0;
}

void wdr_run_args_done(struct wdr_run_args *a)
{
	wdr_overrides_done(&a->overrides);
}
