/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/argv.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/*
 * Go's rules: -f and --f are the same; "--" ends the flags, as does the first word that is none
 * ("-" is none); a flag that is not boolean takes the next word, whatever it looks like; a boolean
 * one never does.
 */
enum kind {
	BOOL,
	VALUE
};

struct flag {
	const char *name;
	enum kind kind;
	size_t field; /* of struct wdr_shim_args, 0: not wanted (name is there, which is no flag's) */
};

#define WANT(f) offsetof(struct wdr_shim_args, f)

_Static_assert(offsetof(struct wdr_shim_args, command) == 0, "0 is no field of a flag");

/* Before the sub-command: `runsc flags` of December 2022 and of January 2026. */
static const struct flag global_flags[] = {
	{ "root", VALUE, WANT(root) },
	{ "log", VALUE, WANT(log) },
	{ "log-format", VALUE, WANT(log_format) },
	{ "EXPERIMENTAL-xdp", VALUE, 0 },
	{ "TESTONLY-autosave-image-path", VALUE, 0 },
	{ "TESTONLY-test-name-env", VALUE, 0 },
	{ "coverage-fd", VALUE, 0 },
	{ "coverage-report", VALUE, 0 },
	{ "dcache", VALUE, 0 },
	{ "debug-command", VALUE, 0 },
	{ "debug-log", VALUE, 0 },
	{ "debug-log-fd", VALUE, 0 },
	{ "debug-log-format", VALUE, 0 },
	{ "fdlimit", VALUE, 0 },
	{ "file-access", VALUE, 0 },
	{ "file-access-mounts", VALUE, 0 },
	{ "final-metrics-log", VALUE, 0 },
	{ "host-fifo", VALUE, 0 },
	{ "host-settings", VALUE, 0 },
	{ "host-uds", VALUE, 0 },
	{ "log-fd", VALUE, 0 },
	{ "metric-server", VALUE, 0 },
	{ "network", VALUE, 0 },
	{ "network-processors-per-channel", VALUE, 0 },
	{ "num-network-channels", VALUE, 0 },
	{ "nvproxy-allowed-driver-capabilities", VALUE, 0 },
	{ "nvproxy-driver-version", VALUE, 0 },
	{ "overlay2", VALUE, 0 },
	{ "panic-log", VALUE, 0 },
	{ "panic-log-fd", VALUE, 0 },
	{ "panic-signal", VALUE, 0 },
	{ "pcap-log", VALUE, 0 },
	{ "platform", VALUE, 0 },
	{ "platform_device_path", VALUE, 0 },
	{ "pod-init-config", VALUE, 0 },
	{ "profile-block", VALUE, 0 },
	{ "profile-cpu", VALUE, 0 },
	{ "profile-gc-interval", VALUE, 0 },
	{ "profile-heap", VALUE, 0 },
	{ "profile-mutex", VALUE, 0 },
	{ "profiling-metrics", VALUE, 0 },
	{ "profiling-metrics-log", VALUE, 0 },
	{ "profiling-metrics-rate-us", VALUE, 0 },
	{ "qdisc", VALUE, 0 },
	{ "ref-leak-mode", VALUE, 0 },
	{ "restore-spec-validation", VALUE, 0 },
	{ "strace-log-size", VALUE, 0 },
	{ "strace-syscalls", VALUE, 0 },
	{ "trace", VALUE, 0 },
	{ "traceback", VALUE, 0 },
	{ "watchdog-action", VALUE, 0 },
	{ "EXPERIMENTAL-afxdp", BOOL, 0 },
	{ "EXPERIMENTAL-xdp-need-wakeup", BOOL, 0 },
	{ "TESTONLY-afs-syscall-panic", BOOL, 0 },
	{ "TESTONLY-allow-packet-endpoint-write", BOOL, 0 },
	{ "TESTONLY-autosave-resume", BOOL, 0 },
	{ "TESTONLY-nftables", BOOL, 0 },
	{ "TESTONLY-unsafe-nonroot", BOOL, 0 },
	{ "allow-flag-override", BOOL, WANT(flag_override) },
	{ "allow-packet-socket-write", BOOL, 0 },
	{ "allow-suid", BOOL, 0 },
	{ "alsologtostderr", BOOL, 0 },
	{ "app-huge-pages", BOOL, 0 },
	{ "buffer-pooling", BOOL, 0 },
	{ "cgroupfs", BOOL, 0 },
	{ "cpu-num-from-quota", BOOL, 0 },
	{ "debug", BOOL, 0 },
	{ "debug-to-user-log", BOOL, 0 },
	{ "directfs", BOOL, 0 },
	{ "enable-core-tags", BOOL, 0 },
	{ "fsgofer-host-uds", BOOL, 0 },
	{ "fuse", BOOL, 0 },
	{ "gso", BOOL, 0 },
	{ "gvisor-marker-file", BOOL, 0 },
	{ "h", BOOL, 0 },
	{ "help", BOOL, 0 },
	{ "ignore-cgroups", BOOL, WANT(ignore_cgroups) },
	{ "iouring", BOOL, 0 },
	{ "kvm-use-cpu-nums", BOOL, 0 },
	{ "lisafs", BOOL, 0 },
	{ "log-packets", BOOL, 0 },
	{ "net-disconnect-ok", BOOL, 0 },
	{ "net-raw", BOOL, 0 },
	{ "nvproxy", BOOL, 0 },
	{ "nvproxy-docker", BOOL, 0 },
	{ "oci-seccomp", BOOL, 0 },
	{ "overlay", BOOL, 0 },
	{ "profile", BOOL, 0 },
	{ "reproduce-nat", BOOL, 0 },
	{ "reproduce-nftables", BOOL, 0 },
	{ "rootless", BOOL, 0 },
	{ "rx-checksum-offload", BOOL, 0 },
	{ "save-restore-netstack", BOOL, 0 },
	{ "software-gso", BOOL, 0 },
	{ "strace", BOOL, 0 },
	{ "strace-event", BOOL, 0 },
	{ "systemd-cgroup", BOOL, 0 },
	{ "systrap-disable-syscall-patching", BOOL, 0 },
	{ "tpuproxy", BOOL, 0 },
	{ "tx-checksum-offload", BOOL, 0 },
	{ "version", BOOL, 0 },
	{ "vfs2", BOOL, 0 },
	/* "gvisor-gro" is boolean today and was not: an unknown one, like those of tomorrow. */
	{ NULL, BOOL, 0 },
};

