/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy: what a job may use and reach. Plain data, no system calls beyond reading the file,
 * owned by whoever called wdr_policy_load() or wdr_policy_parse(). Every default is already
 * filled in, so that what is read here is what holds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wdr_addr.h"
#include "base/wdr_json.h"

#define WDR_UNLIMITED		    UINT64_MAX /* "unlimited" in a limit */
#define WDR_POLICY_MAX_BYTES	    (1 << 20)
#define WDR_POLICY_MAX_DEPTH	    32
#define WDR_POLICY_MAX_RULES	    200000 /* prefixes in all, those of list files included */
#define WDR_POLICY_MAX_OPTION_RULES 4096   /* by --allow and --deny */
#define WDR_POLICY_MAX_MOUNTS	    64
#define WDR_POLICY_MAX_TMPFS	    16
#define WDR_POLICY_MAX_ENV	    256
#define WDR_POLICY_MAX_SYSCALLS	    512
#define WDR_POLICY_MAX_DNS	    8
#define WDR_POLICY_MAX_PORTS	    64 /* ranges a rule */
#define WDR_POLICY_NAME_MAX	    63

enum wdr_backend_kind {
	WDR_BACKEND_AUTO,
	WDR_BACKEND_RUNSC,
	WDR_BACKEND_NATIVE
};
enum wdr_net_mode {
	WDR_NET_NONE,
	WDR_NET_EGRESS,
	WDR_NET_HOST
};
enum wdr_verdict {
	WDR_VERDICT_DENY,
	WDR_VERDICT_ALLOW
};
enum wdr_on_deny {
	WDR_ON_DENY_REJECT,
	WDR_ON_DENY_DROP,
	WDR_ON_DENY_KILL
};
enum wdr_on_syscall {
	WDR_ON_SYSCALL_ERRNO,
	WDR_ON_SYSCALL_KILL
};
enum wdr_on_output {
	WDR_ON_OUTPUT_KILL,
	WDR_ON_OUTPUT_TRUNCATE
};
enum wdr_on_loss {
	WDR_ON_LOSS_KILL,
	WDR_ON_LOSS_CONTAIN
};
enum wdr_detect_action {
	WDR_DETECT_OFF,
	WDR_DETECT_ALERT,
	WDR_DETECT_THROTTLE,
	WDR_DETECT_KILL
};

/* Bits of wdr_policy.audit_events, in the order of their names in the schema. */
enum wdr_audit_event {
	WDR_AUDIT_EXEC = 1 << 0,
	WDR_AUDIT_EGRESS = 1 << 1,
	WDR_AUDIT_FILE = 1 << 2,
};

#define WDR_PROTO_TCP_UDP 0 /* a rule that names no protocol */

struct wdr_rule {
	enum wdr_verdict action;
	struct wdr_prefix *to; /* one, or those of the list file in file order */
	size_t n_to;
	char *list; /* as written, or NULL */
	struct wdr_port_range *ports;
	size_t n_ports; /* 0: all ports */
	uint8_t proto;	/* IPPROTO_*, or WDR_PROTO_TCP_UDP */
	char *name;	/* or NULL */
};

struct wdr_mount {
	char *source; /* as written; relative to the policy file, or to the caller's cwd with -v */
	char *base;   /* absolute folder that a relative source starts from */
	char *target; /* absolute */
	bool readonly;
};

struct wdr_env {
	char *name;
	char *value;
};

struct wdr_limits {
	uint64_t wall_ns, cpu_ns;
	double cpus; /* share of CPUs; 0 stands for unlimited */
	uint64_t memory_bytes, swap_bytes;
	uint64_t pids, files;
	uint64_t file_size_bytes, disk_bytes;
	uint64_t stdout_bytes, stderr_bytes; /* never WDR_UNLIMITED */
	enum wdr_on_output on_output;
};

struct wdr_policy {
	char *name;
	enum wdr_backend_kind backend;
	struct {
		uint32_t uid, gid;
	} user;
	char *workdir;
	struct wdr_env *env; /* in the order written, overrides last; names are unique */
	size_t n_env;
	struct wdr_limits limits;
	struct {
		char *root; /* NULL: the host's /usr and what programs need of /etc */
		bool readonly;
		char **tmpfs;
		size_t n_tmpfs;
		struct wdr_mount *mounts;
		size_t n_mounts;
	} fs;
	uint64_t capabilities; /* bit N is capability N of linux/capability.h */
	struct {
		char *profile; /* "default" or "strict" */
		char **allow, **deny;
		size_t n_allow, n_deny;
		enum wdr_on_syscall on_deny;
		bool count;
	} syscalls;
	struct {
		enum wdr_net_mode mode;
		enum wdr_verdict def;	  /* when no rule matches */
		enum wdr_verdict private; /* see DESIGN 4: allow rules inside private ranges */
		struct wdr_prefix *dns;	  /* full-length prefixes */
		size_t n_dns;
		struct wdr_rule *rules; /* the effective list: the command line's first */
		size_t n_rules;
		enum wdr_on_deny on_deny;
	} net;
	struct {
		enum wdr_detect_action cpu_action;
		double cpu_above;
		uint64_t cpu_for_ns;
		enum wdr_detect_action mining_action;
		double mining_threshold;
	} detect;
	unsigned int audit_events; /* enum wdr_audit_event */
	enum wdr_on_loss on_loss;
	struct {
		size_t n_rules; /* the first ones of net.rules came by --allow and --deny */
		bool allow;	/* --allow was given */
		bool net;	/* --net was given */
	} over;
};

