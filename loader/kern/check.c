/* SPDX-License-Identifier: Apache-2.0 */
/* What this kernel takes: each program by itself, and why it refuses one. */
#include "kern_priv.h"

#include <errno.h>
#include <string.h>

int wdr_kern_programs(bool verbose,
		      void (*each)(void *arg, const char *name, uint64_t protections, int error,
				   const char *log),
		      void *arg, struct wdr_err *err)
{
	wdr_free_ char *log = malloc(WDR_KERN_LOG_MAX);
	const struct wdr_kern_program *p;
	uint64_t loaded = 0;
	int i, r;

	if (!log)
		return wdr_err_set(err, -ENOMEM, "no memory for the verifier's log");
	for (i = 0; i < _WDR_PROG_MAX; i++) {
		p = wdr_kern_program(i);
		if (p->instead_of && (loaded & WDR_PROG_BIT(p->instead_of)))
			continue;
		r = wdr_kern_program_try(i, verbose, log);
		if (r == 0)
			loaded |= WDR_PROG_BIT(i);
		each(arg, p->name, p->protections, r, log);
	}
	return 0;
}

void wdr_kern_why_not(const struct wdr_kern *k, enum wdr_protection prot, struct wdr_err *ret)
{
	wdr_free_ char *log = malloc(WDR_KERN_LOG_MAX);
	char line[128];
	int i, r;

	for (i = 0; log && i < _WDR_PROG_MAX; i++) {
		if (!(wdr_kern_program(i)->protections & WDR_PROT_BIT(prot)) ||
		    k->shared->programs & WDR_PROG_BIT(i))
			continue;
		r = wdr_kern_program_try(i, false, log);
		wdr_kern_log_line(log, line, sizeof(line));
		(void)wdr_err_set(ret, -EOPNOTSUPP, "the kernel refuses %s: %s%s%s",
				  wdr_kern_program(i)->name, strerror(-r), *line ? ": " : "", line);
		return;
	}
	(void)wdr_err_set(ret, -EOPNOTSUPP, "its programs are not loaded");
}
