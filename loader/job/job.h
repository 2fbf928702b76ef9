/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job from its policy to its result: the steps of its start, what watches it while it runs,
 * and the same steps undone. A job lives in the caller's event loop and tells it once when it is
 * over.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/wdr_err.h"
#include "base/wdr_event.h"
#include "model/backend.h"
#include "model/result.h"
#include "policy/policy.h"

struct wdr_job;

struct wdr_job_opts {
	const struct wdr_policy *policy; /* effective; must outlive the job */
	const struct wdr_backend_ops *backend;
	char *const *argv; /* must outlive the job; NULL with `ahead` */
	bool ahead;	   /* the job comes later, by wdr_job_take() */
	const char *label; /* or NULL */
	uint64_t disabled; /* WDR_PROT_BIT()s that the operator turned off */
	bool allow_degraded;
	bool capture; /* keep both outputs for the result */
	bool tty;
	int in_fd, out_fd, err_fd; /* where the job's stdio comes from and goes to; -1: nowhere */
	int events_fd;		   /* --events, the caller's; -1: none */
	uint64_t begun_ns;	   /* CLOCK_MONOTONIC at the caller's start, for usage.start_ns */
	char *args_area;	   /* spec.h */
	size_t args_area_len;
	void (*on_done)(struct wdr_job *job, void *userdata);
	void (*on_held)(struct wdr_job *job, void *userdata); /* with `ahead`: it can be taken */
	void *userdata;
};

/* What a sandbox made ahead is told; as in struct wdr_job_opts. */
struct wdr_job_take {
	const struct wdr_policy *policy;
	char *const *argv;
	const char *label;
	bool allow_degraded, capture;
	int in_fd, out_fd, err_fd;
	uint64_t begun_ns;
};

/*
 * Sweep what dead supervisors left, then make a job: its process builds the sandbox while the
 * caller goes on. On failure (a missing protection, a resource that is not to be had) nothing of it
 * is left. *ret is the caller's; the next call must be wdr_job_attach().
 */
int wdr_job_new(const struct wdr_job_opts *o, struct wdr_job **ret,
		struct wdr_err *err) wdr_must_check;

/*
 * Watch @j from @event and let its program run. on_done comes from @event, for a program that could
 * not be executed, too. On failure the job is over and only to be freed.
 */
int wdr_job_attach(struct wdr_job *j, struct wdr_event *event, struct wdr_err *err) wdr_must_check;

/*
 * Give @j, which was made ahead and is held, its job: one, ever. Its policy must fit the one that
 * @j was made with (policy.h, wdr_policy_fits), and ask for the same protections. From here on all
 * is as if @j had been made for it; on_done comes from the event loop.
 * Returns 0. -EXDEV: it does not fit, and @j can be given another; else that part of it which can't
 * be set, and @j is only to be freed. Whatever failed: no job has run in @j, start it cold.
 */
int wdr_job_take(struct wdr_job *j, const struct wdr_job_take *t,
		 struct wdr_err *err) wdr_must_check;

/* Kills, waits and cleans up if it is not over. */
void wdr_job_freep(struct wdr_job **j);

/* What came of it; complete once on_done was called. Stays the job's. */
const struct wdr_result *wdr_job_result(const struct wdr_job *j);

/* Pass @signo on to the main process. */
void wdr_job_signal(struct wdr_job *j, int signo);
/*
 * A user wants it to end: @signo is passed on, and what is still there a moment later is killed; at
 * the second call, at once. The reason is `killed`, whatever the job makes of it.
 */
void wdr_job_stop(struct wdr_job *j, int signo);
/* The size of its terminal, in rows and columns. Ignored without one. */
void wdr_job_resize(struct wdr_job *j, unsigned short rows, unsigned short cols);

/* Remove what dead supervisors left. Returns how many jobs that was; errors are logged. */
int wdr_job_sweep(void);

/*
 * Sweep, then remove all that stays for the next job: pinned programs and maps, the bpf file system
 * if it is ours, nftables rules, cgroup folders. 0 too if nothing is there; -EBUSY, naming them,
 * while jobs run.
 */
int wdr_job_unload(struct wdr_err *err) wdr_must_check;

#define wdr_job_ wdr_cleanup(wdr_job_freep)