static const struct flag start_flags[] = {
	/* create, run, restore */
	{ "bundle", VALUE, WANT(bundle) },
	{ "console-socket", VALUE, 0 },
	{ "pid-file", VALUE, 0 },
	{ "user-log", VALUE, 0 },
	{ "pass-fd", VALUE, 0 },
	{ "exec-fd", VALUE, 0 },
	{ "image-path", VALUE, 0 },
	{ "work-path", VALUE, 0 },
	{ "detach", BOOL, WANT(detach) },
	{ "background", BOOL, 0 },
	{ "direct", BOOL, 0 },
	{ "no-subreaper", BOOL, 0 },
	{ "h", BOOL, 0 },
	{ "help", BOOL, 0 },
	{ NULL, BOOL, 0 },
};

static const struct flag delete_flags[] = {
	{ "force", BOOL, WANT(force) },
	{ "h", BOOL, 0 },
	{ "help", BOOL, 0 },
	{ NULL, BOOL, 0 },
};

static const struct flag no_flags[] = {
	{ "h", BOOL, 0 },
	{ "help", BOOL, 0 },
	{ NULL, BOOL, 0 },
};

static const struct {
	const char *name;
	enum wdr_shim_command command;
	const struct flag *flags;
} commands[] = {
	{ "create", WDR_SHIM_CREATE, start_flags },
	{ "run", WDR_SHIM_RUN, start_flags },
	{ "restore", WDR_SHIM_RESTORE, start_flags },
	{ "delete", WDR_SHIM_DELETE, delete_flags },
	{ "boot", WDR_SHIM_OTHER, NULL },
	{ "checkpoint", WDR_SHIM_OTHER, NULL },
	{ "cpu-features", WDR_SHIM_OTHER, NULL },
	{ "debug", WDR_SHIM_OTHER, NULL },
	{ "do", WDR_SHIM_OTHER, NULL },
	{ "events", WDR_SHIM_OTHER, NULL },
	{ "exec", WDR_SHIM_OTHER, NULL },
	{ "export-metrics", WDR_SHIM_OTHER, NULL },
	{ "flags", WDR_SHIM_OTHER, NULL },
	{ "gofer", WDR_SHIM_OTHER, NULL },
	{ "help", WDR_SHIM_OTHER, NULL },
	{ "install", WDR_SHIM_OTHER, NULL },
	{ "kill", WDR_SHIM_OTHER, NULL },
	{ "list", WDR_SHIM_OTHER, NULL },
	{ "metric-metadata", WDR_SHIM_OTHER, NULL },
	{ "metric-server", WDR_SHIM_OTHER, NULL },
	{ "mitigate", WDR_SHIM_OTHER, NULL },
	{ "nvproxy", WDR_SHIM_OTHER, NULL },
	{ "pause", WDR_SHIM_OTHER, NULL },
	{ "port-forward", WDR_SHIM_OTHER, NULL },
	{ "ps", WDR_SHIM_OTHER, NULL },
	{ "read-control", WDR_SHIM_OTHER, NULL },
	{ "resume", WDR_SHIM_OTHER, NULL },
	{ "spec", WDR_SHIM_OTHER, NULL },
	{ "start", WDR_SHIM_START, no_flags },
	{ "state", WDR_SHIM_OTHER, NULL },
	{ "statefile", WDR_SHIM_OTHER, NULL },
	{ "symbolize", WDR_SHIM_OTHER, NULL },
	{ "tar", WDR_SHIM_OTHER, NULL },
	{ "trace", WDR_SHIM_OTHER, NULL },
	{ "umount", WDR_SHIM_OTHER, NULL },
	{ "uninstall", WDR_SHIM_OTHER, NULL },
	{ "update", WDR_SHIM_OTHER, NULL },
	{ "usage", WDR_SHIM_OTHER, NULL },
	{ "wait", WDR_SHIM_OTHER, NULL },
	{ "write-control", WDR_SHIM_OTHER, NULL },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static size_t find_command(const char *name)
{
	size_t i = 0;

	while (i < N_COMMANDS && strcmp(commands[i].name, name) != 0)
		i++;
	return i;
}

static const struct flag *find_flag(const struct flag *flags, const char *name, size_t len)
{
	for (; flags->name; flags++)
		if (strlen(flags->name) == len && !strncmp(flags->name, name, len))
			return flags;
	return NULL;
}

/* strconv.ParseBool. What is neither is runsc's to refuse. */
static bool is_true(const char *s)
{
	static const char *const words[] = { "1", "t", "T", "TRUE", "true", "True" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i], s))
			return true;
	return false;
}

