/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/wdr_event.h"
#include "base/wdr_io.h"
#include "base/wdr_lines.h"

#define NS_PER_MS 1000000ULL

static void put(struct wdr_lines *l, const char *text)
{
	wdr_lines_put(l, strdup(text), strlen(text), UINT64_MAX);
}

/* A line of @n bytes: @c, and the newline. */
static void put_long(struct wdr_lines *l, char c, size_t n)
{
	char *line = malloc(n);

	assert_non_null(line);
	memset(line, c, n - 1);
	line[n - 1] = '\n';
	wdr_lines_put(l, line, n, UINT64_MAX);
}

static int make_file(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void holds(int fd, const char *want)
{
	char got[256] = "";

	assert_true(pread(fd, got, sizeof(got) - 1, 0) >= 0);
	assert_string_equal(got, want);
}

/* Files may not grow past @n bytes; UINT64_MAX: they may again. As a disk, but without one. */
static void limit_files(uint64_t n)
{
	struct rlimit r;

	assert_ok(getrlimit(RLIMIT_FSIZE, &r));
	r.rlim_cur = n < r.rlim_max ? n : r.rlim_max;
	assert_ok(setrlimit(RLIMIT_FSIZE, &r));
}

static void make_pipe(int fds[2])
{
	assert_ok(pipe2(fds, O_CLOEXEC | O_NONBLOCK));
	assert_true(fcntl(fds[1], F_SETPIPE_SZ, 4096) >= 4096);
}

static void leaves_no_part_of_a_line_that_does_not_fit(void **state)
{
	static const int flags[] = { 0, O_APPEND };

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		wdr_close_ int fd = make_file();
		struct wdr_lines l;

		assert_ok(fcntl(fd, F_SETFL, flags[i]));
		wdr_lines_init(&l, fd);
		put(&l, "first\n");
		limit_files(9);
		put(&l, "second\n");
		put(&l, "x\n");
		put(&l, "yy\n");
		limit_files(UINT64_MAX);
		holds(fd, "first\nx\n");
		put(&l, "last\n");
		holds(fd, "first\nx\nlast\n");
		assert_int_equal(wdr_lines_lost(&l), 2);
		assert_int_equal(l.error, -ENOSPC);
		assert_int_equal(l.bytes, 13);
		wdr_lines_done(&l);
	}
}

static void says_what_the_file_said(void **state)
{
	wdr_close_ int fd = make_file();
	struct wdr_lines l;

	(void)state;
	wdr_lines_init(&l, fd);
	limit_files(0);
	put(&l, "a\n");
	limit_files(UINT64_MAX);
	assert_int_equal(l.error, -EFBIG);
	wdr_lines_put(&l, NULL, 0, UINT64_MAX);
	assert_int_equal(l.error, -ENOMEM);
	assert_int_equal(wdr_lines_lost(&l), 2);
	wdr_lines_done(&l);
}

/* In the middle of a file that was longer, others' bytes stand behind: they are not cut off. */
static void leaves_alone_what_stands_behind(void **state)
{
	wdr_close_ int fd = make_file();
	struct wdr_lines l;

	(void)state;
	assert_int_equal(write(fd, "0123456789", 10), 10);
	assert_int_equal(lseek(fd, 2, SEEK_SET), 2);
	wdr_lines_init(&l, fd);
	limit_files(4);
	put(&l, "abcd\n");
	limit_files(UINT64_MAX);
	holds(fd, "01ab456789");
	put(&l, "z\n");
	holds(fd, "01z\n456789");
	assert_int_equal(wdr_lines_lost(&l), 1);
	wdr_lines_done(&l);
}

