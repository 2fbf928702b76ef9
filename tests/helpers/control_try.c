/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speak to a sandbox through its control socket.
 *
 * usage: control_try SOCKET ID exec PROGRAM [ARG...]   run it, its status becomes ours
 *        control_try SOCKET ID ps                      pid, parent and name, one a line
 *        control_try SOCKET ID stats                   memory and pids
 *        control_try SOCKET ID signal NUMBER           to the first process
 *        control_try SOCKET ID unknown                 a method that no sandbox has
 *        control_try SOCKET ID time PROGRAM [ARG...]   microseconds of exec with its end, best of 20
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "base/wdr_event.h"
#include "control.h"

#define MS 10000

static struct wdr_err g_err;

static int fail(int r)
{
	(void)fprintf(stderr, "control_try: %s (%s)\n", g_err.msg, strerrorname_np(-r));
	return 125;
}

static int await(struct wdr_control *c, int *ret_status)
{
	struct pollfd p = { .fd = wdr_control_fd(c), .events = POLLIN };
	wdr_json_ json_t *result = NULL;
	int r;

	while ((r = wdr_control_pump(c, &result, &g_err)) == 0)
		if (poll(&p, 1, MS) <= 0)
			return -ETIMEDOUT;
	return r < 0 ? r : wdr_control_status(result, ret_status);
}

static int run(struct wdr_control *c, const char *id, char **argv)
{
	static char path[] = "PATH=/usr/bin:/bin";
	char *envp[] = { path, NULL };
	const struct wdr_control_exec e = { .container = id,
					    .argv = argv,
					    .envp = envp,
					    .cwd = "/",
					    .uid = 1000,
					    .gid = 1000,
					    .stdio = { 0, 1, 2 } };
	int32_t pid = 0;
	int status = 0;
	int r = wdr_control_exec(c, &e, MS, &pid, &g_err);

	if (r == 0)
		r = wdr_control_wait(c, id, pid);
	if (r == 0)
		r = await(c, &status);
	if (r < 0)
		return fail(r);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int list(struct wdr_control *c, const char *id, char **argv)
{
	wdr_free_ struct wdr_control_task *t = NULL;
	size_t n = 0;
	int r = wdr_control_tasks(c, id, MS, &t, &n, &g_err);

	(void)argv;
	for (size_t i = 0; r == 0 && i < n; i++)
		(void)printf("%d %d %s\n", t[i].pid, t[i].ppid, t[i].cmd);
	return r < 0 ? fail(r) : 0;
}

static int stats(struct wdr_control *c, const char *id, char **argv)
{
	struct wdr_control_stats s;
	int r = wdr_control_stats(c, id, MS, &s, &g_err);

	(void)argv;
	if (r < 0)
		return fail(r);
	(void)printf("%llu %llu\n", (unsigned long long)s.memory_bytes, (unsigned long long)s.pids);
	return 0;
}

static int send_signal(struct wdr_control *c, const char *id, char **argv)
{
	int r = wdr_control_signal(c, id, 0, argv[0] ? (int)strtol(argv[0], NULL, 10) : 15, MS,
				   &g_err);

	return r < 0 ? fail(r) : 0;
}

static int unknown(struct wdr_control *c, const char *id, char **argv)
{
	wdr_json_ json_t *arg = json_string(id);
	wdr_json_ json_t *result = NULL;
	int r = wdr_control_call(c, "containerManager.Teleport", arg, NULL, 0, MS, &result, &g_err);

	(void)argv;
	return r < 0 ? fail(r) : 0;
}

static int time_exec(struct wdr_control *c, const char *id, char **argv)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t begun = wdr_now_ns(), took;
		int r = run(c, id, argv);

		if (r != 0)
			return r;
		took = wdr_now_ns() - begun;
		best = took < best ? took : best;
	}
	(void)printf("%llu\n", (unsigned long long)best / 1000);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*fn)(struct wdr_control *c, const char *id, char **argv);
	} verbs[] = {
		{ "exec", run },	   { "ps", list },	   { "stats", stats },
		{ "signal", send_signal }, { "unknown", unknown }, { "time", time_exec },
	};
	wdr_control_ struct wdr_control *c = NULL;
	int r;

	if (argc < 4)
		return 2;
	r = wdr_control_open(argv[1], &c, &g_err);
	if (r < 0)
		return fail(r);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(argv[3], verbs[i].name))
			return verbs[i].fn(c, argv[2], argv + 4);
	return 2;
}
