/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/wdr_json.h"
#include "base/wdr_own.h"
#include "cli/run_args.h"
#include "policy/compile.h"

struct policy_args {
	struct wdr_overrides overrides; /* first: see wdr_override_options */
	bool json;
};

const struct wdr_option wdr_explain_options[] = {
	{ .name = "json",
	  .set = wdr_option_set_true,
	  .field = offsetof(struct policy_args, json),
	  .help = "an array of {dest, verdict, reason, rule, rule_name}" },
	WDR_OPTION_END,
};

_Static_assert(offsetof(struct policy_args, overrides) == 0, "ctx of wdr_override_options");

/* The policy that @file and the overrides make. */
static int read_policy(const char *file, const struct wdr_overrides *o, struct wdr_policy **ret,
		       struct wdr_err *err)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	int r;

	r = wdr_policy_get(file, &p, err);
	for (size_t i = 0; r == 0 && i < o->n; i++)
		r = wdr_policy_override(p, o->items[i].option, o->items[i].value, err);
	if (r == 0)
		r = wdr_policy_finish(p, err);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(p);
	return 0;
}

static int fail(int r, struct wdr_err *err)
{
	if (!err->code)
		(void)wdr_err_wrap(err, r, "policy");
	return wdr_cli_fail(err, WDR_STATUS_FAILED);
}

/* Read the words of @c: FILE and at least @more of what follows it; *ret_first is FILE's. */
static int read_args(const struct wdr_command *c, int argc, char **argv, int more,
		     struct policy_args *a, int *ret_first)
{
	struct wdr_err err = { 0 };
	int r;

	r = wdr_options_parse(c->options, WDR_OPTIONS_ANYWHERE, argc, argv, a, ret_first, &err);
	if (r == 0 && argc == *ret_first)
		r = wdr_err_set(&err, -EINVAL, "no FILE");
	if (r == 0 && argc - *ret_first - 1 < more)
		r = wdr_err_set(&err, -EINVAL, "no DEST, such as 192.0.2.1:443");
	if (r == 0 && !more && argc - *ret_first > 1)
		r = wdr_err_set(&err, -EINVAL, "one FILE only");
	if (r < 0) {
		(void)wdr_cli_misused(c, &err);
		return r;
	}
	return 0;
}

/* Who may open a socket talks to what listens behind it: a grant that is easily overlooked. */
static void note_sockets(const char *file, const struct wdr_policy *p)
{
	for (size_t i = 0; i < p->fs.n_mounts; i++) {
		const struct wdr_mount *m = &p->fs.mounts[i];
		wdr_free_ char *path = NULL;
		struct stat st;

		if (asprintf(&path, "%s%s%s", *m->source == '/' ? "" : m->base,
			     *m->source == '/' ? "" : "/", m->source) < 0 ||
		    stat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
			continue;
		(void)fprintf(stderr,
			      "warder: %s:/filesystem/mounts/%zu/source: note: a socket: the job "
			      "can talk to what listens behind it\n",
			      file, i);
	}
}

int wdr_cmd_policy_check(const struct wdr_command *c, int argc, char **argv)
{
	wdr_compiled_ struct wdr_compiled *compiled = NULL;
	wdr_policy_ struct wdr_policy *p = NULL;
	struct policy_args a = { .json = false };
	struct wdr_err err = { 0 };
	int first, r;

	if (read_args(c, argc, argv, 0, &a, &first) < 0)
		return c->usage_status;
	r = read_policy(argv[first], &a.overrides, &p, &err);
	if (r == 0) {
		r = wdr_compiled_new(p, &compiled, &err);
		if (r < 0 && err.code)
			(void)snprintf(err.where, sizeof(err.where), "%.120s:/network/rules",
				       argv[first]);
	}
	if (r < 0)
		return fail(r, &err);
	note_sockets(argv[first], p);
	return 0;
}

int wdr_cmd_policy_show(const struct wdr_command *c, int argc, char **argv)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	struct policy_args a = { .json = false };
	wdr_free_ char *text = NULL;
	struct wdr_err err = { 0 };
	int first, r;

	r = read_args(c, argc, argv, 0, &a, &first);
	if (r < 0) {
		wdr_overrides_done(&a.overrides);
		return c->usage_status;
	}
	r = read_policy(argv[first], &a.overrides, &p, &err);
	wdr_overrides_done(&a.overrides);
	if (r == 0)
		r = wdr_policy_show_text(p, &text);
	if (r < 0)
		return fail(r, &err);
	(void)fputs(text, stdout);
	return wdr_cli_flush(0);
}

