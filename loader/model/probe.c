/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/wdr_text.h"

static void say(struct wdr_check_report *rep, enum wdr_protection p, bool yes, const char *fmt,
		va_list ap)
{
	struct wdr_check_row *row = &rep->rows[p];
	char text[2 * sizeof(row->why)];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	(void)wdr_text_copy(row->why, sizeof(row->why), text);
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
