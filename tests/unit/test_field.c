/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include "base/wdr_field.h"

struct inner {
	bool flag;
};

struct outer {
	unsigned int word;
	struct inner in;
};

static const char *const words[] = { "alpha", "beta", NULL };

static const struct wdr_field inner_fields[] = {
	{ "flag", WDR_IS_BOOL, true, wdr_field_bool, offsetof(struct inner, flag), NULL },
	WDR_FIELD_END,
};

static const struct wdr_field outer_fields[] = {
	{ "word", WDR_IS_STRING, false, wdr_field_word, offsetof(struct outer, word), words },
	{ "in", WDR_IS_OBJECT, false, wdr_field_object, offsetof(struct outer, in), inner_fields },
	WDR_FIELD_END,
};

static int read_text(const char *text, struct outer *ret, struct wdr_err *err)
{
	struct wdr_cursor c = { .file = "f", .root = outer_fields, .err = err };
	wdr_json_ json_t *doc = NULL;
	json_error_t je;

	assert_ok(wdr_json_load(text, strlen(text), 0, &doc, &je));
	return wdr_field_read(&c, doc, outer_fields, ret);
}

static void fills_a_struct_by_its_tables(void **state)
{
	struct outer o = { .word = 9 };

	(void)state;
	assert_ok(read_text("{\"in\":{\"flag\":true},\"word\":\"beta\"}", &o, NULL));
	assert_int_equal(o.word, 1);
	assert_true(o.in.flag);
	o.word = 9;
	assert_ok(read_text("{}", &o, NULL));
	assert_int_equal(o.word, 9);
}

static void refuses_with_the_place(void **state)
{
	static const struct {
		const char *text, *where, *msg;
	} bad[] = {
		{ "[]", "f", "wrong type: want an object, found an array" },
		{ "{\"in\":{}}", "f:/in/flag", "missing: \"flag\" is required" },
		{ "{\"in\":{\"flag\":1}}", "f:/in/flag",
		  "wrong type: want true or false, found a whole number" },
		{ "{\"word\":\"alhpa\"}", "f:/word",
		  "not known: \"alhpa\", did you mean \"alpha\"?" },
		{ "{\"word\":\"omega\"}", "f:/word", "not known: \"omega\": want alpha or beta" },
		{ "{\"flag\":true}", "f:/flag", "unknown key \"flag\" here: it belongs in \"in\"" },
		{ "{\"in\":{\"word\":1}}", "f:/in/word",
		  "unknown key \"word\" here: it belongs in the outermost object" },
		{ "{\"wrod\":1}", "f:/wrod", "unknown key \"wrod\", did you mean \"word\"?" },
		{ "{\"x/~\\u001b[0m\":1}", "f:/x~1~0\\x1b[0m",
		  "unknown key \"x/~\\x1b[0m\": want word or in" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct wdr_err err = { 0 };
		struct outer o = { 0 };

		assert_int_equal(read_text(bad[i].text, &o, &err), -EINVAL);
		assert_string_equal(err.where, bad[i].where);
		assert_string_equal(err.msg, bad[i].msg);
		assert_int_equal(read_text(bad[i].text, &o, NULL), -EINVAL);
	}
}

/* However long file and pointer are, the place keeps the end of one and the start of the other. */
static void long_places_are_cut(void **state)
{
	char file[300], rest[300], where[160];

	(void)state;
	memset(file, 'f', sizeof(file));
	memset(rest, 'r', sizeof(rest));
	file[sizeof(file) - 1] = rest[sizeof(rest) - 1] = '\0';
	memcpy(file + sizeof(file) - 5, "/end", 4);
	memcpy(rest, "/begin", 6);
	wdr_place(where, sizeof(where), file, rest);
	assert_int_equal(strlen(where), sizeof(where) - 1);
	assert_memory_equal(where, "...fff", 6);
	assert_non_null(strstr(where, "/end:/begin"));
	wdr_place(where, sizeof(where), file, "/x");
	assert_non_null(strstr(where, "/end:/x"));
	wdr_place(where, sizeof(where), "short", "");
	assert_string_equal(where, "short");
	/* Not from the middle of a character on. */
	for (size_t i = 0; i + 2 < sizeof(file); i += 2)
		memcpy(file + i, "\303\251", 2);
	wdr_place(where, sizeof(where), file, "/x");
	assert_memory_equal(where, "...\303\251", 5);
}

static void a_pointer_of_many_levels_is_cut(void **state)
{
	struct wdr_cursor c = { .file = "f" };
	size_t mark = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		mark = wdr_cursor_enter(&c, "abc/~");
	assert_true(strlen(c.path) < sizeof(c.path));
	wdr_cursor_leave(&c, mark);
	wdr_cursor_leave(&c, 0);
	(void)wdr_cursor_enter_index(&c, 7);
	assert_string_equal(c.path, "/7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_a_struct_by_its_tables),
		cmocka_unit_test(refuses_with_the_place),
		cmocka_unit_test(long_places_are_cut),
		cmocka_unit_test(a_pointer_of_many_levels_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
