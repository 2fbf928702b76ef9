/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/wdr_msg.h"

static int pair[2];

static int open_pair(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int close_pair(void **state)
{
	(void)state;
	wdr_closep(&pair[0]);
	wdr_closep(&pair[1]);
	return 0;
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	assert_ok(fstat(a, &x));
	assert_ok(fstat(b, &y));
	return x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

static void carries_bytes_and_one_descriptor(void **state)
{
	wdr_close_ int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	wdr_close_ int got = -1;
	char buf[8];

	(void)state;
	assert_ok(wdr_msg_send(pair[0], "hello", 5, &fd, 1, 0));
	assert_int_equal(wdr_msg_recv(pair[1], buf, sizeof(buf), &got, 0), 5);
	assert_memory_equal(buf, "hello", 5);
	assert_true(same_file(fd, got));
	assert_true(fcntl(got, F_GETFD) & FD_CLOEXEC);
	assert_ok(wdr_msg_send(pair[0], "x", 1, NULL, 0, 0));
	wdr_closep(&got);
	assert_int_equal(wdr_msg_recv(pair[1], buf, sizeof(buf), &got, 0), 1);
	assert_int_equal(got, -1);
}

static void refuses_more_than_was_asked_for(void **state)
{
	int fds[WDR_MSG_MAX_FDS + 1] = { 0, 0, 0, 0, 0 }, got, probe;
	char buf[4];

	(void)state;
	probe = dup(0);
	(void)close(probe);
	assert_int_equal(wdr_msg_send(pair[0], "x", 1, fds, WDR_MSG_MAX_FDS + 1, 0), -E2BIG);
	assert_ok(wdr_msg_send(pair[0], "ab", 2, fds, 2, 0));
	assert_int_equal(wdr_msg_recv(pair[1], buf, sizeof(buf), &got, 0), -EPROTO);
	assert_int_equal(got, -1);
	assert_ok(wdr_msg_send(pair[0], "hello", 5, fds, 1, 0));
	assert_int_equal(wdr_msg_recv(pair[1], buf, sizeof(buf), &got, 0), -EMSGSIZE);
	assert_int_equal(got, -1);
	assert_int_equal(dup(0), probe); /* what came along was closed */
	(void)close(probe);
}

static void tells_an_empty_socket_from_a_closed_one(void **state)
{
	char buf[4];
	int got;

	(void)state;
	assert_int_equal(wdr_msg_recv(pair[1], buf, sizeof(buf), &got, MSG_DONTWAIT), -EAGAIN);
	wdr_closep(&pair[0]);
	assert_int_equal(wdr_msg_recv(pair[1], buf, sizeof(buf), &got, 0), 0);
	assert_int_equal(wdr_msg_send(pair[1], "x", 1, NULL, 0, 0), -EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(carries_bytes_and_one_descriptor, open_pair,
						close_pair),
		cmocka_unit_test_setup_teardown(refuses_more_than_was_asked_for, open_pair,
						close_pair),
		cmocka_unit_test_setup_teardown(tells_an_empty_socket_from_a_closed_one, open_pair,
						close_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
