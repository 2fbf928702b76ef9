/* SPDX-License-Identifier: Apache-2.0 */
/* Slots that are mapped a part at a time: each is what the kernel has, wherever its cells lie. */
#include "wdr_test.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/stat.h>

#include "kern_env.h"
#include "kern_net.h"

#define MANY 400 /* more than are in one part of any map, and some on the border of two */

static struct kern_env env;

static void each_slot_is_the_kernel_s(void **state)
{
	int cg = kern_env_cgroup(&env, "many"), slots, live;
	struct wdr_kern_ask ask = { .cgroup_fd = cg, .netns = true };
	struct wdr_kern *k = NULL, *other = NULL;
	struct wdr_kern_slot *s[MANY + 1] = { NULL };
	struct wdr_live counted;
	struct wdr_slot slot;
	struct stat st;
	uint32_t n;

	(void)state;
	assert_ok(fstat(cg, &st));
	assert_ok(kern_env_join(&env, &k));
	slots = kern_env_program(&env, "wdr_slots");
	live = kern_env_program(&env, "wdr_live");
	assert_true(slots >= 0 && live >= 0);
	for (n = 1; n <= MANY; n++)
		assert_ok(wdr_kern_slot_new(k, &ask, &s[n], NULL));
	for (n = 1; n <= MANY; n++) {
		assert_ok(bpf_map_lookup_elem(slots, &n, &slot));
		assert_int_equal(slot.cgroup, st.st_ino);
		assert_int_equal(slot.job, n);
		memset(&counted, (int)n, sizeof(counted));
		counted.n_denials = 0;
		assert_ok(bpf_map_update_elem(live, &n, &counted, BPF_ANY));
		memset(&counted, 0, sizeof(counted));
		wdr_kern_slot_live(s[n], &counted);
		assert_int_equal(counted.out_packets, n % 256 * 0x0101010101010101);
		assert_int_equal(counted.executed, n % 256 * 0x01010101);
	}
	/* Who comes later, and looks at all of them. */
	assert_ok(kern_env_join(&env, &other));
	assert_int_equal(wdr_kern_sweep(other, env.cgroup2_fd, NULL), 0);
	for (n = 1; n <= MANY; n++)
		wdr_kern_slot_drop(&s[n]);
	for (n = 1; n <= MANY; n++) {
		assert_ok(bpf_map_lookup_elem(slots, &n, &slot));
		assert_int_equal(slot.job, 0);
	}
	kern_env_leave(&other);
	kern_env_leave(&k);
	(void)close(slots);
	(void)close(live);
	(void)close(cg);
}

/* Of a process that has not mapped their cell. */
static void an_interface_is_that_of_a_slot_far_away(void **state)
{
	int cg = kern_env_cgroup(&env, "far"), ns;
	struct wdr_kern_ask ask = { .cgroup_fd = cg, .netns = true, .contain = true };
	struct wdr_kern_slot *s[MANY + 1] = { NULL }, *near = NULL;
	unsigned int iface = kern_net_veth("wdr-hx", &ns), n;
	struct wdr_kern *k = NULL, *other = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	assert_ok(kern_env_join(&env, &k));
	for (n = 1; n <= MANY; n++)
		assert_ok(wdr_kern_slot_new(k, &ask, &s[n], NULL));
	assert_ok(wdr_kern_slot_link(s[MANY], iface, NULL, NULL, NULL));
	wdr_kern_slot_drop(&s[1]);
	assert_ok(kern_env_join(&env, &other));
	assert_ok(wdr_kern_slot_new(other, &ask, &near, NULL));
	assert_int_equal(wdr_kern_slot_link(near, iface, NULL, NULL, &err), -EBUSY);
	wdr_kern_slot_drop(&near);
	for (n = 2; n <= MANY; n++)
		wdr_kern_slot_drop(&s[n]);
	kern_env_leave(&other);
	kern_env_leave(&k);
	(void)close(ns);
	(void)close(cg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_slot_is_the_kernel_s),
		cmocka_unit_test(an_interface_is_that_of_a_slot_far_away),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_stop(&env);
	return r;
}
