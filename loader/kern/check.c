/* SPDX-License-Identifier: Apache-2.0 */
/* What this kernel takes: each program by itself, and what follows for the protections. */
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

#define COVERS                                                                         \
	(WDR_PROT_BIT(WDR_PROT_EGRESS_SOCKET) | WDR_PROT_BIT(WDR_PROT_EGRESS_PACKET) | \
	 WDR_PROT_BIT(WDR_PROT_CPU_BUDGET) | WDR_PROT_BIT(WDR_PROT_DETECT_CPU) |       \
	 WDR_PROT_BIT(WDR_PROT_SYSCALL_COUNT) | WDR_PROT_BIT(WDR_PROT_PROC_EVENTS) |   \
	 WDR_PROT_BIT(WDR_PROT_HEARTBEAT))

/* Why protection @prot is missing: the first of its programs that does not load. */
static void say_missing(struct wdr_check_report *rep, enum wdr_protection prot,
			const struct wdr_kern *k, char *log)
{
	char line[128];
	int i, r;

	for (i = 0; i < _WDR_PROG_MAX; i++) {
		if (!(wdr_kern_program(i)->protections & WDR_PROT_BIT(prot)) ||
		    k->shared->programs & WDR_PROG_BIT(i))
			continue;
		r = wdr_kern_program_try(i, false, log);
		wdr_kern_log_line(log, line, sizeof(line));
		wdr_check_no(rep, prot, "the kernel refuses %s: %s%s%s", wdr_kern_program(i)->name,
			     strerror(-r), *line ? ": " : "", line);
		return;
	}
}

/* Opening loads and pins what is not there yet: what a first job would do. */
static void run_probe(struct wdr_check_report *rep)
{
	wdr_free_ char *log = malloc(WDR_KERN_LOG_MAX);
	wdr_kern_ struct wdr_kern *k = NULL;
	struct wdr_err err = { 0 };
	uint64_t can = 0;
	int p;

	if (log && wdr_kern_open(NULL, &k, &err) >= 0)
		can = wdr_kern_can(k);
	for (p = 0; p < _WDR_PROT_MAX; p++) {
		if (!(COVERS & WDR_PROT_BIT(p)))
			continue;
		if (can & WDR_PROT_BIT(p))
			wdr_check_yes(rep, p, "%s", "");
		else if (!k)
			wdr_check_no(rep, p, "%s", err.code ? err.msg : "no memory");
		else
			say_missing(rep, p, k, log);
	}
}

const struct wdr_probe wdr_kern_probe = { "kern", COVERS, 0, run_probe };
