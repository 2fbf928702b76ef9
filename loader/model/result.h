/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came of a job: the result object of docs/result.schema.json, before it is JSON.
 *
 * Plain data that the supervisor fills. Start it zeroed but for the two descriptors
 * (WDR_RESULT_INIT); a job that did nothing is then a good result.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/wdr_err.h"
#include "base/wdr_id.h"
#include "base/wdr_json.h"
#include "model/protection.h"

#define WDR_RESULT_MAX_DENIALS	256
#define WDR_RESULT_MAX_FINDINGS 64
#define WDR_RESULT_MAX_EVIDENCE 8
#define WDR_RESULT_MAX_SYSCALLS 1024
#define WDR_RESULT_LINE_MAX	1024 /* the line on stderr */

/* Append only: these become metric labels and audit values. */
enum wdr_exit_reason {
	WDR_EXIT_EXITED,
	WDR_EXIT_SIGNALED,
	WDR_EXIT_TIMEOUT,
	WDR_EXIT_CPU_BUDGET,
	WDR_EXIT_OOM,
	WDR_EXIT_PIDS_LIMIT,
	WDR_EXIT_OUTPUT_LIMIT,
	WDR_EXIT_MINING,
	WDR_EXIT_EGRESS,
	WDR_EXIT_SYSCALL,
	WDR_EXIT_KILLED,
	WDR_EXIT_SUPERVISOR_LOST,
	WDR_EXIT_ERROR,
	_WDR_EXIT_MAX
};

/*
 * How it ended, with the numbers that its explanation needs.
 *
 * reason           limit               value                 what
 * exited, signaled -                   -                     -
 * timeout          ns of wall clock    -                     -
 * cpu-budget       ns of CPU           ns used               -
 * oom              bytes               processes killed      -
 * pids-limit       tasks               forks refused         -
 * output-limit     bytes               -                     "stdout" or "stderr"
 * mining           -                   -                     - (the finding whose action is kill)
 * egress           -                   -                     - (the last of the denials)
 * syscall          -                   -                     the call's name
 * killed           -                   the signal, 0: none   by whom, where no signal: "warder kill"
 * supervisor-lost  ns of silence       -                     -
 * error            -                   125, 126 or 127       the whole explanation
 */
struct wdr_exit {
	enum wdr_exit_reason reason;
	int code;   /* of the main process, where it exited by itself: reason exited */
	int signal; /* that ended the main process; 0: none */
	uint64_t limit, value;
	char what[256];
};

/* One of the job's two output streams, as kept for the result object. */
struct wdr_capture {
	int fd;		     /* a file whose first kept_bytes are the text; -1: nothing kept */
	uint64_t kept_bytes; /* at most the output limit */
	uint64_t bytes;	     /* that the job wrote, kept or not */
	bool truncated;	     /* the text is not all of it */
};

/* A figure that could not be measured is WDR_UNKNOWN, null in JSON. */
#define WDR_UNKNOWN UINT64_MAX

enum wdr_origin {
	WDR_ORIGIN_HOST, /* native: the real calls */
	WDR_ORIGIN_GUEST /* through gVisor's seccheck */
};

struct wdr_syscall_count {
	char name[32];
	uint64_t total, denied;
};

struct wdr_usage {
	uint64_t wall_ns;  /* from the program's start to its end */
	uint64_t start_ns; /* from warder's start to the program's */
	uint64_t cpu_ns, user_ns, system_ns;
	uint64_t memory_peak_bytes, pids_peak;

	/* What was allowed, in IP packets, and what was refused. Not counted: both are null. */
	bool net_counted; /* true for a job without network: its zeros are known */
	uint64_t egress_packets, egress_bytes, egress_denied;
	uint64_t ingress_packets, ingress_bytes;

	/* Not counted: null. */
	bool syscalls_counted;
	enum wdr_origin syscalls_origin;
	uint64_t syscalls_total, syscalls_lost;
	struct wdr_syscall_count *syscalls; /* owned; any order, no name twice */
	size_t n_syscalls;
};

/* Append only. */
enum wdr_deny_reason {
	WDR_DENY_RULE,
	WDR_DENY_DEFAULT,
	WDR_DENY_PRIVATE,
	WDR_DENY_PROTOCOL,
	WDR_DENY_MALFORMED,
	WDR_DENY_SUPERVISOR_LOST,
	_WDR_DENY_MAX
};

/* Refused attempts at one destination for one reason. */
struct wdr_denial {
	char to[80]; /* "192.0.2.1:443/tcp", "[2001:db8::1]:53/udp", "192.0.2.1/icmp" */
	enum wdr_deny_reason reason;
	int32_t rule; /* index in the effective list; -1: no rule decided */
	char rule_name[64];
	uint64_t count;
	struct timespec first, last; /* CLOCK_REALTIME; zero: not known */
};

