/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of system calls: exact, refusals told from failures, one count however many ask. */
#include "wdr_test.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kern_env.h"

static struct kern_env env;
static struct wdr_kern *kern;

/* Refuse @nr with EPERM from now on. */
static void refuse(unsigned int nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { .len = 4, .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &prog))
		_exit(3);
}

static void call(long nr, unsigned int times)
{
	while (times--)
		(void)syscall(nr, -1, 0, 0, 0);
}

static void plain(void)
{
	call(SYS_getppid, 1000);
	call(SYS_fsync, 100); /* fails with EBADF, and is no refusal */
}

static void refused(void)
{
	refuse(SYS_getppid);
	call(SYS_getppid, 500);
	call(SYS_getpgid, 500); /* ESRCH */
}

/* The very first call of a new process is one that is refused. */
static void refused_child(void)
{
	unsigned int i;

	refuse(SYS_getppid);
	for (i = 0; i < 50; i++) {
		if (!vfork()) {
			(void)syscall(SYS_getppid);
			_exit(0);
		}
		(void)wait(NULL);
	}
}

static void *call_in_thread(void *arg)
{
	call(SYS_getppid, 250);
	return arg;
}

static void threads(void)
{
	pthread_t t[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		(void)pthread_create(&t[i], NULL, call_in_thread, NULL);
	for (i = 0; i < 4; i++)
		(void)pthread_join(t[i], NULL);
}

static void children(void)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		if (!fork()) {
			call(SYS_getppid, 50);
			_exit(0);
		}
		(void)wait(NULL);
	}
}

/* Not x86-64's, whatever its number says. */
static void other_abi(void)
{
#ifdef __x86_64__
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory");
#endif
	call(0x40000000 | SYS_getppid, 3); /* x32 */
	call(511, 2);
	call(4000, 2);
}

static const struct {
	const char *name;
	void (*run)(void);
	long nr;
	uint64_t total, denied;
} jobs[] = {
	{ "plain", plain, SYS_getppid, 1000, 0 },
	{ "a failure is no refusal", plain, SYS_fsync, 100, 0 },
	{ "refused", refused, SYS_getppid, 500, 500 },
	{ "refused beside others", refused, SYS_getpgid, 500, 0 },
	{ "refused at once in a child", refused_child, SYS_getppid, 50, 50 },
	{ "threads", threads, SYS_getppid, 1000, 0 },
	{ "children", children, SYS_getppid, 1000, 0 },
	{ "other ABIs", other_abi, SYS_getppid, 0, 0 },
};

