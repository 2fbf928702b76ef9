/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "job/end.h"
#include "job/pump.h"

#define MS     1000000ULL
#define A_LOT  (1 << 20)
#define NO_END (-1)

/* A loop that ends with the pump, or after some time. */
struct rig {
	struct wdr_event *event;
	struct wdr_source *late;
	struct wdr_pump *pump;
	unsigned int n_ends, n_limits;
	bool is_late;
};

static void on_late(struct wdr_source *s, uint64_t now_ns, void *userdata)
{
	struct rig *r = userdata;

	(void)s;
	(void)now_ns;
	r->is_late = true;
	wdr_event_exit(r->event, 0);
}

static void on_end(struct wdr_pump *p, void *userdata)
{
	struct rig *r = userdata;

	(void)p;
	r->n_ends++;
	wdr_event_exit(r->event, 0);
}

static void on_limit(struct wdr_pump *p, void *userdata)
{
	struct rig *r = userdata;

	(void)p;
	r->n_limits++;
}

static void begin(struct rig *r, struct wdr_pump_opts o)
{
	*r = (struct rig){ .event = NULL };
	o.name = "test";
	o.on_end = on_end;
	o.on_limit = on_limit;
	o.userdata = r;
	assert_ok(wdr_event_new(&r->event, NULL));
	assert_ok(wdr_event_add_time(r->event, &r->late, UINT64_MAX, on_late, r));
	assert_ok(wdr_pump_new(r->event, &o, &r->pump, NULL));
}

/* Returns whether the pump ended. wdr_event_exit() is for good: a loop is made anew for more. */
static bool turn(struct rig *r, uint64_t ms)
{
	wdr_source_set_time(r->late, wdr_now_ns() + ms * MS);
	assert_ok(wdr_event_loop(r->event));
	return !r->is_late;
}

static void finish(struct rig *r)
{
	wdr_source_freep(&r->late);
	wdr_pump_freep(&r->pump);
	wdr_event_freep(&r->event);
}

static int file_of(size_t n)
{
	int fd = memfd_create("source", MFD_CLOEXEC);

	assert_ok(ftruncate(fd, (off_t)n));
	return fd;
}

static int text_of(const char *s)
{
	int fd = memfd_create("source", MFD_CLOEXEC);

	assert_int_equal(pwrite(fd, s, strlen(s), 0), (ssize_t)strlen(s));
	return fd;
}

static void make_pair(bool socket, int ret[2])
{
	if (socket)
		assert_ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret));
	else
		assert_ok(pipe2(ret, O_CLOEXEC));
}

static size_t read_some(int fd, char *buf, size_t size)
{
	size_t n = 0;
	ssize_t got;

	assert_ok(fcntl(fd, F_SETFL, O_NONBLOCK));
	while (n < size && (got = read(fd, buf + n, size - n)) > 0)
		n += (size_t)got;
	return n;
}

/* The descriptions are the caller's and block: a write of all of it would never come back. */
static void a_reader_that_does_not_read_blocks_nothing(void **state)
{
	char *buf = malloc(A_LOT);

	(void)state;
	for (int socket = 0; socket < 2; socket++) {
		size_t n;
		struct rig r;
		int fd[2];

		make_pair(socket, fd);
		begin(&r, (struct wdr_pump_opts){ .src_fd = file_of(A_LOT),
						  .dst_fd = fd[1],
						  .limit = UINT64_MAX,
						  .end_byte = NO_END });
		assert_false(turn(&r, 30));
		n = read_some(fd[0], buf, A_LOT);
		assert_true(n > 0 && n < A_LOT);
		assert_false(wdr_pump_ended(r.pump));
		finish(&r);
		(void)close(fd[0]);
	}
	free(buf);
}

/* Splicing has flags for that, which sockets and blocking files ignore. */
static void nor_where_bytes_come_from_the_job(void **state)
{
	(void)state;
	for (int socket = 0; socket < 2; socket++) {
		struct rig r;
		int from[2];
		int to[2];

		make_pair(false, from);
		make_pair(socket, to);
		assert_ok(fcntl(from[0], F_SETFL, O_NONBLOCK));
		assert_true(fcntl(from[1], F_SETPIPE_SZ, A_LOT) >= A_LOT);
		assert_int_equal(write(from[1], "x", 1), 1);
		begin(&r, (struct wdr_pump_opts){ .src_fd = from[0],
						  .dst_fd = to[1],
						  .from_job = true,
						  .limit = UINT64_MAX,
						  .end_byte = NO_END });
		for (int i = 0; i < 15; i++) {
			char some[65536] = { 0 };

			assert_int_equal(write(from[1], some, sizeof(some)), sizeof(some));
		}
		assert_false(turn(&r, 30));
		assert_false(wdr_pump_ended(r.pump));
		finish(&r);
		(void)close(from[1]);
		(void)close(to[0]);
	}
}

