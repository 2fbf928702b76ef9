/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "state/state.h"

#define NOBODY 65534

static char top[] = "/tmp/wdr-test-state.XXXXXX";
static char own[96];

/* As an ordinary user with a folder of his own: root's would be the machine's. */
static int become_user(void **state)
{
	(void)state;
	if (!mkdtemp(top))
		return -1;
	if (geteuid() == 0 &&
	    (chown(top, NOBODY, NOBODY) < 0 || setegid(NOBODY) < 0 || seteuid(NOBODY) < 0))
		return -1;
	(void)snprintf(own, sizeof(own), "%s/warder", top);
	return setenv("XDG_RUNTIME_DIR", top, 1);
}

static int clean_up(void **state)
{
	static const char *const names[] = { "warder/jobs/j-kept", "warder/uids", "warder/jobs",
					     "warder/cache", "warder" };
	char path[160];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", top, names[i]);
		(void)remove(path);
	}
	if (getuid() == 0 && seteuid(0) < 0)
		return -1;
	return rmdir(top);
}

static void is_made_for_its_owner_alone(void **state)
{
	wdr_state_ struct wdr_state *s = NULL;
	struct wdr_err err = { 0 };
	struct stat st;

	(void)state;
	assert_ok(wdr_state_open(&s, &err));
	assert_ok(stat(own, &st));
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_non_null(strstr(wdr_state_cache_dir(s), "/warder/cache"));
}

static void refuses_a_folder_that_others_may_write_to(void **state)
{
	wdr_state_ struct wdr_state *s = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	assert_ok(chmod(own, 0777));
	assert_int_equal(wdr_state_open(&s, &err), -EPERM);
	assert_non_null(strstr(err.msg, "mode 777"));
	assert_ok(chmod(own, 0755));
}

static void is_not_there_without_a_runtime_folder(void **state)
{
	wdr_state_ struct wdr_state *s = NULL;

	(void)state;
	assert_ok(unsetenv("XDG_RUNTIME_DIR"));
	assert_int_equal(wdr_state_open(&s, NULL), -ENOENT);
	assert_ok(setenv("XDG_RUNTIME_DIR", "relative", 1));
	assert_int_equal(wdr_state_open(&s, NULL), -ENOENT);
	assert_ok(setenv("XDG_RUNTIME_DIR", top, 1));
}

static int collect(const char *job, void *userdata)
{
	(void)snprintf(userdata, 64, "%s", job);
	return 0;
}

static int refuse(const char *job, void *userdata)
{
	(void)job;
	(void)userdata;
	return -EBUSY;
}

static void a_living_supervisors_record_is_not_swept(void **state)
{
	wdr_state_ struct wdr_state *s = NULL;
	wdr_record_ struct wdr_record *r = NULL;
	char swept[64] = "";

	(void)state;
	assert_ok(wdr_state_open(&s, NULL));
	assert_ok(wdr_record_new(s, "j-kept", &r, NULL));
	assert_int_equal(wdr_record_new(s, "j-kept", &r, NULL), -EEXIST);
	assert_int_equal(wdr_state_sweep(s, collect, swept), 0);
	assert_string_equal(swept, "");
	wdr_record_remove(r);
}

static void a_dead_supervisors_record_is_swept_once(void **state)
{
	wdr_state_ struct wdr_state *s = NULL;
	char swept[64] = "";
	int status;
	pid_t pid;

	(void)state;
	assert_ok(wdr_state_open(&s, NULL));
	pid = fork();
	if (pid == 0) {
		struct wdr_record *r = NULL;

		_exit(wdr_record_new(s, "j-dead", &r, NULL) < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* What could not be cleaned up stays for the next time. */
	assert_int_equal(wdr_state_sweep(s, refuse, NULL), 0);
	assert_int_equal(wdr_state_sweep(s, collect, swept), 1);
	assert_string_equal(swept, "j-dead");
	assert_int_equal(wdr_state_sweep(s, collect, swept), 0);
}

static void uids_are_different_and_come_back(void **state)
{
	wdr_state_ struct wdr_state *s = NULL;
	struct wdr_err err = { 0 };
	uint32_t uid[3];
	int fd[3] = { -1, -1, -1 };

	(void)state;
	assert_ok(wdr_state_open(&s, NULL));
	assert_ok(setenv("WARDER_UID_RANGE", "200000:2", 1));
	assert_ok(wdr_state_take_uid(s, &uid[0], &fd[0], NULL));
	assert_ok(wdr_state_take_uid(s, &uid[1], &fd[1], NULL));
	assert_true(uid[0] != uid[1] && uid[0] / 2 == 100000 && uid[1] / 2 == 100000);
	assert_int_equal(wdr_state_take_uid(s, &uid[2], &fd[2], &err), -EUSERS);
	assert_non_null(strstr(err.msg, "200000:2"));
	wdr_closep(&fd[0]);
	assert_ok(wdr_state_take_uid(s, &uid[2], &fd[2], NULL));
	assert_int_equal(uid[2], uid[0]);
	wdr_closep(&fd[1]);
	wdr_closep(&fd[2]);
	assert_ok(unsetenv("WARDER_UID_RANGE"));
}

static void refuses_a_malformed_range(void **state)
{
	static const char *const bad[] = { "",	    "1",     "a:b",	      "999:10", "100000:0",
					   "-1:10", "5:10x", "4294967290:10", "100000:" };
	wdr_state_ struct wdr_state *s = NULL;

	(void)state;
	assert_ok(wdr_state_open(&s, NULL));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct wdr_err err = { 0 };
		uint32_t uid;
		int fd = -1;

		assert_ok(setenv("WARDER_UID_RANGE", bad[i], 1));
		assert_int_equal(wdr_state_take_uid(s, &uid, &fd, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "want FIRST:COUNT"));
	}
	assert_ok(unsetenv("WARDER_UID_RANGE"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_made_for_its_owner_alone),
		cmocka_unit_test(refuses_a_folder_that_others_may_write_to),
		cmocka_unit_test(is_not_there_without_a_runtime_folder),
		cmocka_unit_test(a_living_supervisors_record_is_not_swept),
		cmocka_unit_test(a_dead_supervisors_record_is_swept_once),
		cmocka_unit_test(uids_are_different_and_come_back),
		cmocka_unit_test(refuses_a_malformed_range),
	};

	return cmocka_run_group_tests(tests, become_user, clean_up);
}
