/* SPDX-License-Identifier: Apache-2.0 */
/* What the shim remembers: written, found again, and swept when its container is not there. */
#include "wdr_test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/record.h"

static char dir[128], root[160], at[256];
static unsigned int n_gone;

static int start(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	n_gone = 0;
	(void)snprintf(dir, sizeof(dir), "%.80s/wdr-shim-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(root, sizeof(root), "%s/root", dir);
	(void)snprintf(at, sizeof(at), "%s/records/deep", dir);
	return mkdir(root, 0700);
}

static int stop(void **state)
{
	char command[300];

	(void)state;
	(void)snprintf(command, sizeof(command), "%s/records/deep", dir);
	(void)rmdir(command);
	(void)snprintf(command, sizeof(command), "%s/records", dir);
	(void)rmdir(command);
	(void)rmdir(root);
	return rmdir(dir);
}

#define S(text) ((char *)(uintptr_t)(text))

static struct wdr_shim_record sample(const char *id, long long made_ns)
{
	struct wdr_shim_record r = { .id = S(id),
				     .root = root,
				     .policy = S("agent"),
				     .cgroup = S("/kubepods/x"),
				     .netns = S(""),
				     .made_ns = made_ns,
				     .done = true,
				     .place = S("/warder/c-a"),
				     .quota = 1.5,
				     .rules = S("0123456789abcdef") };

	return r;
}

static void gone(void *arg, const struct wdr_shim_record *r)
{
	assert_string_equal(r->policy, "agent");
	(*(unsigned int *)arg)++;
}

static void remembers_and_forgets(void **state)
{
	struct wdr_shim_record a = sample("a", 1), b = sample("b", 2);
	wdr_shim_record_ struct wdr_shim_record *r = NULL;

	(void)state;
	assert_int_equal(wdr_shim_record_read(at, root, "a", &r), -ENOENT);
	assert_ok(wdr_shim_record_write(at, &a));
	assert_ok(wdr_shim_record_write(at, &b));
	assert_ok(wdr_shim_record_write(at, &a)); /* again */
	assert_ok(wdr_shim_record_read(at, root, "a", &r));
	assert_string_equal(r->id, "a");
	assert_string_equal(r->root, root);
	assert_string_equal(r->cgroup, "/kubepods/x");
	assert_string_equal(r->netns, "");
	assert_int_equal(r->made_ns, 1);
	assert_true(r->done);
	assert_string_equal(r->place, "/warder/c-a");
	assert_true(r->quota == 1.5);
	assert_string_equal(r->rules, "0123456789abcdef");
	wdr_shim_record_freep(&r);
	assert_int_equal(wdr_shim_record_read(at, "", "a", &r), -ENOENT);
	assert_ok(wdr_shim_record_remove(at, root, "a"));
	assert_ok(wdr_shim_record_remove(at, root, "a"));
	assert_int_equal(wdr_shim_record_read(at, root, "a", &r), -ENOENT);
	assert_ok(wdr_shim_record_remove(at, root, "b"));
}

static void sweeps_those_whose_container_is_gone(void **state)
{
	struct wdr_shim_record old = sample("old", 100), young = sample("young", 900),
			       there = sample("there", 100);
	char file[300];
	int fd;

	(void)state;
	assert_int_equal(wdr_shim_record_sweep(at, 1000, 500, gone, &n_gone),
			 0); /* no folder yet */
	assert_ok(wdr_shim_record_write(at, &old));
	assert_ok(wdr_shim_record_write(at, &young));
	assert_ok(wdr_shim_record_write(at, &there));
	(void)snprintf(file, sizeof(file), "%s/there_sandbox:pod.state", root);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(wdr_shim_record_sweep(at, 1000, 500, gone, &n_gone), 1);
	assert_int_equal(n_gone, 1);
	assert_int_equal(wdr_shim_record_sweep(at, 1000, 500, gone, &n_gone), 0);
	assert_int_equal(wdr_shim_record_sweep(at, 2000, 500, gone, &n_gone),
			 1); /* not young any more */
	assert_ok(unlink(file));
	assert_int_equal(wdr_shim_record_sweep(at, 2000, 500, gone, &n_gone), 1);
	assert_int_equal(n_gone, 3);
}

/* Killed after that, and before the note was removed: the next one is told. */
static void knows_that_a_line_may_be_there(void **state)
{
	struct wdr_shim_record a = sample("a", 1);
	wdr_shim_record_ struct wdr_shim_record *r = NULL;
	wdr_json_ json_t *o = NULL;
	int lock = -1;

	(void)state;
	assert_ok(wdr_shim_record_write(at, &a));
	assert_int_equal(wdr_shim_record_tell(at, &a, &lock), 0);
	assert_ok(close(lock));
	assert_int_equal(wdr_shim_record_tell(at, &a, &lock), 1);
	assert_ok(close(lock));
	assert_ok(wdr_shim_record_remove(at, root, "a"));
	assert_int_equal(wdr_shim_record_tell(at, &a, &lock), -ENOENT);
	/* A note of before, which does not say. */
	o = wdr_shim_record_to_json(&a);
	assert_ok(json_object_del(o, "told"));
	assert_ok(wdr_shim_record_from_json(o, &r));
	assert_false(r->told);
}

/* Of a container that is made anew meanwhile, the note is not its predecessor's to change. */
static void leaves_the_note_of_a_later_one(void **state)
{
	struct wdr_shim_record first = sample("a", 1), second = sample("a", 2);
	wdr_shim_record_ struct wdr_shim_record *r = NULL;
	int lock = -1;

	(void)state;
	assert_false(wdr_shim_record_is_anew(at, &first));
	assert_ok(wdr_shim_record_write(at, &second));
	assert_true(wdr_shim_record_is_anew(at, &first));
	assert_false(wdr_shim_record_is_anew(at, &second));
	assert_int_equal(wdr_shim_record_tell(at, &first, &lock), -ENOENT);
	assert_int_equal(lock, -1);
	assert_ok(wdr_shim_record_read(at, root, "a", &r));
	assert_int_equal(r->made_ns, 2);
	assert_false(r->told);
	assert_ok(wdr_shim_record_remove(at, root, "a"));
}

/* Who holds it may be stopped. */
static void waits_for_others_but_not_for_ever(void **state)
{
	struct wdr_shim_record a = sample("a", 1);
	int lock = -1, held = -1;

	(void)state;
	assert_ok(wdr_shim_record_write(at, &a));
	assert_int_equal(wdr_shim_record_tell(at, &a, &held), 0);
	assert_int_equal(wdr_shim_record_tell(at, &a, &lock), -EBUSY);
	assert_int_equal(lock, -1);
	assert_ok(close(held));
	assert_int_equal(wdr_shim_record_tell(at, &a, &lock), 1);
	assert_ok(close(lock));
	assert_ok(wdr_shim_record_remove(at, root, "a"));
}

static void leaves_what_it_did_not_write(void **state)
{
	static const char *const texts[] = { "", "{}", "{\"version\":2}", "[]" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		wdr_json_ json_t *o = json_loads(texts[i], JSON_DECODE_ANY, NULL);
		struct wdr_shim_record *r = NULL;

		assert_int_equal(wdr_shim_record_from_json(o, &r), -EPROTO);
		assert_null(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(remembers_and_forgets, start, stop),
		cmocka_unit_test_setup_teardown(sweeps_those_whose_container_is_gone, start, stop),
		cmocka_unit_test_setup_teardown(knows_that_a_line_may_be_there, start, stop),
		cmocka_unit_test_setup_teardown(leaves_the_note_of_a_later_one, start, stop),
		cmocka_unit_test_setup_teardown(waits_for_others_but_not_for_ever, start, stop),
		cmocka_unit_test(leaves_what_it_did_not_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
