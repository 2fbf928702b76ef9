/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded policies: equal ones are one, those of the last few jobs stay, all others go. */
#include "wdr_test.h"

#include <bpf/bpf.h>

#include "kern_env.h"

#define IDLE_MAX 4 /* loaded policies that stay for the next who asks */

static struct kern_env env;
static struct wdr_kern *kern;
static int cgroups[2];

static struct wdr_kern_slot *start(int cgroup, unsigned int which)
{
	struct wdr_kern_policy pol;
	struct wdr_kern_ask ask = { .cgroup_fd = cgroup, .netns = true, .policy = &pol };
	struct wdr_kern_slot *s = NULL;
	struct wdr_compiled *c;
	char network[256];

	(void)snprintf(network, sizeof(network),
		       "{\"mode\": \"egress\", \"rules\": [{\"action\": \"allow\", \"to\": "
		       "\"192.0.2.%u\"}]}",
		       which);
	c = kern_env_compile(network);
	kern_env_policy(c, &pol);
	assert_ok(wdr_kern_slot_new(kern, &ask, &s, NULL));
	wdr_compiled_freep(&c);
	return s;
}

static unsigned int count_loaded(void)
{
	int fd = kern_env_program(&env, "wdr_shared"); /* pins are all in one folder */
	struct wdr_shared s;
	uint32_t zero = 0;

	assert_true(fd >= 0);
	assert_ok(bpf_map_lookup_elem(fd, &zero, &s));
	(void)close(fd);
	return kern_env_count_bits(s.policies_used, WDR_SLOT_WORDS);
}

static void equal_policies_are_loaded_once(void **state)
{
	struct wdr_kern_slot *a, *b;
	unsigned int rows;

	(void)state;
	a = start(cgroups[0], 1);
	rows = kern_env_count_keys(&env, "wdr_rows");
	assert_int_equal(count_loaded(), 1);
	b = start(cgroups[1], 1);
	assert_int_equal(count_loaded(), 1);
	assert_int_equal(kern_env_count_keys(&env, "wdr_rows"), rows);
	wdr_kern_slot_drop(&a);
	wdr_kern_slot_drop(&b);
	/* It stays for the next, who loads nothing. */
	assert_int_equal(count_loaded(), 1);
	a = start(cgroups[0], 1);
	assert_int_equal(count_loaded(), 1);
	assert_int_equal(kern_env_count_keys(&env, "wdr_rows"), rows);
	b = start(cgroups[1], 2);
	assert_int_equal(count_loaded(), 2);
	wdr_kern_slot_drop(&a);
	wdr_kern_slot_drop(&b);
}

static void few_stay_that_nobody_uses(void **state)
{
	struct wdr_kern_slot *kept = start(cgroups[1], 1), *s;
	unsigned int i, rows = 0;

	(void)state;
	for (i = 10; i < 10 + 3 * IDLE_MAX; i++) {
		s = start(cgroups[0], i);
		wdr_kern_slot_drop(&s);
		assert_true(count_loaded() <= 1 + IDLE_MAX);
		if (i == 10 + IDLE_MAX)
			rows = kern_env_count_keys(&env, "wdr_rows");
	}
	assert_int_equal(count_loaded(), 1 + IDLE_MAX);
	assert_int_equal(kern_env_count_keys(&env, "wdr_rows"), rows);
	/* What is used is not among those that went. */
	s = start(cgroups[0], 1);
	assert_int_equal(count_loaded(), 1 + IDLE_MAX);
	wdr_kern_slot_drop(&s);
	wdr_kern_slot_drop(&kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_policies_are_loaded_once),
		cmocka_unit_test(few_stay_that_nobody_uses),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	cgroups[0] = kern_env_cgroup(&env, "one");
	cgroups[1] = kern_env_cgroup(&env, "two");
	r = kern_env_join(&env, &kern);
	r = r ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_leave(&kern);
	(void)close(cgroups[0]);
	(void)close(cgroups[1]);
	kern_env_stop(&env);
	return r;
}
