/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/wdr_io.h"
#include "job/end.h"
#include "job/pump.h"

#define KB	1024
#define PATTERN 251 /* prime: no buffer size is a multiple of it */

struct bench {
	struct wdr_event *e;
	struct wdr_pump *p;
	int in_fd, out_fd; /* what the job writes to, and what the reader reads from */
	int n_limit, n_end;
	pid_t writer, reader;
};

static void on_limit(struct wdr_pump *p, void *userdata)
{
	struct bench *b = userdata;

	(void)p;
	b->n_limit++;
}

static void on_end(struct wdr_pump *p, void *userdata)
{
	struct bench *b = userdata;

	(void)p;
	b->n_end++;
	wdr_event_exit(b->e, 0);
}

static void fill(char *buf, size_t n, size_t from)
{
	for (size_t i = 0; i < n; i++)
		buf[i] = (char)((from + i) % PATTERN);
}

static _Noreturn void write_bytes(int fd, size_t n)
{
	char buf[4 * KB];

	for (size_t done = 0; done < n;) {
		size_t len = n - done < sizeof(buf) ? n - done : sizeof(buf);

		fill(buf, len, done);
		if (wdr_write_all(fd, buf, len) < 0)
			_exit(1);
		done += len;
	}
	_exit(0);
}

static _Noreturn void read_bytes(int fd, size_t want)
{
	char buf[4 * KB];
	char right[4 * KB];
	size_t got = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		fill(right, (size_t)n, got);
		if (memcmp(buf, right, (size_t)n) != 0)
			_exit(2);
		got += (size_t)n;
	}
	_exit(got == want ? 0 : 3);
}

/*
 * A pipe, a pump, and a pipe behind it; with @bytes a child that writes them, with @want one that
 * reads so many and no more. Both are forked before there is a loop: its epoll would be theirs too.
 */
static void set_up(struct bench *b, bool capture, uint64_t limit, ssize_t bytes, ssize_t want)
{
	struct wdr_pump_opts o = { .name = "stdout",
				   .from_job = true,
				   .capture = capture,
				   .limit = limit,
				   .end_byte = -1,
				   .on_limit = on_limit,
				   .on_end = on_end,
				   .userdata = b };
	int from[2];
	int to[2];

	*b = (struct bench){ 0 };
	(void)signal(SIGPIPE, SIG_IGN);
	assert_ok(pipe2(from, O_CLOEXEC));
	assert_ok(pipe2(to, O_CLOEXEC));
	b->writer = bytes < 0 ? 0 : fork();
	if (bytes >= 0 && b->writer == 0) {
		(void)close(from[0]);
		(void)close(to[0]);
		(void)close(to[1]);
		write_bytes(from[1], (size_t)bytes);
	}
	b->reader = want < 0 ? 0 : fork();
	if (want >= 0 && b->reader == 0) {
		(void)close(to[1]);
		(void)close(from[0]);
		(void)close(from[1]);
		read_bytes(to[0], (size_t)want);
	}
	assert_ok(fcntl(from[0], F_SETFL, O_NONBLOCK));
	assert_ok(fcntl(to[1], F_SETFL, O_NONBLOCK));
	o.src_fd = from[0];
	o.dst_fd = to[1];
	b->in_fd = from[1];
	b->out_fd = to[0];
	if (b->writer)
		wdr_closep(&b->in_fd);
	if (b->reader)
		wdr_closep(&b->out_fd);
	assert_ok(wdr_event_new(&b->e, NULL));
	assert_ok(wdr_pump_new(b->e, &o, &b->p, NULL));
}

static void tear_down(struct bench *b)
{
	wdr_pump_freep(&b->p);
	wdr_event_freep(&b->e);
	wdr_closep(&b->in_fd);
	wdr_closep(&b->out_fd);
}

