/* SPDX-License-Identifier: Apache-2.0 */
/* What is listened to while a job runs, and what each of it decides. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/wdr_log.h"
#include "job/events.h"
#include "job/guest.h"
#include "job/job_priv.h"

/* Two checks of 2 ms and the kill stay below 10 ms of CPU on each core past the budget. */
#define CPU_CHECK_MIN_NS 2000000ULL
#define CPU_CHECK_MAX_NS 1000000000ULL
/* What a program gets to end by itself after Ctrl-C, before it is killed. */
#define GRACE_NS 500000000ULL

static void set_timer(struct wdr_job *j, struct wdr_source **s, uint64_t at_ns, wdr_time_fn fn)
{
	int r = 0;

	if (*s)
		wdr_source_set_time(*s, at_ns);
	else
		r = wdr_event_add_time(j->event, s, at_ns, fn, j);
	/* A limit without its clock is no limit. */
	if (r < 0) {
		struct wdr_err err = { 0 };

		(void)wdr_err_wrap(&err, r, "timer");
		wdr_job_decide_error(j, WDR_JOB_EXIT_ERROR, &err);
		wdr_job_kill(j);
	}
}

static void on_wall(struct wdr_source *s, uint64_t now_ns, void *userdata)
{
	struct wdr_job *j = userdata;

	(void)s;
	(void)now_ns;
	wdr_job_decide(j, WDR_EXIT_TIMEOUT, j->o.policy->limits.wall_ns, 0, NULL);
	wdr_job_kill(j);
}

static void on_cpu(struct wdr_source *s, uint64_t now_ns, void *userdata)
{
	struct wdr_job *j = userdata;
	uint64_t limit = j->o.policy->limits.cpu_ns;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t used = 0;
	uint64_t next;

	(void)s;
	(void)now_ns;
	if (wdr_cgroup_cpu_ns(j->cg, &used) < 0 || used >= limit) {
		wdr_job_decide(j, WDR_EXIT_CPU_BUDGET, limit, used, NULL);
		wdr_job_kill(j);
		return;
	}
	/* It can't be used up before all cores together have had the time for it. */
	next = (limit - used) / (uint64_t)(cores > 0 ? cores : 1);
	if (next < CPU_CHECK_MIN_NS)
		next = CPU_CHECK_MIN_NS;
	if (next > CPU_CHECK_MAX_NS)
		next = CPU_CHECK_MAX_NS;
	set_timer(j, &j->cpu_src, wdr_now_ns() + next, on_cpu);
}

/* The counter decides, not the event: on v1 the eventfd also fires when the cgroup goes. */
static bool was_oom(struct wdr_job *j)
{
	struct wdr_cgroup_usage u;

	if (!j->cg || wdr_cgroup_usage(j->cg, &u) < 0 || !u.oom_kills)
		return false;
	wdr_job_decide(j, WDR_EXIT_OOM, j->o.policy->limits.memory_bytes, u.oom_kills, NULL);
	return true;
}

static void on_oom(struct wdr_source *s, int fd, uint32_t revents, void *userdata)
{
	struct wdr_job *j = userdata;

	(void)s;
	(void)fd;
	(void)revents;
	wdr_cgroup_oom_ack(j->cg);
	if (was_oom(j))
		wdr_job_kill(j);
}

