/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job sees at /etc and of a merged /usr, the same under every backend: generated files that
 * say nothing of the host, and what programs need of the host's own. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy.h"

#define WDR_ETC_TEXT_MAX 1024 /* any generated file, NUL included */
#define WDR_JOB_HOSTNAME "warder"

struct wdr_etc_bind {
	const char *name; /* below /etc; shown read-only where the host has it */
	bool is_dir;
};

extern const struct wdr_etc_bind wdr_etc_binds[];
extern const size_t wdr_etc_n_binds;

/* On a merged-/usr machine these are links at the top, and stay the same links. */
extern const char *const wdr_etc_usr_links[];
extern const size_t wdr_etc_n_usr_links;

/*
 * Generated file @i: its name below /etc and its text, in @buf. 0, or -ENOENT past the last.
 */
int wdr_etc_text(const struct wdr_policy *p, unsigned int i, const char **ret_name,
		 char buf[WDR_ETC_TEXT_MAX]) wdr_must_check;
