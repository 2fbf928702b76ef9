/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket's client, against a peer in the same process that says what a test wants. */
#include "wdr_test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/wdr_msg.h"
#include "control.h"

static int listen_fd, peer;
static struct wdr_control *c;

static void listen_at(const struct sockaddr_un *a, socklen_t len)
{
	listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_ok(bind(listen_fd, (const struct sockaddr *)a, len));
	assert_ok(listen(listen_fd, 1));
}

/* An abstract name needs no file; the NUL behind it is the old Go's. */
static void open_peer(bool with_nul)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct wdr_err err = { 0 };
	char name[64];
	int n;

	n = snprintf(name, sizeof(name), "@wdr-test-control.%d", (int)getpid());
	memcpy(a.sun_path + 1, name + 1, (size_t)n - 1);
	listen_at(&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n + with_nul));
	assert_ok(wdr_control_open(name, &c, &err));
	peer = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(peer >= 0);
}

static int start(void **state)
{
	(void)state;
	open_peer(true);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	wdr_control_freep(&c);
	wdr_closep(&peer);
	wdr_closep(&listen_fd);
	return 0;
}

static void send_call(void)
{
	wdr_json_ json_t *arg = json_string("id");
	char buf[256];

	assert_ok(wdr_control_send(c, "m", arg, NULL, 0));
	assert_true(recv(peer, buf, sizeof(buf), 0) > 0);
}

static void say(const char *text)
{
	assert_int_equal(send(peer, text, strlen(text), 0), strlen(text));
}

static void asks_with_descriptors_beside_the_first_byte(void **state)
{
	wdr_close_ int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	wdr_json_ json_t *arg = json_pack("{s:i}", "PID", 2);
	wdr_close_ int got = -1;
	char buf[256];
	ssize_t n;

	(void)state;
	assert_ok(wdr_control_send(c, "containerManager.WaitPID", arg, &fd, 1));
	assert_int_equal(wdr_control_send(c, "m", arg, NULL, 0), -EBUSY);
	n = wdr_msg_recv(peer, buf, sizeof(buf) - 1, &got, 0);
	assert_int_equal(n, 1);
	assert_true(got >= 0);
	n += recv(peer, buf + n, sizeof(buf) - 1 - (size_t)n, 0);
	buf[n] = '\0';
	assert_string_equal(buf, "{\"method\":\"containerManager.WaitPID\",\"arg\":{\"PID\":2}}");
}

static void takes_an_answer_in_pieces(void **state)
{
	static const char answer[] =
		"{\"success\":true,\"err\":\"\",\"result\":{\"a\":[1,\"}]\\\"{\\\\\"],\"b\":{}}}";
	wdr_json_ json_t *result = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	send_call();
	for (size_t i = 0; i + 1 < sizeof(answer); i++) {
		char one[2] = { answer[i], '\0' };

		assert_int_equal(wdr_control_pump(c, &result, &err), 0);
		say(one);
	}
	assert_int_equal(wdr_control_pump(c, &result, &err), 1);
	assert_int_equal(json_array_size(json_object_get(result, "a")), 2);
	/* the next call on the same connection */
	send_call();
	say("{\"success\":true}");
	json_decref(result);
	assert_int_equal(wdr_control_pump(c, &result, &err), 1);
	assert_true(json_is_null(result));
}

