/* SPDX-License-Identifier: Apache-2.0 */
/* A job's inside, shared by the files of this folder. */
#pragma once

#include "base/wdr_lines.h"
#include "cgroup/cgroup.h"
#include "job/job.h"
#include "job/kernel.h"
#include "job/pump.h"
#include "net/net.h"
#include "state/state.h"

#define WDR_JOB_EXIT_ERROR 125 /* the exit status of a failure of ours */

struct wdr_job {
	struct wdr_job_opts o;
	struct wdr_event *event;
	struct wdr_spec spec;
	struct wdr_result result;
	char **argv, **envp; /* copies: pid 1 wipes the caller's command line */

	unsigned int n_done; /* steps done, to be undone */
	struct wdr_state *state;
	struct wdr_record *record;
	int uid_fd;
	struct wdr_cgroup_tree *tree;
	struct wdr_cgroup *cg;
	struct wdr_kern *kern; /* opened only if the policy asks for something of it */
	bool joined;
	bool kernel_budget; /* the CPU budget is its, not ours */
	struct wdr_kern_slot *kslot;
	int sigsys_nr; /* the call that seccomp last killed a task for; -1: none known */
	struct wdr_lines events;
	struct wdr_net_pool *pool;
	struct wdr_net_slot *net;
	struct wdr_backend_job *b;
	int job_stdio[3]; /* the job's ends, until it has them */
	int our_stdio[3]; /* ours; taken over by the pumps */

	struct wdr_pump *in, *out, *err; /* out alone for a tty job */
	int tty_fd;			 /* the pty's master, once it has come */
	unsigned short rows, cols;

	struct wdr_source *ring_src, *beat_src;
	struct wdr_source *msg_src, *pidfd_src, *oom_src, *wall_src, *cpu_src, *grace_src,
		*done_src;
	struct wdr_job_guest *guest; /* what the sandbox tells of its inside; NULL: nothing */
	uint64_t running_ns;	     /* CLOCK_MONOTONIC when the program was executed; 0: not yet */
	bool held, taken;	     /* a sandbox made ahead: ready for its job; has it */
	bool decided;		     /* result.exit is final */
	bool stopping;
	bool have_status;
	int status; /* the main process's, from wait4 */
	bool dead;  /* nothing of the job is alive */
	bool done;
	bool left_behind; /* something of it could not be removed */
};

/* The first verdict counts. Fills result.exit. */
void wdr_job_decide(struct wdr_job *j, enum wdr_exit_reason reason, uint64_t limit, uint64_t value,
		    const char *what);
/* The same for a failure of ours, @status being the exit status. */
void wdr_job_decide_error(struct wdr_job *j, int status, const struct wdr_err *err);
/* SIGKILL to all of it. */
void wdr_job_kill(struct wdr_job *j);

/* What @p asks of the job, as WDR_PROT_BIT()s. */
uint64_t wdr_job_asks(const struct wdr_job *j, const struct wdr_policy *p);
/* The limits of a policy as its backend needs them of the cgroup. */
struct wdr_cgroup_limits wdr_job_cgroup_limits(const struct wdr_job *j, const struct wdr_policy *p);
/* For the tests of what a killed supervisor leaves: WDR_CRASH_AT=STEP dies right after it. */
void wdr_job_maybe_crash(const char *step);

/* What the policy asks for that can't be had: refused, or waived and recorded. */
int wdr_job_check_protections(struct wdr_job *j, struct wdr_err *err) wdr_must_check;

/* Sweep with what is already open; returns how many jobs. */
int wdr_job_sweep_with(struct wdr_state *state) wdr_must_check;

/* Steps: the network is begun early, finished before the process enters it; or, for a job that owns
 * its namespace, made after that. */
int wdr_job_begin_network(struct wdr_job *j, struct wdr_err *err) wdr_must_check;
int wdr_job_finish_network(struct wdr_job *j, struct wdr_err *err) wdr_must_check;
int wdr_job_make_raw_network(struct wdr_job *j, struct wdr_err *err) wdr_must_check;
void wdr_job_drop_network(struct wdr_job *j);
/* If somebody took our rules away, put them back: with each beat. */
void wdr_job_mend_network(struct wdr_job *j);

/* The job's environment. */
int wdr_job_make_env(struct wdr_job *j) wdr_must_check;
int wdr_job_copy_argv(struct wdr_job *j) wdr_must_check;
void wdr_job_free_words(struct wdr_job *j);

/* From what it has of stdio, and the pty that came, to the caller's descriptors. */
int wdr_job_add_pumps(struct wdr_job *j, struct wdr_err *err) wdr_must_check;

/* Sources for messages, death, limits. */
int wdr_job_watch(struct wdr_job *j, struct wdr_err *err) wdr_must_check;
void wdr_job_unwatch(struct wdr_job *j);
/* After the last output byte, or its loss: the job is over. */
void wdr_job_maybe_done(struct wdr_job *j);

/* Undo the steps that were done, last first. */
void wdr_job_undo(struct wdr_job *j);
