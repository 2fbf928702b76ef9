/* SPDX-License-Identifier: Apache-2.0 */
#include "bundle.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <string.h>

#include "base/wdr_utf8.h"

const char *wdr_box_path(enum wdr_box_part part, size_t n, char buf[WDR_BOX_PATH_MAX])
{
	static const char *const dir[] = {
		[WDR_BOX_TMPFS] = WDR_BOX_RW "/t",
		[WDR_BOX_SHM] = WDR_BOX_RW "/shm",
		[WDR_BOX_MOUNT] = WDR_BOX "/mnt/",
	};

	(void)snprintf(buf, WDR_BOX_PATH_MAX, "%s%zu", dir[part], n);
	return buf;
}

/* jansson's setters take the new value even where they fail: one flag at the end is enough. */
struct out {
	json_t *mounts, *annotations;
	int failed;
};

static void add(struct out *o, json_t *mount)
{
	o->failed |= json_array_append_new(o->mounts, mount);
}

static void annotate(struct out *o, const char *name, const char *key, const char *value)
{
	char full[96];

	(void)snprintf(full, sizeof(full), "dev.gvisor.spec.mount.%s.%s", name, key);
	o->failed |= json_object_set_new(o->annotations, full, json_string(value));
}

/*
 * A folder of the one tmpfs. Hinted as the container's own, gVisor caches it without asking
 * again (2022), or serves it from memory and keeps the contents in one file in that folder (since
 * 2023, runsc/boot/mount_hints.go): as fast as a tmpfs of its own, while the size of ours still
 * bounds all of them together.
 */
static void add_writable(struct out *o, enum wdr_box_part part, size_t n, const char *target)
{
	bool exec = part != WDR_BOX_SHM;
	char path[WDR_BOX_PATH_MAX];
	char name[24];

	(void)wdr_box_path(part, n, path);
	add(o, json_pack("{s:s, s:s, s:s, s:[s, s, s, s, s*]}", "destination", target, "type",
			 "bind", "source", path, "options", "bind", "rw", "nosuid", "nodev",
			 exec ? NULL : "noexec"));
	(void)snprintf(name, sizeof(name), "%s%zu", part == WDR_BOX_SHM ? "shm" : "t", n);
	annotate(o, name, "source", path);
	annotate(o, name, "type", "bind");
	annotate(o, name, "share", "container");
	annotate(o, name, "options", exec ? "rw,nosuid,nodev" : "rw,nosuid,nodev,noexec");
}

static void add_bind(struct out *o, enum wdr_box_part part, size_t n, const char *target,
		     bool readonly)
{
	char path[WDR_BOX_PATH_MAX];

	add(o, json_pack("{s:s, s:s, s:s, s:[s, s, s, s]}", "destination", target, "type", "bind",
			 "source", wdr_box_path(part, n, path), "options", "rbind",
			 readonly ? "ro" : "rw", "nosuid", "nodev"));
}

static void add_mounts(struct out *o, const struct wdr_spec *s)
{
	const struct wdr_policy *p = s->policy;

	add(o, json_pack("{s:s, s:s, s:s, s:[s, s, s]}", "destination", "/proc", "type", "proc",
			 "source", "proc", "options", "nosuid", "nodev", "noexec"));
	add(o, json_pack("{s:s, s:s, s:s, s:[s, s, s, s]}", "destination", "/sys", "type", "sysfs",
			 "source", "sysfs", "options", "ro", "nosuid", "nodev", "noexec"));
	for (size_t i = 0; i < p->fs.n_tmpfs; i++)
		add_writable(o, WDR_BOX_TMPFS, i, p->fs.tmpfs[i]);
	add_writable(o, WDR_BOX_SHM, 0, "/dev/shm");
	for (size_t i = 0; i < p->fs.n_mounts; i++)
		add_bind(o, WDR_BOX_MOUNT, i, p->fs.mounts[i].target, p->fs.mounts[i].readonly);
	if (s->n_views)
		add(o, json_pack("{s:s, s:s, s:s, s:[s, s, s, s, s]}", "destination",
				 "/sys/fs/cgroup", "type", "bind", "source", WDR_BOX_VIEWS,
				 "options", "rbind", "ro", "nosuid", "nodev", "noexec"));
}

