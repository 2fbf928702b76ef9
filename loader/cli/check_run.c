/* SPDX-License-Identifier: Apache-2.0 */
/* Probes in processes of their own: one that hangs or dies costs its rows and no more. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/wdr_text.h"
#include "cli/check.h"

#define MAX_PROBES 32

struct run {
	const struct wdr_probe *probe;
	pid_t pid;
	int pidfd; /* -1: reaped */
	int status;
};

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Libraries talk on stderr; a table is not the place for it. Does not return. */
static void be_probe(const struct wdr_probe *probe, struct wdr_check_report *shared)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setpgid(0, 0);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		(void)dup2(null, fd);
	probe->run(shared);
	_exit(0);
}

static int start(struct run *r, struct wdr_check_report *shared)
{
	r->pid = fork();
	if (r->pid < 0)
		return -errno;
	if (!r->pid)
		be_probe(r->probe, shared);
	(void)setpgid(r->pid, r->pid); /* whoever comes first: kill(-pid) must find the group */
	r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
	return r->pidfd < 0 ? -errno : 0;
}

/* Kill what is left of the probe's process group, reap its first process. */
static void end(struct run *r)
{
	if (r->pid <= 0)
		return;
	(void)kill(-r->pid, SIGKILL);
	while (waitpid(r->pid, &r->status, 0) < 0 && errno == EINTR)
		;
	wdr_closep(&r->pidfd);
	r->pid = 0;
}

/* Until all have ended or the deadline; how many have not. */
static size_t wait_all(struct run *runs, size_t n, int64_t deadline)
{
	struct pollfd fds[MAX_PROBES];
	size_t open_ones = n;

	while (open_ones) {
		int64_t left = deadline - now_ms();

		for (size_t i = 0; i < n; i++)
			fds[i] = (struct pollfd){ .fd = runs[i].pidfd, .events = POLLIN };
		if (left <= 0 || (poll(fds, n, (int)left) < 0 && errno != EINTR))
			break;
		for (size_t i = 0; i < n; i++) {
			if (runs[i].pidfd < 0 || !(fds[i].revents & POLLIN))
				continue;
			end(&runs[i]);
			open_ones--;
		}
	}
	return open_ones;
}

/* "did not end within 5s" */
static void describe_end(const struct run *r, bool hung, int deadline_ms, char *buf, size_t size)
{
	char text[WDR_TEXT_UNIT_MAX];

	if (hung)
		(void)snprintf(buf, size, "did not end within %s",
			       wdr_text_duration((uint64_t)deadline_ms * 1000000, text));
	else if (WIFSIGNALED(r->status))
		(void)snprintf(buf, size, "ended by %s",
			       wdr_text_signal(WTERMSIG(r->status), text));
	else
		(void)snprintf(buf, size, "gave no answer");
}

/* What a probe owes: its rows, its part of others' rows, and for one without rows, a fact. */
static void say_silent(const struct run *r, bool hung, int deadline_ms,
		       struct wdr_check_report *rep)
{
	bool broke = hung || WIFSIGNALED(r->status);
	const char *name = r->probe->name;
	char how[64];

	describe_end(r, hung, deadline_ms, how, sizeof(how));
	for (enum wdr_protection p = 0; p < _WDR_PROT_MAX; p++) {
		if (!rep->rows[p].said && (r->probe->covers & WDR_PROT_BIT(p)))
			wdr_check_no(rep, p, "probe \"%s\" %s", name, how);
		if (broke && !rep->rows[p].other_said && (r->probe->bars & WDR_PROT_BIT(p)))
			wdr_check_bar(rep, p, "probe \"%s\" %s", name, how);
	}
	if (broke && !r->probe->covers)
		wdr_check_fact(rep, name, "its probe %s", how);
}

/* Where two probes have a part in a row, the second one's word is the last. */
static void settle(struct wdr_check_report *rep)
{
	for (enum wdr_protection p = 0; p < _WDR_PROT_MAX; p++) {
		struct wdr_check_row *row = &rep->rows[p];

		if (!row->other_said || row->other_yes == row->yes)
			continue;
		row->yes = row->other_yes;
		row->said = true;
		memcpy(row->why, row->other_why, sizeof(row->why));
	}
}

static void finish(struct run *runs, size_t n, int deadline_ms, struct wdr_check_report *rep)
{
	bool hung[MAX_PROBES];

	for (size_t i = 0; i < n; i++) {
		hung[i] = runs[i].pid > 0;
		end(&runs[i]);
	}
	for (size_t i = 0; i < n; i++)
		say_silent(&runs[i], hung[i], deadline_ms, rep);
	settle(rep);
}

static void say_the_rest(struct wdr_check_report *rep, uint64_t disabled)
{
	for (enum wdr_protection p = 0; p < _WDR_PROT_MAX; p++) {
		if (disabled & WDR_PROT_BIT(p)) {
			wdr_check_no(rep, p, "turned off by WARDER_DISABLE");
			rep->rows[p].remedy = "take it out of WARDER_DISABLE";
		} else if (!rep->rows[p].said) {
			wdr_check_no(rep, p, "not in this build of warder");
			rep->rows[p].remedy = "install a warder that has it";
		}
	}
}

int wdr_check_run(const struct wdr_probe *const probes[], int deadline_ms, uint64_t disabled,
		  struct wdr_check_report *report, struct wdr_err *err)
{
	struct wdr_check_report *shared;
	struct run runs[MAX_PROBES] = { 0 };
	int64_t deadline = now_ms() + deadline_ms;
	size_t n = 0;
	int r = 0;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return wdr_err_wrap(err, -errno, "memory for probes");
	*shared = *report;
	for (; r == 0 && probes[n] && n < MAX_PROBES; n++) {
		runs[n] = (struct run){ .probe = probes[n], .pidfd = -1 };
		r = start(&runs[n], shared);
	}
	if (r == 0)
		(void)wait_all(runs, n, deadline);
	finish(runs, n, deadline_ms, shared);
	say_the_rest(shared, disabled);
	*report = *shared;
	(void)munmap(shared, sizeof(*shared));
	if (r < 0)
		return wdr_err_wrap(err, r, "start the probes");
	return 0;
}
