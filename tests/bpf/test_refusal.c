/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that refuses some programs: what goes without them goes, what does not is an error that
 * names the program. The refusal is this test's, by a seccomp listener that looks at the name.
 */
#include "wdr_test.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "kern_env.h"

#define POLICY                                                                \
	"{\"mode\": \"egress\", \"rules\": [{\"action\": \"allow\", \"to\": " \
	"\"192.0.2.0/24\"}]}"
#define LISTENER 100 /* where the child has it */
#define ENOUGH_S 20  /* in an emulated machine one row takes half of it: then the first must do */

#define PROT(p) WDR_PROT_BIT(WDR_PROT_##p)
#define ALL_PROTS                                                                          \
	(PROT(EGRESS_SOCKET) | PROT(EGRESS_PACKET) | PROT(CPU_BUDGET) | PROT(DETECT_CPU) | \
	 PROT(SYSCALL_COUNT) | PROT(PROC_EVENTS) | PROT(HEARTBEAT))

static struct kern_env env;
static int job_cg;

static const struct {
	const char *refused[3];
	uint64_t lost;
	const char *says; /* of a job that asks for all of it */
} rows[] = {
	/* All of an object, whose maps the others share. */
	{ { "wdr_cpu_clock", "wdr_cpu_leave" },
	  PROT(CPU_BUDGET) | PROT(DETECT_CPU),
	  "does not load wdr_cpu_clock or wdr_cpu_leave" },
	{ { "wdr_connect6" }, PROT(EGRESS_SOCKET), "does not load wdr_connect6" },
	{ { "wdr_sock_create" }, PROT(EGRESS_SOCKET), "does not load wdr_sock_create" },
	{ { "wdr_skb_in" }, PROT(EGRESS_PACKET), "does not load wdr_skb_in" },
	{ { "wdr_cpu_leave" },
	  PROT(CPU_BUDGET) | PROT(DETECT_CPU),
	  "does not load wdr_cpu_clock or wdr_cpu_leave" },
	{ { "wdr_sys_exit" }, PROT(SYSCALL_COUNT), "does not load wdr_sys_exit" },
	{ { "wdr_fork" }, PROT(PROC_EVENTS), "does not load wdr_fork" },
	{ { "wdr_cap", "wdr_sigsys", "wdr_pid" }, 0, NULL },
};

/* -- the kernel's part -- */

static int listen_for_loads(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_PROG_LOAD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { .len = 6, .filter = code };
	long fd;

	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
	if (fd < 0 || dup2((int)fd, LISTENER) < 0)
		return -1;
	return close((int)fd);
}

static bool is_refused(size_t row, pid_t pid, uint64_t attr)
{
	char name[BPF_OBJ_NAME_LEN + 1] = "";
	struct iovec to = { name, BPF_OBJ_NAME_LEN };
	struct iovec from = { (void *)(uintptr_t)(attr + offsetof(union bpf_attr, prog_name)),
			      BPF_OBJ_NAME_LEN };
	size_t i;

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) <= 0)
		return false;
	for (i = 0; i < 3 && rows[row].refused[i]; i++) {
		if (!strcmp(rows[row].refused[i], name))
			return true;
	}
	return false;
}

static void answer(int listener, size_t row)
{
	struct seccomp_notif req = { 0 };
	struct seccomp_notif_resp resp = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req))
		return;
	resp.id = req.id;
	if (is_refused(row, (pid_t)req.pid, req.data.args[1])) {
		resp.flags = 0;
		resp.error = -EACCES; /* as the verifier does */
	}
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

/* Be the kernel for the child until it ends. */
static int serve(pid_t pid, size_t row, int ready)
{
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	int status;
	char byte;

	assert_int_equal(read(ready, &byte, 1), 1);
	fds[0].fd = (int)syscall(SYS_pidfd_open, pid, 0);
	fds[1].fd = (int)syscall(SYS_pidfd_getfd, fds[0].fd, LISTENER, 0);
	assert_true(fds[0].fd >= 0 && fds[1].fd >= 0);
	while (poll(fds, 2, -1) >= 0 && !(fds[0].revents & POLLIN)) {
		if (fds[1].revents & POLLIN)
			answer(fds[1].fd, row);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)close(fds[0].fd);
	(void)close(fds[1].fd);
	return status;
}

