/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the policy's profile refuses, refused inside the sandbox as well.
 *
 * The guest's calls end in the sentry, never in the kernel, so nothing here guards the host: it
 * keeps the promise that a job meets the same profile under every backend. It is a deny-list,
 * because the sentry is the allow-list already: what it does not implement is ENOSYS.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/wdr_syscall.h"
#include "bundle.h"

#define SOCK_TYPE 0xf	    /* SOCK_TYPE_MASK, include/linux/net.h; flags are above */
#define TMPFILE	  020000000 /* __O_TMPFILE, asm-generic/fcntl.h; libc's O_TMPFILE adds O_DIRECTORY */

/* Refused by every profile, unless the policy allows one by name. */
static const char *const refused[] = {
	/* memory, descriptors and secrets of other processes */
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"process_madvise",
	"process_mrelease",
	"pidfd_getfd",
	"kcmp",
	"perf_event_open",
	"memfd_secret",
	"move_pages",
	"migrate_pages",
	/* ways into a kernel that other calls' checks do not cover */
	"bpf",
	"userfaultfd",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	/* keyrings */
	"add_key",
	"request_key",
	"keyctl",
	/* the tree of mounts and the root */
	"mount",
	"umount2",
	"pivot_root",
	"chroot",
	"open_tree",
	"open_tree_attr",
	"move_mount",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"mount_setattr",
	"setns",
	/* files by handle, events of whole file systems */
	"name_to_handle_at",
	"open_by_handle_at",
	"fanotify_init",
	"fanotify_mark",
	"lookup_dcookie",
	/* the machine */
	"init_module",
	"finit_module",
	"delete_module",
	"kexec_load",
	"kexec_file_load",
	"reboot",
	"swapon",
	"swapoff",
	"quotactl",
	"quotactl_fd",
	"acct",
	"syslog",
	"sethostname",
	"setdomainname",
	"vhangup",
	"settimeofday",
	"clock_settime",
	"adjtimex",
	"clock_adjtime",
	"iopl",
	"ioperm",
	"modify_ldt",
	/* budgets that are shared */
	"sync",
	"syncfs",
	"io_setup",
	"io_destroy",
	"io_submit",
	"io_cancel",
	"io_getevents",
	"io_pgetevents",
};

/* Refused by the strict profile beside these. */
static const char *const refused_strict[] = {
	"setsid",
	"memfd_create",
	"execveat",
	"mlock",
	"mlock2",
	"munlock",
	"mlockall",
	"munlockall",
	"mbind",
	"set_mempolicy",
	"set_mempolicy_home_node",
	"remap_file_pages",
	"shmget",
	"shmat",
	"shmctl",
	"shmdt",
	"semget",
	"semop",
	"semtimedop",
	"semctl",
	"msgget",
	"msgsnd",
	"msgrcv",
	"msgctl",
	"mq_open",
	"mq_unlink",
	"mq_timedsend",
	"mq_timedreceive",
	"mq_notify",
	"mq_getsetattr",
	"splice",
	"tee",
	"vmsplice",
	"inotify_init",
	"inotify_init1",
	"inotify_add_watch",
	"inotify_rm_watch",
	"personality",
};

/*
 * Answered as by a kernel that is older: their flags are in memory, where a filter can't look, and
 * callers fall back on clone and openat. ACT_TRACE without a tracer is ENOSYS; gVisor knows no other
 * way to it, since it answers EPERM whatever "errnoRet" says. Where the policy allows ptrace a tracer
 * may let the call pass: then a file's mode, which others see, is refused, and a namespace of the
 * guest's own is the tracer's.
 */
static const char *const clone3 = "clone3", *const openat2 = "openat2";

struct filter {
	const struct wdr_policy *p;
	const char *action;
	json_t *rules; /* being filled */
	int failed;
};

