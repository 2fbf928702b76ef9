/* SPDX-License-Identifier: Apache-2.0 */
/* Filters on interfaces: several of one job, and beside those of other tools. */
#include "wdr_test.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "kern_env.h"
#include "kern_net.h"
#include "wdr_objects.h"

static struct kern_env env;
static struct wdr_kern *kern;
static int job_cg;

static unsigned int new_iface(const char *name)
{
	char args[128];
	unsigned int n;

	(void)snprintf(args, sizeof(args), "link add %s type veth peer name %sp", name, name);
	kern_net_ip(args);
	n = if_nametoindex(name);
	assert_true(n > 0);
	return n;
}

static struct wdr_kern_slot *take_slot(int cgroup_fd, bool contain)
{
	struct wdr_compiled *c = kern_env_compile("{\"mode\": \"egress\"}");
	struct wdr_kern_policy pol;
	struct wdr_kern_ask ask = { .cgroup_fd = cgroup_fd,
				    .netns = true,
				    .policy = &pol,
				    .on_denied = WDR_DENIED_REJECT,
				    .contain = contain };
	struct wdr_kern_slot *s = NULL;

	kern_env_policy(c, &pol);
	assert_ok(wdr_kern_slot_new(kern, &ask, &s, NULL));
	wdr_compiled_freep(&c);
	return s;
}

/* Id of the program at our place of @iface, 0 if there is none. */
static uint32_t filter_of(unsigned int iface, enum bpf_tc_attach_point point)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)iface, .attach_point = point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = 1);

	return bpf_tc_query(&hook, &opts) ? 0 : opts.prog_id;
}

/* A container may have several: an upgrade reaches each, and with the job all are forgotten. */
static void every_interface_of_a_job_is_looked_after(void **state)
{
	char ours[2 * KE_PATH], other[2 * KE_PATH];
	struct wdr_kern_slot *s;
	struct wdr_kern *new = NULL;
	unsigned int ifindex, second;
	uint32_t one, two;

	(void)state;
	ifindex = new_iface("wdr-h0");
	second = new_iface("wdr-h1");
	s = take_slot(job_cg, false);
	assert_ok(wdr_kern_slot_link(s, ifindex, NULL, NULL, NULL));
	assert_ok(wdr_kern_slot_link(s, second, NULL, NULL, NULL));
	assert_int_equal(kern_env_count_keys(&env, "wdr_ifaces"), 2);
	one = filter_of(ifindex, BPF_TC_INGRESS);
	two = filter_of(second, BPF_TC_INGRESS);
	(void)snprintf(ours, sizeof(ours), "%s/" WDR_OBJECTS_HASH, env.bpffs);
	(void)snprintf(other, sizeof(other), "%s/other", env.bpffs);
	assert_ok(rename(ours, other));
	assert_ok(wdr_kern_open(&env.at, &new, NULL));
	assert_int_not_equal(filter_of(ifindex, BPF_TC_INGRESS), one);
	assert_int_not_equal(filter_of(second, BPF_TC_INGRESS), two);
	wdr_kern_slot_drop(&s);
	assert_int_equal(kern_env_count_keys(&env, "wdr_ifaces"), 0);
	wdr_kern_freep(&new);
	kern_net_ip("link del wdr-h0");
	kern_net_ip("link del wdr-h1");
}

static struct wdr_kern_slot *contain(const char *name)
{
	int fd = kern_env_cgroup(&env, name);
	struct wdr_kern_slot *s;

	s = take_slot(fd, true);
	(void)close(fd);
	return s;
}

/* Who comes later to a network namespace does not get those before out of their policy. */
static void an_interface_is_one_containers_until_it_lets_go(void **state)
{
	struct wdr_kern_slot *first, *second;
	unsigned int iface = new_iface("wdr-h0");
	struct wdr_err err = { 0 };

	(void)state;
	first = contain("c1");
	second = contain("c2");
	assert_ok(wdr_kern_slot_link(first, iface, NULL, NULL, NULL));
	assert_ok(wdr_kern_slot_link(first, iface, NULL, NULL, NULL));
	assert_int_equal(wdr_kern_slot_link(second, iface, NULL, NULL, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "policy of another container"));
	wdr_kern_slot_drop(&second);
	assert_int_equal(kern_env_count_keys(&env, "wdr_ifaces"), 1);
	assert_int_not_equal(filter_of(iface, BPF_TC_INGRESS), 0);
	wdr_kern_slot_unlink(first);
	assert_int_equal(kern_env_count_keys(&env, "wdr_ifaces"), 0);
	assert_int_equal(filter_of(iface, BPF_TC_INGRESS), 0);
	assert_int_equal(filter_of(iface, BPF_TC_EGRESS), 0);
	wdr_kern_slot_drop(&first);
	kern_net_ip("link del wdr-h0");
}

