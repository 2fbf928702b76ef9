/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines that engines really use, and those of a runsc that is not written yet. */
#include "wdr_test.h"

#include "shim/argv.h"

#define MAX 24

static const struct {
	const char *line;
	enum wdr_shim_command command;
	const char *name, *id, *bundle, *root, *log, *log_format;
	bool force;
} cases[] = {
	/* containerd's runc shim, podman through conmon, gVisor's Python package, Ray */
	{ "runsc --root /run/containerd/runc/default --log /x/log.json --log-format json create "
	  "--bundle /x --pid-file /x/init.pid --console-socket /x/c.sock c1",
	  WDR_SHIM_CREATE, "create", "c1", "/x", "/run/containerd/runc/default", "/x/log.json",
	  "json", false },
	{ "runsc --systemd-cgroup=false --log-format=json --log=/y create --bundle /x --pid-file "
	  "/p 0123abcd",
	  WDR_SHIM_CREATE, "create", "0123abcd", "/x", NULL, "/y", "json", false },
	{ "runsc --root /tmp/d --ignore-cgroups --network=none run --bundle /b --detach id",
	  WDR_SHIM_RUN, "run", "id", "/b", "/tmp/d", NULL, NULL, false },
	{ "runsc -rootless -ignore-cgroups -root /tmp/runsc -network none run -bundle DIR ID",
	  WDR_SHIM_RUN, "run", "ID", "DIR", "/tmp/runsc", NULL, NULL, false },
	{ "runsc delete -force ID", WDR_SHIM_DELETE, "delete", "ID", NULL, NULL, NULL, NULL, true },
	{ "runsc --root=/r delete --force=false ID", WDR_SHIM_DELETE, "delete", "ID", NULL, "/r",
	  NULL, NULL, false },
	{ "runsc delete --force=T ID", WDR_SHIM_DELETE, "delete", "ID", NULL, NULL, NULL, NULL,
	  true },
	{ "runsc restore --image-path /i --bundle /b --detach c", WDR_SHIM_RESTORE, "restore", "c",
	  "/b", NULL, NULL, NULL, false },
	/* what needs nothing of us; an exec's own words are not ours to read */
	{ "runsc exec --cwd / id run --bundle /x y", WDR_SHIM_OTHER, "exec", NULL, NULL, NULL, NULL,
	  NULL, false },
	{ "runsc --root /r start id", WDR_SHIM_START, "start", "id", NULL, "/r", NULL, NULL,
	  false },
	{ "runsc state id", WDR_SHIM_OTHER, "state", NULL, NULL, NULL, NULL, NULL, false },
	{ "runsc --version", WDR_SHIM_OTHER, NULL, NULL, NULL, NULL, NULL, NULL, false },
	{ "runsc", WDR_SHIM_OTHER, NULL, NULL, NULL, NULL, NULL, NULL, false },
	{ "runsc teleport --bundle /x y", WDR_SHIM_OTHER, "teleport", NULL, NULL, NULL, NULL, NULL,
	  false },
	/* flags that are not known: their values don't hide the command */
	{ "runsc --warp create c", WDR_SHIM_CREATE, "create", "c", NULL, NULL, NULL, NULL, false },
	{ "runsc --warp 9 create c", WDR_SHIM_CREATE, "create", "c", NULL, NULL, NULL, NULL,
	  false },
	{ "runsc --warp=9 --drive --root /r create c", WDR_SHIM_CREATE, "create", "c", NULL, "/r",
	  NULL, NULL, false },
	{ "runsc --gvisor-gro create c", WDR_SHIM_CREATE, "create", "c", NULL, NULL, NULL, NULL,
	  false },
	{ "runsc --gvisor-gro 1ms create c", WDR_SHIM_CREATE, "create", "c", NULL, NULL, NULL, NULL,
	  false },
	{ "runsc create --hyper x --bundle /b c", WDR_SHIM_CREATE, "create", "c", "/b", NULL, NULL,
	  NULL, false },
	/* Go takes the next word for a value whatever it looks like, and never for a boolean */
	{ "runsc --root --log create --bundle -x c", WDR_SHIM_CREATE, "create", "c", "-x", "--log",
	  NULL, NULL, false },
	{ "runsc --debug create c", WDR_SHIM_CREATE, "create", "c", NULL, NULL, NULL, NULL, false },
	{ "runsc --debug false create c", WDR_SHIM_OTHER, "false", NULL, NULL, NULL, NULL, NULL,
	  false },
	{ "runsc --root= create c", WDR_SHIM_CREATE, "create", "c", NULL, "", NULL, NULL, false },
	{ "runsc --root /a --root /b create c", WDR_SHIM_CREATE, "create", "c", NULL, "/b", NULL,
	  NULL, false },
	/* the end of flags */
	{ "runsc -- create -- -c", WDR_SHIM_CREATE, "create", "-c", NULL, NULL, NULL, NULL, false },
	{ "runsc create -", WDR_SHIM_CREATE, "create", "-", NULL, NULL, NULL, NULL, false },
	{ "runsc create c --bundle /late", WDR_SHIM_CREATE, "create", "c", NULL, NULL, NULL, NULL,
	  false },
	{ "runsc --root", WDR_SHIM_OTHER, NULL, NULL, NULL, NULL, NULL, NULL, false },
	{ "runsc create --bundle", WDR_SHIM_CREATE, "create", NULL, NULL, NULL, NULL, NULL, false },
};

static int split(char *line, char **argv)
{
	int n = 0;

	for (char *save = NULL, *s = strtok_r(line, " ", &save); s;
	     s = strtok_r(NULL, " ", &save)) {
		assert_true(n < MAX);
		argv[n++] = s;
	}
	argv[n] = NULL;
	return n;
}

static void same(const char *line, const char *what, const char *got, const char *want)
{
	if (!got != !want || (got && strcmp(got, want) != 0))
		fail_msg("%s: %s is %s, want %s", line, what, got ? got : "none",
			 want ? want : "none");
}

static void reads_what_engines_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wdr_free_ char *line = strdup(cases[i].line);
		struct wdr_shim_args a;
		char *argv[MAX + 1];
		int argc = split(line, argv);

		assert_ok(wdr_shim_args_parse(argc, argv, &a));
		if (a.command != cases[i].command || a.force != cases[i].force)
			fail_msg("%s: command %d, force %d", cases[i].line, a.command, a.force);
		same(cases[i].line, "command", a.name, cases[i].name);
		same(cases[i].line, "id", a.id, cases[i].id);
		same(cases[i].line, "bundle", a.bundle, cases[i].bundle);
		same(cases[i].line, "root", a.root, cases[i].root);
		same(cases[i].line, "log", a.log, cases[i].log);
		same(cases[i].line, "log format", a.log_format, cases[i].log_format);
	}
}

static void refuses_to_read_without_end(void **state)
{
	static char *many[WDR_SHIM_MAX_ARGS + 1];
	static char word[] = "--debug";
	struct wdr_shim_args a;

	(void)state;
	for (size_t i = 0; i <= WDR_SHIM_MAX_ARGS; i++)
		many[i] = word;
	assert_int_equal(wdr_shim_args_parse(WDR_SHIM_MAX_ARGS + 1, many, &a), -E2BIG);
	assert_ok(wdr_shim_args_parse(WDR_SHIM_MAX_ARGS, many, &a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_engines_say),
		cmocka_unit_test(refuses_to_read_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
