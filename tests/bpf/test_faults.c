/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be in the way of a job's start: tables that are full, another tool's programs, no more
 * descriptors. It has a name, and nothing is left half attached.
 */
#include "wdr_test.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>

#include "kern_env.h"

#define MAX_FDS	       64 /* that a start may need at once */
#define SETTLE_MS      2000
#define N_PARENT_LINKS 5

static struct kern_env env;
static struct wdr_kern *kern;
static int job_cg;

/* -- what all see -- */

static int open_pin(const char *name)
{
	int fd = kern_env_program(&env, name); /* pins are all in one folder */

	assert_true(fd >= 0);
	return fd;
}

static void read_shared(struct wdr_shared *ret)
{
	int fd = open_pin("wdr_shared");
	uint32_t zero = 0;

	assert_ok(bpf_map_lookup_elem(fd, &zero, ret));
	(void)close(fd);
}

static void write_shared(const struct wdr_shared *s)
{
	int fd = open_pin("wdr_shared");
	uint32_t zero = 0;

	assert_ok(bpf_map_update_elem(fd, &zero, s, BPF_ANY));
	(void)close(fd);
}

static unsigned int count_links(void)
{
	unsigned int n = 0;
	uint32_t id = 0;

	while (!bpf_link_get_next_id(id, &id))
		n++;
	return n;
}

/* -- what is in the way -- */

static struct wdr_shared before;

static void take_slots(void)
{
	struct wdr_shared s = before;

	memset(s.slots_used, 0xff, sizeof(s.slots_used));
	write_shared(&s);
}

static void take_policies(void)
{
	struct wdr_shared s = before;

	memset(s.policies_used, 0xff, sizeof(s.policies_used));
	write_shared(&s);
}

static void give_back_numbers(void)
{
	write_shared(&before);
}

/* Keys that no job has, until there is no room. */
static void fill(const char *map, uint32_t key_size, uint32_t value_size, bool full)
{
	unsigned char key[64] = { 0 }, value[256] = { 0 };
	int fd = open_pin(map), r = 0;
	uint32_t i;

	assert_true(key_size <= sizeof(key) && value_size <= sizeof(value));
	memset(key, 0xee, key_size);
	for (i = 0; i <= WDR_EGRESS_MAX_ROWS && !r; i++) {
		memcpy(key, &i, sizeof(i));
		key[3] = 0xee;
		r = full ? bpf_map_update_elem(fd, key, value, BPF_ANY) :
			   bpf_map_delete_elem(fd, key);
	}
	(void)close(fd);
}

static void fill_cgroups(void)
{
	fill("wdr_cgroups", sizeof(uint64_t), sizeof(uint32_t), true);
}

static void empty_cgroups(void)
{
	fill("wdr_cgroups", sizeof(uint64_t), sizeof(uint32_t), false);
}

static void fill_rows(void)
{
	fill("wdr_rows", sizeof(struct wdr_egress_row_key), sizeof(struct wdr_egress_row), true);
}

static void empty_rows(void)
{
	fill("wdr_rows", sizeof(struct wdr_egress_row_key), sizeof(struct wdr_egress_row), false);
}

static int foreign = -1;

/* A program of somebody else's on the cgroup of the job: it allows everything, and no other. */
static void hang_foreign(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	foreign = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SKB, "another_tool", "GPL", code, 2, NULL);
	assert_true(foreign >= 0);
	assert_ok(bpf_prog_attach(foreign, job_cg, BPF_CGROUP_INET_EGRESS, 0));
}

static void drop_foreign(void)
{
	assert_ok(bpf_prog_detach2(foreign, job_cg, BPF_CGROUP_INET_EGRESS));
	(void)close(foreign);
}