static int status_of(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const struct {
	size_t bytes;
	bool capture;
	uint64_t limit;
	size_t passed;
	int n_limit;
} rows[] = {
	{ 0, false, 100, 0, 0 },
	{ 100, false, 100, 100, 0 },
	{ 101, false, 100, 100, 1 },
	{ 3000 * KB, false, UINT64_MAX, 3000 * KB, 0 },
	{ 3000 * KB, false, 1000 * KB, 1000 * KB, 1 },
	{ 0, true, 100, 0, 0 },
	{ 100, true, 100, 100, 0 },
	{ 101, true, 100, 100, 1 },
	{ 3000 * KB, true, UINT64_MAX, 3000 * KB, 0 },
	{ 3000 * KB, true, 1000 * KB, 1000 * KB, 1 },
};

static void passes_exactly_what_the_limit_allows_and_counts_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench b;

		set_up(&b, rows[i].capture, rows[i].limit, (ssize_t)rows[i].bytes,
		       (ssize_t)rows[i].passed);
		assert_ok(wdr_event_loop(b.e));
		assert_int_equal(b.n_end, 1);
		assert_int_equal(b.n_limit, rows[i].n_limit);
		assert_int_equal(wdr_pump_bytes(b.p), rows[i].bytes);
		assert_int_equal(wdr_pump_kept(b.p), rows[i].passed);
		assert_ok(wdr_pump_error(b.p));
		assert_ok(status_of(b.writer));
		assert_ok(status_of(b.reader));
		tear_down(&b);
	}
}

static void keeps_what_it_passed(void **state)
{
	struct bench b;
	char got[300];
	char right[300];
	int fd;

	(void)state;
	set_up(&b, true, sizeof(got), 1000, sizeof(got));
	assert_ok(wdr_event_loop(b.e));
	fd = wdr_pump_take_capture(b.p);
	assert_true(fd >= 0);
	fill(right, sizeof(right), 0);
	assert_ok(wdr_pread_all(fd, got, sizeof(got), 0));
	assert_memory_equal(got, right, sizeof(got));
	assert_int_equal(wdr_pread_all(fd, got, 1, sizeof(got)), -ENODATA);
	assert_ok(status_of(b.writer));
	assert_ok(status_of(b.reader));
	(void)close(fd);
	tear_down(&b);
}

/* As it would be without us: the writer's next write fails. */
static void a_reader_that_leaves_is_felt_by_the_writer(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, false, UINT64_MAX, 3000 * KB, -1);
	wdr_closep(&b.out_fd);
	assert_ok(wdr_event_loop(b.e));
	assert_int_equal(b.n_end, 1);
	assert_ok(wdr_pump_error(b.p));
	assert_int_equal(status_of(b.writer), 1);
	tear_down(&b);
}

/* The writers are dead, but somebody else still holds the pipe. */
static void draining_ends_without_an_end_of_file(void **state)
{
	struct bench b;
	char c[8];

	(void)state;
	set_up(&b, false, UINT64_MAX, -1, -1);
	assert_int_equal(write(b.in_fd, "last", 4), 4);
	wdr_pump_drain(b.p);
	assert_true(wdr_pump_ended(b.p));
	assert_int_equal(read(b.out_fd, c, sizeof(c)), 4);
	tear_down(&b);
}

static void a_full_file_is_an_error(void **state)
{
	struct wdr_pump_opts o = { .name = "stdout",
				   .from_job = true,
				   .limit = UINT64_MAX,
				   .end_byte = -1,
				   .on_limit = on_limit,
				   .on_end = on_end };
	struct bench b = { 0 };
	int from[2];

	(void)state;
	o.userdata = &b;
	assert_ok(wdr_event_new(&b.e, NULL));
	assert_ok(pipe2(from, O_CLOEXEC | O_NONBLOCK));
	o.src_fd = from[0];
	o.dst_fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(o.dst_fd >= 0);
	assert_ok(wdr_pump_new(b.e, &o, &b.p, NULL));
	assert_int_equal(write(from[1], "x", 1), 1);
	assert_ok(wdr_event_loop(b.e));
	assert_int_equal(wdr_pump_error(b.p), -ENOSPC);
	wdr_pump_freep(&b.p);
	wdr_event_freep(&b.e);
	(void)close(from[1]);
}

static void a_private_descriptor_leaves_the_shared_one_as_it_is(void **state)
{
	int p[2];
	int own = -1;

	(void)state;
	assert_ok(pipe2(p, O_CLOEXEC));
	assert_ok(wdr_end_open(p[0], O_RDONLY, &own));
	assert_true(own >= 0 && own != p[0]);
	assert_true(fcntl(own, F_GETFL) & O_NONBLOCK);
	assert_false(fcntl(p[0], F_GETFL) & O_NONBLOCK);
	(void)close(own);
	(void)close(p[0]);
	(void)close(p[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_exactly_what_the_limit_allows_and_counts_all),
		cmocka_unit_test(keeps_what_it_passed),
		cmocka_unit_test(a_reader_that_leaves_is_felt_by_the_writer),
		cmocka_unit_test(draining_ends_without_an_end_of_file),
		cmocka_unit_test(a_full_file_is_an_error),
		cmocka_unit_test(a_private_descriptor_leaves_the_shared_one_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