/* Spelt as capability.h does. The numbers never change. */
static const char *const cap_names[] = {
	"CHOWN",
	"DAC_OVERRIDE",
	"DAC_READ_SEARCH",
	"FOWNER",
	"FSETID",
	"KILL",
	"SETGID",
	"SETUID",
	"SETPCAP",
	"LINUX_IMMUTABLE",
	"NET_BIND_SERVICE",
	"NET_BROADCAST",
	"NET_ADMIN",
	"NET_RAW",
	"IPC_LOCK",
	"IPC_OWNER",
	"SYS_MODULE",
	"SYS_RAWIO",
	"SYS_CHROOT",
	"SYS_PTRACE",
	"SYS_PACCT",
	"SYS_ADMIN",
	"SYS_BOOT",
	"SYS_NICE",
	"SYS_RESOURCE",
	"SYS_TIME",
	"SYS_TTY_CONFIG",
	"MKNOD",
	"LEASE",
	"AUDIT_WRITE",
	"AUDIT_CONTROL",
	"SETFCAP",
	"MAC_OVERRIDE",
	"MAC_ADMIN",
	"SYSLOG",
	"WAKE_ALARM",
	"BLOCK_SUSPEND",
	"AUDIT_READ",
	"PERFMON",
	"BPF",
	"CHECKPOINT_RESTORE",
};

_Static_assert(sizeof(cap_names) / sizeof(cap_names[0]) == CAP_CHECKPOINT_RESTORE + 1,
	       "a name each");

/* All five sets alike: only an ambient capability survives the exec of a user that is not 0. */
static json_t *make_caps(uint64_t caps)
{
	static const char *const sets[] = { "bounding", "effective", "permitted", "inheritable",
					    "ambient" };
	wdr_json_ json_t *list = json_array();
	wdr_json_ json_t *o = json_object();
	char name[40];
	int failed = !list || !o;

	for (unsigned int i = 0; i <= CAP_CHECKPOINT_RESTORE; i++) {
		if (!(caps & (UINT64_C(1) << i)))
			continue;
		(void)snprintf(name, sizeof(name), "CAP_%s", cap_names[i]);
		failed |= json_array_append_new(list, json_string(name));
	}
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		failed |= json_object_set(o, sets[i], list);
	return failed ? NULL : WDR_TAKE_PTR(o);
}

static int add_rlimit(json_t *list, const char *type, uint64_t value)
{
	if (value == WDR_UNLIMITED)
		return 0;
	return json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "type", type, "hard",
						     (json_int_t)value, "soft", (json_int_t)value));
}

/*
 * The guest's processes are no tasks of the host: their number is bounded inside, where the limit
 * counts for the job's one user (pkg/sentry/kernel, RLIMIT_NPROC since 2022).
 */
static json_t *make_rlimits(const struct wdr_limits *l)
{
	wdr_json_ json_t *list = json_array();
	int failed = !list;

	failed |= add_rlimit(list, "RLIMIT_CORE", 0);
	failed |= add_rlimit(list, "RLIMIT_NOFILE", l->files);
	failed |= add_rlimit(list, "RLIMIT_FSIZE", l->file_size_bytes);
	failed |= add_rlimit(list, "RLIMIT_NPROC", l->pids);
	return failed ? NULL : WDR_TAKE_PTR(list);
}

static json_t *make_strings(char *const *v)
{
	wdr_json_ json_t *list = json_array();
	int failed = !list;

	for (; v && *v; v++)
		failed |= json_array_append_new(list, json_string(*v));
	return failed ? NULL : WDR_TAKE_PTR(list);
}

static json_t *make_process(const struct wdr_spec *s)
{
	const struct wdr_policy *p = s->policy;

	/* Ids are unsigned: as a 64-bit integer they stay what they are. */
	return json_pack("{s:b, s:{s:I, s:I}, s:o, s:o, s:s, s:o, s:o, s:b}", "terminal", s->tty,
			 "user", "uid", (json_int_t)p->user.uid, "gid", (json_int_t)p->user.gid,
			 "args", s->ahead ? json_pack("[s]", "idle") : make_strings(s->argv), "env",
			 make_strings(s->envp), "cwd", p->workdir, "capabilities",
			 make_caps(p->capabilities), "rlimits", make_rlimits(&p->limits),
			 "noNewPrivileges", true);
}

