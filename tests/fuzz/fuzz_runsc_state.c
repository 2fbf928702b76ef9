/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what runsc says or writes: its state file, its log, flags, version, a cached answer. */
#include <stdint.h>
#include <string.h>

#include "sandbox_priv.h"
#include "state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_state(const char *text, size_t n)
{
	struct wdr_runsc_state s;

	if (wdr_runsc_state_parse(text, n, &s) < 0)
		return;
	if (s.gofer_pid < 0 || s.sentry_pid < 0 || strlen(s.control) >= sizeof(s.control) ||
	    strlen(s.status) >= sizeof(s.status))
		abort();
}

static void check_log(const char *text, size_t n)
{
	struct wdr_err err = { 0 };
	int code = wdr_start_failure(text, n, "prog", &err);

	if (code < 125 || code > 127 || !err.code || !err.msg[0])
		abort();
	for (const char *c = err.msg; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			abort();
}

static void check_answer(const char *text, size_t n)
{
	static const struct wdr_runsc_key key = { .boot = "b", .path = "/r" };
	wdr_json_ json_t *o = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	struct wdr_runsc r;

	if (o && wdr_runsc_from_json(o, &key, 100, &r) == 0 &&
	    (r.platform >= _WDR_RUNSC_PLATFORM_MAX || strcmp(r.path, key.path) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	wdr_free_ char *text = malloc(size + 1);
	char version[64];

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_state(text, size);
	check_log(text, size);
	check_answer(text, size);
	if (wdr_runsc_version(text, version, sizeof(version)) == 0 && !version[0])
		abort();
	if (wdr_runsc_features(text) & ~(unsigned int)_WDR_RUNSC_FEATURES)
		abort();
	return 0;
}
