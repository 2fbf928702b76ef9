/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an engine's config.json, as the shim's settings, as a record of its own. */
#include <stdint.h>
#include <string.h>

#include "shim/choice.h"
#include "shim/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct wdr_shim_settings any = { .any_name = true };
	wdr_shim_settings_ struct wdr_shim_settings *s = NULL;
	wdr_shim_record_ struct wdr_shim_record *rec = NULL;
	wdr_shim_bundle_ struct wdr_shim_bundle *b = NULL;
	const char *text = (const char *)data, *name = NULL;
	struct wdr_err err = { 0 };
	wdr_json_ json_t *o = NULL;

	if (wdr_shim_bundle_parse(text, size, &b, &err) == 0) {
		err = (struct wdr_err){ 0 };
		/* A name that is taken leads nowhere but to a policy's file. */
		if (wdr_shim_choose(&any, b, &name, &err) == 0 && name &&
		    (strchr(name, '/') || name[0] == '.' || strlen(name) > WDR_POLICY_NAME_MAX))
			abort();
	} else if (!err.msg[0]) {
		abort();
	}
	err = (struct wdr_err){ 0 };
	if (wdr_shim_settings_parse("s", text, size, &s, &err) < 0 && !err.msg[0])
		abort();
	o = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	if (o && wdr_shim_record_from_json(o, &rec) == 0) {
		wdr_json_ json_t *again = wdr_shim_record_to_json(rec);

		if (!json_equal(o, again))
			abort();
	}
	return 0;
}
