/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes of a job do comes through the ring, and nothing of others does. */
#include "wdr_test.h"

#include <fcntl.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kern_env.h"

static struct kern_env env;
static struct wdr_kern *kern;

struct seen {
	unsigned int execs, forks, threads, exits, caps, sigsys, ooms;
	uint32_t status, cap;
	int32_t nr;
	char path[WDR_EV_PATH_LEN];
	char comm[WDR_COMM_LEN + 1];
};

static void take_exec(void *user, const struct wdr_ev_hdr *h)
{
	const struct wdr_ev_exec *ev = (const struct wdr_ev_exec *)h;
	struct seen *s = user;

	s->execs++;
	(void)snprintf(s->path, sizeof(s->path), "%s", ev->path);
	(void)snprintf(s->comm, sizeof(s->comm), "%.16s", h->comm);
}

static void take_fork(void *user, const struct wdr_ev_hdr *h)
{
	const struct wdr_ev_fork *ev = (const struct wdr_ev_fork *)h;
	struct seen *s = user;

	if (ev->child == ev->child_process)
		s->forks++;
	else
		s->threads++;
}

static void take_exit(void *user, const struct wdr_ev_hdr *h)
{
	struct seen *s = user;

	s->exits++;
	s->status = ((const struct wdr_ev_exit *)h)->status;
}

static void take_cap(void *user, const struct wdr_ev_hdr *h)
{
	struct seen *s = user;

	s->caps++;
	s->cap = ((const struct wdr_ev_cap *)h)->cap;
}

static void take_sigsys(void *user, const struct wdr_ev_hdr *h)
{
	struct seen *s = user;

	s->sigsys++;
	s->nr = ((const struct wdr_ev_sigsys *)h)->nr;
}

static void take_oom(void *user, const struct wdr_ev_hdr *h)
{
	(void)h;
	((struct seen *)user)->ooms++;
}

static const struct wdr_kern_handlers handlers = {
	.on = { [WDR_EV_EXEC] = take_exec,
		[WDR_EV_FORK] = take_fork,
		[WDR_EV_EXIT] = take_exit,
		[WDR_EV_OOM] = take_oom,
		[WDR_EV_CAP] = take_cap,
		[WDR_EV_SIGSYS] = take_sigsys },
};

static struct wdr_kern_slot *start(int cg, struct seen *seen)
{
	struct wdr_kern_ask ask = {
		.cgroup_fd = cg, .user = seen, .netns = true, .proc = true, .sigsys = true
	};
	struct wdr_kern_slot *s = NULL;
	struct wdr_err err = { 0 };
	int r = wdr_kern_slot_new(kern, &ask, &s, &err);

	if (r < 0)
		print_error("%s\n", err.msg);
	assert_ok(r);
	return s;
}

static int run_in(int cg, void (*run)(void))
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		kern_env_enter(&env, cg);
		run();
		_exit(5);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static void family(void)
{
	static char stack[2][65536];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		if (!fork())
			_exit(0);
		(void)wait(NULL);
	}
	for (i = 0; i < 2; i++)
		(void)clone(nothing, stack[i] + sizeof(stack[i]),
			    CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, NULL);
	(void)execl("/bin/true", "true", NULL);
}

static void tells_of_exec_fork_and_exit(void **state)
{
	int cg = kern_env_cgroup(&env, "proc");
	struct seen seen = { 0 };
	struct wdr_kern_slot *s = start(cg, &seen);

	(void)state;
	assert_int_equal(run_in(cg, family), 0);
	/* And somebody who is none of ours. */
	if (!fork())
		_exit(0);
	(void)wait(NULL);
	while (wdr_kern_ring_read(kern, &handlers, 8) == 8)
		;
	wdr_kern_slot_drop(&s);
	(void)close(cg);
	assert_int_equal(seen.execs, 1);
	assert_string_equal(seen.path, "/bin/true");
	assert_string_equal(seen.comm, "true");
	assert_int_equal(seen.forks, 3);
	assert_int_equal(seen.threads, 2);
	assert_int_equal(seen.exits, 4);
	assert_int_equal(seen.status, 0);
}

