/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of a seccheck sink, against peers that behave, flood, lie and break the protocol. */
#include "wdr_test.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "seccheck.h"

#define S UINT64_C(1000000000)

static struct wdr_seccheck *reader;
static char path[108];
static unsigned int n_events;
static int32_t last_status;

static void on_event(const struct wdr_guest_event *ev, void *userdata)
{
	(void)userdata;
	n_events++;
	last_status = ev->exit.status;
}

static const struct wdr_guest_ops ops = { on_event };

static int start(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *dir = getenv("TMPDIR");
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)state;
	n_events = 0;
	(void)snprintf(path, sizeof(path), "%s/wdr-sink-%d", dir ? dir : "/tmp", (int)getpid());
	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%.100s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 4) < 0)
		return -1;
	return wdr_seccheck_new(fd, &ops, NULL, &reader);
}

static int stop(void **state)
{
	(void)state;
	wdr_seccheck_freep(&reader);
	return unlink(path);
}

static int connect_peer(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%.100s", path);
	assert_ok(connect(fd, (struct sockaddr *)&a, sizeof(a)));
	return fd;
}

static int connect_and_greet(void)
{
	char reply[8];
	int fd = connect_peer();

	assert_int_equal(send(fd, "\x08\x01", 2, 0), 2);
	(void)wdr_seccheck_pump(reader, S);
	assert_int_equal(recv(fd, reply, sizeof(reply), MSG_DONTWAIT), 2);
	assert_memory_equal(reply, "\x08\x01", 2);
	return fd;
}

static void send_exit(int fd, unsigned char status, unsigned char dropped)
{
	unsigned char m[] = { 8, 0, 5, 0, dropped, 0, 0, 0, 0x10, status };

	(void)send(fd, m, sizeof(m), MSG_DONTWAIT);
}

static void hears_a_peer_that_greets(void **state)
{
	wdr_close_ int fd = connect_and_greet();
	unsigned char call[] = { 8, 0, 6, 0, 0, 0, 0, 0, 0x20, 39 };

	(void)state;
	send_exit(fd, 7, 0);
	assert_int_equal(send(fd, call, sizeof(call), 0), sizeof(call));
	assert_int_equal(send(fd, call, sizeof(call), 0), sizeof(call));
	assert_int_equal(wdr_seccheck_pump(reader, S), 0);
	assert_int_equal(n_events, 1);
	assert_int_equal(last_status, 7);
	assert_int_equal(wdr_seccheck_stats(reader)->calls_total, 2);
	assert_int_equal(wdr_seccheck_stats(reader)->calls[39], 2);
	assert_true(wdr_seccheck_stats(reader)->connected);
}

static void cuts_off_one_that_does_not(void **state)
{
	wdr_close_ int fd = connect_peer();
	char c;

	(void)state;
	send_exit(fd, 7, 0);
	(void)wdr_seccheck_pump(reader, S);
	assert_int_equal(recv(fd, &c, 1, MSG_DONTWAIT), 0);
	assert_int_equal(n_events, 0);
	assert_int_equal(wdr_seccheck_stats(reader)->malformed, 1);
	assert_false(wdr_seccheck_stats(reader)->connected);
}

static void counts_what_the_sentry_dropped(void **state)
{
	wdr_close_ int fd = connect_and_greet();

	(void)state;
	send_exit(fd, 0, 5);
	send_exit(fd, 0, 5);
	send_exit(fd, 0, 9);
	(void)wdr_seccheck_pump(reader, S);
	assert_int_equal(wdr_seccheck_stats(reader)->dropped, 9);
	send_exit(fd, 0, 3); /* wrapped: 2^32 - 6 more */
	(void)wdr_seccheck_pump(reader, S);
	assert_int_equal(wdr_seccheck_stats(reader)->dropped, UINT64_C(4294967299));
}

static void limits_the_rate_of_events_and_counts_the_rest(void **state)
{
	wdr_close_ int fd = connect_and_greet();
	unsigned int sent = 0;

	(void)state;
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 100; i++, sent++)
			send_exit(fd, 0, 0);
		while (wdr_seccheck_pump(reader, S))
			;
	}
	assert_int_equal(n_events, WDR_SECCHECK_RATE);
	assert_int_equal(wdr_seccheck_stats(reader)->suppressed, sent - WDR_SECCHECK_RATE);
	/* half a second later, half as many again; never more than a second's worth */
	for (int i = 0; i < 30; i++) {
		for (int k = 0; k < 100; k++)
			send_exit(fd, 0, 0);
		while (wdr_seccheck_pump(reader, S + S / 2))
			;
	}
	assert_int_equal(n_events, WDR_SECCHECK_RATE + WDR_SECCHECK_RATE / 2);
}

static void takes_a_bounded_batch_at_a_time(void **state)
{
	wdr_close_ int a = connect_and_greet();
	unsigned char call[] = { 8, 0, 6, 0, 0, 0, 0, 0, 0x20, 1 };
	unsigned int sent = 0;

	(void)state;
	while (send(a, call, sizeof(call), MSG_DONTWAIT) > 0)
		sent++;
	for (unsigned int got = 0; got < sent; got += WDR_SECCHECK_BATCH) {
		unsigned int left = sent - got;

		assert_int_equal(wdr_seccheck_pump(reader, S), left > WDR_SECCHECK_BATCH);
		assert_int_equal(wdr_seccheck_stats(reader)->calls_total,
				 left > WDR_SECCHECK_BATCH ? got + WDR_SECCHECK_BATCH : sent);
	}
}

static void survives_garbage_and_more_peers_than_it_expects(void **state)
{
	static char big[WDR_SECCHECK_MAX_MSG + 1000];
	wdr_close_ int a = connect_and_greet();
	wdr_close_ int b = connect_and_greet();
	wdr_close_ int c = connect_peer();
	char byte;

	(void)state;
	(void)wdr_seccheck_pump(reader, S);
	assert_int_equal(recv(c, &byte, 1, MSG_DONTWAIT), 0); /* no place for a third */
	assert_int_equal(send(a, big, sizeof(big), 0), sizeof(big));
	assert_int_equal(send(a, "garbage", 7, 0), 7);
	send_exit(a, 1, 0);
	send_exit(b, 2, 0);
	(void)wdr_seccheck_pump(reader, S);
	assert_int_equal(n_events, 2);
	assert_int_equal(wdr_seccheck_stats(reader)->malformed, 3);
	/* one that goes makes room */
	wdr_closep(&a);
	(void)wdr_seccheck_pump(reader, S);
	a = connect_and_greet();
	send_exit(a, 3, 0);
	(void)wdr_seccheck_pump(reader, S);
	assert_int_equal(n_events, 3);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(hears_a_peer_that_greets),
		CASE(cuts_off_one_that_does_not),
		CASE(counts_what_the_sentry_dropped),
		CASE(limits_the_rate_of_events_and_counts_the_rest),
		CASE(takes_a_bounded_batch_at_a_time),
		CASE(survives_garbage_and_more_peers_than_it_expects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