static const struct {
	const char *name;
	void (*make)(void);
	void (*undo)(void);
	int error;
	const char *says;
} faults[] = {
	{ "every slot is taken", take_slots, give_back_numbers, -ENOSPC, "4095 jobs run already" },
	{ "every policy's number is taken", take_policies, give_back_numbers, -ENOSPC,
	  "4095 policies are loaded already" },
	{ "wdr_cgroups is full", fill_cgroups, empty_cgroups, -ENOSPC, "wdr_cgroups: it is full" },
	{ "wdr_rows is full", fill_rows, empty_rows, -ENOSPC,
	  "1 rows: wdr_rows, which all policies share, is full" },
	{ "another tool's program allows no other", hang_foreign, drop_foreign, -EPERM,
	  "attach wdr_skb_out to a cgroup: the program \"another_tool\" (id " },
};

/* -- a job's start -- */

/* Each with a policy that none had before. */
static int start(struct wdr_kern_slot **ret, struct wdr_err *err)
{
	static unsigned int n;
	struct wdr_compiled *c;
	struct wdr_kern_policy pol;
	struct wdr_kern_ask ask = { .cgroup_fd = job_cg,
				    .policy = &pol,
				    .on_denied = WDR_DENIED_REJECT,
				    .cpu_budget_ns = 1000000000,
				    .count = true,
				    .proc = true };
	char network[256];
	int r;

	(void)snprintf(network, sizeof(network),
		       "{\"mode\": \"egress\", \"rules\": [{\"action\": \"allow\", \"to\": "
		       "\"192.0.2.%u\"}]}",
		       n++ % 256);
	c = kern_env_compile(network);
	kern_env_policy(c, &pol);
	r = wdr_kern_slot_new(kern, &ask, ret, err);
	wdr_compiled_freep(&c);
	return r;
}

struct seen {
	unsigned int links, slots;
	int jobs;
};

static struct seen look(void)
{
	struct wdr_shared s;

	read_shared(&s);
	return (struct seen){ .links = count_links(),
			      .slots = kern_env_count_bits(s.slots_used, WDR_SLOT_WORDS),
			      .jobs = kern_env_count_names(&env, "jobs") };
}

/* What was unpinned ends when RCU says so (fs/inode.c: i_callback), some milliseconds later. */
static void assert_again(const struct seen *was, const char *what)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct seen is = look();
	int i;

	for (i = 0; i < SETTLE_MS && is.links != was->links; i++) {
		(void)nanosleep(&pause, NULL);
		is = look();
	}
	if (was->links != is.links || was->slots != is.slots || was->jobs != is.jobs)
		fail_msg("%s: %u links, %u slots, %d pinned jobs; before %u, %u, %d", what,
			 is.links, is.slots, is.jobs, was->links, was->slots, was->jobs);
}

/* It goes well, and leaves @was. */
static void start_well(const struct seen *was)
{
	struct wdr_kern_slot *s = NULL;
	struct wdr_err err = { 0 };
	int r = start(&s, &err);

	if (r)
		fail_msg("start: %d: %s", r, err.msg);
	wdr_kern_slot_drop(&s);
	if (was)
		assert_again(was, "a start");
}

static struct seen idle; /* nothing runs, and what stays for the next is there */

static void each_fault_is_named_and_leaves_nothing(void **state)
{
	struct wdr_kern_slot *s = NULL;
	size_t i;
	int r;

	(void)state;
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct wdr_err err = { 0 };

		read_shared(&before);
		faults[i].make();
		r = start(&s, &err);
		faults[i].undo();
		if (!r || r != faults[i].error || !strstr(err.msg, faults[i].says))
			fail_msg("%s: %d: %s", faults[i].name, r, err.msg);
		assert_again(&idle, faults[i].name);
		start_well(&idle);
	}
}

