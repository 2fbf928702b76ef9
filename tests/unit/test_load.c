/* SPDX-License-Identifier: Apache-2.0 */
/* Policies as files: which are read, from where, what is beside them, and what hostile ones cost. */
#include "wdr_test.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/wdr_io.h"
#include "policy/policy.h"

static char g_dir[] = "/tmp/wdr-test-load-XXXXXX";

static int enter_dir(void **state)
{
	(void)state;
	return mkdtemp(g_dir) ? 0 : -1;
}

static int drop_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int drop_dir(void **state)
{
	(void)state;
	return nftw(g_dir, drop_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A path in our folder; the buffer is good until the call after next. */
static const char *in_dir(const char *name)
{
	static char buf[2][256];
	static int turn;

	turn = !turn;
	(void)snprintf(buf[turn], sizeof(buf[turn]), "%s/%s", g_dir, name);
	return buf[turn];
}

static void write_bytes(const char *name, const char *bytes, size_t n)
{
	wdr_close_ int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_ok(wdr_write_all(fd, bytes, n));
}

static void write_text(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

static int load(const char *path, struct wdr_policy **ret, struct wdr_err *err)
{
	struct timespec start, now;
	int r;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	r = wdr_policy_load(path, ret, err);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	/* Whatever it is, it costs less than half a second of CPU, sanitizers included. */
	assert_true((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
		    500);
	return r;
}

static void check_refused(const char *name, int code, const char *msg)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	struct wdr_err err = { 0 };

	assert_int_equal(load(in_dir(name), &p, &err), code);
	assert_null(p);
	if (!strstr(err.where, name) || !strstr(err.msg, msg))
		fail_msg("%s: \"%s\" is not in \"%s: %s\"", name, msg, err.where, err.msg);
	assert_int_equal(load(in_dir(name), &p, NULL), code);
}

static void only_files_that_end_are_read(void **state)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	wdr_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", in_dir("socket.json"));
	assert_ok(bind(fd, (struct sockaddr *)&un, sizeof(un)));
	assert_ok(mkfifo(in_dir("fifo.json"), 0600));
	assert_ok(mkdir(in_dir("dir.json"), 0700));
	assert_ok(symlink("loop.json", in_dir("loop.json")));
	assert_ok(symlink("/dev/zero", in_dir("zero.json")));
	check_refused("fifo.json", -EINVAL, "neither a regular file nor a pipe");
	check_refused("zero.json", -EINVAL, "neither a regular file nor a pipe");
	check_refused("dir.json", -EISDIR, "Is a directory");
	check_refused("socket.json", -ENXIO, "No such device");
	check_refused("loop.json", -ELOOP, "Too many levels");
	check_refused("missing.json", -ENOENT, "No such file");
}

/* 10 MB of them, of each kind that a parser may choke on. */
static void hostile_files_are_refused_at_once(void **state)
{
	enum {
		SIZE = 10 << 20
	};
	wdr_free_ char *bytes = malloc(SIZE);

	(void)state;
	assert_non_null(bytes);
	memset(bytes, ' ', SIZE);
	write_bytes("large.json", bytes, SIZE);
	check_refused("large.json", -EFBIG, "larger than 1 MiB");
	write_bytes("blank.json", bytes, WDR_POLICY_MAX_BYTES);
	check_refused("blank.json", -EINVAL, "expected near end of file");
	write_bytes("large1.json", bytes, WDR_POLICY_MAX_BYTES + 1);
	check_refused("large1.json", -EFBIG, "larger than 1 MiB");
	memset(bytes, '[', SIZE);
	write_bytes("deep.json", bytes, 100000);
	check_refused("deep.json", -EINVAL, "nested deeper than 32 levels");
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = "{\"a\":"[i % 5];
	write_bytes("deep2.json", bytes, 500000);
	check_refused("deep2.json", -EINVAL, "nested deeper than 32 levels");
	memset(bytes, '\\', SIZE);
	bytes[0] = '"';
	write_bytes("slashes.json", bytes, WDR_POLICY_MAX_BYTES);
	check_refused("slashes.json", -EINVAL, "invalid escape");
	write_bytes("nul.json", "{\"version\":1}\0", 14);
	check_refused("nul.json", -EINVAL, "a NUL byte");
	write_bytes("empty.json", "", 0);
	check_refused("empty.json", -EINVAL, "expected near end of file");
}

/* 20,000 keys that are all unknown, 20,000 rules, a number of 900,000 digits. */
static void long_files_are_read_in_time(void **state)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	wdr_free_ char *text = NULL;
	struct wdr_err err = { 0 };
	size_t n;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	(void)fprintf(f, "{\"version\":1,\"network\":{\"mode\":\"egress\",\"rules\":[");
	for (int i = 0; i < 20000; i++)
		(void)fprintf(f, "%s{\"action\":\"deny\",\"to\":\"45.0.%d.%d\"}", i ? "," : "",
			      i >> 8, i & 255);
	(void)fprintf(f, "]}}");
	assert_ok(fclose(f));
	write_bytes("rules.json", text, n);
	if (load(in_dir("rules.json"), &p, &err) < 0)
		fail_msg("%s: %s", err.where, err.msg);
	assert_int_equal(p->net.n_rules, 20000);
	memset(text, '9', 900000 < n ? 900000 : n);
	memcpy(text, "{\"version\":", 11);
	write_bytes("digits.json", text, n);
	check_refused("digits.json", -EINVAL, "too big integer");
}

static void what_a_policy_names_is_beside_it(void **state)
{
	static const char text[] =
		"{\"version\":1,\"filesystem\":{\"root\":\"./r\",\"mounts\":["
		"{\"source\":\"data\",\"target\":\"/d\"}]},\"network\":{\"mode\":\"egress\","
		"\"rules\":[{\"action\":\"allow\",\"list\":\"l.txt\"}]}}";
	wdr_policy_ struct wdr_policy *p = NULL;
	wdr_free_ char *real = realpath(g_dir, NULL);
	struct wdr_err err = { 0 };
	char root[300];

	(void)state;
	write_text("beside.json", text);
	(void)unlink(in_dir("l.txt"));
	assert_int_equal(load(in_dir("beside.json"), &p, &err), -ENOENT);
	assert_non_null(strstr(err.where, "/l.txt"));
	err = (struct wdr_err){ 0 };
	assert_ok(mkfifo(in_dir("l.txt"), 0600));
	assert_int_equal(load(in_dir("beside.json"), &p, &err), -EINVAL);
	assert_ok(unlink(in_dir("l.txt")));
	err = (struct wdr_err){ 0 };
	write_text("l.txt", "192.0.2.0/24\nno\n");
	assert_int_equal(load(in_dir("beside.json"), &p, &err), -EINVAL);
	assert_non_null(strstr(err.where, "/l.txt:2"));
	write_text("l.txt", "192.0.2.0/24\n");
	assert_ok(load(in_dir("beside.json"), &p, NULL));
	assert_string_equal(p->name, "beside");
	assert_int_equal(p->net.rules[0].n_to, 1);
	assert_string_equal(p->fs.mounts[0].source, "data");
	assert_string_equal(p->fs.mounts[0].base, real);
	(void)snprintf(root, sizeof(root), "%s/r", real);
	assert_string_equal(p->fs.root, root);
}

/* A source that can't be shown from the root on can't be used: the folder's name is at fault. */
static void folders_of_other_bytes_are_refused(void **state)
{
	static const char text[] = "{\"version\":1,\"filesystem\":{\"mounts\":["
				   "{\"source\":\"%s\",\"target\":\"/d\"}]}}";
	wdr_policy_ struct wdr_policy *p = NULL;
	struct wdr_err err = { 0 };
	char buf[128];

	(void)state;
	assert_ok(mkdir(in_dir("\377"), 0700));
	(void)snprintf(buf, sizeof(buf), text, "data");
	write_text("\377/p.json", buf);
	assert_int_equal(load(in_dir("\377/p.json"), &p, &err), -EINVAL);
	assert_non_null(strstr(err.where, "/p.json:/filesystem/mounts"));
	assert_non_null(strstr(err.msg, "not UTF-8"));
	(void)snprintf(buf, sizeof(buf), text, "/data");
	write_text("\377/p.json", buf);
	assert_ok(load(in_dir("\377/p.json"), &p, NULL));
}

static void the_name_is_the_files(void **state)
{
	static const struct {
		const char *file, *name;
	} rows[] = {
		{ "a-b_c.1.json", "a-b_c.1" },	 { "plain", "plain" }, { ".json", "xjson" },
		{ "a b\xc3\xa9.json", "a-b--" }, { "-x.json", "xx" },  { "x.JSON", "x.JSON" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		wdr_policy_ struct wdr_policy *p = NULL;

		write_text(rows[i].file, "{\"version\": 1}");
		assert_ok(load(in_dir(rows[i].file), &p, NULL));
		assert_string_equal(p->name, rows[i].name);
	}
}

/* A shell's process substitution and /dev/stdin: an end of a pipe that is already open. */
static void a_pipe_is_read_to_its_end(void **state)
{
	static const char text[] = "{\"version\": 1, \"limits\": {\"pids\": 3}}";
	wdr_policy_ struct wdr_policy *p = NULL;
	char path[64];
	int fds[2];

	(void)state;
	assert_ok(pipe2(fds, O_CLOEXEC));
	assert_ok(wdr_write_all(fds[1], text, sizeof(text) - 1));
	(void)close(fds[1]);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	assert_ok(load(path, &p, NULL));
	(void)close(fds[0]);
	assert_int_equal(p->limits.pids, 3);
}

static void names_are_found_in_the_tree_of_the_binary(void **state)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	wdr_free_ char *path = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	assert_ok(wdr_policy_find("strict", &path, NULL));
	assert_non_null(strstr(path, "/policies/strict.json"));
	wdr_freep(&path);
	assert_ok(wdr_policy_find("a/b", &path, NULL));
	assert_string_equal(path, "a/b");
	wdr_freep(&path);
	assert_ok(wdr_policy_find("c.json", &path, NULL));
	assert_string_equal(path, "c.json");
	wdr_freep(&path);
	assert_ok(wdr_policy_find("Makefile", &path, NULL));
	assert_string_equal(path, "Makefile");
	wdr_freep(&path);
	assert_int_equal(wdr_policy_find("agnet", &path, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "did you mean \"agent\"?"));
	err = (struct wdr_err){ 0 };
	assert_int_equal(wdr_policy_find("no\nsuch", &path, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "no policy \"no\\nsuch\": want a file"));
	assert_int_equal(wdr_policy_find("", &path, NULL), -EINVAL);
	assert_null(path);
	assert_ok(wdr_policy_get("default", &p, NULL));
	assert_string_equal(p->name, "default");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_files_that_end_are_read),
		cmocka_unit_test(hostile_files_are_refused_at_once),
		cmocka_unit_test(long_files_are_read_in_time),
		cmocka_unit_test(what_a_policy_names_is_beside_it),
		cmocka_unit_test(folders_of_other_bytes_are_refused),
		cmocka_unit_test(the_name_is_the_files),
		cmocka_unit_test(a_pipe_is_read_to_its_end),
		cmocka_unit_test(names_are_found_in_the_tree_of_the_binary),
	};

	return cmocka_run_group_tests(tests, enter_dir, drop_dir);
}
