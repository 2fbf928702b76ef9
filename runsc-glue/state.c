/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/wdr_json.h"

static int take_string(json_t *o, const char *key, char *dst, size_t size)
{
	json_t *v = json_object_get(o, key);
	size_t n;

	if (!v)
		return 0;
	n = json_string_length(v);
	/* A NUL inside would end a path early. */
	if (!json_is_string(v) || n >= size || strlen(json_string_value(v)) != n)
		return -EPROTO;
	memcpy(dst, json_string_value(v), n + 1);
	return 0;
}

static int take_pid(json_t *o, const char *key, pid_t *ret)
{
	json_t *v = json_object_get(o, key);
	json_int_t n = json_integer_value(v);

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_integer(v) || n < 0 || n > INT32_MAX)
		return -EPROTO;
	*ret = (pid_t)n;
	return 0;
}

int wdr_runsc_state_parse(const char *text, size_t n, struct wdr_runsc_state *ret)
{
	wdr_json_ json_t *o = json_loadb(text, n, JSON_ALLOW_NUL, NULL);
	json_t *sandbox = json_object_get(o, "sandbox");
	struct wdr_runsc_state s = { 0 };
	int r;

	if (!json_is_object(o) || (sandbox && !json_is_object(sandbox) && !json_is_null(sandbox)))
		return -EPROTO;
	r = take_string(o, "status", s.status, sizeof(s.status));
	if (r == 0)
		r = take_string(o, "bundleDir", s.bundle, sizeof(s.bundle));
	if (r == 0)
		r = take_pid(o, "goferPid", &s.gofer_pid);
	if (r == 0)
		r = take_pid(sandbox, "pid", &s.sentry_pid);
	if (r == 0)
		r = take_string(sandbox, "controlSocketPath", s.control, sizeof(s.control));
	if (r == 0)
		*ret = s;
	return r;
}
