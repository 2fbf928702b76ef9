/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to policy: what JSON alone can't refuse, then the tables, then what only shows in the whole. */
#include <errno.h>
#include <string.h>

#include "base/wdr_text.h"
#include "base/wdr_utf8.h"
#include "policy_priv.h"

/* A place in the text, as editors count: lines and characters from 1. */
struct spot {
	unsigned int line, col;
};

static int fail_at(const char *file, struct spot at, struct wdr_err *err, const char *what)
{
	char where[sizeof(err->where)], rest[32];

	(void)snprintf(rest, sizeof(rest), "%u:%u", at.line, at.col);
	wdr_place(where, sizeof(where), file, rest);
	return wdr_err_at(err, -EINVAL, where, "%s", what);
}

/* Where the scan stands: strings are skipped, whether they are good ones is jansson's question. */
struct scan {
	struct spot at;
	bool in_string;
	bool escaped; /* the character before was a backslash */
	unsigned int depth;
};

/* Take one character of the text, of one byte. Returns what is wrong with it, or NULL. */
static const char *take(struct scan *s, char ch)
{
	bool escaped = s->escaped;

	s->escaped = s->in_string && ch == '\\' && !escaped;
	if (!ch)
		return "a NUL byte";
	if (ch == '\n')
		s->at = (struct spot){ .line = s->at.line + 1 };
	else if (ch == '"' && !escaped)
		s->in_string = !s->in_string;
	else if (s->in_string)
		return NULL;
	else if ((ch == '{' || ch == '[') && ++s->depth > WDR_POLICY_MAX_DEPTH)
		return "nested deeper than 32 levels";
	else if ((ch == '}' || ch == ']') && s->depth)
		s->depth--;
	return NULL;
}

/* What to refuse before a parser that recurses sees it: depth, and bytes that people do not see. */
static int scan(const char *file, const char *text, size_t len, struct wdr_err *err)
{
	struct scan s = { .at = { .line = 1 } };
	const char *what = NULL;
	size_t n;

	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		return fail_at(file, (struct spot){ 1, 1 }, err,
			       "a byte-order mark: save the file as UTF-8 without one");
	for (; len && !what; text += n, len -= n) {
		n = wdr_utf8_char(text, len);
		s.at.col++;
		if (!n)
			return fail_at(file, s.at, err, "not UTF-8");
		what = take(&s, n == 1 ? *text : 'x');
	}
	return what ? fail_at(file, s.at, err, what) : 0;
}

/* What people take for JSON and is none, told by the token that jansson stops at. */
static const char *syntax_hint(const char *text)
{
	static const struct {
		const char *near, *hint;
	} hints[] = {
		{ "near '/'", ": JSON has no comments" },
		{ "near '#'", ": JSON has no comments" },
		{ "near '''", ": strings are in double quotes" },
		{ "string or '}' expected near '}'", ": no comma behind the last entry" },
		{ "unexpected token near ']'", ": no comma behind the last entry" },
	};

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (strstr(text, hints[i].near))
			return hints[i].hint;
	return "";
}

/* jansson's text with the bytes of the file in it made harmless, its quotes left as they are. */
static void show_text(const char *text, char *out, size_t size)
{
	char *to = out;

	(void)wdr_text_escape(text, strlen(text), out, size);
	for (const char *from = out; *from; from++) {
		if (*from == '\\' && (from[1] == '"' || from[1] == '\\'))
			from++;
		*to++ = *from;
	}
	*to = '\0';
}

static int load_json(const char *file, const char *text, size_t len, json_t **ret,
		     struct wdr_err *err)
{
	char what[sizeof(err->msg)], shown[160];
	json_error_t je;
	struct spot at;
	int r;

	r = wdr_json_load(text, len, JSON_REJECT_DUPLICATES, ret, &je);
	if (r != -EINVAL)
		return r;
	at = (struct spot){ je.line > 0 ? (unsigned int)je.line : 1,
			    je.column > 0 ? (unsigned int)je.column : 1 };
	show_text(je.text, shown, sizeof(shown));
	(void)snprintf(what, sizeof(what), "%s%s", shown, syntax_hint(je.text));
	return fail_at(file, at, err, what);
}

/* The file's name without .json, made into a name. */
static int name_after(const char *file, struct wdr_policy *p)
{
	const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	char name[WDR_POLICY_NAME_MAX + 1];
	size_t n = strlen(base);

	if (n > 5 && !strcmp(base + n - 5, ".json"))
		n -= 5;
	if (n > WDR_POLICY_NAME_MAX)
		n = WDR_POLICY_NAME_MAX;
	memcpy(name, base, n);
	name[n] = '\0';
	for (size_t i = 0; i < n; i++) {
		char probe[] = { 'a', name[i], '\0' };

		if (wdr_policy_check_name(i ? probe : probe + 1, NULL) < 0)
			name[i] = i ? '-' : 'x';
	}
	return wdr_policy_set_string(&p->name, n ? name : "policy");
}

static int check_whole(struct wdr_cursor *c, const struct wdr_policy *p)
{
	if (p->net.mode != WDR_NET_NONE || !p->net.n_rules)
		return 0;
	(void)wdr_cursor_enter(c, "network");
	(void)wdr_cursor_enter(c, "rules");
	return wdr_cursor_place(
		c,
		wdr_err_set(c->err, -EINVAL,
			    "rules without a network: want \"mode\" egress or host, or no rules"));
}

int wdr_policy_parse(const char *file, const char *text, size_t len, struct wdr_policy **ret,
		     struct wdr_err *err)
{
	struct wdr_cursor c = { .file = file, .root = wdr_policy_fields, .err = err };
	wdr_policy_ struct wdr_policy *p = NULL;
	wdr_json_ json_t *doc = NULL;
	int r;

	if (len > WDR_POLICY_MAX_BYTES)
		return wdr_cursor_place(&c, wdr_err_set(err, -EFBIG, "larger than 1 MiB"));
	r = scan(file, text, len, err);
	if (r < 0)
		return r;
	r = load_json(file, text, len, &doc, err);
	if (r < 0)
		return r;
	r = wdr_policy_default(&p);
	if (r < 0)
		return r;
	r = name_after(file, p);
	if (r < 0)
		return r;
	r = wdr_field_read(&c, doc, wdr_policy_fields, p);
	if (r < 0)
		return r;
	r = check_whole(&c, p);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(p);
	return 0;
}
