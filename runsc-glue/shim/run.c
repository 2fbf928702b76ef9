/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/wdr_io.h"
#include "base/wdr_json.h"
#include "base/wdr_text.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static bool is_us(const char *path)
{
	struct stat a, b;

	return stat("/proc/self/exe", &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static int search_path(char *path, size_t size)
{
	const char *dirs = getenv("PATH");
	size_t n;

	for (const char *d = dirs ? dirs : DEFAULT_PATH; *d; d += n + (d[n] == ':')) {
		n = strcspn(d, ":");
		if (n && snprintf(path, size, "%.*s/runsc", (int)n, d) < (int)size &&
		    access(path, X_OK) == 0 && !is_us(path))
			return 0;
	}
	return -ENOENT;
}

int wdr_shim_find_runsc(const char *named, char *path, size_t size, struct wdr_err *err)
{
	if (!named)
		named = getenv("WARDER_RUNSC");
	if (!named) {
		if (search_path(path, size) == 0)
			return 0;
		return wdr_err_set(err, -ENOENT,
				   "no runsc on PATH: name it in /etc/warder/runsc.json");
	}
	if (snprintf(path, size, "%s", named) >= (int)size)
		return wdr_err_wrap(err, -ENAMETOOLONG, "runsc %s", named);
	if (access(path, X_OK) < 0)
		return wdr_err_wrap(err, -errno, "runsc %s", named);
	if (is_us(path))
		return wdr_err_set(err, -ELOOP, "runsc %s is this program itself", named);
	return 0;
}

int wdr_shim_exec(const char *path, char **argv, struct wdr_err *err)
{
	(void)execv(path, argv);
	return wdr_err_wrap(err, -errno, "execute %s", path);
}

static _Noreturn void be_child(const char *path, char **argv, const sigset_t *mask, pid_t parent)
{
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
		(void)execv(path, argv);
	_exit(WDR_SHIM_FATAL);
}

/* Until the child has ended: what else comes is passed on. */
static int await(pid_t pid, const sigset_t *set)
{
	int status, signo;
	siginfo_t si;
	pid_t got;

	for (;;) {
		signo = sigwaitinfo(set, &si);
		got = waitpid(pid, &status, WNOHANG);
		if (got == pid)
			return status;
		if (signo > 0 && signo != SIGCHLD)
			(void)kill(pid, signo);
	}
}

int wdr_shim_spawn(const char *path, char **argv, void (*started)(void), int *ret_status,
		   struct wdr_err *err)
{
	static const int passed[] = { SIGINT,  SIGTERM,	 SIGHUP,  SIGQUIT, SIGUSR1,
				      SIGUSR2, SIGWINCH, SIGCONT, SIGALRM, SIGCHLD };
	pid_t pid, parent = getpid();
	sigset_t set, before;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		(void)sigaddset(&set, passed[i]);
	(void)sigprocmask(SIG_BLOCK, &set, &before);
	pid = fork();
	if (pid < 0)
		return wdr_err_wrap(err, -errno, "start %s", path);
	if (pid == 0)
		be_child(path, argv, &before, parent);
	if (started)
		started();
	*ret_status = await(pid, &set);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return 0;
}

int wdr_shim_end_as(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	(void)signal(WTERMSIG(status), SIG_DFL);
	(void)raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static json_t *make_line(const char *text)
{
	struct timespec now;
	char stamp[40], nanos[16];
	struct tm tm;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	(void)strftime(stamp, sizeof(stamp) - sizeof(nanos), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(nanos, sizeof(nanos), ".%09ldZ", now.tv_nsec);
	return json_pack("{s:s, s:s, s:s+}", "msg", text, "level", "error", "time", stamp, nanos);
}

void wdr_shim_report(const struct wdr_shim_args *a, const struct wdr_err *err)
{
	char raw[sizeof(err->where) + sizeof(err->msg) + 16], text[2 * sizeof(raw)];
	wdr_json_ json_t *line = NULL;
	wdr_free_ char *json = NULL;
	wdr_close_ int fd = -1;

	(void)snprintf(raw, sizeof(raw), "warder: %s%s%s", err->where, err->where[0] ? ": " : "",
		       err->msg);
	/* Ids and bundles are others': what they say must not break a terminal or the log. */
	(void)wdr_text_printable(raw, strlen(raw), text, sizeof(text));
	(void)fprintf(stderr, "%s\n", text);
	if (!a->log || !a->log[0])
		return;
	line = make_line(text);
	json = line ? json_dumps(line, JSON_COMPACT) : NULL;
	fd = open(a->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
	if (json && fd >= 0)
		(void)!wdr_write_all(fd, json, strlen(json));
}