/* Out of descriptors at each point of a start. */
static void each_lack_of_a_descriptor_leaves_nothing(void **state)
{
	struct rlimit all, some;
	struct wdr_kern_slot *s = NULL;
	unsigned int n, failed = 0;
	int r = -1, first;

	(void)state;
	assert_ok(getrlimit(RLIMIT_NOFILE, &all));
	first = dup(0);
	for (n = 0; n < MAX_FDS && r; n++) {
		struct wdr_err err = { 0 };

		some = all;
		some.rlim_cur = (rlim_t)first + n;
		assert_ok(setrlimit(RLIMIT_NOFILE, &some));
		r = start(&s, &err);
		assert_ok(setrlimit(RLIMIT_NOFILE, &all));
		if (r == -EMFILE) {
			failed++;
			if (!strstr(err.msg, "Too many open files"))
				fail_msg("%u descriptors: %s", n, err.msg);
		} else if (r) {
			fail_msg("%u descriptors: %d: %s", n, r, err.msg);
		}
		wdr_kern_slot_drop(&s);
		assert_again(&idle, "no descriptor");
	}
	assert_ok(r);
	print_message("%u starts failed\n", failed);
	assert_true(failed > 5);
	(void)close(first);
}

/* Beside a program that allows others, both have their say. */
static void goes_beside_programs_that_allow_it(void **state)
{
	(void)state;
	hang_foreign();
	assert_ok(bpf_prog_detach2(foreign, job_cg, BPF_CGROUP_INET_EGRESS));
	assert_ok(bpf_prog_attach(foreign, job_cg, BPF_CGROUP_INET_EGRESS, BPF_F_ALLOW_MULTI));
	start_well(NULL);
	drop_foreign();
	assert_again(&idle, "another tool's program");
}

static void no_more_supervisors_than_there_are_rings(void **state)
{
	struct wdr_kern *k = NULL;
	struct wdr_err err = { 0 };
	struct wdr_shared s;

	(void)state;
	read_shared(&before);
	s = before;
	memset(s.sups_used, 0xff, sizeof(s.sups_used));
	write_shared(&s);
	assert_ok(wdr_kern_open(&env.at, &k, &err));
	assert_int_equal(wdr_kern_join(k, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "2047 supervisors are there already"));
	write_shared(&before);
	wdr_kern_freep(&k);
}

static void more_addresses_than_fit_are_an_error(void **state)
{
	struct wdr_egress_addr *addrs = calloc(WDR_EGRESS_MAX_HOSTS + 1, sizeof(*addrs));
	struct wdr_err err = { 0 };
	uint32_t i;

	(void)state;
	assert_non_null(addrs);
	for (i = 0; i <= WDR_EGRESS_MAX_HOSTS; i++)
		memcpy(addrs[i].addr, &i, sizeof(i));
	assert_int_equal(wdr_kern_hosts(kern, addrs, WDR_EGRESS_MAX_HOSTS + 1, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "16385 addresses"));
	memset(&err, 0, sizeof(err));
	assert_ok(wdr_kern_hosts(kern, addrs, 3, &err));
	free(addrs);
}

/* Of the programs for events; which of two tells of the OOM killer depends on the kernel. */
static unsigned int count_kept(void)
{
	static const char *const names[] = { "wdr_exec_link", "wdr_fork_link", "wdr_exit_link",
					     "wdr_oom_link", "wdr_oom_pid_link" };
	unsigned int i, n = 0;
	int fd;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		fd = kern_env_program(&env, names[i]);
		n += fd >= 0;
		if (fd >= 0)
			(void)close(fd);
	}
	return n;
}

/* The first start leaves the programs of the parent cgroup, and for events, and nothing else. */
static int settle(void **state)
{
	(void)state;
	idle = look();
	start_well(NULL);
	assert_in_range(count_kept(), 3, 4);
	idle.links += N_PARENT_LINKS + count_kept();
	assert_again(&idle, "a start");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_is_named_and_leaves_nothing),
		cmocka_unit_test(each_lack_of_a_descriptor_leaves_nothing),
		cmocka_unit_test(goes_beside_programs_that_allow_it),
		cmocka_unit_test(no_more_supervisors_than_there_are_rings),
		cmocka_unit_test(more_addresses_than_fit_are_an_error),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	job_cg = kern_env_cgroup(&env, "job");
	r = kern_env_join(&env, &kern);
	r = r ? 1 : cmocka_run_group_tests(tests, settle, NULL);
	kern_env_leave(&kern);
	(void)close(job_cg);
	kern_env_stop(&env);
	return r;
}
