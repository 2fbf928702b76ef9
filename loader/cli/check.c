/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "cgroup/cgroup.h"
#include "cli/cli.h"
#include "job/probe.h"
#include "native/probe.h"
#include "wdr_build.h"

/* Every module that gives a protection says here whether it can. */
static const struct wdr_probe *const probes[] = {
	&wdr_native_ns_probe,  &wdr_native_root_probe, &wdr_native_exec_probe, &wdr_cgroup_probe,
	&wdr_job_kernel_probe, &wdr_net_probe_row,     &wdr_runsc_probe_row,   NULL,
};

struct check_args {
	bool json, verbose, help;
};

const struct wdr_option wdr_check_options[] = {
	{ .name = "json",
	  .help = "one object in place of the table",
	  .set = wdr_option_set_true,
	  .field = offsetof(struct check_args, json) },
	{ .name = "verbose",
	  .letter = 'v',
	  .help = "every program of the kernel side, too, with what the verifier says",
	  .set = wdr_option_set_true,
	  .field = offsetof(struct check_args, verbose) },
	{ .name = "help",
	  .letter = 'h',
	  .help = "this text",
	  .set = wdr_option_set_true,
	  .field = offsetof(struct check_args, help) },
	WDR_OPTION_END,
};

unsigned int wdr_check_missing(const struct wdr_check_report *rep)
{
	unsigned int n = 0;

	for (int p = 0; p < _WDR_PROT_MAX; p++)
		n += !rep->rows[p].yes;
	return n;
}

static unsigned int n_facts(const struct wdr_check_report *rep)
{
	return rep->n_facts < WDR_CHECK_MAX_FACTS ? rep->n_facts : WDR_CHECK_MAX_FACTS;
}

static const char *remedy(const struct wdr_check_report *rep, enum wdr_protection p)
{
	return rep->rows[p].remedy ? rep->rows[p].remedy : wdr_protection_remedy(p);
}

void wdr_check_print(const struct wdr_check_report *rep, FILE *f)
{
	unsigned int missing = wdr_check_missing(rep);

	for (unsigned int i = 0; i < n_facts(rep); i++)
		(void)fprintf(f, "%-15s %s\n", rep->facts[i].name, rep->facts[i].value);
	(void)fputc('\n', f);
	for (enum wdr_protection p = 0; p < _WDR_PROT_MAX; p++) {
		const struct wdr_check_row *row = &rep->rows[p];

		(void)fprintf(f, "%-15s %s%s%s\n", wdr_protection_name(p), row->yes ? "yes" : "no",
			      row->why[0] ? "  " : "", row->why);
		if (!row->yes)
			(void)fprintf(f, "%-15s     remedy: %s\n", "", remedy(rep, p));
	}
	(void)fprintf(f, "\n%u of %u protections", _WDR_PROT_MAX - missing, _WDR_PROT_MAX);
	if (missing)
		(void)fprintf(f, "; a policy that asks for a missing one is refused");
	(void)fputc('\n', f);
}

static json_t *json_row(const struct wdr_check_report *rep, enum wdr_protection p)
{
	const struct wdr_check_row *row = &rep->rows[p];

	return json_pack("{s:s, s:b, s:s, s:s, s:s?}", "name", wdr_protection_name(p), "ok",
			 row->yes, "why", row->why, "keeps_from", wdr_protection_what(p), "remedy",
			 row->yes ? NULL : remedy(rep, p));
}

json_t *wdr_check_json(const struct wdr_check_report *rep)
{
	wdr_json_ json_t *rows = json_array();
	wdr_json_ json_t *facts = json_object();

	for (enum wdr_protection p = 0; p < _WDR_PROT_MAX; p++)
		if (json_array_append_new(rows, json_row(rep, p)) < 0)
			return NULL;
	for (unsigned int i = 0; i < n_facts(rep); i++)
		if (json_object_set_new(facts, rep->facts[i].name,
					json_string(rep->facts[i].value)) < 0)
			return NULL;
	return json_pack("{s:i, s:b, s:O, s:O}", "version", 1, "all", !wdr_check_missing(rep),
			 "protections", rows, "facts", facts);
}

static int print_json(const struct wdr_check_report *rep, const struct wdr_check_programs *ps,
		      int status)
{
	wdr_json_ json_t *o = wdr_check_json(rep);
	struct wdr_err err = { 0 };

	if (ps && o && json_object_set_new(o, "programs", wdr_check_programs_json(ps)) < 0)
		wdr_json_putp(&o);
	if (!o || json_dumpf(o, stdout, 0) < 0) {
		(void)wdr_err_set(&err, -ENOMEM, "no memory for the report, or stdout is closed");
		return wdr_cli_fail(&err, WDR_STATUS_FAILED);
	}
	(void)fputc('\n', stdout);
	return wdr_cli_flush(status);
}

static void add_facts(struct wdr_check_report *rep)
{
	struct utsname u;

	wdr_check_fact(rep, "warder", "%s", WDR_VERSION);
	if (!uname(&u))
		wdr_check_fact(rep, "kernel", "%s %s %s", u.sysname, u.release, u.machine);
	wdr_check_fact(rep, "uid", "%u", (unsigned int)geteuid());
}

static int check(const struct check_args *a, uint64_t disabled)
{
	static struct wdr_check_report rep; /* 16 KiB: not for the stack */
	static struct wdr_check_programs programs;
	struct wdr_err err = { 0 };
	int status;

	add_facts(&rep);
	if (wdr_check_run(probes, WDR_CHECK_DEADLINE_MS, disabled, &rep, &err) < 0)
		return wdr_cli_fail(&err, WDR_STATUS_FAILED);
	if (a->verbose && wdr_check_programs(&programs, &err) < 0)
		return wdr_cli_fail(&err, WDR_STATUS_FAILED);
	status = wdr_check_missing(&rep) ? WDR_STATUS_FAILED : 0;
	if (a->json) {
		status = print_json(&rep, a->verbose ? &programs : NULL, status);
	} else {
		wdr_check_print(&rep, stdout);
		if (a->verbose)
			wdr_check_programs_print(&programs, stdout);
		status = wdr_cli_flush(status);
	}
	wdr_check_programs_done(&programs);
	return status;
}

int wdr_cmd_check(const struct wdr_command *c, int argc, char **argv)
{
	struct check_args a = { 0 };
	struct wdr_err err = { 0 };
	uint64_t disabled;
	int first;

	if (wdr_options_parse(c->options, WDR_OPTIONS_ANYWHERE, argc, argv, &a, &first, &err) < 0)
		return wdr_cli_misused(c, &err);
	if (a.help)
		return wdr_cli_help(c);
	if (first < argc) {
		(void)wdr_err_set(&err, -EINVAL, "unexpected word \"%.64s\"", argv[first]);
		return wdr_cli_misused(c, &err);
	}
	if (wdr_protection_parse(getenv("WARDER_DISABLE"), &disabled, &err) < 0) {
		(void)wdr_err_wrap(&err, err.code, "WARDER_DISABLE");
		return wdr_cli_fail(&err, WDR_STATUS_REFUSED);
	}
	return check(&a, disabled);
}