static void a_quiet_source_blocks_nothing(void **state)
{
	(void)state;
	for (int socket = 0; socket < 2; socket++) {
		char got[8] = "";
		struct rig r;
		int from[2];
		int to[2];

		make_pair(socket, from);
		make_pair(false, to);
		assert_int_equal(write(from[1], "abc", 3), 3);
		begin(&r, (struct wdr_pump_opts){ .src_fd = from[0],
						  .dst_fd = to[1],
						  .limit = UINT64_MAX,
						  .end_byte = NO_END });
		assert_false(turn(&r, 30));
		assert_int_equal(read_some(to[0], got, sizeof(got)), 3);
		assert_string_equal(got, "abc");
		finish(&r);
		(void)close(from[1]);
		(void)close(to[0]);
	}
}

static void a_terminal_gets_an_end_of_file_that_is_one(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "\004" },
		{ "abc\n", "abc\n\004" },
		{ "abc", "abc\004\004" },
		{ "a\nb\r", "a\nb\r\004" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char got[16] = "";
		struct rig r;
		int to[2];

		make_pair(false, to);
		begin(&r, (struct wdr_pump_opts){ .src_fd = text_of(rows[i].in),
						  .dst_fd = to[1],
						  .limit = UINT64_MAX,
						  .end_byte = 4 });
		assert_true(turn(&r, 1000));
		(void)read_some(to[0], got, sizeof(got));
		assert_string_equal(got, rows[i].out);
		finish(&r);
		(void)close(to[0]);
	}
}

static void what_could_not_be_kept_does_not_count_as_kept(void **state)
{
	const struct rlimit small = { .rlim_cur = 512, .rlim_max = RLIM_INFINITY };
	struct rlimit before;
	struct rig r;
	int src = file_of(9999);

	(void)state;
	assert_ok(getrlimit(RLIMIT_FSIZE, &before));
	begin(&r, (struct wdr_pump_opts){ .src_fd = src,
					  .dst_fd = -1,
					  .capture = true,
					  .limit = UINT64_MAX,
					  .end_byte = NO_END });
	assert_ok(setrlimit(RLIMIT_FSIZE, &small));
	assert_true(turn(&r, 1000));
	assert_ok(setrlimit(RLIMIT_FSIZE, &before));
	assert_int_equal(wdr_pump_error(r.pump), -EFBIG);
	assert_int_equal(wdr_pump_kept(r.pump), 0);
	assert_int_equal(wdr_pump_bytes(r.pump), 9999);
	finish(&r);
}

static void without_descriptors_nothing_is_taken_for_nowhere(void **state)
{
	struct rlimit before;
	struct rlimit few;
	int fd = 0;
	int used;

	(void)state;
	assert_ok(wdr_end_open(-1, O_WRONLY, &fd));
	assert_int_equal(fd, -1);
	assert_ok(getrlimit(RLIMIT_NOFILE, &before));
	used = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	few = before;
	few.rlim_cur = (rlim_t)used + 1;
	assert_ok(setrlimit(RLIMIT_NOFILE, &few));
	assert_int_equal(wdr_end_open(STDOUT_FILENO, O_WRONLY, &fd), -EMFILE);
	assert_int_equal(fd, -1);
	assert_ok(setrlimit(RLIMIT_NOFILE, &before));
	(void)close(used);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_that_does_not_read_blocks_nothing),
		cmocka_unit_test(nor_where_bytes_come_from_the_job),
		cmocka_unit_test(a_quiet_source_blocks_nothing),
		cmocka_unit_test(a_terminal_gets_an_end_of_file_that_is_one),
		cmocka_unit_test(what_could_not_be_kept_does_not_count_as_kept),
		cmocka_unit_test(without_descriptors_nothing_is_taken_for_nowhere),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
