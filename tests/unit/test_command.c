/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

#define FOREVER_MS 20000

static struct wdr_command *start(const char *script, struct wdr_command_spec spec)
{
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	struct wdr_command *c = NULL;
	struct wdr_err err = { 0 };

	spec.argv = argv;
	assert_ok(wdr_command_start(&spec, &c, &err));
	return c;
}

static const struct wdr_command_spec plain = { .stdio = { -1, -1, -1 } };

static const struct {
	const char *script;
	int code; /* of wdr_command_check() */
	const char *out, *msg;
} runs[] = {
	{ "echo hello", 0, "hello\n", "" },
	{ "cat", 0, "", "" }, /* stdin is /dev/null */
	{ "echo $PATH $HOME", 0, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
	  "" },
	{ "echo out; printf 'first\\nlast words \\033[1m\\n\\n' >&2; exit 3", -EREMOTEIO, "out\n",
	  "do it: last words \\x1b[1m" },
	{ "exit 128", -EREMOTEIO, "", "do it: failed with exit status 128 and no word" },
	{ "kill -9 $$", -EREMOTEIO, "", "do it: killed by signal 9" },
};

static void keeps_output_and_tells_how_it_ended(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		wdr_command_ struct wdr_command *c = start(runs[i].script, plain);
		struct wdr_err err = { 0 };

		assert_ok(wdr_command_wait(c, FOREVER_MS, &err));
		assert_int_equal(wdr_command_check(c, "do it", &err), runs[i].code);
		assert_string_equal(err.msg, runs[i].msg);
		assert_string_equal(wdr_command_output(c, 1, NULL, NULL), runs[i].out);
	}
}

static void does_not_wait_for_what_a_grandchild_holds_open(void **state)
{
	wdr_command_ struct wdr_command *c = start("sleep 60 & echo $!", plain);
	struct wdr_err err = { 0 };

	(void)state;
	assert_ok(wdr_command_wait(c, FOREVER_MS, &err));
	assert_ok(kill((pid_t)strtol(wdr_command_output(c, 1, NULL, NULL), NULL, 10), SIGKILL));
}

static void what_is_freed_while_it_runs_is_dead(void **state)
{
	struct wdr_command *c = start("exec sleep 60", plain);
	pid_t pid = wdr_command_pid(c);

	(void)state;
	wdr_command_freep(&c);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void kills_what_takes_too_long(void **state)
{
	wdr_command_ struct wdr_command *c = start("trap '' TERM; exec sleep 20", plain);
	struct wdr_err err = { 0 };

	(void)state;
	assert_int_equal(wdr_command_wait(c, 50, &err), -ETIMEDOUT);
	assert_string_equal(err.msg, "sh did not end within 50 ms");
	assert_ok(wdr_command_wait(c, FOREVER_MS, &err));
	assert_true(WIFSIGNALED(wdr_command_status(c)));
	assert_int_equal(wdr_command_kill(c), -ESRCH);
}

static void keeps_no_more_than_the_bound(void **state)
{
	wdr_command_ struct wdr_command *c = start("head -c 200000 /dev/zero; echo end >&2", plain);
	struct wdr_err err = { 0 };
	uint64_t lost;
	size_t len;

	(void)state;
	assert_ok(wdr_command_wait(c, FOREVER_MS, &err));
	assert_ok(wdr_command_check(c, "flood", &err));
	(void)wdr_command_output(c, 1, &len, &lost);
	assert_int_equal(len, WDR_COMMAND_MAX_OUTPUT);
	assert_int_equal(lost, 200000 - WDR_COMMAND_MAX_OUTPUT);
	assert_string_equal(wdr_command_output(c, 2, &len, &lost), "end\n");
	assert_int_equal(lost, 0);
}

static void names_what_could_not_be_executed(void **state)
{
	const char *argv[] = { "/nonexistent/runsc", NULL };
	struct wdr_command_spec spec = plain;
	wdr_command_ struct wdr_command *c = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	spec.argv = argv;
	assert_ok(wdr_command_start(&spec, &c, &err));
	assert_int_equal(wdr_command_wait(c, FOREVER_MS, &err), -ENOENT);
	assert_string_equal(err.msg, "execute runsc: No such file or directory");
}

static void passes_on_the_listed_descriptors_and_no_others(void **state)
{
	wdr_close_ int a = open("/etc/hostname", O_RDONLY), b = open("/etc/passwd", O_RDONLY);
	int stray = dup(a), fds[] = { b, a }; /* not close-on-exec, on purpose */
	struct wdr_command_spec spec = plain;
	wdr_command_ struct wdr_command *c = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	spec.fds = fds;
	spec.n_fds = 2;
	c = start("readlink /proc/$$/fd/3 /proc/$$/fd/4; echo /proc/$$/fd/*", spec);
	assert_ok(wdr_command_wait(c, FOREVER_MS, &err));
	assert_non_null(
		strstr(wdr_command_output(c, 1, NULL, NULL), "/etc/passwd\n/etc/hostname\n"));
	assert_null(strstr(wdr_command_output(c, 1, NULL, NULL), "/fd/5 "));
	assert_null(strstr(wdr_command_output(c, 1, NULL, NULL), "/fd/11"));
	(void)close(stray);
	spec.n_fds = WDR_COMMAND_MAX_FDS + 1;
	spec.argv = (const char *[]){ "/bin/true", NULL };
	assert_int_equal(wdr_command_start(&spec, &c, &err), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_output_and_tells_how_it_ended),
		cmocka_unit_test(does_not_wait_for_what_a_grandchild_holds_open),
		cmocka_unit_test(what_is_freed_while_it_runs_is_dead),
		cmocka_unit_test(kills_what_takes_too_long),
		cmocka_unit_test(keeps_no_more_than_the_bound),
		cmocka_unit_test(names_what_could_not_be_executed),
		cmocka_unit_test(passes_on_the_listed_descriptors_and_no_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