void wdr_policy_freep(struct wdr_policy **p);

#define wdr_policy_ wdr_cleanup(wdr_policy_freep)

/* What holds where a policy says nothing; the same as policies/default.json. -ENOMEM. */
int wdr_policy_default(struct wdr_policy **ret) wdr_must_check;

/*
 * The policy in @text, @len bytes of JSON; @file is only for messages and for the default of
 * `name`. Pure: list files are named, not read (wdr_policy_add_list), and a relative mount source
 * has no base. On success *ret is the caller's to free. Returns 0; -EINVAL with FILE:LINE:COL or
 * FILE:/json/pointer; -ENOMEM.
 */
int wdr_policy_parse(const char *file, const char *text, size_t len, struct wdr_policy **ret,
		     struct wdr_err *err) wdr_must_check;

/*
 * Give rule @index, which names a list, the prefixes in @text: one a line, `#` comments. @file is
 * for messages. Returns 0; -EINVAL with FILE:LINE; -E2BIG past WDR_POLICY_MAX_RULES; -ENOMEM.
 */
int wdr_policy_add_list(struct wdr_policy *p, size_t index, const char *file, const char *text,
			size_t len, struct wdr_err *err) wdr_must_check;

/*
 * Read @file and the list files beside it. Relative mount sources and roots start from its folder.
 * Only regular files and pipes are read. Returns as wdr_policy_parse(), or the -errno of open and
 * read; -EFBIG past WDR_POLICY_MAX_BYTES.
 */
int wdr_policy_load(const char *file, struct wdr_policy **ret, struct wdr_err *err) wdr_must_check;

/*
 * The file that @name_or_path means. What has a `/` or ends in .json is a path. Else a NAME.json is
 * looked for in /etc/warder/policies, the installed policies, and policies/ beside the running
 * binary or up to four folders above it; then a file of that name in the working directory.
 * *ret_path is the caller's. Returns 0; -ENOENT with the nearest name; -EINVAL; -ENOMEM.
 */
int wdr_policy_find(const char *name_or_path, char **ret_path, struct wdr_err *err) wdr_must_check;

/* Find and load; `default` is there even where no file of that name is. */
int wdr_policy_get(const char *name_or_path, struct wdr_policy **ret,
		   struct wdr_err *err) wdr_must_check;

/*
 * Apply the option --@option of `warder run` with @value (NULL for one that takes none): timeout,
 * cpu-time, cpus, memory, pids, disk, output, net, allow, deny, mount, root, workdir, env, user,
 * syscalls, backend. Call in the order given. Relative paths start from the working directory.
 * Returns 0; -EINVAL naming the option and what would be right; -ENOENT: no such option; -ENOMEM.
 */
int wdr_policy_override(struct wdr_policy *p, const char *option, const char *value,
			struct wdr_err *err) wdr_must_check;

/*
 * After the last override: what only shows when all is known. --allow turns the mode `none` into
 * `egress`; --net none drops the policy's rules. Returns 0; -EINVAL for options that contradict.
 */
int wdr_policy_finish(struct wdr_policy *p, struct wdr_err *err) wdr_must_check;

/*
 * The normal form: every default written out, keys in the order of the schema, env, capabilities
 * and call names sorted, units the largest that divide, sources absolute. The normal form of a
 * normal form is itself. A rule's ports, proto and name have no default and are left out.
 * *ret is the caller's. Returns 0 or -ENOMEM.
 */
int wdr_policy_show(const struct wdr_policy *p, json_t **ret) wdr_must_check;

/*
 * Whether a sandbox that was made for @made can be given to a job of @job, which it did not know:
 * only name, workdir, environment, and the limits that can still be set may differ. 0; -EXDEV
 * naming what differs; -ENOMEM. Pure.
 */
int wdr_policy_fits(const struct wdr_policy *made, const struct wdr_policy *job,
		    struct wdr_err *err) wdr_must_check;

/* The same as text, two spaces a level and a newline at the end: what `policy show` prints. */
int wdr_policy_show_text(const struct wdr_policy *p, char **ret) wdr_must_check;

/* "CAP_NET_RAW" for its number of linux/capability.h; NULL past those that are known. */
const char *wdr_policy_capability_name(unsigned int cap);
