/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <signal.h>
#include <unistd.h>

#include "base/wdr_event.h"

#define MS 1000000ULL

struct seen {
	struct wdr_event *e;
	struct wdr_source *a, *b;
	int n_a, n_b;
	uint64_t at_ns;
};

static void setup_loop(struct seen *s)
{
	*s = (struct seen){ 0 };
	assert_ok(wdr_event_new(&s->e, NULL));
}

static void teardown_loop(struct seen *s)
{
	wdr_source_freep(&s->a);
	wdr_source_freep(&s->b);
	wdr_event_freep(&s->e);
}

static void stop(struct wdr_source *src, uint64_t now_ns, void *userdata)
{
	struct seen *s = userdata;

	(void)src;
	s->at_ns = now_ns;
	s->n_b++;
	wdr_event_exit(s->e, 7);
}

static void count(struct wdr_source *src, uint64_t now_ns, void *userdata)
{
	struct seen *s = userdata;

	(void)src;
	(void)now_ns;
	s->n_a++;
}

static void a_timer_comes_once_and_not_early(void **state)
{
	uint64_t start = wdr_now_ns();
	struct seen s;

	(void)state;
	setup_loop(&s);
	assert_ok(wdr_event_add_time(s.e, &s.a, start + 2 * MS, count, &s));
	assert_ok(wdr_event_add_time(s.e, &s.b, start + 10 * MS, stop, &s));
	assert_int_equal(wdr_event_loop(s.e), 7);
	assert_int_equal(s.n_a, 1);
	assert_true(s.at_ns >= start + 10 * MS);
	teardown_loop(&s);
}

static void drain(struct wdr_source *src, int fd, uint32_t revents, void *userdata)
{
	struct seen *s = userdata;
	char c;

	(void)src;
	assert_true(revents & EPOLLIN);
	assert_int_equal(read(fd, &c, 1), 1);
	s->n_a++;
}

static void a_disabled_source_is_silent_even_with_data(void **state)
{
	struct seen s;
	int p[2];

	(void)state;
	setup_loop(&s);
	assert_ok(pipe(p));
	assert_int_equal(write(p[1], "xx", 2), 2);
	assert_ok(wdr_event_add_io(s.e, &s.a, p[0], EPOLLIN, drain, &s));
	assert_ok(wdr_source_enable(s.a, false));
	assert_ok(wdr_event_add_time(s.e, &s.b, wdr_now_ns() + 2 * MS, stop, &s));
	assert_int_equal(wdr_event_loop(s.e), 7);
	assert_int_equal(s.n_a, 0);
	assert_ok(wdr_source_enable(s.a, true));
	teardown_loop(&s);
	(void)close(p[0]);
	(void)close(p[1]);
}

static void a_regular_file_is_refused(void **state)
{
	FILE *f = tmpfile();
	struct seen s;

	(void)state;
	setup_loop(&s);
	assert_non_null(f);
	assert_int_equal(wdr_event_add_io(s.e, &s.a, fileno(f), EPOLLIN, drain, &s), -EPERM);
	assert_null(s.a);
	teardown_loop(&s);
	(void)fclose(f);
}

/* Whichever of two ready sources comes first frees both: the other must not be called. */
static void free_both(struct wdr_source *src, int fd, uint32_t revents, void *userdata)
{
	struct seen *s = userdata;

	(void)src;
	(void)fd;
	(void)revents;
	s->n_a++;
	wdr_source_freep(&s->a);
	wdr_source_freep(&s->b);
	wdr_event_exit(s->e, 0);
}

static void a_callback_may_free_any_source(void **state)
{
	struct seen s;
	int p[2];
	int q[2];

	(void)state;
	setup_loop(&s);
	assert_ok(pipe(p));
	assert_ok(pipe(q));
	assert_int_equal(write(p[1], "x", 1), 1);
	assert_int_equal(write(q[1], "x", 1), 1);
	assert_ok(wdr_event_add_io(s.e, &s.a, p[0], EPOLLIN, free_both, &s));
	assert_ok(wdr_event_add_io(s.e, &s.b, q[0], EPOLLIN, free_both, &s));
	assert_ok(wdr_event_loop(s.e));
	assert_int_equal(s.n_a, 1);
	teardown_loop(&s);
	for (int i = 0; i < 2; i++) {
		(void)close(p[i]);
		(void)close(q[i]);
	}
}

static void deferred(struct wdr_source *src, void *userdata)
{
	struct seen *s = userdata;

	(void)src;
	s->n_a++;
	wdr_source_freep(&s->a);
	wdr_source_freep(&s->b);
	wdr_event_exit(s->e, 3);
}

static void a_deferred_call_comes_before_waiting(void **state)
{
	struct seen s;

	(void)state;
	setup_loop(&s);
	assert_ok(wdr_event_add_time(s.e, &s.b, wdr_now_ns() + 60000 * MS, stop, &s));
	assert_ok(wdr_event_add_defer(s.e, &s.a, deferred, &s));
	assert_int_equal(wdr_event_loop(s.e), 3);
	assert_int_equal(s.n_a, 1);
	teardown_loop(&s);
}

static void on_signal(struct wdr_source *src, const struct signalfd_siginfo *si, void *userdata)
{
	struct seen *s = userdata;

	(void)src;
	s->n_a = (int)si->ssi_signo;
	wdr_event_exit(s->e, 0);
}

static void a_signal_reaches_its_own_source(void **state)
{
	struct seen s;
	sigset_t set;

	(void)state;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigaddset(&set, SIGUSR2);
	assert_ok(sigprocmask(SIG_BLOCK, &set, NULL));
	setup_loop(&s);
	assert_ok(wdr_event_add_signal(s.e, &s.a, SIGUSR1, on_signal, &s));
	assert_ok(wdr_event_add_signal(s.e, &s.b, SIGUSR2, on_signal, &s));
	assert_ok(raise(SIGUSR2));
	assert_ok(wdr_event_loop(s.e));
	assert_int_equal(s.n_a, SIGUSR2);
	teardown_loop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_comes_once_and_not_early),
		cmocka_unit_test(a_disabled_source_is_silent_even_with_data),
		cmocka_unit_test(a_regular_file_is_refused),
		cmocka_unit_test(a_callback_may_free_any_source),
		cmocka_unit_test(a_deferred_call_comes_before_waiting),
		cmocka_unit_test(a_signal_reaches_its_own_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
