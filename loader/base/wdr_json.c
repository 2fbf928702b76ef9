/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_json.h"

#include <errno.h>
#include <stdbool.h>

static bool g_out_of_memory;

/* jansson frees with free(3), as before: what it allocated earlier stays good. */
static void *allocate(size_t n)
{
	void *p = malloc(n);

	if (!p)
		g_out_of_memory = true;
	return p;
}

int wdr_json_load(const char *text, size_t len, size_t flags, json_t **ret, json_error_t *ret_error)
{
	json_t *doc;

	json_set_alloc_funcs(allocate, free);
	g_out_of_memory = false;
	doc = json_loadb(text, len, flags, ret_error);
	if (g_out_of_memory) {
		json_decref(doc);
		return -ENOMEM;
	}
	if (!doc)
		return -EINVAL;
	*ret = doc;
	return 0;
}

int wdr_json_dump(const json_t *doc, size_t flags, char **ret)
{
	char *text;

	json_set_alloc_funcs(allocate, free);
	g_out_of_memory = false;
	text = json_dumps(doc, flags);
	if (!text || g_out_of_memory) {
		free(text);
		return -ENOMEM;
	}
	*ret = text;
	return 0;
}
