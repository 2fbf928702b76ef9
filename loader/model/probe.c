/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/wdr_text.h"

#define WHY_MAX sizeof(((struct wdr_check_row *)NULL)->why)

static void write_why(char why[WHY_MAX], const char *fmt, va_list ap)
{
	char text[2 * WHY_MAX];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	(void)wdr_text_printable(text, strlen(text), why, WHY_MAX);
}

static void say(struct wdr_check_report *rep, enum wdr_protection p, bool yes, const char *fmt,
		va_list ap)
{
	struct wdr_check_row *row = &rep->rows[p];

	write_why(row->why, fmt, ap);
	row->yes = yes;
	row->said = true;
}

/* Fields of its own: the two probes run at the same time. */
static void say_other(struct wdr_check_report *rep, enum wdr_protection p, bool yes,
		      const char *fmt, va_list ap)
{
	struct wdr_check_row *row = &rep->rows[p];

	write_why(row->other_why, fmt, ap);
	row->other_yes = yes;
	row->other_said = true;
}

void wdr_check_yes(struct wdr_check_report *rep, enum wdr_protection p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(rep, p, true, fmt, ap);
	va_end(ap);
}

void wdr_check_no(struct wdr_check_report *rep, enum wdr_protection p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(rep, p, false, fmt, ap);
	va_end(ap);
}

void wdr_check_bar(struct wdr_check_report *rep, enum wdr_protection p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_other(rep, p, false, fmt, ap);
	va_end(ap);
}

void wdr_check_stand_in(struct wdr_check_report *rep, enum wdr_protection p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_other(rep, p, true, fmt, ap);
	va_end(ap);
}

void wdr_check_fact(struct wdr_check_report *rep, const char *name, const char *fmt, ...)
{
	/* Probes run side by side in processes of their own. */
	unsigned int i = __atomic_fetch_add(&rep->n_facts, 1, __ATOMIC_RELAXED);
	char text[2 * sizeof(rep->facts[0].value)];
	va_list ap;

	if (i >= WDR_CHECK_MAX_FACTS)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)wdr_text_printable(text, strlen(text), rep->facts[i].value,
				 sizeof(rep->facts[i].value));
	(void)wdr_text_copy(rep->facts[i].name, sizeof(rep->facts[i].name), name);
}
