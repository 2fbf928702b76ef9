/* SPDX-License-Identifier: Apache-2.0 */
#include "run_signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli/tty.h"

static void on_stop(struct wdr_source *s, const struct signalfd_siginfo *si, void *userdata)
{
	(void)s;
	wdr_job_stop(userdata, (int)si->ssi_signo);
}

static void on_passed(struct wdr_source *s, const struct signalfd_siginfo *si, void *userdata)
{
	(void)s;
	wdr_job_signal(userdata, (int)si->ssi_signo);
}

static void on_winch(struct wdr_source *s, const struct signalfd_siginfo *si, void *userdata)
{
	unsigned short rows;
	unsigned short cols;

	(void)s;
	(void)si;
	wdr_tty_size(&rows, &cols);
	wdr_job_resize(userdata, rows, cols);
}

static const struct {
	int signo;
	wdr_signal_fn fn;
} signals[] = {
	{ SIGINT, on_stop },	{ SIGTERM, on_stop },	{ SIGHUP, on_stop },
	{ SIGQUIT, on_passed }, { SIGUSR1, on_passed }, { SIGUSR2, on_passed },
	{ SIGALRM, on_passed }, { SIGCONT, on_passed }, { SIGWINCH, on_winch },
};

_Static_assert(sizeof(signals) / sizeof(signals[0]) == WDR_RUN_N_SIGNALS, "a source each");

/* A reader that leaves and a file that may not grow are errors of a write; ends of children are told. */
int wdr_run_signals_reset(struct wdr_err *err)
{
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
	    signal(SIGCHLD, SIG_DFL) == SIG_ERR)
		return wdr_err_set(err, -errno, "reset signals: %s", strerror(errno));
	return 0;
}

/* But nohup(1) means it: that hang-up is not for us, and so not for the job. */
static bool is_nohup(int signo)
{
	struct sigaction sa;

	return signo == SIGHUP && sigaction(signo, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN;
}

int wdr_run_signals_block(struct wdr_err *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < WDR_RUN_N_SIGNALS; i++)
		(void)sigaddset(&set, signals[i].signo);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return wdr_err_set(err, -errno, "block signals: %s", strerror(errno));
	return 0;
}

int wdr_run_signals_watch(struct wdr_event *event, struct wdr_job *job,
			  struct wdr_source *srcs[WDR_RUN_N_SIGNALS])
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < WDR_RUN_N_SIGNALS; i++) {
		if (!is_nohup(signals[i].signo))
			e = wdr_event_add_signal(event, &srcs[i], signals[i].signo, signals[i].fn,
						 job);
	}
	return e;
}

void wdr_run_signals_unblock(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < WDR_RUN_N_SIGNALS; i++) {
		if (signals[i].fn != on_stop || is_nohup(signals[i].signo))
			continue;
		(void)signal(signals[i].signo, SIG_IGN);
		(void)signal(signals[i].signo, SIG_DFL);
		(void)sigaddset(&set, signals[i].signo);
	}
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}
