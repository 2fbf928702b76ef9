/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of a job's network when its supervisor is stopped, dies, or is followed by another. */
#include "wdr_test.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "kern_env.h"
#include "kern_net.h"

#define ALLOWED                                                               \
	"{\"mode\": \"egress\", \"rules\": [{\"action\": \"allow\", \"to\": " \
	"\"198.51.100.0/24\", \"ports\": [\"80\"]}]}"
#define BEAT_MS	   200
#define SETTLED_MS (WDR_BEAT_MAX_NS / 1000000 + 500)

static const struct wdr_egress_addr self4 = { { [10] = 0xff, 0xff, 10, 9, 0, 2 } };

static struct kern_env env;
static struct wdr_kern *kern;
static int job_ns, world_ns, job_cg;
static unsigned int ifindex;

static void wait_ms(int ms)
{
	const struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	(void)nanosleep(&ts, NULL);
}

/* A job's interface ends with it. This one lives on from test to test, and what hangs on it would say so. */
static void renew_interface(void)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);

	(void)!bpf_tc_hook_destroy(
		&hook); /* of both directions: clsact and all; it may not be there */
}

static struct wdr_kern_slot *take_slot(struct wdr_kern *k, bool contain, bool netns,
				       enum wdr_on_denied on_denied)
{
	struct wdr_compiled *c = kern_env_compile(ALLOWED);
	struct wdr_kern_policy pol;
	struct wdr_kern_ask ask = { .cgroup_fd = job_cg,
				    .netns = netns,
				    .contain = contain,
				    .policy = &pol,
				    .on_denied = on_denied };
	struct wdr_kern_slot *s = NULL;
	struct wdr_err err = { 0 };
	int r;

	kern_env_policy(c, &pol);
	renew_interface();
	r = wdr_kern_slot_new(k, &ask, &s, &err);
	if (r >= 0 && netns)
		r = wdr_kern_slot_link(s, ifindex, &self4, NULL, &err);
	if (r < 0)
		print_error("%s\n", err.msg);
	wdr_compiled_freep(&c);
	assert_ok(r);
	return s;
}

/* A supervisor in a process of its own, which beats. */
static pid_t supervise(bool contain)
{
	int p[2], i;
	char byte;
	pid_t pid;

	assert_ok(pipe(p));
	pid = kern_env_fork();
	if (!pid) {
		struct wdr_kern *k = NULL;

		if (wdr_kern_open(&env.at, &k, NULL) || wdr_kern_join(k, NULL))
			_exit(1);
		(void)take_slot(k, contain, true, WDR_DENIED_REJECT);
		(void)!write(p[1], "x", 1);
		for (i = 0; i < 60000 / BEAT_MS; i++) {
			wdr_kern_beat(k);
			wait_ms(BEAT_MS);
		}
		_exit(0);
	}
	assert_int_equal(read(p[0], &byte, 1), 1);
	(void)close(p[0]);
	(void)close(p[1]);
	return pid;
}

/* One datagram to @to and back, by a socket of the job: 0 or the errno. */
static int ask_world(int ns, const char *to)
{
	struct sockaddr_storage addr;
	socklen_t len = kern_net_addr(to, 80, &addr);
	int fd, r;

	kern_env_enter(&env, job_cg);
	fd = kern_net_socket(ns, AF_INET, SOCK_DGRAM, 0);
	r = fd < 0 ? -fd : connect(fd, (struct sockaddr *)&addr, len) < 0 ? errno : 0;
	if (!r)
		r = kern_net_exchange(fd, 500);
	if (fd >= 0)
		(void)close(fd);
	kern_env_enter(&env, -1);
	return r;
}

static void sweep(int want)
{
	assert_int_equal(wdr_kern_sweep(kern, env.cgroup2_fd, NULL), want);
}

static void find_lost(void *arg, const struct wdr_deny_key *key, const struct wdr_deny_val *val)
{
	*(uint64_t *)arg += key->reason == WDR_REASON_SUPERVISOR_LOST ? val->count : 0;
}

static void a_stopped_supervisor_costs_the_network_until_it_goes_on(void **state)
{
	pid_t pid = supervise(false);
	int status;

	(void)state;
	assert_int_equal(ask_world(job_ns, "198.51.100.10"), 0);
	assert_ok(kill(pid, SIGSTOP));
	wait_ms(SETTLED_MS);
	assert_int_equal(ask_world(job_ns, "198.51.100.10"), EPERM);
	assert_ok(kill(pid, SIGCONT));
	wait_ms(2 * BEAT_MS);
	assert_int_equal(ask_world(job_ns, "198.51.100.10"), 0);
	assert_ok(kill(pid, SIGKILL));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	wait_ms(SETTLED_MS);
	assert_int_equal(ask_world(job_ns, "198.51.100.10"), EPERM);
	sweep(1);
	/* A job that nobody knows any more is denied everything. */
	assert_int_equal(ask_world(job_ns, "198.51.100.10"), EPERM);
}

static void a_contained_job_goes_on_and_is_adopted(void **state)
{
	pid_t pid = supervise(true);
	struct wdr_kern_slot *s = NULL;
	struct wdr_err err = { 0 };
	struct wdr_live live;
	uint64_t lost = 0;
	int status;

	(void)state;
	assert_int_equal(wdr_kern_slot_adopt(kern, job_cg, NULL, &s, &err), -EBUSY);
	assert_int_equal(ask_world(job_ns, "198.51.100.10"), 0);
	assert_int_equal(ask_world(job_ns, "203.0.113.10"), EPERM);
	assert_ok(kill(pid, SIGKILL));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	wait_ms(SETTLED_MS);
	sweep(0);
	assert_int_equal(ask_world(job_ns, "198.51.100.10"), 0);
	assert_int_equal(ask_world(job_ns, "203.0.113.10"), EPERM);
	memset(&err, 0, sizeof(err));
	assert_int_equal(wdr_kern_unload(&env.at, &err), -EBUSY);
	assert_ok(wdr_kern_slot_adopt(kern, job_cg, NULL, &s, &err));
	wdr_kern_slot_live(s, &live);
	assert_int_equal(live.out_packets, 2);
	assert_int_equal(live.in_packets, 2);
	assert_int_equal(live.out_denied, 2);
	assert_ok(wdr_kern_slot_denials(s, find_lost, &lost));
	assert_int_equal(lost, 0);
	wdr_kern_slot_drop(&s);
	assert_int_equal(wdr_kern_slot_adopt(kern, job_cg, NULL, &s, &err), -ENOENT);
}