static void on_running(struct wdr_job *j, int tty_fd)
{
	const struct wdr_limits *l = &j->o.policy->limits;
	struct wdr_err err = { 0 };

	j->running_ns = wdr_now_ns();
	j->result.usage.start_ns = j->running_ns - j->o.begun_ns;
	wdr_job_event_started(j);
	if (l->wall_ns != WDR_UNLIMITED)
		set_timer(j, &j->wall_src, j->running_ns + l->wall_ns, on_wall);
	/* Where the kernel keeps the budget it needs no help. */
	if (l->cpu_ns != WDR_UNLIMITED && j->cg && !j->kernel_budget)
		on_cpu(NULL, 0, j);
	if (j->o.tty && tty_fd >= 0) {
		j->tty_fd = tty_fd;
		(void)fcntl(tty_fd, F_SETFL, O_NONBLOCK);
		wdr_job_resize(j, j->rows, j->cols);
	}
	if (j->cg && j->o.backend->late_cpus && l->cpus > 0 &&
	    !(j->spec.waived & WDR_PROT_BIT(WDR_PROT_CPU_LIMIT))) {
		int r = wdr_cgroup_set_cpus(j->cg, l->cpus);

		if (r < 0) {
			(void)wdr_err_wrap(&err, r, "limit the job's CPU share");
			wdr_job_decide_error(j, WDR_JOB_EXIT_ERROR, &err);
			wdr_job_kill(j);
			return;
		}
	}
	/* Not before: what is in the pipes of a job that never ran is not the job's. */
	if (wdr_job_add_pumps(j, &err) < 0) {
		wdr_job_decide_error(j, WDR_JOB_EXIT_ERROR, &err);
		wdr_job_kill(j);
	}
}

/* It runs once and ends once: whatever else is said, an enemy says. */
static bool is_due(const struct wdr_job *j, enum wdr_backend_event event)
{
	if (event == WDR_BACKEND_RUNNING && (j->running_ns || j->dead || j->o.ahead != j->taken))
		return false;
	if (event == WDR_BACKEND_HELD && (!j->o.ahead || j->held || j->dead))
		return false;
	return !j->have_status || (event != WDR_BACKEND_RUNNING && event != WDR_BACKEND_EXITED);
}

static void lose_pid1(struct wdr_job *j, int error)
{
	struct wdr_err err = { 0 };

	(void)wdr_err_wrap(&err, error, "hear the job's first process");
	wdr_job_decide_error(j, WDR_JOB_EXIT_ERROR, &err);
	wdr_job_kill(j);
}

static void take_message(struct wdr_job *j, const struct wdr_backend_msg *m,
			 const struct wdr_err *err)
{
	struct wdr_err e = { 0 };

	if (!is_due(j, m->event)) {
		int fd = m->fd;

		wdr_closep(&fd);
		lose_pid1(j, -EPROTO);
		return;
	}
	switch (m->event) {
	case WDR_BACKEND_HELD:
		j->held = true;
		wdr_job_maybe_crash("held");
		j->o.on_held(j, j->o.userdata);
		break;
	case WDR_BACKEND_RUNNING:
		on_running(j, m->fd);
		break;
	case WDR_BACKEND_SINK:
		if (wdr_job_guest_listen(j, m->fd, &e) < 0) {
			wdr_job_decide_error(j, WDR_JOB_EXIT_ERROR, &e);
			wdr_job_kill(j);
		}
		break;
	case WDR_BACKEND_FAILED:
		wdr_job_decide_error(j, m->exit_code, err);
		wdr_job_kill(j);
		break;
	case WDR_BACKEND_LOST:
		/* The OOM killer may have taken a part of the sandbox: then that is the reason. */
		if (!was_oom(j))
			wdr_job_decide_error(j, WDR_JOB_EXIT_ERROR, err);
		wdr_job_kill(j);
		break;
	case WDR_BACKEND_EXITED:
		j->have_status = true;
		j->status = m->status;
		if (j->o.ahead && !j->running_ns) {
			(void)wdr_err_set(&e, -EPIPE, "the sandbox ended before its job began");
			wdr_job_decide_error(j, WDR_JOB_EXIT_ERROR, &e);
		}
		if (j->running_ns)
			j->result.usage.wall_ns = wdr_now_ns() - j->running_ns;
		wdr_job_kill(j);
		break;
	case WDR_BACKEND_NOTHING:
		break;
	}
}

static void take_messages(struct wdr_job *j)
{
	struct wdr_backend_msg m;
	int r;

	do {
		struct wdr_err err = { 0 };

		r = j->o.backend->receive(j->b, &m, &err);
		if (r == 0)
			take_message(j, &m, &err);
	} while (r == 0);
	if (r == -EAGAIN)
		return;
	wdr_source_freep(&j->msg_src);
	/* End of file comes before its death is told. Deaf to it we would wait for ever. */
	if (r != -EPIPE)
		lose_pid1(j, r);
}

