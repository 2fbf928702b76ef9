/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds which slot: locks that end with their descriptors, records that a crash leaves. */
#include "wdr_test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "net/net_priv.h"

struct place {
	char path[64];
	int dir_fd;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	(void)snprintf(p->path, sizeof(p->path), "%s/netXXXXXX",
		       getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(p->path));
	p->dir_fd = open(p->path, O_RDONLY | O_DIRECTORY);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	(void)unlinkat(p->dir_fd, "slots", 0);
	assert_ok(rmdir(p->path));
	(void)close(p->dir_fd);
	free(p);
	return 0;
}

static void records_come_back(void **state)
{
	struct place *p = *state;
	struct wdr_net_record rec = { .job = "j-1", .flags = WDR_NET_RECORD_USED, .mtu = 1400 };
	struct wdr_net_table t;

	assert_ok(wdr_net_table_open(p->dir_fd, &t, NULL));
	assert_int_equal(t.n_records, 0);
	assert_false(t.head.has_ranges);
	t.head.has_ranges = true;
	t.head.rules_hash = 7;
	assert_ok(wdr_net_table_write_head(&t));
	assert_ok(wdr_net_table_write(&t, 5, &rec));
	wdr_net_table_close(&t);

	assert_ok(wdr_net_table_open(p->dir_fd, &t, NULL));
	assert_int_equal(t.n_records, 6);
	assert_int_equal(t.head.rules_hash, 7);
	assert_true(t.head.has_ranges);
	assert_string_equal(t.records[5].job, "j-1");
	assert_int_equal(t.records[5].mtu, 1400);
	assert_int_equal(t.records[4].flags, 0);
	wdr_net_table_close(&t);
}

static void a_slot_is_held_by_one(void **state)
{
	struct place *p = *state;
	struct wdr_net_table t;
	int a = -1, b = -1, c = -1;

	assert_ok(wdr_net_table_take(p->dir_fd, 3, &a));
	assert_int_equal(wdr_net_table_take(p->dir_fd, 3, &b), -EBUSY);
	assert_int_equal(b, -1);
	assert_ok(wdr_net_table_take(p->dir_fd, 4, &c));
	/* The table's own lock is another. */
	assert_ok(wdr_net_table_open(p->dir_fd, &t, NULL));
	assert_true(wdr_net_table_held(&t, 3));
	assert_false(wdr_net_table_held(&t, 2));
	wdr_closep(&a);
	assert_false(wdr_net_table_held(&t, 3));
	assert_true(wdr_net_table_held(&t, 4));
	assert_ok(wdr_net_table_take(p->dir_fd, 3, &b));
	wdr_net_table_close(&t);
	wdr_closep(&b);
	wdr_closep(&c);
}

static void only_what_is_held_or_contained_is_alive(void **state)
{
	struct place *p = *state;
	struct wdr_net_record rec = { .job = "j-1", .flags = WDR_NET_RECORD_USED };
	struct wdr_net_table t;
	int fd = -1;

	assert_ok(wdr_net_table_open(p->dir_fd, &t, NULL));
	assert_ok(wdr_net_table_write_head(&t));
	/* Far from any slot that this machine may have: its link is not there. */
	assert_ok(wdr_net_table_write(&t, 16000, &rec));
	wdr_net_table_close(&t);
	assert_ok(wdr_net_table_open(p->dir_fd, &t, NULL));
	assert_false(wdr_net_table_alive(&t, 16000));
	assert_ok(wdr_net_table_take(p->dir_fd, 16000, &fd));
	assert_true(wdr_net_table_alive(&t, 16000));
	wdr_closep(&fd);
	rec.flags |= WDR_NET_RECORD_CONTAIN;
	assert_ok(wdr_net_table_write(&t, 16000, &rec));
	assert_false(wdr_net_table_alive(&t, 16000));
	assert_false(wdr_net_table_alive(&t, 0));
	wdr_net_table_close(&t);
}

static void an_owner_rewrites_its_record_without_the_table(void **state)
{
	struct place *p = *state;
	struct wdr_net_record rec = { .job = "j-2", .flags = WDR_NET_RECORD_USED };
	struct wdr_net_table t;
	int fd = -1;

	assert_ok(wdr_net_table_open(p->dir_fd, &t, NULL));
	assert_ok(wdr_net_table_write_head(&t));
	assert_ok(wdr_net_table_take(p->dir_fd, 0, &fd));
	assert_ok(wdr_net_table_write_own(fd, 0, &rec));
	wdr_net_table_close(&t);
	assert_ok(wdr_net_table_open(p->dir_fd, &t, NULL));
	assert_string_equal(t.records[0].job, "j-2");
	wdr_net_table_close(&t);
	wdr_closep(&fd);
}

static const char *const strange[] = { "x",
				       "something else that is longer than a head, so that "
				       "its length alone does not tell: it has no magic in it, "
				       "and is a hundred and thirty bytes" };

static void a_file_of_another_kind_is_begun_anew(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		int fd = openat(p->dir_fd, "slots", O_WRONLY | O_CREAT | O_TRUNC, 0600);
		struct wdr_net_table t;

		assert_int_equal(write(fd, strange[i], strlen(strange[i])), strlen(strange[i]));
		(void)close(fd);
		assert_ok(wdr_net_table_open(p->dir_fd, &t, NULL));
		assert_int_equal(t.n_records, 0);
		assert_int_equal(t.head.rules_hash, 0);
		wdr_net_table_close(&t);
	}
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(records_come_back),
		CASE(a_slot_is_held_by_one),
		CASE(only_what_is_held_or_contained_is_alive),
		CASE(an_owner_rewrites_its_record_without_the_table),
		CASE(a_file_of_another_kind_is_begun_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
