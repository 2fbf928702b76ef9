/* SPDX-License-Identifier: Apache-2.0 */
/* The policy's keys but those of filesystem and network. All tables fill a struct wdr_policy. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/wdr_num.h"
#include "policy_priv.h"

#define AT(member) offsetof(struct wdr_policy, member)

/* A number or a string: what the value says, as the checks of values.c take it. */
static const char *text_of(const json_t *v, char buf[WDR_NUM_TEXT_MAX])
{
	if (json_is_string(v))
		return json_string_value(v);
	(void)snprintf(buf, WDR_NUM_TEXT_MAX, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	return buf;
}

static const unsigned int or_unlimited = WDR_LIMIT_UNLIMITED;
static const unsigned int zero_or_unlimited = WDR_LIMIT_UNLIMITED | WDR_LIMIT_ZERO;
static const unsigned int bounded;

/* A plain number is seconds: 0.001 and up, since a duration is whole milliseconds. */
static int read_duration(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	const unsigned int *flags = f->arg;
	char buf[WDR_NUM_TEXT_MAX];
	double s = json_number_value(v);

	if (!json_is_real(v))
		return wdr_limit_duration(text_of(v, buf), *flags, at, c->err);
	if (!(s >= 0.001 && s <= WDR_NUM_MAX_SECONDS))
		return wdr_err_set(c->err, -EINVAL,
				   "not a number of seconds: %g: want 0.001..999999999", s);
	(void)snprintf(buf, sizeof(buf), "%.3f", s);
	return wdr_limit_duration(buf, *flags, at, c->err);
}

static int read_size(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	const unsigned int *flags = f->arg;
	char buf[WDR_NUM_TEXT_MAX];

	return wdr_limit_size(text_of(v, buf), *flags, at, c->err);
}

static int read_count(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	const uint64_t *max = f->arg;
	char buf[WDR_NUM_TEXT_MAX];

	if (json_is_string(v) && strcmp(json_string_value(v), "unlimited") != 0)
		return wdr_err_set(c->err, -EINVAL,
				   "wrong type: want a whole number or \"unlimited\"");
	return wdr_limit_count(text_of(v, buf), *max, at, c->err);
}

static int read_cpus(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	(void)f;
	if (!json_is_string(v))
		return wdr_limit_cpus_number(json_number_value(v), at, c->err);
	if (strcmp(json_string_value(v), "unlimited") != 0)
		return wdr_err_set(c->err, -EINVAL, "wrong type: want a number or \"unlimited\"");
	return wdr_limit_cpus("unlimited", at, c->err);
}

static int read_id(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	char buf[WDR_NUM_TEXT_MAX];

	(void)f;
	return wdr_policy_id(text_of(v, buf), at, c->err);
}

/* A part of a whole: above 0, at most 1. */
static int read_share(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	double d = json_number_value(v);

	(void)f;
	if (!(d > 0 && d <= 1))
		return wdr_err_set(c->err, -EINVAL, "out of range: %g: want above 0, at most 1", d);
	*(double *)at = d;
	return 0;
}

static int read_version(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	(void)f;
	(void)at;
	if (json_integer_value(v) == 1)
		return 0;
	return wdr_err_set(c->err, -EINVAL, "version %" JSON_INTEGER_FORMAT " is not known: want 1",
			   json_integer_value(v));
}

static int read_name(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	int r = wdr_policy_check_name(json_string_value(v), c->err);

	(void)f;
	return r < 0 ? r : wdr_policy_set_string(at, json_string_value(v));
}

static int read_path(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	int r = wdr_policy_check_path(json_string_value(v), c->err);

	(void)f;
	return r < 0 ? r : wdr_policy_set_string(at, json_string_value(v));
}

static int read_env(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	const char *name;
	json_t *value;
	size_t mark;
	int r;

	(void)f;
	json_object_foreach(v, name, value) {
		mark = wdr_cursor_enter(c, name);
		r = wdr_field_type(c, value, WDR_IS_STRING);
		if (r < 0)
			return r;
		r = wdr_policy_set_env(at, name, json_string_value(value), c->err);
		if (r < 0)
			return r;
		wdr_cursor_leave(c, mark);
	}
	return 0;
}

static int read_profile(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	unsigned int i;
	int r = wdr_word_find(json_string_value(v), f->arg, &i, c->err);

	return r < 0 ? r : wdr_policy_set_string(at, wdr_words_profile[i]);
}

static int read_true(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	(void)f;
	(void)at;
	if (json_is_true(v))
		return 0;
	return wdr_err_set(c->err, -EINVAL, "false is not to be had: want true");
}

/* "net_raw" and "NET_RAW" are near to no name, but what they mean is clear. */
static int refuse_cap(struct wdr_cursor *c, const char *word)
{
	char full[32] = "CAP_";
	size_t n = 4;

	for (const char *s = word; *s && n < sizeof(full) - 1; s++)
		full[n++] = (char)toupper((unsigned char)*s);
	for (size_t i = 0; wdr_words_caps[i]; i++) {
		if (strcmp(wdr_words_caps[i], full) != 0 && strcmp(wdr_words_caps[i], full + 4))
			continue;
		return wdr_err_set(c->err, -EINVAL, "not known: \"%s\", did you mean \"%s\"?", word,
				   wdr_words_caps[i]);
	}
	return wdr_word_refuse(c->err, "not known:", word, wdr_words_caps);
}

/* An array of words that are bits: each once. */
static int read_bits(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, uint64_t *ret)
{
	uint64_t bits = 0;
	size_t i, mark;
	json_t *e;
	int r;

	json_array_foreach(v, i, e) {
		unsigned int bit;

		mark = wdr_cursor_enter_index(c, i);
		r = wdr_field_type(c, e, WDR_IS_STRING);
		if (r < 0)
			return r;
		r = wdr_word_find(json_string_value(e), f->arg, &bit, c->err);
		if (r < 0)
			return f->arg == wdr_words_caps ? refuse_cap(c, json_string_value(e)) : r;
		if (bits & (UINT64_C(1) << bit))
			return wdr_err_set(c->err, -EINVAL, "\"%s\" is here twice",
					   json_string_value(e));
		bits |= UINT64_C(1) << bit;
		wdr_cursor_leave(c, mark);
	}
	*ret = bits;
	return 0;
}

static int read_caps(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	return read_bits(c, v, f, at);
}

static int read_events(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	uint64_t bits;
	int r = read_bits(c, v, f, &bits);

	if (r < 0)
		return r;
	*(unsigned int *)at = (unsigned int)bits;
	return 0;
}

static const struct wdr_strings calls_allowed = { AT(syscalls.allow), AT(syscalls.n_allow),
						  WDR_POLICY_MAX_SYSCALLS, wdr_policy_check_call };
static const struct wdr_strings calls_denied = { AT(syscalls.deny), AT(syscalls.n_deny),
						 WDR_POLICY_MAX_SYSCALLS, wdr_policy_check_call };
static const uint64_t max_pids = WDR_POLICY_MAX_PIDS;
static const uint64_t max_files = WDR_POLICY_MAX_FILES;

#define WORD(name, member, words)                                               \
	{                                                                       \
		name, WDR_IS_STRING, false, wdr_field_word, AT(member), (words) \
	}
#define TIME(name, member, flags)                                                               \
	{                                                                                       \
		name, WDR_IS_STRING | WDR_IS_NUMBER, false, read_duration, AT(member), &(flags) \
	}
#define SIZE(name, member, flags)                                                          \
	{                                                                                  \
		name, WDR_IS_STRING | WDR_IS_WHOLE, false, read_size, AT(member), &(flags) \
	}
#define PART(name, table)                                                \
	{                                                                \
		name, WDR_IS_OBJECT, false, wdr_field_object, 0, (table) \
	}

static const struct wdr_field user_fields[] = {
	{ "uid", WDR_IS_WHOLE, false, read_id, AT(user.uid), NULL },
	{ "gid", WDR_IS_WHOLE, false, read_id, AT(user.gid), NULL },
	WDR_FIELD_END,
};

static const struct wdr_field limits_fields[] = {
	TIME("wall", limits.wall_ns, or_unlimited),
	TIME("cpu", limits.cpu_ns, or_unlimited),
	{ "cpus", WDR_IS_STRING | WDR_IS_NUMBER, false, read_cpus, AT(limits.cpus), NULL },
	SIZE("memory", limits.memory_bytes, or_unlimited),
	SIZE("swap", limits.swap_bytes, zero_or_unlimited),
	{ "pids", WDR_IS_STRING | WDR_IS_WHOLE, false, read_count, AT(limits.pids), &max_pids },
	{ "files", WDR_IS_STRING | WDR_IS_WHOLE, false, read_count, AT(limits.files), &max_files },
	SIZE("file_size", limits.file_size_bytes, or_unlimited),
	SIZE("disk", limits.disk_bytes, or_unlimited),
	SIZE("stdout", limits.stdout_bytes, bounded),
	SIZE("stderr", limits.stderr_bytes, bounded),
	WORD("on_output", limits.on_output, wdr_words_on_output),
	WDR_FIELD_END,
};

static const struct wdr_field privileges_fields[] = {
	{ "capabilities", WDR_IS_ARRAY, false, read_caps, AT(capabilities), wdr_words_caps },
	{ "no_new_privs", WDR_IS_BOOL, false, read_true, 0, NULL },
	WDR_FIELD_END,
};

static const struct wdr_field syscalls_fields[] = {
	{ "profile", WDR_IS_STRING, false, read_profile, AT(syscalls.profile), wdr_words_profile },
	{ "allow", WDR_IS_ARRAY, false, wdr_field_strings, 0, &calls_allowed },
	{ "deny", WDR_IS_ARRAY, false, wdr_field_strings, 0, &calls_denied },
	WORD("on_deny", syscalls.on_deny, wdr_words_on_syscall),
	{ "count", WDR_IS_BOOL, false, wdr_field_bool, AT(syscalls.count), NULL },
	WDR_FIELD_END,
};

static const struct wdr_field detect_cpu_fields[] = {
	WORD("action", detect.cpu_action, wdr_words_detect),
	{ "above", WDR_IS_NUMBER, false, read_share, AT(detect.cpu_above), NULL },
	TIME("for", detect.cpu_for_ns, bounded),
	WDR_FIELD_END,
};

static const struct wdr_field detect_mining_fields[] = {
	WORD("action", detect.mining_action, wdr_words_detect),
	{ "threshold", WDR_IS_NUMBER, false, read_share, AT(detect.mining_threshold), NULL },
	WDR_FIELD_END,
};

static const struct wdr_field detect_fields[] = {
	PART("cpu", detect_cpu_fields),
	PART("mining", detect_mining_fields),
	WDR_FIELD_END,
};

static const struct wdr_field audit_fields[] = {
	{ "events", WDR_IS_ARRAY, false, read_events, AT(audit_events), wdr_words_audit },
	WDR_FIELD_END,
};

const struct wdr_field wdr_policy_fields[] = {
	{ "version", WDR_IS_WHOLE, true, read_version, 0, NULL },
	{ "name", WDR_IS_STRING, false, read_name, AT(name), NULL },
	WORD("backend", backend, wdr_words_backend),
	PART("user", user_fields),
	{ "workdir", WDR_IS_STRING, false, read_path, AT(workdir), NULL },
	{ "env", WDR_IS_OBJECT, false, read_env, 0, NULL },
	PART("limits", limits_fields),
	PART("filesystem", wdr_fs_fields),
	PART("privileges", privileges_fields),
	PART("syscalls", syscalls_fields),
	PART("network", wdr_network_fields),
	PART("detect", detect_fields),
	PART("audit", audit_fields),
	WORD("on_supervisor_loss", on_loss, wdr_words_on_loss),
	WDR_FIELD_END,
};