static void on_message(struct wdr_source *s, int fd, uint32_t revents, void *userdata)
{
	(void)s;
	(void)fd;
	(void)revents;
	take_messages(userdata);
}

/* Pid 1 is gone, and so is its pid namespace: what the pipes hold now is the last of it. */
static void on_dead(struct wdr_source *s, int fd, uint32_t revents, void *userdata)
{
	struct wdr_job *j = userdata;

	(void)s;
	(void)fd;
	(void)revents;
	take_messages(j);
	j->dead = true;
	wdr_source_freep(&j->pidfd_src);
	wdr_source_freep(&j->wall_src);
	wdr_source_freep(&j->cpu_src);
	wdr_source_freep(&j->grace_src);
	if (j->running_ns && !j->result.usage.wall_ns)
		j->result.usage.wall_ns = wdr_now_ns() - j->running_ns;
	wdr_pump_freep(&j->in);
	if (j->out)
		wdr_pump_drain(j->out);
	if (j->err)
		wdr_pump_drain(j->err);
	wdr_job_guest_finish(j);
	wdr_job_maybe_done(j);
}

int wdr_job_watch(struct wdr_job *j, struct wdr_err *err)
{
	const struct wdr_backend_ops *b = j->o.backend;
	uint32_t events = 0;
	int oom_fd = j->cg ? wdr_cgroup_oom_fd(j->cg, &events) : -EOPNOTSUPP;
	int r;

	r = wdr_event_add_io(j->event, &j->msg_src, b->msg_fd(j->b), EPOLLIN, on_message, j);
	if (r >= 0)
		r = wdr_event_add_io(j->event, &j->pidfd_src, b->pidfd(j->b), EPOLLIN, on_dead, j);
	if (r >= 0 && oom_fd >= 0)
		r = wdr_event_add_io(j->event, &j->oom_src, oom_fd, events, on_oom, j);
	if (r >= 0)
		r = wdr_job_watch_kernel(j);
	if (r < 0)
		return wdr_err_wrap(err, r, "watch the job");
	return 0;
}

void wdr_job_unwatch(struct wdr_job *j)
{
	struct wdr_source **all[] = { &j->msg_src,  &j->pidfd_src, &j->oom_src,
				      &j->wall_src, &j->cpu_src,   &j->grace_src,
				      &j->done_src, &j->ring_src,  &j->beat_src };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		wdr_source_freep(all[i]);
	wdr_job_guest_stop(j);
	wdr_pump_freep(&j->in);
	wdr_pump_freep(&j->out);
	wdr_pump_freep(&j->err);
}

void wdr_job_signal(struct wdr_job *j, int signo)
{
	if (j->b && j->running_ns && !j->dead)
		(void)j->o.backend->signal(j->b, signo);
}

static void on_grace(struct wdr_source *s, uint64_t now_ns, void *userdata)
{
	(void)s;
	(void)now_ns;
	wdr_job_kill(userdata);
}

void wdr_job_stop(struct wdr_job *j, int signo)
{
	bool again = j->stopping;

	j->stopping = true;
	wdr_job_decide(j, WDR_EXIT_KILLED, 0, (uint64_t)signo, NULL);
	if (j->dead) { /* only the reader of its output keeps us */
		if (j->out)
			wdr_pump_stop(j->out);
		if (j->err)
			wdr_pump_stop(j->err);
		wdr_job_maybe_done(j);
		return;
	}
	if (again || !j->running_ns) {
		wdr_job_kill(j);
		return;
	}
	wdr_job_signal(j, signo);
	set_timer(j, &j->grace_src, wdr_now_ns() + GRACE_NS, on_grace);
}

void wdr_job_resize(struct wdr_job *j, unsigned short rows, unsigned short cols)
{
	struct winsize w = { .ws_row = rows, .ws_col = cols };

	j->rows = rows;
	j->cols = cols;
	if (j->tty_fd >= 0 && rows && cols)
		(void)ioctl(j->tty_fd, TIOCSWINSZ, &w);
}
