/* SPDX-License-Identifier: Apache-2.0 */
/* With a folder in place of /proc/sys/net: what is changed is put back, and nothing else is. */
#include "wdr_test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/wdr_io.h"
#include "net/net_priv.h"

#define UP   "ipv4/conf/up0/forwarding"
#define ALL  "ipv4/conf/all/forwarding"
#define GONE "ipv4/conf/gone0/forwarding"
#define RA   "ipv6/conf/up0/accept_ra"

struct place {
	char path[64];
	int dir_fd, proc_fd;
};

static void put(struct place *p, const char *path, const char *text)
{
	int fd = openat(p->proc_fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void expect(struct place *p, const char *path, const char *want)
{
	char got[32];

	assert_ok(wdr_net_sysctl_read(p->proc_fd, path, got, sizeof(got)));
	assert_string_equal(got, want);
}

static int set_up(void **state)
{
	static const char *const dirs[] = { "state",	     "ipv4",
					    "ipv6",	     "ipv4/conf",
					    "ipv6/conf",     "ipv4/conf/up0",
					    "ipv4/conf/all", "ipv4/conf/gone0",
					    "ipv6/conf/up0" };
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	(void)snprintf(p->path, sizeof(p->path), "%s/netXXXXXX",
		       getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(p->path));
	p->proc_fd = open(p->path, O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		assert_ok(mkdirat(p->proc_fd, dirs[i], 0755));
	p->dir_fd = openat(p->proc_fd, "state", O_RDONLY | O_DIRECTORY);
	put(p, UP, "0\n");
	put(p, ALL, "0\n");
	put(p, GONE, "0\n");
	put(p, RA, "1\n");
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const files[] = { UP, ALL, GONE, RA, "state/sysctls" };
	static const char *const dirs[] = { "ipv6/conf/up0", "ipv4/conf/gone0",
					    "ipv4/conf/all", "ipv4/conf/up0",
					    "ipv6/conf",     "ipv4/conf",
					    "ipv6",	     "ipv4",
					    "state" };
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlinkat(p->proc_fd, files[i], 0);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		assert_ok(unlinkat(p->proc_fd, dirs[i], AT_REMOVEDIR));
	assert_ok(rmdir(p->path));
	(void)close(p->dir_fd);
	(void)close(p->proc_fd);
	free(p);
	return 0;
}

static int set(struct place *p, const char *path, const char *value)
{
	return wdr_net_sysctl_set(p->dir_fd, p->proc_fd, path, value, NULL);
}

static int restore(struct place *p)
{
	return wdr_net_sysctl_restore(p->dir_fd, p->proc_fd, NULL);
}

static void a_change_is_put_back(void **state)
{
	struct place *p = *state;

	assert_int_equal(set(p, UP, "1"), 1);
	assert_int_equal(set(p, RA, "2"), 1);
	expect(p, UP, "1");
	assert_ok(restore(p));
	expect(p, UP, "0");
	expect(p, RA, "1");
	assert_int_equal(faccessat(p->dir_fd, "sysctls", F_OK, 0), -1);
	assert_ok(restore(p));
}

static void what_already_is_so_stays_so(void **state)
{
	struct place *p = *state;

	assert_int_equal(set(p, RA, "1"), 0);
	assert_ok(restore(p));
	expect(p, RA, "1");
}

static void a_value_that_another_has_set_since_stays(void **state)
{
	struct place *p = *state;

	assert_int_equal(set(p, RA, "2"), 1);
	put(p, RA, "0\n");
	assert_ok(restore(p));
	expect(p, RA, "0");
}

static void forwarding_that_is_now_everybodys_stays(void **state)
{
	struct place *p = *state;

	assert_int_equal(set(p, UP, "1"), 1);
	put(p, ALL, "1\n");
	assert_ok(restore(p));
	expect(p, UP, "1");
}

static void an_interface_that_is_gone_is_no_fault(void **state)
{
	struct place *p = *state;

	assert_int_equal(set(p, UP, "1"), 1);
	assert_int_equal(set(p, GONE, "1"), 1);
	assert_ok(unlinkat(p->proc_fd, GONE, 0));
	assert_ok(restore(p));
	expect(p, UP, "0");
}

static void the_last_change_is_undone_first(void **state)
{
	struct place *p = *state;

	assert_int_equal(set(p, RA, "2"), 1);
	assert_int_equal(set(p, RA, "3"), 1);
	assert_ok(restore(p));
	expect(p, RA, "1");
}

/* `all` sets every interface when it goes back: what a note says is put back after that. */
static void a_note_is_put_back_where_undoing_left_its_value(void **state)
{
	struct place *p = *state;

	put(p, UP, "1\n");
	assert_ok(wdr_net_sysctl_note(p->dir_fd, p->proc_fd, UP, "0", NULL));
	expect(p, UP, "1");
	put(p, UP, "0\n");
	assert_ok(restore(p));
	expect(p, UP, "1");
}

static void a_crash_between_note_and_change_is_harmless(void **state)
{
	struct place *p = *state;
	int fd = openat(p->dir_fd, "sysctls", O_WRONLY | O_CREAT, 0600);
	const char text[] = UP " 0 1\n" RA " 1 2\n" GONE " 0 1";

	/* Noted, not done; noted and done; half a line, so not even noted. */
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	(void)close(fd);
	put(p, RA, "2\n");
	put(p, GONE, "1\n");
	assert_ok(restore(p));
	expect(p, UP, "0");
	expect(p, RA, "1");
	expect(p, GONE, "1");
}

static const char *const bad[] = { "nonsense\n", "a b\n",	  "a b c d\n",
				   "\n",	 "../../x 0 1\n", "/etc/passwd 0 1\n" };

static void lines_that_are_none_are_passed_over(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = openat(p->dir_fd, "sysctls", O_WRONLY | O_CREAT | O_TRUNC, 0600);

		assert_int_equal(write(fd, bad[i], strlen(bad[i])), strlen(bad[i]));
		(void)close(fd);
		assert_ok(restore(p));
	}
}

static void a_setting_that_is_not_there_is_named(void **state)
{
	struct place *p = *state;
	struct wdr_err err = { 0 };

	assert_int_equal(wdr_net_sysctl_set(p->dir_fd, p->proc_fd, "ipv4/nothing", "1", &err),
			 -ENOENT);
	assert_non_null(strstr(err.msg, "/proc/sys/net/ipv4/nothing"));
}

static void count_path(const char *path, void *userdata)
{
	(void)path;
	++*(int *)userdata;
}

static void changes_can_be_listed(void **state)
{
	struct place *p = *state;
	int n = 0;

	assert_ok(wdr_net_sysctl_each(p->dir_fd, count_path, &n));
	assert_int_equal(n, 0);
	assert_int_equal(set(p, UP, "1"), 1);
	assert_int_equal(set(p, RA, "2"), 1);
	assert_ok(wdr_net_sysctl_each(p->dir_fd, count_path, &n));
	assert_int_equal(n, 2);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_change_is_put_back),
		CASE(what_already_is_so_stays_so),
		CASE(a_value_that_another_has_set_since_stays),
		CASE(forwarding_that_is_now_everybodys_stays),
		CASE(an_interface_that_is_gone_is_no_fault),
		CASE(the_last_change_is_undone_first),
		CASE(a_note_is_put_back_where_undoing_left_its_value),
		CASE(a_crash_between_note_and_change_is_harmless),
		CASE(lines_that_are_none_are_passed_over),
		CASE(a_setting_that_is_not_there_is_named),
		CASE(changes_can_be_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