static void ask_too_much(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	unsigned int i;

	if (syscall(SYS_capset, &head, data))
		_exit(1);
	for (i = 0; i < 5; i++)
		(void)!chroot("/");
	_exit(0);
}

static void be_a_program(void)
{
	(void)execl("/bin/true", "true", NULL);
}

/* Of the job's programs, that is: what builds its sandbox asks for much, and it is not the job. */
static void tells_of_a_refused_capability_once(void **state)
{
	int cg = kern_env_cgroup(&env, "proc"), prog = kern_env_program(&env, "wdr_cap");
	struct seen seen = { 0 };
	struct wdr_kern_slot *s = start(cg, &seen);

	(void)state;
	assert_int_equal(run_in(cg, ask_too_much), 0);
	(void)wdr_kern_ring_read(kern, &handlers, 100);
	assert_int_equal(seen.caps, 0);
	assert_int_equal(run_in(cg, be_a_program), 0);
	assert_int_equal(run_in(cg, ask_too_much), 0);
	(void)wdr_kern_ring_read(kern, &handlers, 100);
	wdr_kern_slot_drop(&s);
	(void)close(cg);
	if (prog < 0)
		return; /* the tracepoint came after 6.12 */
	(void)close(prog);
	assert_int_equal(seen.caps, 1);
	assert_int_equal(seen.cap, CAP_SYS_CHROOT);
}

static void call_the_forbidden(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { .len = 4, .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &prog))
		_exit(3);
	(void)syscall(SYS_getppid);
	_exit(4);
}

static void names_the_call_that_seccomp_killed_for(void **state)
{
	int cg = kern_env_cgroup(&env, "proc"), status;
	struct seen seen = { 0 };
	struct wdr_kern_slot *s = start(cg, &seen);

	(void)state;
	status = run_in(cg, call_the_forbidden);
	(void)wdr_kern_ring_read(kern, &handlers, 100);
	wdr_kern_slot_drop(&s);
	(void)close(cg);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	assert_int_equal(seen.sigsys, 1);
	assert_int_equal(seen.nr, SYS_getppid);
	assert_int_equal(seen.exits, 1);
	assert_int_equal(seen.status & 127, SIGSYS);
}

static void fork_much(void)
{
	unsigned int i;

	for (i = 0; i < 3000; i++) {
		if (!vfork())
			_exit(0);
		(void)wait(NULL);
	}
	_exit(0);
}

/* A ring that nobody reads fills up; what does not fit is counted, to the last one. */
static void counts_what_does_not_fit(void **state)
{
	int cg = kern_env_cgroup(&env, "proc");
	struct seen seen = { 0 };
	struct wdr_kern_slot *s = start(cg, &seen);
	struct wdr_live live;

	(void)state;
	assert_int_equal(run_in(cg, fork_much), 0);
	while (wdr_kern_ring_read(kern, &handlers, 1000) == 1000)
		;
	wdr_kern_slot_live(s, &live);
	wdr_kern_slot_drop(&s);
	(void)close(cg);
	assert_true(live.ev_lost[WDR_EV_FORK] > 0);
	assert_int_equal(seen.forks + live.ev_lost[WDR_EV_FORK], 3000);
	assert_int_equal(seen.exits + live.ev_lost[WDR_EV_EXIT], 3001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_of_exec_fork_and_exit),
		cmocka_unit_test(tells_of_a_refused_capability_once),
		cmocka_unit_test(names_the_call_that_seccomp_killed_for),
		cmocka_unit_test(counts_what_does_not_fit),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	r = kern_env_join(&env, &kern);
	r = r ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_leave(&kern);
	kern_env_stop(&env);
	return r;
}
