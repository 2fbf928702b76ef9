/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options from a table. One row is an option: how it is spelt, what it is for, what it sets. The
 * parser, --help and the tests of man page and completions all read the same rows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/wdr_err.h"

struct wdr_option {
	const char *name; /* long, without its dashes */
	char letter;	  /* 0: no short form */
	const char *arg;  /* how help calls its value; NULL: takes none */
	const char *help; /* one line */
	/* Takes @value (NULL where arg is NULL, else the caller's string). 0 or -errno with *err. */
	int (*set)(void *ctx, const struct wdr_option *o, const char *value, struct wdr_err *err);
	size_t field; /* for the setters below: where in *ctx, by offsetof */
	const char
		*unsupported; /* NULL; else why this build refuses it: a named error, not silence */
};

/* The row after the last has no name. */
#define WDR_OPTION_END        \
	{                     \
		.name = NULL, \
	}

enum wdr_options_order {
	WDR_OPTIONS_FIRST, /* the first word that is no option ends them: `run PROGRAM --its-own` */
	WDR_OPTIONS_ANYWHERE /* words and options in any order, until "--" */
};

/*
 * Read argv[1] and on against @table. The words that are no options are moved, in order, to the
 * end of @argv; *ret_first is the index of the first of them (@argc if there is none).
 * Takes --name VALUE, --name=VALUE, -n VALUE, -nVALUE, and letters without value together (-qi).
 * Names are never abbreviated. "-" is a word.
 * Returns 0; -EINVAL for an unknown option (with the nearest), a missing or an unwanted value;
 * -EOPNOTSUPP for an unsupported one; what a setter returned, the option's name put before its
 * message. @tables is NULL-terminated.
 */
int wdr_options_parse(const struct wdr_option *const tables[], enum wdr_options_order order,
		      int argc, char **argv, void *ctx, int *ret_first,
		      struct wdr_err *err) wdr_must_check;

/* Setters for fields of *ctx: a bool that becomes true, a const char * (the last one counts). */
int wdr_option_set_true(void *ctx, const struct wdr_option *o, const char *value,
			struct wdr_err *err);
int wdr_option_set_string(void *ctx, const struct wdr_option *o, const char *value,
			  struct wdr_err *err);