static json_t *make_linux(const struct wdr_spec *s, const struct wdr_runsc *r, const char *net_path)
{
	static const char *const spaces[] = { "pid", "mount", "ipc", "uts" };
	wdr_json_ json_t *list = json_array();
	int failed = !list;

	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		failed |= json_array_append_new(list, json_pack("{s:s}", "type", spaces[i]));
	if (s->policy->net.mode != WDR_NET_HOST)
		failed |= json_array_append_new(
			list, json_pack("{s:s, s:s*}", "type", "network", "path", net_path));
	if (failed)
		return NULL;
	return json_pack("{s:O, s:o*}", "namespaces", list, "seccomp",
			 r->features & WDR_RUNSC_OCI_SECCOMP ? wdr_bundle_seccomp(s->policy) :
							       NULL);
}

/* config.json is UTF-8, and what is not would reach the job as something else. */
static int check_strings(const char *what, char *const *v, struct wdr_err *err)
{
	for (size_t i = 0; v && v[i]; i++) {
		struct wdr_utf8 u = { 0 };

		if (!wdr_utf8_feed(&u, v[i], strlen(v[i])) || u.want)
			return wdr_err_set(err, -EILSEQ,
					   "%s %zu is not UTF-8: runsc can't pass it on", what, i);
	}
	return 0;
}

int wdr_bundle_config(const struct wdr_spec *s, const struct wdr_runsc *r, const char *net_path,
		      json_t **ret, struct wdr_err *err)
{
	wdr_json_ json_t *mounts = json_array();
	wdr_json_ json_t *annotations = json_object();
	struct out o = { .mounts = mounts, .annotations = annotations };
	json_t *c;
	int e;

	e = check_strings("argument", s->argv, err);
	if (e == 0)
		e = check_strings("environment entry", s->envp, err);
	if (e < 0)
		return e;
	if (!mounts || !annotations)
		return -ENOMEM;
	add_mounts(&o, s);
	if (o.failed)
		return -ENOMEM;
	c = json_pack("{s:s, s:s, s:{s:s, s:b}, s:o, s:O, s:O, s:o}", "ociVersion", "1.0.2",
		      "hostname", "warder", "root", "path", WDR_BOX_ROOTFS, "readonly",
		      s->policy->fs.readonly, "process", make_process(s), "mounts", mounts,
		      "annotations", annotations, "linux", make_linux(s, r, net_path));
	if (!c)
		return -ENOMEM;
	*ret = c;
	return 0;
}

int wdr_args_add(struct wdr_args *a, const char *arg)
{
	if (a->n == WDR_ARGS_MAX)
		return -E2BIG;
	a->v[a->n++] = arg;
	return 0;
}

int wdr_args_addf(struct wdr_args *a, const char *fmt, ...)
{
	size_t room = sizeof(a->text) - a->len;
	char *at = a->text + a->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(at, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room)
		return -E2BIG;
	a->len += (size_t)n + 1;
	return wdr_args_add(a, at);
}

static const char *overlay_flag(const struct wdr_policy *p, const struct wdr_runsc *r)
{
	if (!p->fs.readonly) /* what is written to the root counts as disk, too, where it can */
		return r->features & WDR_RUNSC_OVERLAY2_DIR ? "--overlay2=root:dir=" WDR_BOX_RW :
							      "--overlay2=root:memory";
	return r->features & WDR_RUNSC_OVERLAY2 ? "--overlay2=none" : NULL;
}

int wdr_bundle_flags(const struct wdr_spec *s, const struct wdr_runsc *r, bool traced,
		     struct wdr_args *a)
{
	static const char *const net[] = { [WDR_NET_NONE] = "--network=none",
					   [WDR_NET_EGRESS] = "--network=sandbox",
					   [WDR_NET_HOST] = "--network=host" };
	const struct wdr_policy *p = s->policy;
	const char *const flags[] = {
		r->path,
		"--root=" WDR_BOX_STATE,
		"--log=" WDR_BOX_LOG,
		"--log-format=json",
		"--panic-log=" WDR_BOX_PANIC,
		/* The job is born in its cgroup already. */
		"--ignore-cgroups",
		net[p->net.mode],
		overlay_flag(p, r),
		r->features & WDR_RUNSC_OCI_SECCOMP ? "--oci-seccomp" : NULL,
		p->capabilities & (UINT64_C(1) << CAP_NET_RAW) ? "--net-raw" : NULL,
		traced ? "--pod-init-config=" WDR_BOX_TRACE : NULL,
	};
	int e = 0;

	for (size_t i = 0; e == 0 && i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i])
			e = wdr_args_add(a, flags[i]);
	return e < 0 ? e : wdr_args_addf(a, "--platform=%s", wdr_runsc_platform_name(r->platform));
}
