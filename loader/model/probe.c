/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/wdr_text.h"

static void say(struct wdr_check_report *rep, enum wdr_protection p, bool yes, const char *fmt,
		va_list ap)
{
	struct wdr_check_row *row = &rep->rows[p];
	char text[2 * sizeof(row->why)];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	(void)wdr_text_printable(text, strlen(text), row->why, sizeof(row->why));
	row->yes = yes;
	row->said = true;
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