static void a_silent_supervisor_is_named_as_the_reason(void **state)
{
	struct wdr_kern_slot *s;
	uint64_t lost = 0;

	(void)state;
	wdr_kern_beat(kern);
	s = take_slot(kern, false, true, WDR_DENIED_REJECT);
	wait_ms(SETTLED_MS);
	assert_int_equal(ask_world(job_ns, "198.51.100.10"), EPERM);
	assert_ok(wdr_kern_slot_denials(s, find_lost, &lost));
	assert_int_equal(lost, 1);
	wdr_kern_beat(kern);
	assert_int_equal(ask_world(job_ns, "198.51.100.10"), 0);
	wdr_kern_slot_drop(&s);
}

static void note_killed(void *user, const struct wdr_ev_hdr *ev)
{
	(void)user;
	assert_int_equal(((const struct wdr_ev_killed *)ev)->why, WDR_KILL_EGRESS);
}

/* on_deny: kill. Where the kernel can't kill a job from there, it is told and cut off. */
static void a_denied_connection_can_cost_the_life(void **state)
{
	static const struct wdr_kern_handlers handlers = { .on = { [WDR_EV_KILLED] =
									   note_killed } };
	struct sockaddr_storage addr;
	socklen_t len = kern_net_addr("203.0.113.10", 80, &addr);
	struct wdr_kern_slot *s;
	struct wdr_live live;
	int status, p[2];
	pid_t pid;

	(void)state;
	wdr_kern_beat(kern);
	(void)wdr_kern_ring_read(kern, NULL, 1000);
	s = take_slot(kern, false, true, WDR_DENIED_KILL);
	assert_ok(pipe(p));
	kern_env_enter(&env, job_cg);
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		char byte;
		int fd = kern_net_socket(job_ns, AF_INET, SOCK_STREAM, 0);

		(void)!read(p[0], &byte, 1);
		(void)!connect(fd, (struct sockaddr *)&addr, len);
		wait_ms(1000);
		_exit(7);
	}
	kern_env_enter(&env, -1);
	wdr_kern_slot_init_pid(s, pid);
	assert_int_equal(write(p[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	wdr_kern_slot_live(s, &live);
	assert_int_equal(live.killed, WDR_KILL_EGRESS);
	assert_int_equal(wdr_kern_ring_read(kern, &handlers, 10), 2);
	if (live.kill_rc == -EOPNOTSUPP)
		assert_int_equal(WEXITSTATUS(status), 7);
	else
		assert_int_equal(WTERMSIG(status), SIGKILL);
	wdr_kern_beat(kern);
	assert_int_equal(ask_world(job_ns, "198.51.100.10"), EPERM);
	wdr_kern_slot_drop(&s);
	(void)close(p[0]);
	(void)close(p[1]);
}

/* --net host: no veth, so the cgroup's own hooks decide, and see what sockets don't. */
static void a_job_in_the_hosts_network_is_judged_at_its_cgroup(void **state)
{
	struct sockaddr_storage addr;
	socklen_t len = kern_net_addr("203.0.113.10", 80, &addr);
	struct wdr_kern_slot *s;
	struct wdr_live live;
	int here, raw, fd;
	uint8_t byte = 0;

	(void)state;
	here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	wdr_kern_beat(kern);
	s = take_slot(kern, false, false, WDR_DENIED_REJECT);
	assert_int_equal(ask_world(here, "198.51.100.10"), 0);
	assert_int_equal(ask_world(here, "203.0.113.10"), EPERM);
	assert_int_equal(ask_world(here, "127.0.0.1"), EPERM);
	kern_env_enter(&env, job_cg);
	raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 253);
	assert_true(raw < 0 && errno == EPERM);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(sendto(fd, &byte, 1, 0, (struct sockaddr *)&addr, len), -1);
	assert_int_equal(errno, EPERM);
	kern_env_enter(&env, -1);
	(void)close(fd);
	wdr_kern_slot_live(s, &live);
	assert_int_equal(live.out_packets, 1);
	assert_int_equal(live.in_packets, 1);
	assert_int_equal(live.out_denied, 3);
	wdr_kern_slot_drop(&s);
	(void)close(here);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stopped_supervisor_costs_the_network_until_it_goes_on),
		cmocka_unit_test(a_contained_job_goes_on_and_is_adopted),
		cmocka_unit_test(a_silent_supervisor_is_named_as_the_reason),
		cmocka_unit_test(a_denied_connection_can_cost_the_life),
		cmocka_unit_test(a_job_in_the_hosts_network_is_judged_at_its_cgroup),
	};
	int r = kern_env_start(&env);
	pid_t server;

	if (r)
		return r;
	ifindex = (unsigned int)kern_net_veth("wdr-h0", &job_ns);
	world_ns = kern_net_world();
	server = kern_net_serve(world_ns);
	job_cg = kern_env_cgroup(&env, "job");
	r = kern_env_join(&env, &kern);
	r = r ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_leave(&kern);
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	kern_env_stop(&env);
	return r;
}
