/* SPDX-License-Identifier: Apache-2.0 */
/* Single values: one check for the policy's field and for the option that overrides it. */
#include "policy_priv.h"

#include <errno.h>
#include <string.h>

#include "base/wdr_num.h"
#include "base/wdr_text.h"
#include "base/wdr_utf8.h"

#define UNLIMITED "unlimited"

/* "WHAT "s": want WANT" */
static int refuse(struct wdr_err *err, const char *what, const char *s, const char *want)
{
	char shown[72];

	return wdr_err_set(err, -EINVAL, "%s \"%s\": want %s", what,
			   wdr_text_escape(s, strlen(s), shown, sizeof(shown)), want);
}

/* What is true of a duration and a size alike, once it is read: zero and "unlimited". */
static int check_limit(int r, const char *s, unsigned int flags, uint64_t *v, struct wdr_err *err)
{
	if (r == 0 && !*v && !(flags & WDR_LIMIT_ZERO))
		return wdr_err_set(err, -EINVAL, "0 is no limit: want more%s",
				   flags & WDR_LIMIT_UNLIMITED ? ", or \"unlimited\"" : "");
	return r < 0 && !strcmp(s, UNLIMITED) ?
		       wdr_err_set(err, -EINVAL, "this limit can't be unlimited: want a size") :
		       r;
}

int wdr_limit_duration(const char *s, unsigned int flags, uint64_t *ret_ns, struct wdr_err *err)
{
	uint64_t v = WDR_UNLIMITED;
	int r = 0;

	if (!(flags & WDR_LIMIT_UNLIMITED) || strcmp(s, UNLIMITED) != 0)
		r = check_limit(wdr_num_duration(s, &v, err), s, flags, &v, err);
	if (r < 0)
		return r;
	*ret_ns = v;
	return 0;
}

int wdr_limit_size(const char *s, unsigned int flags, uint64_t *ret, struct wdr_err *err)
{
	uint64_t v = WDR_UNLIMITED;
	int r = 0;

	if (!(flags & WDR_LIMIT_UNLIMITED) || strcmp(s, UNLIMITED) != 0)
		r = check_limit(wdr_num_size(s, &v, err), s, flags, &v, err);
	if (r < 0)
		return r;
	*ret = v;
	return 0;
}

int wdr_limit_count(const char *s, uint64_t max, uint64_t *ret, struct wdr_err *err)
{
	uint64_t v;

	if (!strcmp(s, UNLIMITED)) {
		*ret = WDR_UNLIMITED;
		return 0;
	}
	if (!strcmp(s, "0"))
		return wdr_err_set(err, -EINVAL, "0 is no limit: want more, or \"unlimited\"");
	if (wdr_num_integer(s, 1, max, &v, err) < 0)
		return -EINVAL;
	*ret = v;
	return 0;
}

int wdr_limit_cpus_number(double v, double *ret, struct wdr_err *err)
{
	if (!(v >= WDR_POLICY_MIN_CPUS && v <= WDR_POLICY_MAX_CPUS))
		return wdr_err_set(err, -EINVAL,
				   "not a share of CPUs: %g: want 0.01..8192 (0.5 is half of one), "
				   "or \"unlimited\"",
				   v);
	*ret = v;
	return 0;
}

int wdr_limit_cpus(const char *s, double *ret, struct wdr_err *err)
{
	double v;

	if (!strcmp(s, UNLIMITED)) {
		*ret = 0;
		return 0;
	}
	if (wdr_num_decimal(s, &v, err) < 0)
		return -EINVAL;
	return wdr_limit_cpus_number(v, ret, err);
}

int wdr_policy_id(const char *s, uint32_t *ret, struct wdr_err *err)
{
	uint64_t v;

	if (wdr_num_integer(s, 0, WDR_POLICY_MAX_ID, &v, err) < 0)
		return -EINVAL;
	*ret = (uint32_t)v;
	return 0;
}

static bool is_word(const char *s, const char *first, const char *rest, size_t max)
{
	return *s && strchr(first, *s) && !s[strspn(s, rest)] && strlen(s) <= max;
}

