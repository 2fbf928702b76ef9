/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused before anything is made. */
#include "wdr_test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "net/net_priv.h"

static char dir[64];

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "%s/netXXXXXX",
		       getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(dir));
	(void)unsetenv("WARDER_NET_POOL4");
	(void)unsetenv("WARDER_NET_POOL6");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_ok(rmdir(dir));
	return 0;
}

static void a_pool_is_a_folder_of_ones_own(void **state)
{
	struct wdr_net_pool *p = NULL;

	(void)state;
	assert_ok(wdr_net_pool_new(dir, &p, NULL));
	wdr_net_pool_freep(&p);
	assert_null(p);
}

static const mode_t modes[] = { 0755, 0770, 0707, 0750 };

static void a_folder_that_others_can_use_is_refused(void **state)
{
	struct wdr_net_pool *p = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct wdr_err err = { 0 };

		assert_ok(chmod(dir, modes[i]));
		assert_int_equal(wdr_net_pool_new(dir, &p, &err), -EPERM);
		assert_non_null(strstr(err.msg, "want uid"));
		assert_null(p);
	}
}

static void a_link_in_place_of_the_folder_is_refused(void **state)
{
	struct wdr_net_pool *p = NULL;
	char link[80];

	(void)state;
	(void)snprintf(link, sizeof(link), "%s/link", dir);
	assert_ok(symlink(dir, link));
	assert_int_equal(wdr_net_pool_new(link, &p, NULL), -ENOTDIR);
	assert_ok(unlink(link));
}

static void malformed_ranges_are_refused_at_once(void **state)
{
	static const char *const names[] = { "WARDER_NET_POOL4", "WARDER_NET_POOL6" };
	struct wdr_net_pool *p = NULL;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct wdr_err err = { 0 };

		assert_ok(setenv(names[i], "10.0.0.0/33", 1));
		assert_int_equal(wdr_net_pool_new(dir, &p, &err), -EINVAL);
		assert_string_equal(err.where, names[i]);
		/* An empty variable is none. */
		assert_ok(setenv(names[i], "", 1));
		assert_ok(wdr_net_pool_new(dir, &p, NULL));
		wdr_net_pool_freep(&p);
	}
}

static void so_many_are_not_made_ahead(void **state)
{
	struct wdr_net_pool *p = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	assert_ok(wdr_net_pool_new(dir, &p, NULL));
	assert_int_equal(wdr_net_pool_prepare(p, WDR_NET_MAX_AHEAD + 1, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "65 network slots ahead: want at most 64"));
	assert_ok(wdr_net_pool_prepare(p, 0, NULL));
	wdr_net_pool_freep(&p);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_pool_is_a_folder_of_ones_own),
		CASE(a_folder_that_others_can_use_is_refused),
		CASE(a_link_in_place_of_the_folder_is_refused),
		CASE(malformed_ranges_are_refused_at_once),
		CASE(so_many_are_not_made_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
