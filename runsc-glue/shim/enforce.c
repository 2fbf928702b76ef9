/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/enforce.h"

#include <stdio.h>

#include "job/contain.h"

#define NAME_MAX_LEN 64

/* A cgroup's name for a container: part of its id, for people, and a hash of id and root. */
static const char *name_of(const struct wdr_shim_record *r, char name[NAME_MAX_LEN])
{
	uint64_t h = 14695981039346656037ULL; /* FNV-1a, draft-eastlake-fnv */
	const char *parts[] = { r->root, "/", r->id };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		for (const char *c = parts[i]; *c; c++)
			h = (h ^ (unsigned char)*c) * 1099511628211ULL;
	}
	(void)snprintf(name, NAME_MAX_LEN, "c-%.24s-%016llx", r->id, (unsigned long long)h);
	for (char *c = name; *c; c++) {
		if (*c == '/')
			*c = '_';
	}
	return name;
}

static int before(const struct wdr_shim_container *c, struct wdr_err *err)
{
	char name[NAME_MAX_LEN];

	return wdr_contain_begin(c->policy, name_of(c->record, name), c->bundle->netns,
				 !c->bundle->has_netns, err);
}

/* All of it holds from before the first instruction. */
static int created(const struct wdr_shim_container *c, struct wdr_err *err)
{
	(void)c;
	(void)err;
	return 0;
}

static void gone(const struct wdr_shim_record *r)
{
	char name[NAME_MAX_LEN];

	wdr_contain_end(name_of(r, name));
}

const struct wdr_shim_hooks wdr_shim_enforce = { before, created, gone };
