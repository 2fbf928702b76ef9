/* SPDX-License-Identifier: Apache-2.0 */
/* `warder check --verbose`: every program of the kernel side by itself, with the verifier's words. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/wdr_text.h"
#include "cli/check.h"
#include "kern/kern.h"

#define LIST_MAX 256

static void add(void *arg, const char *name, uint64_t protections, int error, const char *log)
{
	struct wdr_check_programs *ps = arg;
	struct wdr_check_program *p = &ps->p[ps->n];

	if (ps->n == WDR_CHECK_MAX_PROGRAMS)
		return;
	p->log = strdup(log);
	if (!p->log) {
		ps->no_memory = true;
		return;
	}
	(void)wdr_text_copy(p->name, sizeof(p->name), name);
	p->protections = protections;
	p->error = error;
	ps->n++;
}

int wdr_check_programs(struct wdr_check_programs *ret, struct wdr_err *err)
{
	int r = wdr_kern_programs(true, add, ret, err);

	if (r == 0 && ret->no_memory)
		return wdr_err_set(err, -ENOMEM, "no memory for the verifier's log");
	return r;
}

void wdr_check_programs_done(struct wdr_check_programs *ps)
{
	for (size_t i = 0; i < ps->n; i++)
		free(ps->p[i].log);
	ps->n = 0;
}

/* The verifier's lines, each behind the column of yes and no. */
static void print_log(const char *log, FILE *f)
{
	char line[LIST_MAX];

	for (size_t n; *log; log += n + (log[n] == '\n')) {
		n = strcspn(log, "\n");
		if (n > 0)
			(void)fprintf(f, "%-15s     %s\n", "",
				      wdr_text_printable(log, n, line, sizeof(line)));
	}
}

void wdr_check_programs_print(const struct wdr_check_programs *ps, FILE *f)
{
	char list[LIST_MAX];

	(void)fputs("\nprograms in the kernel\n", f);
	for (size_t i = 0; i < ps->n; i++) {
		const struct wdr_check_program *p = &ps->p[i];

		(void)fprintf(f, "%-15s %s%s%s%s%s\n", p->name, p->error ? "no" : "yes",
			      p->error ? "  " : "", p->error ? strerror(-p->error) : "",
			      p->protections ? "  for " : "  good to have",
			      wdr_protection_list(p->protections, list, sizeof(list)));
		print_log(p->log, f);
	}
}

static json_t *names_of(uint64_t set)
{
	json_t *a = json_array();

	for (enum wdr_protection p = 0; p < _WDR_PROT_MAX; p++)
		if (set & WDR_PROT_BIT(p))
			(void)json_array_append_new(a, json_string(wdr_protection_name(p)));
	return a;
}

json_t *wdr_check_programs_json(const struct wdr_check_programs *ps)
{
	json_t *a = json_array();

	for (size_t i = 0; i < ps->n; i++) {
		const struct wdr_check_program *p = &ps->p[i];

		(void)json_array_append_new(
			a, json_pack("{s:s, s:b, s:s?, s:o, s:s}", "name", p->name, "ok", !p->error,
				     "error", p->error ? strerror(-p->error) : NULL, "protections",
				     names_of(p->protections), "log", p->log));
	}
	return a;
}