/* -- Warder's part, in the child -- */

static int start(struct wdr_kern *k, uint64_t prots, struct wdr_err *err)
{
	struct wdr_compiled *c = kern_env_compile(POLICY);
	struct wdr_kern_policy pol;
	struct wdr_kern_ask ask = {
		.cgroup_fd = job_cg,
		.netns = !(prots & PROT(EGRESS_PACKET)),
		.policy = prots & (PROT(EGRESS_SOCKET) | PROT(EGRESS_PACKET)) ? &pol : NULL,
		.on_denied = WDR_DENIED_REJECT,
		.cpu_budget_ns = prots & PROT(CPU_BUDGET) ? 1000000000 : 0,
		.count = prots & PROT(SYSCALL_COUNT),
		.proc = prots & PROT(PROC_EVENTS),
	};
	struct wdr_kern_slot *s = NULL;
	int r;

	kern_env_policy(c, &pol);
	r = wdr_kern_slot_new(k, &ask, &s, err);
	wdr_kern_slot_drop(&s);
	wdr_compiled_freep(&c);
	return r;
}

static int try_row(struct wdr_kern *k, size_t row)
{
	struct wdr_err err = { 0 };
	uint64_t have = ALL_PROTS & ~rows[row].lost;
	int r;

	if (wdr_kern_can(k) != have) {
		print_error("can %llx\n", (unsigned long long)wdr_kern_can(k));
		return 2;
	}
	r = start(k, ALL_PROTS, &err);
	if (rows[row].lost ? r != -EOPNOTSUPP || !strstr(err.msg, rows[row].says) : r) {
		print_error("all: %d: %s\n", r, err.msg);
		return 3;
	}
	/* The socket programs hang on the parent with the packet ones: both or none. */
	if (rows[row].lost & PROT(EGRESS_SOCKET))
		have &= ~PROT(EGRESS_PACKET);
	memset(&err, 0, sizeof(err));
	r = start(k, have, &err);
	if (r)
		print_error("the rest: %d: %s\n", r, err.msg);
	return r ? 4 : 0;
}

static int be_warder(size_t row, const struct wdr_kern_place *at, int ready)
{
	struct wdr_kern *k = NULL;
	struct wdr_err err = { 0 };
	int r;

	if (listen_for_loads() || write(ready, "x", 1) != 1)
		return 1;
	r = wdr_kern_open(at, &k, &err);
	if (!r)
		r = wdr_kern_join(k, &err);
	if (r)
		print_error("open: %d: %s\n", r, err.msg);
	r = r ? 5 : try_row(k, row);
	if (k)
		wdr_kern_leave(k);
	wdr_kern_freep(&k);
	return r ? r : wdr_kern_unload(at, NULL) ? 6 : 0;
}

static void what_needs_a_refused_program_is_refused_by_its_name(void **state)
{
	struct wdr_kern_place at = env.at;
	char folder[2 * KE_PATH];
	time_t until = time(NULL) + ENOUGH_S;
	unsigned int bad = 0;
	int status, ready[2];
	size_t i;
	pid_t pid;

	(void)state;
	(void)snprintf(folder, sizeof(folder), "%s-refused", env.bpffs);
	at.bpffs = folder;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]) && time(NULL) < until; i++) {
		assert_ok(pipe(ready));
		pid = kern_env_fork();
		if (!pid)
			_exit(be_warder(i, &at, ready[1]));
		(void)close(ready[1]);
		status = serve(pid, i, ready[0]);
		(void)close(ready[0]);
		if (status)
			print_error("%s: status %x\n", rows[i].refused[0], (unsigned int)status);
		bad += !!status;
	}
	print_message("%zu rows\n", i);
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_needs_a_refused_program_is_refused_by_its_name),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	job_cg = kern_env_cgroup(&env, "job");
	r = cmocka_run_group_tests(tests, NULL, NULL);
	(void)close(job_cg);
	kern_env_stop(&env);
	return r;
}