static bool listed(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static bool is_strict(const struct wdr_policy *p)
{
	return !strcmp(p->syscalls.profile, "strict");
}

/* Of @names those that the policy says nothing about itself, to @ret. */
static void add_names(struct filter *f, json_t *ret, const char *const *names, size_t n)
{
	const struct wdr_policy *p = f->p;

	for (size_t i = 0; i < n; i++)
		if (!listed(p->syscalls.allow, p->syscalls.n_allow, names[i]) &&
		    !listed(p->syscalls.deny, p->syscalls.n_deny, names[i]))
			f->failed |= json_array_append_new(ret, json_string(names[i]));
}

/* A rule for whole calls, unless there are none. Takes @names. */
static void add_name_rule(struct filter *f, json_t *names, const char *action)
{
	f->failed |= !names;
	if (json_array_size(names) == 0)
		json_decref(names);
	else
		f->failed |= json_array_append_new(
			f->rules, json_pack("{s:o, s:s}", "names", names, "action", action));
}

static void add_name_rules(struct filter *f)
{
	const struct wdr_policy *p = f->p;
	json_t *names = json_array(), *missing = json_array();
	bool traces = listed(p->syscalls.allow, p->syscalls.n_allow, "ptrace");

	add_names(f, names, refused, sizeof(refused) / sizeof(refused[0]));
	if (is_strict(p))
		add_names(f, names, refused_strict,
			  sizeof(refused_strict) / sizeof(refused_strict[0]));
	for (size_t i = 0; i < p->syscalls.n_deny; i++)
		f->failed |= json_array_append_new(names, json_string(p->syscalls.deny[i]));
	add_names(f, missing, &clone3, 1);
	add_names(f, traces ? names : missing, &openat2, 1);
	add_name_rule(f, names, f->action);
	add_name_rule(f, missing, "SCMP_ACT_TRACE");
}

static bool whole(const struct filter *f, const char *call)
{
	const struct wdr_policy *p = f->p;

	return listed(p->syscalls.deny, p->syscalls.n_deny, call) ||
	       listed(p->syscalls.allow, p->syscalls.n_allow, call);
}

/* One condition on one argument. With @mask: those bits must be @value. */
static json_t *make_arg(int index, unsigned int mask, unsigned int value, const char *op)
{
	if (mask) /* "value" is the mask then (OCI runtime-spec, config-linux.md, seccomp) */
		return json_pack("{s:i, s:I, s:I, s:s}", "index", index, "value", (json_int_t)mask,
				 "valueTwo", (json_int_t)value, "op", "SCMP_CMP_MASKED_EQ");
	return json_pack("{s:i, s:I, s:s}", "index", index, "value", (json_int_t)value, "op", op);
}

/* Refuse @call where the condition holds, and the second one too unless it is NULL. */
static void add_rule(struct filter *f, const char *call, json_t *arg, json_t *also)
{
	f->failed |=
		json_array_append_new(f->rules, json_pack("{s:[s], s:s, s:[o, o*]}", "names", call,
							  "action", f->action, "args", arg, also));
}

/* Families: local, IPv4 and IPv6 alone, local alone where it is strict. Raw needs the capability. */
static void add_socket_rules(struct filter *f, const char *call)
{
	static const unsigned int types[] = { SOCK_RDM, SOCK_DCCP, SOCK_PACKET, SOCK_RAW };
	bool raw = f->p->capabilities & (UINT64_C(1) << CAP_NET_RAW), strict = is_strict(f->p);
	unsigned int last = strict ? AF_UNIX : AF_INET6;

	for (unsigned int family = 0; family < last; family++)
		if (family != AF_UNIX && family != AF_INET)
			add_rule(f, call, make_arg(0, 0, family, "SCMP_CMP_EQ"), NULL);
	for (unsigned int family = last + 1; family <= AF_PACKET; family++)
		if (family != AF_PACKET || !raw || strict)
			add_rule(f, call, make_arg(0, 0, family, "SCMP_CMP_EQ"), NULL);
	add_rule(f, call, make_arg(0, 0, AF_PACKET, "SCMP_CMP_GT"), NULL);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i] != SOCK_RAW || !raw || strict)
			add_rule(f, call, make_arg(1, SOCK_TYPE, types[i], NULL), NULL);
}

/* New namespaces: each flag by itself, since a mask can only ask for all of its bits. */
static void add_namespace_rules(struct filter *f, const char *call)
{
	static const unsigned int flags[] = { CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
					      CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
					      CLONE_NEWNET };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		add_rule(f, call, make_arg(0, flags[i], flags[i], NULL), NULL);
}

/*
 * Set-id bits: in a read-write mount such a file would be its owner's program outside. A mode
 * counts for open only where the flags create something.
 */
static void add_mode_rules(struct filter *f)
{
	static const struct {
		const char *call;
		int mode_arg;
		int flags_arg; /* -1: it always has a mode */
	} calls[] = {
		{ "chmod", 1, -1 },    { "fchmod", 1, -1 },    { "creat", 1, -1 },
		{ "fchmodat", 2, -1 }, { "fchmodat2", 2, -1 }, { "open", 2, 1 },
		{ "openat", 3, 2 },    { "mknod", 1, -1 },     { "mknodat", 2, -1 },
	};
	static const unsigned int bits[] = { S_ISUID, S_ISGID }, creates[] = { O_CREAT, TMPFILE };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (whole(f, calls[i].call))
			continue;
		for (size_t b = 0; b < 2; b++) {
			for (size_t c = 0; c < (calls[i].flags_arg < 0 ? 1 : 2); c++)
				add_rule(f, calls[i].call,
					 make_arg(calls[i].mode_arg, bits[b], bits[b], NULL),
					 calls[i].flags_arg < 0 ?
						 NULL :
						 make_arg(calls[i].flags_arg, creates[c],
							  creates[c], NULL));
		}
	}
}

static void add_arg_rules(struct filter *f)
{
	static const struct {
		const char *call;
		void (*add)(struct filter *f, const char *call);
	} rules[] = {
		{ "socket", add_socket_rules },
		{ "socketpair", add_socket_rules },
		{ "clone", add_namespace_rules },
		{ "unshare", add_namespace_rules },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!whole(f, rules[i].call))
			rules[i].add(f, rules[i].call);
	add_mode_rules(f);
}

static int check_list(const char *list, char *const *names, size_t n, struct wdr_err *err)
{
	for (size_t i = 0; i < n; i++) {
		int nr = wdr_syscall_require(names[i], err);

		if (nr < 0)
			return wdr_err_wrap(err, nr, "syscalls.%s", list);
	}
	return 0;
}

int wdr_bundle_check_calls(const struct wdr_policy *p, struct wdr_err *err)
{
	int r = check_list("allow", p->syscalls.allow, p->syscalls.n_allow, err);

	return r < 0 ? r : check_list("deny", p->syscalls.deny, p->syscalls.n_deny, err);
}

json_t *wdr_bundle_seccomp(const struct wdr_policy *p)
{
	wdr_json_ json_t *rules = json_array();
	struct filter f = {
		.p = p,
		.action = p->syscalls.on_deny == WDR_ON_SYSCALL_KILL ? "SCMP_ACT_KILL" :
								       "SCMP_ACT_ERRNO",
		.rules = rules,
		.failed = !rules,
	};

	add_name_rules(&f);
	add_arg_rules(&f);
	if (f.failed)
		return NULL;
	return json_pack("{s:s, s:O}", "defaultAction", "SCMP_ACT_ALLOW", "syscalls", rules);
}
