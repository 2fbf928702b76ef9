/* SPDX-License-Identifier: Apache-2.0 */
/* List files: prefixes, one a line. */
#include <errno.h>
#include <string.h>

#include "policy_priv.h"

#define LINE_MAX_BYTES 80 /* of a prefix: the longest has 49 */

static size_t count_prefixes(const struct wdr_policy *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->net.n_rules; i++)
		n += p->net.rules[i].n_to;
	return n;
}

/* What stands in @n bytes of @line without comment and white space. False: too long, or odd bytes. */
static bool strip_line(const char *line, size_t n, char out[LINE_MAX_BYTES])
{
	const char *hash = memchr(line, '#', n);

	if (hash)
		n = (size_t)(hash - line);
	while (n && strchr(" \t\r", line[n - 1]) && line[n - 1])
		n--;
	while (n && (*line == ' ' || *line == '\t')) {
		line++;
		n--;
	}
	if (n >= LINE_MAX_BYTES || memchr(line, '\0', n))
		return false;
	memcpy(out, line, n);
	out[n] = '\0';
	return true;
}

static int fail_line(const char *file, size_t line, int r, struct wdr_err *err)
{
	char rest[24];

	if (!err)
		return r;
	(void)snprintf(rest, sizeof(rest), "%zu", line);
	wdr_place(err->where, sizeof(err->where), file, rest);
	return r;
}

static int read_lines(const char *file, const char *text, size_t len, size_t room,
		      struct wdr_prefix *to, size_t *ret_n, struct wdr_err *err)
{
	const char *end = text + len;
	char word[LINE_MAX_BYTES];
	size_t n = 0;
	int r = 0;

	for (size_t line = 1; text < end; line++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t n_line = (size_t)((stop ? stop : end) - text);

		if (!strip_line(text, n_line, word))
			r = wdr_err_set(err, -EINVAL, "not an address: want ADDR or ADDR/LEN");
		else if (*word && n >= room)
			r = wdr_err_set(err, -E2BIG, "too many prefixes: a policy has at most %d",
					WDR_POLICY_MAX_RULES);
		else if (*word)
			r = wdr_addr_prefix(word, &to[n++], err);
		if (r < 0)
			return fail_line(file, line, r, err);
		text += n_line + 1;
	}
	*ret_n = n;
	return 0;
}

int wdr_policy_add_list(struct wdr_policy *p, size_t index, const char *file, const char *text,
			size_t len, struct wdr_err *err)
{
	size_t have = count_prefixes(p), lines = 1, n = 0;
	wdr_free_ struct wdr_prefix *to = NULL;
	struct wdr_rule *rule = &p->net.rules[index];
	int r;

	for (const char *s = text; (s = memchr(s, '\n', (size_t)(text + len - s))); s++)
		lines++;
	if (lines > WDR_POLICY_MAX_RULES)
		lines = WDR_POLICY_MAX_RULES;
	to = calloc(lines, sizeof(*to));
	if (!to)
		return -ENOMEM;
	r = read_lines(file, text, len,
		       have < WDR_POLICY_MAX_RULES ? WDR_POLICY_MAX_RULES - have : 0, to, &n, err);
	if (r < 0)
		return r;
	free(rule->to);
	rule->to = WDR_TAKE_PTR(to);
	rule->n_to = n;
	return 0;
}
