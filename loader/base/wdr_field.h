/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON by tables: one row a key, one short function a kind of value. Unknown keys (with the nearest
 * known one, or the object they belong in), wrong types and missing keys are refused with the place
 * as FILE:/json/pointer (RFC 6901). Duplicate keys are the syntax check's to refuse
 * (JSON_REJECT_DUPLICATES).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/wdr_err.h"
#include "base/wdr_json.h"

#define WDR_CURSOR_MAX 256 /* a longer pointer is cut, in messages only */

/* Where reading is. Start with { .file, .root = the outermost table, .err }. */
struct wdr_cursor {
	const char *file;
	const struct wdr_field *root;
	struct wdr_err *err; /* may be NULL */
	char path[WDR_CURSOR_MAX];
};

#define WDR_IS(type)  (1U << (type))
#define WDR_IS_STRING WDR_IS(JSON_STRING)
#define WDR_IS_WHOLE  WDR_IS(JSON_INTEGER)
#define WDR_IS_NUMBER (WDR_IS(JSON_INTEGER) | WDR_IS(JSON_REAL))
#define WDR_IS_BOOL   (WDR_IS(JSON_TRUE) | WDR_IS(JSON_FALSE))
#define WDR_IS_ARRAY  WDR_IS(JSON_ARRAY)
#define WDR_IS_OBJECT WDR_IS(JSON_OBJECT)

struct wdr_field {
	const char *name;
	unsigned int types; /* WDR_IS_* */
	bool mandatory;
	/*
	 * Put @v, whose type is one of .types, into @at. A failure may leave err->where empty: the
	 * place of @v is filled in. The cursor need not be taken back on failure.
	 */
	int (*read)(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at);
	size_t offset;	 /* of what @at points at in the struct being filled */
	const void *arg; /* the reader's own */
};

/* The row after the last. */
#define WDR_FIELD_END              \
	{                          \
		.name = (void *)0, \
	}

/* Read @obj, which must be an object, into @out. Returns 0, -EINVAL, -ENOMEM. */
int wdr_field_read(struct wdr_cursor *c, json_t *obj, const struct wdr_field *table,
		   void *out) wdr_must_check;

/* Step into a key or an index; give what it returns to wdr_cursor_leave(). */
size_t wdr_cursor_enter(struct wdr_cursor *c, const char *key);
size_t wdr_cursor_enter_index(struct wdr_cursor *c, size_t i);
void wdr_cursor_leave(struct wdr_cursor *c, size_t mark);

/* Put the place into c->err and pass @r on, unless it is 0, -ENOMEM or already placed. */
int wdr_cursor_place(struct wdr_cursor *c, int r);

/* FILE:REST in a wdr_err's where: the file's tail and the rest's head stay when both are too long. */
void wdr_place(char *where, size_t size, const char *file, const char *rest);

/* Refuse @v unless its type is in @types. */
int wdr_field_type(struct wdr_cursor *c, const json_t *v, unsigned int types) wdr_must_check;

/*
 * "WHAT "word": want a, b or c", with "did you mean" where one is near. @words is NULL-terminated.
 * Returns -EINVAL.
 */
int wdr_word_refuse(struct wdr_err *err, const char *what, const char *word,
		    const char *const *words);
/* The index of @word in @words; refused as above with @what "not known:". */
int wdr_word_find(const char *word, const char *const *words, unsigned int *ret,
		  struct wdr_err *err) wdr_must_check;

/* Readers: bool · unsigned int or enum, .arg is its words · a struct, .arg is its table. */
int wdr_field_bool(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at);
int wdr_field_word(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at);
int wdr_field_object(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at);