static void store(struct wdr_shim_args *a, const struct flag *f, const char *value)
{
	if (!f || !f->field)
		return;
	if (f->kind == BOOL)
		*(bool *)((char *)a + f->field) = is_true(value);
	else
		*(const char **)((char *)a + f->field) = value;
}

/*
 * A flag of a later runsc's, without "=": the next word is its value, unless that is a flag itself
 * or a sub-command, before which there must not be one too few.
 */
static bool takes_next(const struct flag *f, const char *next, bool global)
{
	if (f)
		return f->kind == VALUE;
	return next && next[0] != '-' && !(global && find_command(next) < N_COMMANDS);
}

/* Read flags from argv[i] on; returns the index of the first word that is none. */
static int read_flags(int argc, char *const *argv, int i, const struct flag *flags, bool global,
		      struct wdr_shim_args *a)
{
	for (; i < argc; i++) {
		const char *s = argv[i], *eq;
		const struct flag *f;

		if (s[0] != '-' || s[1] == '\0')
			return i;
		s += s[1] == '-' ? 2 : 1;
		if (*s == '\0')
			return i + 1; /* "--" */
		eq = strchr(s, '=');
		f = find_flag(flags, s, eq ? (size_t)(eq - s) : strlen(s));
		if (eq) {
			store(a, f, eq + 1);
		} else if (takes_next(f, i + 1 < argc ? argv[i + 1] : NULL, global)) {
			i++;
			if (i < argc)
				store(a, f, argv[i]);
		} else {
			store(a, f, "true");
		}
	}
	return i;
}

int wdr_shim_args_parse(int argc, char *const *argv, struct wdr_shim_args *ret)
{
	struct wdr_shim_args a = { .command = WDR_SHIM_OTHER };
	size_t c;
	int i;

	if (argc > WDR_SHIM_MAX_ARGS)
		return -E2BIG;
	i = read_flags(argc, argv, 1, global_flags, true, &a);
	if (i < argc) {
		a.name = argv[i];
		c = find_command(argv[i]);
		if (c < N_COMMANDS && commands[c].flags) {
			a.command = commands[c].command;
			i = read_flags(argc, argv, i + 1, commands[c].flags, false, &a);
			if (i < argc)
				a.id = argv[i];
		}
	}
	*ret = a;
	return 0;
}
