/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGKILL at any moment of loading, joining, taking and dropping slots: the next process finds
 * something whole, and sweeps what is left.
 */
#include "wdr_test.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "kern_env.h"

#define ROUNDS	    80 /* a quarter where everything takes ten times as long: it is no other code */
#define IDLE_MAX    4  /* policies that stay loaded for the next who asks */
#define LONGEST_MS  60 /* of a victim's life, on a real machine */
#define FIRST_LOADS 8  /* rounds that begin with nothing loaded */
#define SLOW	    10

static struct kern_env env;

/*
 * Live until killed, doing all that changes what is shared. A slot that contains a job outlives this
 * process, and then unloading is refused, rightly: it is not for rounds that begin with that.
 */
static void be_busy(unsigned int seed, int cg, bool may_contain)
{
	struct wdr_kern *k = NULL;
	char policy[256];
	unsigned int i;

	struct wdr_err err = { 0 };

	if (wdr_kern_open(&env.at, &k, &err) < 0 || wdr_kern_join(k, &err) < 0) {
		print_error("%s\n", err.msg);
		_exit(1);
	}
	for (i = 0;; i++) {
		struct wdr_kern_slot *s = NULL;
		struct wdr_kern_policy pol;
		struct wdr_kern_ask ask = { .cgroup_fd = cg,
					    .policy = &pol,
					    .count = i % 2,
					    .proc = i % 3 == 0,
					    .contain = may_contain && i % 5 == 0,
					    .cpu_budget_ns = 1000000000 };
		struct wdr_compiled *c;

		(void)snprintf(policy, sizeof(policy),
			       "{\"mode\": \"egress\", \"rules\": [{\"action\": \"allow\", \"to\": "
			       "\"198.51.%u.0/24\"}]}",
			       (seed + i) % 256);
		c = kern_env_compile(policy);
		kern_env_policy(c, &pol);
		if (wdr_kern_slot_new(k, &ask, &s, &err) < 0) {
			print_error("%s\n", err.msg);
			_exit(2);
		}
		wdr_compiled_freep(&c);
		wdr_kern_beat(k);
		wdr_kern_slot_drop(&s);
	}
}

static void wait_us(long us)
{
	const struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	(void)nanosleep(&ts, NULL);
}

static void leaves_nothing_however_it_is_killed(void **state)
{
	int cg = kern_env_cgroup(&env, "chaos"), status, shared_fd, i;
	struct wdr_shared shared;
	struct wdr_err err = { 0 };
	uint32_t zero = 0;
	unsigned int seed = (unsigned int)time(NULL);
	const unsigned int slow = kern_env_slow();
	const int less = slow >= SLOW ? 4 : 1;

	(void)state;
	print_message("seed %u\n", seed);
	srand(seed);
	for (i = 0; i < ROUNDS / less; i++) {
		struct wdr_kern *k = NULL;
		pid_t pid;

		if (i < FIRST_LOADS / less)
			assert_ok(wdr_kern_unload(&env.at, &err));
		pid = kern_env_fork();
		if (!pid)
			be_busy((unsigned int)rand(), cg, i >= FIRST_LOADS / less);
		wait_us(rand() % (LONGEST_MS * 1000) * (i < FIRST_LOADS / less ? 6 : 1) * slow);
		assert_ok(kill(pid, SIGKILL));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		if (wdr_kern_open(&env.at, &k, &err) < 0)
			fail_msg("round %d: %s", i, err.msg);
		assert_true(wdr_kern_sweep(k, env.cgroup2_fd, &err) >= 0);
		wdr_kern_freep(&k);
	}
	/* Contained jobs are spared as long as their cgroup is there. */
	(void)close(cg);
	kern_env_drop_cgroups(&env);
	{
		struct wdr_kern *k = NULL;

		assert_ok(wdr_kern_open(&env.at, &k, &err));
		assert_true(wdr_kern_sweep(k, env.cgroup2_fd, &err) >= 0);
		wdr_kern_freep(&k);
	}
	shared_fd = kern_env_program(&env, "wdr_shared");
	assert_ok(bpf_map_lookup_elem(shared_fd, &zero, &shared));
	(void)close(shared_fd);
	assert_int_equal(kern_env_count_bits(shared.slots_used, WDR_SLOT_WORDS), 0);
	assert_int_equal(kern_env_count_bits(shared.sups_used, WDR_SUP_WORDS), 0);
	assert_true(kern_env_count_bits(shared.policies_used, WDR_SLOT_WORDS) <= IDLE_MAX);
	assert_int_equal(kern_env_count_names(&env, "jobs"), 0);
	assert_int_equal(kern_env_count_names(&env, "parents"), 1);
	assert_int_equal(kern_env_count_keys(&env, "wdr_cgroups"), 0);
	assert_int_equal(kern_env_count_keys(&env, "wdr_ifaces"), 0);
	assert_int_equal(kern_env_count_keys(&env, "wdr_denials"), 0);
	assert_true(kern_env_count_keys(&env, "wdr_rows") <= 2 * IDLE_MAX);
	assert_ok(wdr_kern_unload(&env.at, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_nothing_however_it_is_killed),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_stop(&env);
	return r;
}
