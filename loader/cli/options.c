/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/wdr_text.h"

#define SHOWN_MAX 80 /* of a word that is no option, in a message */

struct parser {
	const struct wdr_option *const *tables;
	int argc;
	char **argv;
	int next; /* index of the word to look at */
	void *ctx;
};

static const struct wdr_option *find_name(const struct parser *p, const char *name, size_t len)
{
	for (const struct wdr_option *const *t = p->tables; *t; t++)
		for (const struct wdr_option *o = *t; o->name; o++)
			if (strlen(o->name) == len && !memcmp(o->name, name, len))
				return o;
	return NULL;
}

static const struct wdr_option *find_letter(const struct parser *p, char letter)
{
	for (const struct wdr_option *const *t = p->tables; *t; t++)
		for (const struct wdr_option *o = *t; o->name; o++)
			if (o->letter && o->letter == letter)
				return o;
	return NULL;
}

/* @shown is the option as it was typed, @meant what its name may have been. */
static int refuse_unknown(const struct parser *p, const char *shown, const char *meant,
			  struct wdr_err *err)
{
	struct wdr_nearest near = { .word = meant };
	char safe[SHOWN_MAX];

	for (const struct wdr_option *const *t = p->tables; *t; t++)
		for (const struct wdr_option *o = *t; o->name; o++)
			wdr_nearest_offer(&near, o->name);
	wdr_text_escape(shown, strlen(shown), safe, sizeof(safe));
	if (near.best)
		return wdr_err_set(err, -EINVAL, "unknown option %s, did you mean --%s?", safe,
				   near.best);
	return wdr_err_set(err, -EINVAL, "unknown option %s", safe);
}

static int set_option(struct parser *p, const struct wdr_option *o, const char *value,
		      struct wdr_err *err)
{
	int r;

	if (o->unsupported)
		return wdr_err_set(err, -EOPNOTSUPP, "--%s: %s", o->name, o->unsupported);
	r = o->set(p->ctx, o, value, err);
	if (r < 0)
		return wdr_err_wrap(err, r, "--%s", o->name);
	return 0;
}

/* The value that stands in a word of its own. */
static int take_value(struct parser *p, const struct wdr_option *o, const char **ret,
		      struct wdr_err *err)
{
	if (p->next >= p->argc)
		return wdr_err_set(err, -EINVAL, "--%s wants a value: %s", o->name, o->arg);
	*ret = p->argv[p->next++];
	return 0;
}

static int parse_long(struct parser *p, const char *word, struct wdr_err *err)
{
	const char *name = word + 2;
	size_t len = strcspn(name, "=");
	const struct wdr_option *o = find_name(p, name, len);
	const char *value = name[len] ? name + len + 1 : NULL;
	int r;

	if (!o) {
		char typed[SHOWN_MAX];

		(void)snprintf(typed, sizeof(typed), "--%.*s", (int)len, name);
		return refuse_unknown(p, typed, typed + 2, err);
	}
	if (!o->arg && value)
		return wdr_err_set(err, -EINVAL, "--%s takes no value", o->name);
	if (o->arg && !value) {
		r = take_value(p, o, &value, err);
		if (r < 0)
			return r;
	}
	return set_option(p, o, value, err);
}

/* -q, -qi, -t5, -t 5. A name behind one dash is a slip, not a row of letters. */
static int parse_letters(struct parser *p, const char *word, struct wdr_err *err)
{
	if (word[2] && find_name(p, word + 1, strcspn(word + 1, "=")))
		return refuse_unknown(p, word, word + 1, err);
	for (const char *c = word + 1; *c; c++) {
		const struct wdr_option *o = find_letter(p, *c);
		const char *value = NULL;
		int r;

		if (!o) {
			char typed[] = { '-', *c, '\0' };

			return refuse_unknown(p, word[2] ? word : typed, word + 1, err);
		}
		if (o->arg && c[1]) {
			value = c + 1;
		} else if (o->arg) {
			r = take_value(p, o, &value, err);
			if (r < 0)
				return r;
		}
		r = set_option(p, o, value, err);
		if (r < 0 || value)
			return r;
	}
	return 0;
}

static int parse_word(struct parser *p, const char *word, struct wdr_err *err)
{
	return word[1] == '-' ? parse_long(p, word, err) : parse_letters(p, word, err);
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

int wdr_options_parse(const struct wdr_option *const tables[], enum wdr_options_order order,
		      int argc, char **argv, void *ctx, int *ret_first, struct wdr_err *err)
{
	struct parser p = { .tables = tables, .argc = argc, .argv = argv, .next = 1, .ctx = ctx };
	int n_words = 0; /* kept in argv[1]..., whose own words have been read already */

	while (p.next < argc) {
		char *word = argv[p.next];
		int r;

		if (!strcmp(word, "--")) {
			p.next++;
			break;
		}
		if (!is_option(word) && order == WDR_OPTIONS_FIRST)
			break;
		p.next++;
		if (!is_option(word)) {
			argv[1 + n_words++] = word;
			continue;
		}
		r = parse_word(&p, word, err);
		if (r < 0)
			return r;
	}
	p.next -= n_words;
	memmove(argv + p.next, argv + 1, (size_t)n_words * sizeof(*argv));
	*ret_first = p.next;
	return 0;
}

int wdr_option_set_true(void *ctx, const struct wdr_option *o, const char *value,
			struct wdr_err *err)
{
	(void)value;
	(void)err;
	*(bool *)((char *)ctx + o->field) = true;
	return 0;
}

int wdr_option_set_string(void *ctx, const struct wdr_option *o, const char *value,
			  struct wdr_err *err)
{
	if (!value[0])
		return wdr_err_set(err, -EINVAL, "an empty value: want %s", o->arg);
	memcpy((char *)ctx + o->field, &value, sizeof(value));
	return 0;
}
