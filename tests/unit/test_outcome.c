/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <sys/wait.h>

#include "sandbox_priv.h"

#define RUN "{\"msg\":\"running container: starting container: starting root container: "
#define END "\",\"level\":\"error\",\"time\":\"2026-11-30T06:50:53.09Z\"}"

static const struct {
	const char *log;
	int exit_code, code;
	const char *msg;
} logs[] = {
	{ RUN "starting sandbox: creating process: failed to load /bin/x: no such file or "
	      "directory" END,
	  127, -ENOENT, "prog: not found" },
	{ RUN
	  "starting sandbox: error finding executable \\\"x\\\" in PATH [/usr/bin /bin]: no such "
	  "file or directory" END "\n",
	  127, -ENOENT, "prog: not found" },
	{ RUN "starting sandbox: creating process: failed to load /etc/passwd: permission "
	      "denied" END,
	  126, -EACCES, "prog: Permission denied" },
	{ RUN "starting sandbox: creating process: failed to load x: exec format error" END, 126,
	  -ENOEXEC, "prog: Exec format error" },
	/* a missing file that is not the program's */
	{ "{\"msg\":\"running container: creating container: cannot create gofer process: open "
	  "/x: no such file or directory\",\"level\":\"error\"}",
	  125, -EREMOTEIO,
	  "runsc: cannot create gofer process: open /x: no such file or directory" },
	/* the last error counts; what is no error, and what has no message, does not */
	{ "{\"msg\":\"first\",\"level\":\"error\"}{\"msg\":\"second\",\"level\":\"error\"}\n"
	  "{\"msg\":\"later\",\"level\":\"warning\"} {\"level\":\"error\"} [1]",
	  125, -EREMOTEIO, "runsc: second" },
	{ "{\"msg\":\"one\",\"level\":\"error\"} not json at all", 125, -EREMOTEIO, "runsc: one" },
	{ "{\"msg\":\"a\\u001b[2Jb\",\"level\":\"error\"}", 125, -EREMOTEIO, "runsc: a\\x1b[2Jb" },
	{ "", 125, -EREMOTEIO, "runsc failed and its log does not say why" },
	{ "{\"msg\":3,\"level\":\"error\"}", 125, -EREMOTEIO,
	  "runsc failed and its log does not say why" },
};

static void says_why_a_start_failed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		struct wdr_err err = { 0 };

		assert_int_equal(wdr_start_failure(logs[i].log, strlen(logs[i].log), "prog", &err),
				 logs[i].exit_code);
		assert_string_equal(err.msg, logs[i].msg);
		assert_int_equal(err.code, logs[i].code);
	}
}

static void reads_the_guests_end_from_the_sentrys(void **state)
{
	static const struct {
		int sentry, guest;
	} ends[] = {
		{ W_EXITCODE(0, 0), W_EXITCODE(0, 0) },
		{ W_EXITCODE(7, 0), W_EXITCODE(7, 0) },
		{ W_EXITCODE(128, 0), W_EXITCODE(128, 0) },
		{ W_EXITCODE(137, 0), 9 },
		{ W_EXITCODE(139, 0), 11 },
		{ W_EXITCODE(192, 0), 64 },
		{ W_EXITCODE(193, 0), W_EXITCODE(193, 0) },
		{ W_EXITCODE(255, 0), W_EXITCODE(255, 0) },
		{ 9, 9 }, /* the sentry itself was killed */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		assert_int_equal(wdr_guest_status(ends[i].sentry), ends[i].guest);
}

static void tells_a_broken_sandbox_from_a_guest_that_ended(void **state)
{
	static const struct {
		int sentry, gofer;
		const char *panic, *msg; /* msg NULL: not broken */
	} ends[] = {
		{ W_EXITCODE(0, 0), 0, "", NULL },
		{ W_EXITCODE(137, 0), 0, "", NULL }, /* the guest got a SIGKILL */
		{ W_EXITCODE(137, 0), 9, "", "the sandbox's gofer was killed by SIGKILL" },
		{ W_EXITCODE(0, 0), W_EXITCODE(0, 0), "", NULL },
		{ 9, 0, "", "the sandbox's sentry was killed by SIGKILL" },
		{ W_EXITCODE(2, 0), 0, "", NULL },
		{ W_EXITCODE(2, 0), 0, "panic: \x1b[1mbad\n\ngoroutine 1",
		  "the sandbox's sentry crashed: panic: \\x1b[1mbad" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct wdr_err err = { 0 };
		bool lost = wdr_sandbox_loss(ends[i].sentry, ends[i].gofer, ends[i].panic,
					     strlen(ends[i].panic), &err);

		assert_int_equal(lost, ends[i].msg != NULL);
		assert_string_equal(err.msg, lost ? ends[i].msg : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_why_a_start_failed),
		cmocka_unit_test(reads_the_guests_end_from_the_sentrys),
		cmocka_unit_test(tells_a_broken_sandbox_from_a_guest_that_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