/* Whoever had it may live on, and must get neither the next one's policy nor none. */
static void one_that_is_only_given_up_stays_closed(void **state)
{
	struct wdr_kern_slot *s = contain("c1");
	unsigned int iface = new_iface("wdr-h0");
	struct wdr_err err = { 0 };
	char args[64];

	(void)state;
	assert_ok(wdr_kern_slot_link(s, iface, NULL, NULL, NULL));
	assert_ok(wdr_kern_reopen(kern, iface, NULL)); /* not while it is somebody's */
	assert_int_not_equal(filter_of(iface, BPF_TC_INGRESS), 0);
	wdr_kern_slot_drop(&s);
	assert_int_not_equal(filter_of(iface, BPF_TC_INGRESS), 0);
	assert_int_equal(kern_env_count_keys(&env, "wdr_ifaces"), 0);
	s = contain("c2");
	assert_int_equal(wdr_kern_slot_link(s, iface, NULL, NULL, &err), -EUCLEAN);
	assert_non_null(strstr(err.msg, "is closed"));
	wdr_kern_slot_unlink(s);
	assert_int_not_equal(filter_of(iface, BPF_TC_INGRESS), 0);
	assert_ok(wdr_kern_reopen(kern, iface, NULL));
	assert_int_equal(filter_of(iface, BPF_TC_INGRESS), 0);
	assert_ok(wdr_kern_slot_link(s, iface, NULL, NULL, NULL));
	wdr_kern_slot_drop(&s);
	/* With the interface goes all that was closed: its number is free. */
	kern_net_ip("link del wdr-h0");
	(void)snprintf(args, sizeof(args), "link add wdr-h0 index %u type veth peer name wdr-h0p",
		       iface);
	kern_net_ip(args);
	s = contain("c3");
	assert_ok(wdr_kern_slot_link(s, iface, NULL, NULL, NULL));
	wdr_kern_slot_drop(&s);
	kern_net_ip("link del wdr-h0");
}

/* Looking whose an interface is, and taking it, are one. */
static void takes_one_under_the_lock(void **state)
{
	struct wdr_kern_slot *s = contain("c1");
	unsigned int iface = new_iface("wdr-h0");
	int lock = open(env.lock, O_RDWR | O_CLOEXEC), status = -1;
	pid_t pid;

	(void)state;
	assert_true(lock >= 0);
	assert_ok(flock(lock, LOCK_EX));
	pid = kern_env_fork();
	assert_true(pid >= 0);
	if (pid == 0) { /* holds it, too, until it has looked */
		(void)usleep(300000);
		_exit((int)kern_env_count_keys(&env, "wdr_ifaces"));
	}
	(void)close(lock);
	assert_ok(wdr_kern_slot_link(s, iface, NULL, NULL, NULL));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	wdr_kern_slot_drop(&s);
	kern_net_ip("link del wdr-h0");
}

/* Another tool's program, at @priority of the way in or out. */
static void hang_foreign(unsigned int iface, enum bpf_tc_attach_point point, unsigned int priority)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)iface, .attach_point = point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = priority);
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int r = bpf_tc_hook_create(&hook);

	assert_true(!r || r == -EEXIST);
	opts.prog_fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "another_tool", "GPL", code, 2, NULL);
	assert_true(opts.prog_fd >= 0);
	assert_ok(bpf_tc_attach(&hook, &opts));
	(void)close(opts.prog_fd);
}

static const struct {
	const char *what;
	enum bpf_tc_attach_point point;
	unsigned int priority;
	int error;
} others[] = {
	{ "clsact and a filter elsewhere", BPF_TC_INGRESS, 7, 0 },
	{ "a filter at our place on the way in", BPF_TC_INGRESS, 1, -EEXIST },
	/* The first direction is attached by then. */
	{ "a filter at our place on the way out", BPF_TC_EGRESS, 1, -EEXIST },
};

static void goes_beside_other_filters_or_not_at_all(void **state)
{
	struct wdr_kern_slot *s;
	unsigned int iface;
	size_t i;
	int r;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct wdr_err err = { 0 };
		bool ours_in, ours_out;

		iface = new_iface("wdr-h0");
		hang_foreign(iface, others[i].point, others[i].priority);
		s = take_slot(job_cg, false);
		r = wdr_kern_slot_link(s, iface, NULL, NULL, &err);
		ours_in = filter_of(iface, BPF_TC_INGRESS) &&
			  !(others[i].error && others[i].point == BPF_TC_INGRESS);
		ours_out = filter_of(iface, BPF_TC_EGRESS) &&
			   !(others[i].error && others[i].point == BPF_TC_EGRESS);
		if (r != others[i].error || ours_in != !r || ours_out != !r ||
		    (r && !strstr(err.msg, "another tool's tc filter at priority 1")))
			fail_msg("%s: %d: %s", others[i].what, r, err.msg);
		wdr_kern_slot_drop(&s);
		assert_int_equal(kern_env_count_keys(&env, "wdr_ifaces"), 0);
		kern_net_ip("link del wdr-h0");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_interface_of_a_job_is_looked_after),
		cmocka_unit_test(an_interface_is_one_containers_until_it_lets_go),
		cmocka_unit_test(one_that_is_only_given_up_stays_closed),
		cmocka_unit_test(takes_one_under_the_lock),
		cmocka_unit_test(goes_beside_other_filters_or_not_at_all),
	};
	int r = kern_env_start(&env), ns;

	if (r)
		return r;
	(void)kern_net_veth("wdr-hx", &ns);
	job_cg = kern_env_cgroup(&env, "job");
	r = kern_env_join(&env, &kern);
	r = r ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_leave(&kern);
	(void)close(job_cg);
	(void)close(ns);
	kern_env_stop(&env);
	return r;
}
