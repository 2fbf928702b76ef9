/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/wdr_cover.h"

static void knows_what_is_below_what(void **state)
{
	static const struct {
		const char *path, *above, *rest; /* NULL: not below */
	} rows[] = {
		{ "/usr/local", "/usr", "local" },  { "/usr", "/usr", "" },
		{ "/usr/local", "/", "usr/local" }, { "/", "/", "" },
		{ "/usrlocal", "/usr", NULL },	    { "/usr", "/usr/local", NULL },
		{ "/a/b/c", "/a", "b/c" },	    { "/b", "/a", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *rest = wdr_path_below(rows[i].path, rows[i].above);

		if (rows[i].rest)
			assert_string_equal(rest, rows[i].rest);
		else
			assert_null(rest);
	}
}

/* A tree with folder a/b, file a/f, and links to the folder, to nowhere and to itself. */
static int make_tree(char path[64])
{
	int fd;

	(void)snprintf(path, 64, "%s/coverXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(path));
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_ok(mkdirat(fd, "a", 0755));
	assert_ok(mkdirat(fd, "a/b", 0755));
	assert_ok(mknodat(fd, "a/f", S_IFREG | 0644, 0));
	assert_ok(symlinkat("/a/b", fd, "in"));
	assert_ok(symlinkat("/no/where", fd, "out"));
	assert_ok(symlinkat("loop", fd, "loop"));
	return fd;
}

static void remove_tree(int fd, const char *path)
{
	static const char *const names[] = { "in", "out", "loop", "a/f" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_ok(unlinkat(fd, names[i], 0));
	assert_ok(unlinkat(fd, "a/b", AT_REMOVEDIR));
	assert_ok(unlinkat(fd, "a", AT_REMOVEDIR));
	assert_ok(rmdir(path));
	(void)close(fd);
}

static void finds_how_much_of_a_path_is_there(void **state)
{
	static const struct {
		const char *path;
		int error;
		size_t there;
	} rows[] = {
		{ "/a/b", 0, 4 },	   { "/a/b/c/d", 0, 4 },   { "/a/x", 0, 2 },
		{ "/x/y", 0, 0 },	   { "/in", 0, 3 },	   { "/in/x", 0, 3 },
		{ "/out/x", 0, 0 },	   { "/a/../a/x", 0, 7 },  { "/a/f", 0, 4 },
		{ "/a/f/x", -ENOTDIR, 0 }, { "/loop", -ELOOP, 0 }, { "/loop/x", -ELOOP, 0 },
	};
	char path[64];
	int root = make_tree(path);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t there = 0;
		int fd = wdr_gap_open(root, rows[i].path, &there);

		if (rows[i].error) {
			assert_int_equal(fd, rows[i].error);
			continue;
		}
		assert_true(fd >= 0);
		assert_int_equal(there, rows[i].there);
		(void)close(fd);
	}
	remove_tree(root, path);
}

/* What is missing is made where links lead, so that the layer lies over the right folder. */
static void fills_a_gap_where_its_path_leads(void **state)
{
	char path[64];
	char layer_path[80];
	int root = make_tree(path);
	struct wdr_gap g;
	struct stat st;
	size_t there = 0;
	int fd = wdr_gap_open(root, "/in/x/y", &there);
	int layer;

	(void)state;
	assert_ok(wdr_gap_init(&g, root, fd, "/in/x/y", there, false));
	assert_string_equal(g.dir, "/a/b");
	(void)snprintf(layer_path, sizeof(layer_path), "%s-layer", path);
	assert_ok(mkdir(layer_path, 0755));
	layer = open(layer_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(wdr_gap_fill(&g, "/x", layer), -EINVAL);
	assert_ok(wdr_gap_fill(&g, "/a", layer));
	assert_ok(wdr_gap_fill(&g, "/a", layer)); /* two mounts may need the same */
	assert_ok(fstatat(layer, "b/x/y", &st, 0));
	assert_true(S_ISREG(st.st_mode));
	wdr_gap_done(&g);
	assert_ok(unlinkat(layer, "b/x/y", 0));
	assert_ok(unlinkat(layer, "b/x", AT_REMOVEDIR));
	assert_ok(unlinkat(layer, "b", AT_REMOVEDIR));
	assert_ok(rmdir(layer_path));
	(void)close(layer);
	(void)close(fd);
	remove_tree(root, path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_what_is_below_what),
		cmocka_unit_test(finds_how_much_of_a_path_is_there),
		cmocka_unit_test(fills_a_gap_where_its_path_leads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