/* Run @run in @cg; its exit status. */
static int run_in(int cg, void (*run)(void))
{
	int status;
	pid_t pid;

	kern_env_enter(&env, cg);
	pid = fork();
	if (!pid) {
		run();
		_exit(0);
	}
	kern_env_enter(&env, -1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static struct wdr_kern_slot *start(struct wdr_kern *k, int cg)
{
	struct wdr_kern_ask ask = { .cgroup_fd = cg, .netns = true, .count = true };
	struct wdr_kern_slot *s = NULL;
	struct wdr_err err = { 0 };
	int r = wdr_kern_slot_new(k, &ask, &s, &err);

	if (r < 0)
		print_error("%s\n", err.msg);
	assert_ok(r);
	return s;
}

/*
 * A program that is preempted is skipped by whoever comes meanwhile (recursion_misses): where all that
 * runs is slow that happens, and what is missing is then among the lost.
 */
static bool is_exact(const struct wdr_counts *c, unsigned int nr, uint64_t total, uint64_t denied)
{
	if (kern_env_slow() > 1 && c->lost)
		return c->total[nr] <= total && c->total[nr] + c->lost >= total &&
		       c->denied[nr] <= denied && c->denied[nr] + c->lost >= denied;
	return c->total[nr] == total && c->denied[nr] == denied && !c->lost;
}

static void counts_exactly(void **state)
{
	static struct wdr_counts c;
	unsigned int i, bad = 0;

	(void)state;
	for (i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		int cg = kern_env_cgroup(&env, "calls");
		struct wdr_kern_slot *s = start(kern, cg);

		assert_ok(run_in(cg, jobs[i].run));
		assert_ok(wdr_kern_slot_counts(s, &c));
		if (!is_exact(&c, jobs[i].nr, jobs[i].total, jobs[i].denied)) {
			print_error("%s: %d, %d refused, %d lost; want %d, %d\n", jobs[i].name,
				    (int)c.total[jobs[i].nr], (int)c.denied[jobs[i].nr],
				    (int)c.lost, (int)jobs[i].total, (int)jobs[i].denied);
			bad++;
		}
		if (jobs[i].run == other_abi && c.other < 5)
			bad++;
		wdr_kern_slot_drop(&s);
		(void)close(cg);
	}
	assert_int_equal(bad, 0);
}

/* Another process that asks must not make ours count twice, nor end our counting when it dies. */
static void counts_once_however_many_ask(void **state)
{
	static struct wdr_counts c;
	int cg = kern_env_cgroup(&env, "calls"), cg2 = kern_env_cgroup(&env, "calls2"), p[2],
	    status;
	struct wdr_kern_slot *s, *other;
	char byte;
	pid_t pid;

	(void)state;
	assert_ok(pipe(p));
	pid = kern_env_fork();
	if (!pid) {
		struct wdr_kern *k = NULL;

		if (wdr_kern_open(&env.at, &k, NULL) || wdr_kern_join(k, NULL))
			_exit(1);
		other = start(k, cg2);
		(void)!write(p[1], other ? "x" : "", 1);
		(void)pause();
		_exit(0);
	}
	assert_int_equal(read(p[0], &byte, 1), 1);
	s = start(kern, cg);
	assert_ok(run_in(cg, plain));
	assert_ok(wdr_kern_slot_counts(s, &c));
	assert_int_equal(c.total[SYS_getppid], 1000);
	assert_ok(kill(pid, SIGKILL));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_ok(run_in(cg, plain));
	assert_ok(wdr_kern_slot_counts(s, &c));
	assert_int_equal(c.total[SYS_getppid], 2000);
	wdr_kern_slot_drop(&s);
	assert_int_equal(wdr_kern_sweep(kern, env.cgroup2_fd, NULL), 1);
	(void)close(cg);
	(void)close(cg2);
	(void)close(p[0]);
	(void)close(p[1]);
}

/* One openat and one close through a ring of our own: no system call of that name is made. */
static void use_ring(void)
{
	struct io_uring_params p = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	struct io_uring_sqe *sqe;
	char *ring;

	if (fd < 0)
		_exit(77);
	ring = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    IORING_OFF_SQ_RING);
	sqe = mmap(NULL, p.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   IORING_OFF_SQES);
	sqe->opcode = IORING_OP_OPENAT;
	sqe->fd = AT_FDCWD;
	sqe->addr = (uint64_t)(uintptr_t) "/";
	*(uint32_t *)(ring + p.sq_off.array) = 0;
	__atomic_add_fetch((uint32_t *)(ring + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		_exit(1);
}

static void sees_io_uring(void **state)
{
	static struct wdr_counts c;
	int cg = kern_env_cgroup(&env, "calls"), status;
	struct wdr_kern_slot *s = start(kern, cg);

	(void)state;
	status = run_in(cg, use_ring);
	assert_ok(wdr_kern_slot_counts(s, &c));
	wdr_kern_slot_drop(&s);
	(void)close(cg);
	if (WEXITSTATUS(status) == 77)
		return; /* this kernel has none, so there is nothing to be seen */
	assert_int_equal(status, 0);
	assert_int_equal(c.uring[IORING_OP_OPENAT], 1);
	assert_string_equal(wdr_kern_uring_name(IORING_OP_OPENAT), "openat");
	assert_string_equal(wdr_kern_uring_name(IORING_OP_LINKAT), "linkat");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_exactly),
		cmocka_unit_test(counts_once_however_many_ask),
		cmocka_unit_test(sees_io_uring),
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
