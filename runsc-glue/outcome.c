/* SPDX-License-Identifier: Apache-2.0 */
/* What runsc says and what the sentry exits with, in the words of a job. Pure. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/wdr_json.h"
#include "base/wdr_text.h"
#include "sandbox_priv.h"

#define EXIT_NOT_STARTED    125
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND	    127

/* The `msg` of the last log line that has one and is an error. *ret stays @line's. */
static const char *error_of(json_t *line)
{
	const char *level = json_string_value(json_object_get(line, "level"));
	const char *msg = json_string_value(json_object_get(line, "msg"));

	return level && msg && !strcmp(level, "error") ? msg : NULL;
}

/* "running container: creating container: cannot ...": the steps are runsc's own business. */
static const char *skip_steps(const char *msg)
{
	static const char *const steps[] = {
		"running container: ",	   "starting container: ", "starting root container: ",
		"creating container: ",	   "starting sandbox: ",   "creating process: ",
		"cannot create sandbox: ",
	};
	size_t n;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		n = strlen(steps[i]);
		if (!strncmp(msg, steps[i], n)) {
			msg += n;
			i = (size_t)-1; /* from the first again */
		}
	}
	return msg;
}

static bool ends_in(const char *s, const char *tail)
{
	size_t n = strlen(s), t = strlen(tail);

	return n >= t && !strcmp(s + n - t, tail);
}

/* How the sentry's loader words an errno (runsc/boot/loader.go, "failed to load"). */
static int explain(const char *msg, const char *program, struct wdr_err *err)
{
	static const struct {
		const char *tail;
		int code, exit_code;
	} tails[] = {
		{ "no such file or directory", -ENOENT, EXIT_NOT_FOUND },
		{ "not a directory", -ENOTDIR, EXIT_NOT_FOUND },
		{ "permission denied", -EACCES, EXIT_NOT_EXECUTABLE },
		{ "exec format error", -ENOEXEC, EXIT_NOT_EXECUTABLE },
		{ "is a directory", -EACCES, EXIT_NOT_EXECUTABLE },
		{ "too many levels of symbolic links", -ELOOP, EXIT_NOT_EXECUTABLE },
		{ "argument list too long", -E2BIG, EXIT_NOT_EXECUTABLE },
	};
	bool about_program = strstr(msg, "failed to load ") || strstr(msg, "finding executable ");
	char safe[200];

	for (size_t i = 0; about_program && i < sizeof(tails) / sizeof(tails[0]); i++) {
		if (!ends_in(msg, tails[i].tail))
			continue;
		/* No name is nowhere; what runsc finds there instead depends on its version. */
		if (tails[i].exit_code == EXIT_NOT_FOUND || !*program) {
			(void)wdr_err_set(err, *program ? tails[i].code : -ENOENT, "%s: not found",
					  program);
			return EXIT_NOT_FOUND;
		}
		(void)wdr_err_set(err, tails[i].code, "%s: %s", program, strerror(-tails[i].code));
		return tails[i].exit_code;
	}
	(void)wdr_err_set(err, -EREMOTEIO, "runsc: %s",
			  wdr_text_escape(msg, strlen(msg), safe, sizeof(safe)));
	return EXIT_NOT_STARTED;
}

int wdr_start_failure(const char *log, size_t n, const char *program, struct wdr_err *err)
{
	wdr_json_ json_t *last = NULL;
	const char *msg;
	size_t at = 0;

	while (at < n) {
		wdr_json_ json_t *value = NULL;
		json_error_t e;

		/* Old versions write one object after another, without a newline. */
		value = json_loadb(log + at, n - at, JSON_DISABLE_EOF_CHECK, &e);
		if (!value)
			break;
		at += (size_t)e.position;
		while (at < n && strchr(" \n\r\t", log[at]))
			at++;
		if (error_of(value)) {
			json_decref(last);
			last = WDR_TAKE_PTR(value);
		}
	}
	msg = last ? error_of(last) : NULL;
	if (!msg) {
		(void)wdr_err_set(err, -EREMOTEIO, "runsc failed and its log does not say why");
		return EXIT_NOT_STARTED;
	}
	return explain(skip_steps(msg), program, err);
}

int wdr_guest_status(int sentry_status)
{
	int code = WEXITSTATUS(sentry_status);

	if (!WIFEXITED(sentry_status) || code <= 128 || code > 128 + SIGRTMAX)
		return sentry_status;
	return W_EXITCODE(0, code - 128);
}

bool wdr_sandbox_loss(int status, int gofer_status, const char *panic, size_t n,
		      struct wdr_err *err)
{
	char name[WDR_TEXT_UNIT_MAX], safe[160];
	size_t line;

	if (WIFSIGNALED(gofer_status)) {
		(void)wdr_err_set(err, -EPIPE, "the sandbox's gofer was killed by %s",
				  wdr_text_signal(WTERMSIG(gofer_status), name));
		return true;
	}
	if (WIFSIGNALED(status)) {
		(void)wdr_err_set(err, -EPIPE, "the sandbox's sentry was killed by %s",
				  wdr_text_signal(WTERMSIG(status), name));
		return true;
	}
	if (n == 0)
		return false;
	for (line = 0; line < n && panic[line] != '\n'; line++)
		;
	(void)wdr_err_set(err, -EPIPE, "the sandbox's sentry crashed: %s",
			  wdr_text_escape(panic, line, safe, sizeof(safe)));
	return true;
}