/* Append only. */
enum wdr_finding_action {
	WDR_FINDING_ALERT,
	WDR_FINDING_THROTTLE,
	WDR_FINDING_KILL,
	_WDR_FINDING_MAX
};

struct wdr_evidence {
	char family[16]; /* "fpu", "network", "cpu", "memory", "exec" */
	char what[128];
	double value, threshold;
};

struct wdr_finding {
	char detector[16]; /* "cpu", "mining" */
	enum wdr_finding_action action;
	double score, threshold;
	struct wdr_evidence evidence[WDR_RESULT_MAX_EVIDENCE];
	size_t n_evidence;
};

struct wdr_result {
	char job[WDR_JOB_ID_SIZE];
	char name[WDR_JOB_LABEL_MAX + 1]; /* "": null */
	const char *backend;		  /* "native" or "runsc" */
	char *const *command_ref;	  /* NULL-terminated; the caller's */
	struct timespec started;	  /* CLOCK_REALTIME */
	struct wdr_exit exit;
	struct wdr_capture out, err;
	struct wdr_usage usage;
	struct wdr_denial *denials; /* owned: wdr_result_add_denial() */
	size_t n_denials;
	uint64_t denials_lost;	      /* attempts, past WDR_RESULT_MAX_DENIALS entries */
	struct wdr_finding *findings; /* owned: wdr_result_add_finding() */
	size_t n_findings;
	uint64_t findings_lost; /* past WDR_RESULT_MAX_FINDINGS */
	uint64_t events_lost;	/* lines of --events, wherever */
	uint64_t prot_on;	/* WDR_PROT_BIT()s of what held */
	uint64_t prot_missing;	/* of what the policy asks for and the job had to go without */
};

#define WDR_RESULT_INIT                                 \
	{                                               \
		.out = { .fd = -1 }, .err = {.fd = -1 } \
	}

/* Frees what is owned, closes both captures. @r itself stays the caller's, as after _INIT. */
void wdr_result_done(struct wdr_result *r);
#define wdr_result_ wdr_cleanup(wdr_result_done)

/* "cpu-budget", "supervisor-lost", "kill" */
const char *wdr_exit_reason_name(enum wdr_exit_reason r);
const char *wdr_deny_reason_name(enum wdr_deny_reason r);
const char *wdr_finding_action_name(enum wdr_finding_action a);

/*
 * Add @d: to the entry of the same destination, reason and rule, else as a new one; past
 * WDR_RESULT_MAX_DENIALS entries (or without memory) its attempts go to denials_lost.
 */
void wdr_result_add_denial(struct wdr_result *r, const struct wdr_denial *d);
/* Past WDR_RESULT_MAX_FINDINGS (or without memory) one more goes to findings_lost. */
void wdr_result_add_finding(struct wdr_result *r, const struct wdr_finding *f);

/*
 * What ended the job, in one phrase with its numbers: "wall-clock limit of 2s reached". At most
 * @size - 1 bytes of one printable line into @buf; "" for a job that exited by itself.
 */
void wdr_result_explain(const struct wdr_result *r, char *buf, size_t size);

/*
 * The line for stderr, without its newline: "warder: JOB killed: REASON: EXPLANATION", or
 * "warder: EXPLANATION" if it never ran (reason error, wall_ns still 0). Returns its length, 0 if none is due.
 */
size_t wdr_result_line(const struct wdr_result *r, char buf[WDR_RESULT_LINE_MAX]);

/*
 * What `warder run` exits with: the job's own code, 124, 125, 126, 127, 128 + signal, 137 for a
 * kill by Warder's verdict; 128 + the signal for one that was passed on by who pressed Ctrl-C.
 */
int wdr_result_status(const struct wdr_result *r);

/* The members after the captures: usage, denials, findings, protections. NULL: no memory. */
json_t *wdr_result_tail(const struct wdr_result *r);

/*
 * Write @r to @fd as one line of JSON. The captured texts are streamed: memory does not grow with
 * them. A text is a JSON string where all of it is UTF-8 (a truncated one is first cut between
 * characters), else base64. Reads the captures with pread, so their offsets don't matter.
 * Returns 0; the -errno of write(2), -EPIPE and -ENOSPC among them; -ENODATA if a capture is
 * shorter than its kept_bytes. Part of the line may then be out.
 */
int wdr_result_write(const struct wdr_result *r, int fd, struct wdr_err *err) wdr_must_check;