static void tells_a_refusal_from_what_it_does_not_understand(void **state)
{
	static const struct {
		const char *answer;
		int code;
		const char *msg;
	} cases[] = {
		{ "{\"success\":false,\"err\":\"no such \\u001b[1mthing\"}", -EREMOTEIO,
		  "sandbox: no such \\x1b[1mthing" },
		{ "{\"success\":false}", -EREMOTEIO, "sandbox: no reason given" },
		{ "{\"success\":false,\"err\":\"unknown method\"}", -EPROTO,
		  "the sandbox does not know this call" },
		{ "{\"result\":1}", -EPROTO, "no answer of a sandbox" },
		{ "{\"success\":1}", -EPROTO, "no answer of a sandbox" },
		{ "[1]", -EPROTO, "no answer of a sandbox" },
		{ "HTTP/1.1 400", -EPROTO, "no answer of a sandbox" },
		{ "{]", -EPROTO, "no answer of a sandbox" },
		{ "{\"a\":}", -EPROTO, "no answer of a sandbox" },
		{ "{[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
		  -EPROTO, "no answer of a sandbox" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wdr_err err = { 0 };
		json_t *result = NULL;

		send_call();
		say(cases[i].answer);
		assert_int_equal(wdr_control_pump(c, &result, &err), cases[i].code);
		assert_string_equal(err.msg, cases[i].msg);
		assert_null(result);
		(void)stop(state);
		(void)start(state);
	}
}

static void gives_up_on_a_flood_and_on_silence(void **state)
{
	static char chunk[65536];
	wdr_json_ json_t *arg = json_string("id");
	struct wdr_err err = { 0 };
	json_t *result = NULL;
	int r = 0;

	memset(chunk, ' ', sizeof(chunk));
	send_call();
	say("{");
	for (int i = 0; i < 40 && r == 0; i++) {
		(void)send(peer, chunk, sizeof(chunk), MSG_DONTWAIT | MSG_NOSIGNAL);
		r = wdr_control_pump(c, &result, &err);
	}
	assert_int_equal(r, -EPROTO);
	(void)stop(state);
	(void)start(state);
	err = (struct wdr_err){ 0 };
	assert_int_equal(wdr_control_call(c, "m", arg, NULL, 0, 30, &result, &err), -ETIMEDOUT);
	(void)stop(state);
	(void)start(state);
	send_call();
	say("{\"succ");
	wdr_closep(&peer);
	err = (struct wdr_err){ 0 };
	assert_int_equal(wdr_control_pump(c, &result, &err), -EPIPE);
}

static void reads_results_strictly(void **state)
{
	static const struct {
		const char *json;
		int code, status;
	} statuses[] = {
		{ "0", 0, 0 },		{ "1792", 0, 1792 },	 { "9", 0, 9 },
		{ "-1", -EPROTO, 0 },	{ "65536", -EPROTO, 0 }, { "\"0\"", -EPROTO, 0 },
		{ "null", -EPROTO, 0 },
	};
	static const char *const bad[] = {
		"{}",
		"[1]",
		"[{\"pid\":1,\"ppid\":0,\"uid\":0}]",
		"[{\"pid\":0,\"ppid\":0,\"uid\":0,\"cmd\":\"x\"}]",
		"[{\"pid\":1,\"ppid\":-1,\"uid\":0,\"cmd\":\"x\"}]",
		"[{\"pid\":4294967297,\"ppid\":0,\"uid\":0,\"cmd\":\"x\"}]",
	};

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		wdr_json_ json_t *o = json_loads(statuses[i].json, JSON_DECODE_ANY, NULL);
		int status = 0;

		assert_int_equal(wdr_control_status(o, &status), statuses[i].code);
		assert_int_equal(status, statuses[i].status);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct wdr_control_task *t = NULL;
		struct wdr_err err = { 0 };
		char answer[160];
		size_t n = 77;

		(void)snprintf(answer, sizeof(answer), "{\"success\":true,\"result\":%s}", bad[i]);
		say(answer);
		assert_int_equal(wdr_control_tasks(c, "id", 1000, &t, &n, &err), -EPROTO);
		assert_null(t);
		assert_int_equal(n, 77);
		(void)stop(state);
		(void)start(state);
	}
}

static void lists_tasks_and_figures(void **state)
{
	struct wdr_control_task *t = NULL;
	struct wdr_control_stats s;
	struct wdr_err err = { 0 };
	size_t n = 0;

	(void)state;
	say("{\"success\":true,\"result\":[{\"uid\":1000,\"pid\":1,\"ppid\":0,\"threads\":[1],"
	    "\"c\":0,\"cmd\":\"a-name-of-a-program-that-is-much-longer-than-the-sixty-three-bytes-"
	    "there-are\"}]}");
	assert_ok(wdr_control_tasks(c, "id", 1000, &t, &n, &err));
	assert_int_equal(n, 1);
	assert_int_equal(t[0].uid, 1000);
	assert_int_equal(strlen(t[0].cmd), sizeof(t[0].cmd) - 1);
	free(t);
	/* since 2023 the event is one level down; a zero is left out */
	say("{\"success\":true,\"result\":{\"event\":{\"type\":\"stats\",\"data\":{\"memory\":"
	    "{\"usage\":{\"usage\":4096}},\"pids\":{\"current\":3}}}}}");
	assert_ok(wdr_control_stats(c, "id", 1000, &s, &err));
	assert_int_equal(s.memory_bytes, 4096);
	assert_int_equal(s.pids, 3);
	say("{\"success\":true,\"result\":{\"type\":\"stats\",\"data\":{\"pids\":{}}}}");
	assert_ok(wdr_control_stats(c, "id", 1000, &s, &err));
	assert_int_equal(s.pids, 0);
	say("{\"success\":true,\"result\":{\"data\":{\"pids\":{\"current\":\"3\"}}}}");
	assert_int_equal(wdr_control_stats(c, "id", 1000, &s, &err), -EPROTO);
}

static void finds_both_kinds_of_abstract_name(void **state)
{
	struct wdr_err err = { 0 };
	struct wdr_control *none = NULL;
	char longest[200];

	(void)stop(state);
	open_peer(false);
	send_call();
	assert_int_equal(wdr_control_open("/nonexistent/x.sock", &none, &err), -ENOENT);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	err = (struct wdr_err){ 0 };
	assert_int_equal(wdr_control_open(longest, &none, &err), -ENAMETOOLONG);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(asks_with_descriptors_beside_the_first_byte),
		CASE(takes_an_answer_in_pieces),
		CASE(tells_a_refusal_from_what_it_does_not_understand),
		CASE(gives_up_on_a_flood_and_on_silence),
		CASE(reads_results_strictly),
		CASE(lists_tasks_and_figures),
		CASE(finds_both_kinds_of_abstract_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
