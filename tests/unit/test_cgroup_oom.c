/* SPDX-License-Identifier: Apache-2.0 */
/* Being told of the OOM killer: at once, and once. */
#include <poll.h>
#include <sys/epoll.h>

#include "fake_cgroup.h"

static void listens_to_the_oom_killer(void **state)
{
	uint32_t events = 0;
	char text[32];
	struct fake_job j;
	int fd;

	(void)state;
	fake_begin(&j, fake_hybrid);
	fd = wdr_cgroup_oom_fd(j.cg, &events);
	assert_true(fd >= 0);
	assert_int_equal(events, EPOLLIN);
	assert_int_equal(wdr_cgroup_oom_fd(j.cg, &events), fd);
	(void)snprintf(text, sizeof(text), "%d %d", j.cg->oom.event_fd, j.cg->oom.file_fd);
	assert_string_equal(fake_get("memory/warder/job", "cgroup.event_control"), text);
	wdr_cgroup_oom_ack(j.cg);
	fake_end(&j);
	fake_begin(&j, fake_pure);
	assert_true(wdr_cgroup_oom_fd(j.cg, &events) >= 0);
	assert_int_equal(events, EPOLLPRI);
	wdr_cgroup_oom_ack(j.cg);
	wdr_cgroup_freep(&j.cg);
	assert_ok(wdr_cgroup_sweep(j.t, "job", &j.err));
	assert_ok(wdr_cgroup_new(j.t, "job", &fake_unlimited, 0, &j.cg, &j.err));
	assert_ok(unlinkat(j.cg->fd[0], "memory.events", 0));
	assert_int_equal(wdr_cgroup_oom_fd(j.cg, &events), -EOPNOTSUPP);
	wdr_cgroup_oom_ack(j.cg);
	fake_end(&j);
}

/* How often oom_fd is ready, each time acknowledged, until it has been silent for half a second. */
static int count_news(struct fake_job *j, int fd, int counted_at)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = 0;

	while (poll(&p, 1, 500) > 0 && n < 20) {
		if (++n == counted_at)
			fake_put("memory/warder/job", "memory.oom_control", "oom_kill 4\n");
		wdr_cgroup_oom_ack(j->cg);
	}
	return n;
}

static void looks_for_the_kill_that_v1_announces(void **state)
{
	static const struct {
		int counted_at, news;
	} rows[] = { { 1, 1 }, { 2, 2 }, { 5, 5 }, { 100, 9 } };
	uint64_t one = 1;
	uint32_t events;
	struct fake_job j;
	size_t i;
	int fd;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fake_begin(&j, fake_hybrid);
		fd = wdr_cgroup_oom_fd(j.cg, &events);
		assert_int_equal(count_news(&j, fd, 0), 0);
		assert_int_equal(write(j.cg->oom.event_fd, &one, sizeof(one)), sizeof(one));
		assert_int_equal(count_news(&j, fd, rows[i].counted_at), rows[i].news);
		fake_end(&j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listens_to_the_oom_killer),
		cmocka_unit_test(looks_for_the_kill_that_v1_announces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
