/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/proc.h"

#include <stdio.h>
#include <string.h>

#include "base/wdr_role.h"
#include "feed.h"
#include "proc/reader.h"

#define EXIT_REFUSED 125

static const struct role {
	const char *name;
	int (*run)(void);
} roles[] = {
	{ WDR_FEED_ROLE, wdr_proc_reader },
};

static const struct role *find_role(const char *name)
{
	for (size_t i = 0; name && i < sizeof(roles) / sizeof(roles[0]); i++)
		if (!strcmp(roles[i].name, name))
			return &roles[i];
	return NULL;
}

bool wdr_proc_is_role(const char *argv0)
{
	return find_role(argv0);
}

int wdr_proc_main(const char *argv0)
{
	const struct role *role = find_role(argv0);
	struct wdr_err err = { 0 };

	if (wdr_role_check(&err) < 0) {
		(void)fprintf(stderr, "%s: %s\n", argv0, err.msg);
		return EXIT_REFUSED;
	}
	return role->run();
}