static void holds_a_file_to_its_size(void **state)
{
	static const struct {
		uint64_t max_bytes;
		const char *line, *want;
	} cases[] = {
		{ 2, "ab\n", "" },	 { 3, "ab\n", "ab\n" },
		{ 3, "c\n", "ab\n" },	 { 5, "c\n", "ab\nc\n" },
		{ 0, "d\n", "ab\nc\n" }, { UINT64_MAX, "e\n", "ab\nc\ne\n" },
	};
	wdr_close_ int fd = make_file();
	struct wdr_lines l;

	(void)state;
	wdr_lines_init(&l, fd);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wdr_lines_put(&l, strdup(cases[i].line), strlen(cases[i].line), cases[i].max_bytes);
		holds(fd, cases[i].want);
	}
	assert_int_equal(wdr_lines_lost(&l), 3);
	assert_int_equal(l.error, -EFBIG);
	wdr_lines_done(&l);
}

static void loses_whole_lines_to_a_pipe_that_is_full(void **state)
{
	struct wdr_lines l;
	char got[8192];
	int fds[2];

	(void)state;
	make_pipe(fds);
	wdr_lines_init(&l, fds[1]);
	put_long(&l, 'a', 4000);
	put_long(&l, 'b', 200);
	put_long(&l, 'c', 90);
	assert_int_equal(wdr_lines_lost(&l), 1);
	assert_int_equal(l.error, -EAGAIN);
	assert_int_equal(wdr_lines_wait(&l, wdr_now_ns() + 5 * NS_PER_MS), -ETIMEDOUT);
	assert_int_equal(read(fds[0], got, sizeof(got)), 4090);
	assert_ok(wdr_lines_wait(&l, wdr_now_ns()));
	/* No size holds a pipe. */
	wdr_lines_put(&l, strdup("d\n"), 2, 0);
	assert_int_equal(read(fds[0], got, sizeof(got)), 2);
	(void)close(fds[0]);
	assert_ok(wdr_lines_wait(&l, wdr_now_ns() + 10000 * NS_PER_MS));
	put(&l, "e\n");
	assert_int_equal(l.error, -EPIPE);
	assert_int_equal(wdr_lines_lost(&l), 2);
	(void)close(fds[1]);
	wdr_lines_done(&l);
}

/* Longer than a pipe takes as one: its rest goes out before anything else. */
static void ends_what_it_began(void **state)
{
	struct wdr_lines l;
	char got[16384];
	int fds[2];
	ssize_t n;

	(void)state;
	make_pipe(fds);
	wdr_lines_init(&l, fds[1]);
	put_long(&l, 'a', 10000);
	put(&l, "lost\n");
	assert_int_equal(wdr_lines_lost(&l), 2);
	assert_int_equal(wdr_lines_wait(&l, wdr_now_ns()), -ETIMEDOUT);
	n = read(fds[0], got, sizeof(got));
	put(&l, "lost\n");
	n += read(fds[0], got + n, sizeof(got) - (size_t)n);
	assert_int_equal(wdr_lines_wait(&l, wdr_now_ns()), -ETIMEDOUT);
	assert_null(l.rest);
	n += read(fds[0], got + n, sizeof(got) - (size_t)n);
	assert_ok(wdr_lines_wait(&l, wdr_now_ns()));
	put(&l, "last\n");
	n += read(fds[0], got + n, sizeof(got) - (size_t)n);
	assert_int_equal(n, 10005);
	assert_memory_equal(got + 9998, "a\nlast\n", 7);
	assert_int_equal(wdr_lines_lost(&l), 2);
	put_long(&l, 'b', 10000);
	(void)close(fds[0]);
	assert_int_equal(wdr_lines_wait(&l, wdr_now_ns() + 10000 * NS_PER_MS), -EPIPE);
	assert_int_equal(wdr_lines_lost(&l), 3);
	(void)close(fds[1]);
	wdr_lines_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_no_part_of_a_line_that_does_not_fit),
		cmocka_unit_test(says_what_the_file_said),
		cmocka_unit_test(leaves_alone_what_stands_behind),
		cmocka_unit_test(holds_a_file_to_its_size),
		cmocka_unit_test(loses_whole_lines_to_a_pipe_that_is_full),
		cmocka_unit_test(ends_what_it_began),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
