/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_field.h"

#include <errno.h>
#include <string.h>

#include "wdr_text.h"

#define KEY_SHOWN 64

void wdr_place(char *where, size_t size, const char *file, const char *rest)
{
	size_t room = size / 3; /* of the file's name, if the rest wants the other two thirds */
	size_t n_file = strlen(file), n_rest = strlen(rest);
	const char *dots = "";

	if (n_rest < size - room)
		room = size - n_rest - 2;
	if (n_file > room) {
		file += n_file - room + 3;
		/* Not from the middle of a character on. */
		while (((unsigned char)*file & 0xc0) == 0x80)
			file++;
		dots = "...";
	}
	(void)snprintf(where, size, "%s%s%s%s", dots, file, *rest ? ":" : "", rest);
}

int wdr_cursor_place(struct wdr_cursor *c, int r)
{
	if (r < 0 && r != -ENOMEM && c->err && !c->err->where[0])
		wdr_place(c->err->where, sizeof(c->err->where), c->file, c->path);
	return r;
}

/* RFC 6901 section 3 writes ~ as ~0 and / as ~1; what would upset a terminal is escaped first. */
size_t wdr_cursor_enter(struct wdr_cursor *c, const char *key)
{
	size_t mark = strlen(c->path), n = mark;
	char shown[KEY_SHOWN];

	(void)wdr_text_escape(key, strlen(key), shown, sizeof(shown));
	if (n + 1 < sizeof(c->path))
		c->path[n++] = '/';
	for (const char *s = shown; *s && n + 2 < sizeof(c->path); s++) {
		c->path[n++] = *s == '~' || *s == '/' ? '~' : *s;
		if (*s == '~' || *s == '/')
			c->path[n++] = *s == '~' ? '0' : '1';
	}
	c->path[n] = '\0';
	return mark;
}

size_t wdr_cursor_enter_index(struct wdr_cursor *c, size_t i)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%zu", i);
	return wdr_cursor_enter(c, text);
}

void wdr_cursor_leave(struct wdr_cursor *c, size_t mark)
{
	c->path[mark] = '\0';
}

static const char *type_name(json_type t)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object",
		[JSON_ARRAY] = "an array",
		[JSON_STRING] = "a string",
		[JSON_INTEGER] = "a whole number",
		[JSON_REAL] = "a number with a point or exponent",
		[JSON_TRUE] = "true",
		[JSON_FALSE] = "false",
		[JSON_NULL] = "null",
	};

	return names[t];
}

/* "a string or a whole number" */
static void list_types(unsigned int types, char *buf, size_t size)
{
	static const struct {
		unsigned int types;
		const char *name;
	} kinds[] = {
		{ WDR_IS_STRING, "a string" },	    { WDR_IS_NUMBER, "a number" },
		{ WDR_IS_WHOLE, "a whole number" }, { WDR_IS_BOOL, "true or false" },
		{ WDR_IS_ARRAY, "an array" },	    { WDR_IS_OBJECT, "an object" },
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && n < size; i++) {
		if ((types & kinds[i].types) != kinds[i].types)
			continue;
		n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? " or " : "", kinds[i].name);
		types &= ~kinds[i].types;
	}
}

int wdr_field_type(struct wdr_cursor *c, const json_t *v, unsigned int types)
{
	char want[64] = "";

	if (WDR_IS(json_typeof(v)) & types)
		return 0;
	list_types(types, want, sizeof(want));
	return wdr_cursor_place(c, wdr_err_set(c->err, -EINVAL, "wrong type: want %s, found %s",
					       want, type_name(json_typeof(v))));
}

int wdr_word_refuse(struct wdr_err *err, const char *what, const char *word,
		    const char *const *words)
{
	struct wdr_nearest near = { .word = word };
	char shown[KEY_SHOWN], list[160] = "";
	size_t n = 0;

	(void)wdr_text_escape(word, strlen(word), shown, sizeof(shown));
	for (size_t i = 0; words[i]; i++) {
		wdr_nearest_offer(&near, words[i]);
		if (n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
					      !i	   ? "" :
					      words[i + 1] ? ", " :
							     " or ",
					      words[i]);
	}
	if (near.best)
		return wdr_err_set(err, -EINVAL, "%s \"%s\", did you mean \"%s\"?", what, shown,
				   near.best);
	if (n >= sizeof(list))
		memcpy(list + sizeof(list) - 4, "...", 4);
	return wdr_err_set(err, -EINVAL, "%s \"%s\": want %s", what, shown, list);
}

int wdr_word_find(const char *word, const char *const *words, unsigned int *ret,
		  struct wdr_err *err)
{
	for (unsigned int i = 0; words[i]; i++) {
		if (strcmp(words[i], word))
			continue;
		*ret = i;
		return 0;
	}
	return wdr_word_refuse(err, "not known:", word, words);
}

static const struct wdr_field *find_field(const struct wdr_field *table, const char *key)
{
	for (const struct wdr_field *f = table; f->name; f++)
		if (!strcmp(f->name, key))
			return f;
	return NULL;
}

/* The object below @table that knows @key, if one does: a key is often written a level too high. */
static const char *find_owner(const struct wdr_field *table, const char *key)
{
	for (const struct wdr_field *f = table; f && f->name; f++)
		if (f->read == wdr_field_object && find_field(f->arg, key))
			return f->name;
	return NULL;
}

static int refuse_key(struct wdr_cursor *c, const struct wdr_field *table, const char *key)
{
	const char *owner = find_owner(c->root, key);
	const char *names[64];
	size_t n = 0;

	for (const struct wdr_field *f = table; f->name && n < 63; f++)
		names[n++] = f->name;
	names[n] = NULL;
	if (owner)
		return wdr_err_set(c->err, -EINVAL, "unknown key \"%s\" here: it belongs in \"%s\"",
				   key, owner);
	if (c->root && find_field(c->root, key))
		return wdr_err_set(c->err, -EINVAL,
				   "unknown key \"%s\" here: it belongs in the outermost object",
				   key);
	return wdr_word_refuse(c->err, "unknown key", key, names);
}

int wdr_field_read(struct wdr_cursor *c, json_t *obj, const struct wdr_field *table, void *out)
{
	const char *key;
	json_t *v;
	size_t mark;
	int r;

	r = wdr_field_type(c, obj, WDR_IS_OBJECT);
	if (r < 0)
		return r;
	json_object_foreach(obj, key, v) {
		const struct wdr_field *f = find_field(table, key);

		mark = wdr_cursor_enter(c, key);
		if (!f)
			return wdr_cursor_place(c, refuse_key(c, table, key));
		r = wdr_field_type(c, v, f->types);
		if (r == 0)
			r = f->read(c, v, f, (char *)out + f->offset);
		if (r < 0)
			return wdr_cursor_place(c, r);
		wdr_cursor_leave(c, mark);
	}
	for (const struct wdr_field *f = table; f->name; f++) {
		if (!f->mandatory || json_object_get(obj, f->name))
			continue;
		(void)wdr_cursor_enter(c, f->name);
		return wdr_cursor_place(
			c, wdr_err_set(c->err, -EINVAL, "missing: \"%s\" is required", f->name));
	}
	return 0;
}

int wdr_field_bool(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	(void)c;
	(void)f;
	*(bool *)at = json_is_true(v);
	return 0;
}

int wdr_field_word(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	return wdr_word_find(json_string_value(v), f->arg, at, c->err);
}

int wdr_field_object(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	return wdr_field_read(c, v, f->arg, at);
}
