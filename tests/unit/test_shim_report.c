/* SPDX-License-Identifier: Apache-2.0 */
/* A line about a container at its end, and the file of such lines. */
#include "wdr_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/report.h"

#define S(text) ((char *)(uintptr_t)(text))

static char dir[128], file[200], old[210];

static int start(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	(void)snprintf(dir, sizeof(dir), "%.80s/wdr-report-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(file, sizeof(file), "%s/report", dir);
	(void)snprintf(old, sizeof(old), "%s.1", file);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	(void)unlink(file);
	(void)unlink(old);
	return rmdir(dir);
}

static const struct wdr_shim_record record = { .id = S("c1"),
					       .root = S(""),
					       .policy = S("agent"),
					       .place = S("") };

static json_t *make_line(const struct wdr_result *facts, bool same)
{
	const struct timespec made = { .tv_sec = 1796000000 }, now = { .tv_sec = 1796000060 };

	return wdr_shim_report_line(&record, "deleted", false, same, facts, &made, &now);
}

static void says_what_is_known_and_null_for_the_rest(void **state)
{
	struct wdr_result facts = WDR_RESULT_INIT;
	struct wdr_denial d = { .to = "192.0.2.1:443/tcp", .rule = 2, .count = 3 };
	wdr_json_ json_t *line = NULL;
	wdr_json_ json_t *want = NULL;
	json_error_t e;

	(void)state;
	facts.usage.cpu_ns = facts.usage.wall_ns = WDR_UNKNOWN;
	facts.exit.reason = WDR_EXIT_CPU_BUDGET;
	facts.exit.limit = 2000000000;
	wdr_result_add_denial(&facts, &d);
	line = make_line(&facts, false);
	assert_non_null(line);
	assert_null(json_object_get(line, "protections"));
	assert_true(json_is_null(json_object_get(json_object_get(line, "usage"), "cpu_ns")));
	(void)json_object_del(line, "usage");
	want = json_loads(
		"{\"version\":1,\"time\":\"2026-11-30T00:54:20.000Z\",\"container\":\"c1\","
		"\"root\":\"\",\"policy\":\"agent\",\"policy_changed\":true,"
		"\"created\":\"2026-11-30T00:53:20.000Z\",\"end\":\"deleted\",\"again\":false,"
		"\"verdict\":{\"reason\":\"cpu-budget\","
		"\"explanation\":\"CPU budget of 2s reached\"},"
		"\"denials\":[{\"kind\":\"egress\",\"to\":\"192.0.2.1:443/tcp\",\"count\":3,"
		"\"rule\":2,\"rule_name\":null,\"reason\":\"rule\",\"first\":null,"
		"\"last\":null}],\"denials_lost\":0,\"findings\":[],\"findings_lost\":0}",
		0, &e);
	assert_non_null(want);
	if (!json_equal(line, want))
		fail_msg("%s", json_dumps(line, JSON_COMPACT));
	wdr_result_done(&facts);
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -errno : st.st_size;
}

static void adds_lines_and_begins_anew_when_it_is_full(void **state)
{
	struct wdr_result facts = WDR_RESULT_INIT;
	wdr_json_ json_t *line = make_line(&facts, true);
	struct wdr_err err = { 0 };
	off_t one;

	(void)state;
	assert_non_null(line);
	assert_ok(wdr_shim_report_check(file, &err));
	assert_ok(wdr_shim_report_write(file, line, 1 << 20));
	one = size_of(file);
	assert_true(one > 100);
	assert_ok(wdr_shim_report_write(file, line, 2 * one));
	assert_int_equal(size_of(file), 2 * one);
	assert_int_equal(size_of(old), -ENOENT);
	assert_ok(wdr_shim_report_write(file, line, 2 * one));
	assert_int_equal(size_of(file), one);
	assert_int_equal(size_of(old), 2 * one);
	assert_ok(wdr_shim_report_write(file, line, one));
	assert_int_equal(size_of(old), one);
}

static void refuses_what_can_not_be_written(void **state)
{
	struct wdr_err err = { 0 };

	(void)state;
	assert_int_equal(wdr_shim_report_check("/nonexistent/report", &err), -ENOENT);
	assert_string_equal(err.msg, "report /nonexistent/report: No such file or directory");
	err = (struct wdr_err){ 0 };
	assert_ok(symlink("/dev/null", file)); /* somebody else's */
	assert_int_equal(wdr_shim_report_check(file, &err), -ELOOP);
	assert_ok(unlink(file));
}

static int make_socket(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), r;

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%.107s", path);
	r = bind(fd, (struct sockaddr *)&at, sizeof(at));
	(void)close(fd);
	return r;
}

static int make_fifo(const char *path)
{
	return mkfifo(path, 0600);
}

/* What a write could wait for, or lose, is named, and not waited for. */
static void refuses_what_is_no_file(void **state)
{
	int (*const make[])(const char *path) = { make_fifo, make_socket };
	struct wdr_result facts = WDR_RESULT_INIT;
	wdr_json_ json_t *line = make_line(&facts, true);
	struct wdr_err err = { 0 };
	char want[260];
	int reader;

	(void)state;
	(void)snprintf(want, sizeof(want), "report %s is no regular file", file);
	for (size_t i = 0; i < 2; i++) {
		err = (struct wdr_err){ 0 };
		assert_ok(make[i](file));
		assert_int_equal(wdr_shim_report_check(file, &err), -EINVAL);
		assert_string_equal(err.msg, want);
		assert_int_equal(wdr_shim_report_write(file, line, 1 << 20), -EINVAL);
		assert_ok(unlink(file));
	}
	assert_ok(make_fifo(file));
	reader = open(file, O_RDONLY | O_NONBLOCK); /* as one that stops to read */
	assert_true(reader >= 0);
	assert_int_equal(wdr_shim_report_check(file, NULL), -EINVAL);
	(void)close(reader);
	assert_int_equal(wdr_shim_report_check("/dev/null", NULL), -EINVAL);
}

static void marks_what_explains_a_report(void **state)
{
	struct wdr_rule rules[2] = { { .name = S("a") }, { .name = NULL } };
	struct wdr_policy p = { .net = { .rules = rules, .n_rules = 2 } };
	char first[WDR_SHIM_MARK_MAX], mark[WDR_SHIM_MARK_MAX];

	(void)state;
	wdr_shim_report_mark(&p, first);
	wdr_shim_report_mark(&p, mark);
	assert_string_equal(first, mark);
	rules[0].name = NULL;
	rules[1].name = S("a"); /* the other one has the name */
	wdr_shim_report_mark(&p, mark);
	assert_string_not_equal(first, mark);
	wdr_shim_report_mark(&p, first);
	p.limits.cpu_ns = 1;
	wdr_shim_report_mark(&p, mark);
	assert_string_not_equal(first, mark);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_is_known_and_null_for_the_rest),
		cmocka_unit_test_setup_teardown(adds_lines_and_begins_anew_when_it_is_full, start,
						stop),
		cmocka_unit_test_setup_teardown(refuses_what_can_not_be_written, start, stop),
		cmocka_unit_test_setup_teardown(refuses_what_is_no_file, start, stop),
		cmocka_unit_test(marks_what_explains_a_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