#define LOWER	"abcdefghijklmnopqrstuvwxyz"
#define UPPER	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS	"0123456789"
#define LETTERS LOWER UPPER

int wdr_policy_check_name(const char *s, struct wdr_err *err)
{
	if (is_word(s, LETTERS DIGITS, LETTERS DIGITS "._-", WDR_POLICY_NAME_MAX))
		return 0;
	return refuse(err, "not a name:", s,
		      "a letter or digit, then letters, digits, \".\", \"_\" or \"-\", 63 at most");
}

int wdr_policy_check_call(const char *s, struct wdr_err *err)
{
	if (is_word(s, LOWER "_", LOWER "_" DIGITS, WDR_CALL_NAME_MAX))
		return 0;
	return refuse(err, "not a system call:", s, "a name such as clone3");
}

int wdr_policy_check_env_name(const char *s, struct wdr_err *err)
{
	if (is_word(s, LETTERS "_", LETTERS "_" DIGITS, WDR_ENV_NAME_MAX))
		return 0;
	return refuse(err, "not the name of a variable:", s,
		      "a letter or \"_\", then letters, digits and \"_\", 255 at most");
}

int wdr_policy_check_text(const char *s, size_t max, bool plain, struct wdr_err *err)
{
	size_t left = strlen(s), n = 0, step;

	for (; left; s += step, left -= step, n++) {
		step = wdr_utf8_char(s, left);
		if (!step)
			return wdr_err_set(err, -EINVAL, "not UTF-8 at character %zu", n + 1);
		if (plain && ((unsigned char)*s < 0x20 || *s == 0x7f))
			return wdr_err_set(err, -EINVAL, "a control character at %zu", n + 1);
	}
	if (n > max)
		return wdr_err_set(err, -EINVAL, "%zu characters: at most %zu", n, max);
	return 0;
}

/* Whether the component of @n bytes at @s is "", "." or "..". */
static bool odd_component(const char *s, size_t n)
{
	return n == 0 || (n <= 2 && !memcmp(s, "..", n));
}

int wdr_policy_check_path(const char *s, struct wdr_err *err)
{
	int r = wdr_policy_check_text(s, WDR_POLICY_TEXT_MAX, true, err);

	if (r < 0)
		return r;
	if (*s != '/')
		return refuse(err, "not an absolute path:", s, "one that starts with /");
	if (!s[1])
		return 0;
	for (const char *at = s + 1;; at++) {
		size_t n = strcspn(at, "/");

		if (odd_component(at, n))
			return refuse(err, "not a plain path:", s,
				      "no \".\", no \"..\", no doubled or trailing slash");
		at += n;
		if (!*at)
			return 0;
	}
}

static bool below(const char *s, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(s, dir, n) && (!s[n] || s[n] == '/');
}

int wdr_policy_check_target(const char *s, struct wdr_err *err)
{
	int r = wdr_policy_check_path(s, err);

	if (r < 0)
		return r;
	if (!s[1] || !strcmp(s, "/dev") || below(s, "/proc") || below(s, "/sys"))
		return refuse(err, "can't be mounted over:", s,
			      "a place other than /, /dev, /proc and /sys");
	return 0;
}

int wdr_policy_check_source(const char *s, struct wdr_err *err)
{
	if (!*s)
		return wdr_err_set(err, -EINVAL, "empty: want a path");
	return wdr_policy_check_text(s, WDR_SOURCE_TEXT_MAX, true, err);
}

int wdr_policy_join(const char *base, const char *path, char **ret, struct wdr_err *err)
{
	wdr_free_ char *whole = NULL;
	int r;

	while (!strncmp(path, "./", 2) && path[2])
		path += 2;
	if (asprintf(&whole, "%s%s%s", *path == '/' || !strcmp(base, "/") ? "" : base,
		     *path == '/' ? "" : "/", path) < 0)
		return -ENOMEM;
	r = wdr_policy_check_source(whole, err);
	if (r < 0)
		return r;
	free(*ret);
	*ret = WDR_TAKE_PTR(whole);
	return 0;
}
