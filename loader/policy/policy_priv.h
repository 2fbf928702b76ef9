/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this folder share: the words of the enumerations, the checks of single values
 * (used by a policy's fields and by the options that override them), and the field tables.
 */
#pragma once

#include "base/wdr_field.h"
#include "policy.h"

#define WDR_POLICY_TEXT_MAX 1000 /* characters of a path; 4 bytes each stay below PATH_MAX */
#define WDR_SOURCE_TEXT_MAX 4095 /* characters of a path of the host; the kernel checks bytes */
#define WDR_ENV_NAME_MAX    255
/* Characters; with 4 bytes each, a name and "=" still below MAX_ARG_STRLEN (linux/binfmts.h). */
#define WDR_ENV_VALUE_MAX    32000
#define WDR_CALL_NAME_MAX    63
#define WDR_POLICY_MAX_PIDS  4194304	/* PID_MAX_LIMIT, linux/threads.h */
#define WDR_POLICY_MAX_FILES 1073741816 /* the highest fs.nr_open, fs/file.c */
#define WDR_POLICY_MAX_ID    4294967294U
#define WDR_POLICY_MIN_CPUS  0.01 /* a quota of 1 ms in each 100 ms: the least the kernel takes */
#define WDR_POLICY_MAX_CPUS  8192

/* Indexed by the enum of the same meaning; NULL-terminated. */
extern const char *const wdr_words_backend[];
extern const char *const wdr_words_net_mode[];
extern const char *const wdr_words_verdict[];
extern const char *const wdr_words_on_deny[];
extern const char *const wdr_words_on_syscall[];
extern const char *const wdr_words_on_output[];
extern const char *const wdr_words_on_loss[];
extern const char *const wdr_words_detect[];
extern const char *const wdr_words_profile[];
extern const char *const wdr_words_audit[]; /* bit N of audit_events */
extern const char *const wdr_words_caps[];  /* bit N of capabilities */

/* Single values. Each returns 0, -EINVAL with *err saying what would be right, or -ENOMEM. */

#define WDR_LIMIT_ZERO	    1 /* zero is good */
#define WDR_LIMIT_UNLIMITED 2 /* so is "unlimited" */

int wdr_limit_duration(const char *s, unsigned int flags, uint64_t *ret_ns, struct wdr_err *err);
int wdr_limit_size(const char *s, unsigned int flags, uint64_t *ret, struct wdr_err *err);
int wdr_limit_count(const char *s, uint64_t max, uint64_t *ret, struct wdr_err *err);
int wdr_limit_cpus(const char *s, double *ret, struct wdr_err *err);
int wdr_limit_cpus_number(double v, double *ret, struct wdr_err *err);
int wdr_policy_id(const char *s, uint32_t *ret, struct wdr_err *err);

/* [A-Za-z0-9][A-Za-z0-9._-]{0,62} */
int wdr_policy_check_name(const char *s, struct wdr_err *err);
/* Absolute, no "." or "..", no doubled or trailing slash, no control characters. */
int wdr_policy_check_path(const char *s, struct wdr_err *err);
/* The same, and not where Warder's own /proc, /sys and /dev are. */
int wdr_policy_check_target(const char *s, struct wdr_err *err);
/* A path of the host, relative or not. */
int wdr_policy_check_source(const char *s, struct wdr_err *err);
/*
 * @path, from the folder @base on unless it is absolute, as a path that a policy may have: what
 * is shown must be good to read again. *ret, the caller's, is replaced.
 */
int wdr_policy_join(const char *base, const char *path, char **ret, struct wdr_err *err);
int wdr_policy_check_call(const char *s, struct wdr_err *err);
/* UTF-8 of at most @max characters without control characters where @plain. */
int wdr_policy_check_text(const char *s, size_t max, bool plain, struct wdr_err *err);

/* Replace the string in *@at by a copy of @s. -ENOMEM. */
int wdr_policy_set_string(char **at, const char *s);
/* [A-Za-z_][A-Za-z0-9_]* */
int wdr_policy_check_env_name(const char *s, struct wdr_err *err);
/* Check both; set @name to @value, in place if the policy has it. */
int wdr_policy_set_env(struct wdr_policy *p, const char *name, const char *value,
		       struct wdr_err *err);
/* The network section of the normal form, or NULL without memory. */
json_t *wdr_show_network(const struct wdr_policy *p);
void wdr_rule_done(struct wdr_rule *r);
void wdr_mount_done(struct wdr_mount *m);

/* Reader of an array of strings, each once: .arg is a struct wdr_strings, @at a struct wdr_policy. */
struct wdr_strings {
	size_t list, n; /* offsets in struct wdr_policy */
	size_t max;
	int (*check)(const char *s, struct wdr_err *err);
};

int wdr_field_strings(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at);

/* The outermost table, which fills a struct wdr_policy, and those of two of its objects. */
extern const struct wdr_field wdr_policy_fields[];
extern const struct wdr_field wdr_fs_fields[];
extern const struct wdr_field wdr_network_fields[];
