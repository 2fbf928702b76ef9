/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/wdr_io.h"

/* A file of @n bytes without a name; its path is below /proc/self/fd. */
static int make_file(size_t n, char path[64])
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(write(fd, "x", 1), 1);
	(void)snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void reads_up_to_the_bound_and_not_one_byte_more(void **state)
{
	static const size_t sizes[] = { 0, 1, 1023, 1024, 1025, 2048, 5000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		wdr_free_ char *text = NULL;
		wdr_close_ int fd = -1;
		char path[64];
		size_t n = 77;

		fd = make_file(sizes[i], path);
		assert_ok(wdr_read_file(AT_FDCWD, path, sizes[i], &text, &n));
		assert_int_equal(n, sizes[i]);
		assert_int_equal(strlen(text), sizes[i]);
		wdr_freep(&text);
		if (!sizes[i])
			continue;
		assert_int_equal(wdr_read_file(AT_FDCWD, path, sizes[i] - 1, &text, &n), -EFBIG);
		assert_null(text);
	}
}

static void reads_files_that_have_no_size(void **state)
{
	wdr_free_ char *text = NULL;

	(void)state;
	assert_ok(wdr_read_file(AT_FDCWD, "/proc/self/status", 1 << 16, &text, NULL));
	assert_non_null(strstr(text, "Name:\ttest_io"));
}

static void says_why_it_can_not_read(void **state)
{
	char *text = NULL;

	(void)state;
	assert_int_equal(wdr_read_file(AT_FDCWD, "/no/such", 10, &text, NULL), -ENOENT);
	assert_int_equal(wdr_read_file(AT_FDCWD, "/proc", 10, &text, NULL), -EISDIR);
	assert_null(text);
}

static void writes_control_files_but_makes_none(void **state)
{
	wdr_close_ int fd = -1;
	char path[64], got[4] = "";

	(void)state;
	fd = make_file(0, path);
	assert_ok(wdr_write_file(AT_FDCWD, path, "abc"));
	assert_ok(wdr_pread_all(fd, got, 3, 0));
	assert_string_equal(got, "abc");
	assert_int_equal(wdr_pread_all(fd, got, 3, 1), -ENODATA);
	assert_int_equal(wdr_write_file(AT_FDCWD, "/proc/self/no-such", "1"), -ENOENT);
}

/* A child reads @n bytes from @fd, slowly enough to fill the pipe, and says whether they came. */
static pid_t start_reader(int fd, size_t n)
{
	pid_t pid = fork();
	char buf[1000];
	size_t got = 0;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	while (got < n) {
		ssize_t r = read(fd, buf, sizeof(buf));

		if (r <= 0)
			break;
		got += (size_t)r;
	}
	_exit(got != n);
}

static void waits_for_a_slow_reader_of_a_non_blocking_pipe(void **state)
{
	static char big[1 << 20];
	int fds[2], status;
	pid_t pid;

	(void)state;
	assert_ok(pipe2(fds, O_CLOEXEC));
	pid = start_reader(fds[0], sizeof(big));
	assert_ok(fcntl(fds[1], F_SETFL, O_NONBLOCK));
	assert_ok(wdr_write_all(fds[1], big, sizeof(big)));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ok(close(fds[0]));
	assert_ok(close(fds[1]));
}

static void tells_of_a_closed_pipe_and_a_full_disk(void **state)
{
	wdr_close_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	int fds[2];

	(void)state;
	assert_true(full >= 0);
	assert_int_equal(wdr_write_all(full, "x", 1), -ENOSPC);
	(void)signal(SIGPIPE, SIG_IGN);
	assert_ok(pipe2(fds, O_CLOEXEC));
	assert_ok(close(fds[0]));
	assert_int_equal(wdr_write_all(fds[1], "x", 1), -EPIPE);
	assert_ok(close(fds[1]));
}

/* In a child: a test runner needs its descriptors. */
static void closes_all_but_the_listed(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int low = fcntl(0, F_DUPFD, 10), mid = fcntl(0, F_DUPFD, 20),
		    high = fcntl(0, F_DUPFD, 30), keep[] = { high, -1, low, 1, low };
		int r = wdr_close_except(keep, sizeof(keep) / sizeof(keep[0]));
		bool good = r == 0 && fcntl(low, F_GETFD) >= 0 && fcntl(high, F_GETFD) >= 0 &&
			    fcntl(mid, F_GETFD) < 0 && fcntl(high + 1, F_GETFD) < 0 &&
			    fcntl(3, F_GETFD) < 0 && fcntl(1, F_GETFD) >= 0;

		_exit(good ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_up_to_the_bound_and_not_one_byte_more),
		cmocka_unit_test(reads_files_that_have_no_size),
		cmocka_unit_test(says_why_it_can_not_read),
		cmocka_unit_test(writes_control_files_but_makes_none),
		cmocka_unit_test(waits_for_a_slow_reader_of_a_non_blocking_pipe),
		cmocka_unit_test(closes_all_but_the_listed),
		cmocka_unit_test(tells_of_a_closed_pipe_and_a_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