/* What explain knows of one DEST. */
struct answer {
	const char *dest;
	struct wdr_egress_verdict v;
	const char *rule_name; /* or NULL */
};

static void print_answer(const struct answer *a)
{
	(void)printf("%s %s %s", a->dest, a->v.action == WDR_ACT_ALLOW ? "allow" : "deny",
		     wdr_reason_name(a->v.reason));
	if (a->v.reason == WDR_REASON_RULE)
		(void)printf(" %u", a->v.rule);
	if (a->rule_name)
		(void)printf(" \"%s\"", a->rule_name);
	(void)putchar('\n');
}

static int append_answer(json_t *array, const struct answer *a)
{
	json_t *o =
		json_pack("{s:s, s:s, s:s, s:o, s:s?}", "dest", a->dest, "verdict",
			  a->v.action == WDR_ACT_ALLOW ? "allow" : "deny", "reason",
			  wdr_reason_name(a->v.reason), "rule",
			  a->v.reason == WDR_REASON_RULE ? json_integer(a->v.rule) : json_null(),
			  "rule_name", a->rule_name);

	return json_array_append_new(array, o) < 0 ? -ENOMEM : 0;
}

static int print_answers(const struct answer *answers, size_t n, bool json)
{
	wdr_json_ json_t *array = json_array();
	wdr_free_ char *text = NULL;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		if (json)
			r = append_answer(array, &answers[i]);
		else
			print_answer(&answers[i]);
	}
	if (r < 0 || !json)
		return r;
	r = wdr_json_dump(array, JSON_INDENT(2), &text);
	if (r == 0)
		(void)puts(text);
	return r;
}

/* Every DEST is read before the first is answered: a misspelt one gets no half of an answer. */
static int explain(const struct wdr_policy *p, char **dests, size_t n, bool json,
		   struct wdr_err *err)
{
	wdr_compiled_ struct wdr_compiled *c = NULL;
	wdr_free_ struct answer *answers = calloc(n + 1, sizeof(*answers));
	wdr_free_ struct wdr_prefix *own = NULL;
	size_t n_own = 0;
	int r;

	if (!answers)
		return -ENOMEM;
	r = wdr_compiled_new(p, &c, err);
	if (r < 0)
		return r;
	r = wdr_own_addresses(&own, &n_own);
	if (r < 0)
		return wdr_err_wrap(err, r, "find this machine's addresses");
	for (size_t i = 0; i < n; i++) {
		struct answer *a = &answers[i];
		struct wdr_dest d;

		r = wdr_addr_target(dests[i], &d, err);
		if (r < 0)
			return r;
		a->dest = dests[i];
		a->v = wdr_compiled_decide(c, &d, own, n_own);
		if (a->v.reason == WDR_REASON_RULE)
			a->rule_name = p->net.rules[a->v.rule].name;
	}
	return print_answers(answers, n, json);
}

int wdr_cmd_policy_explain(const struct wdr_command *c, int argc, char **argv)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	struct policy_args a = { .json = false };
	struct wdr_err err = { 0 };
	int first, r;

	r = read_args(c, argc, argv, 1, &a, &first);
	if (r < 0) {
		wdr_overrides_done(&a.overrides);
		return c->usage_status;
	}
	r = read_policy(argv[first], &a.overrides, &p, &err);
	wdr_overrides_done(&a.overrides);
	if (r == 0)
		r = explain(p, argv + first + 1, (size_t)(argc - first - 1), a.json, &err);
	if (r < 0)
		return fail(r, &err);
	return wdr_cli_flush(0);
}
