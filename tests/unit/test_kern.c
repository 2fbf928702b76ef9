/* SPDX-License-Identifier: Apache-2.0 */
/* What of the kernel side needs no kernel: numbers, paths, logs, the shape of events, its tables. */
#include "wdr_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kern/kern_priv.h"

static const struct {
	const char *what;
	size_t size;
	uint8_t type, version;
	bool good;
} events[] = {
	{ "nothing", 0, WDR_EV_OOM, WDR_ABI_VERSION, false },
	{ "half a header", sizeof(struct wdr_ev_hdr) - 1, WDR_EV_OOM, WDR_ABI_VERSION, false },
	{ "a header alone", sizeof(struct wdr_ev_hdr), WDR_EV_OOM, WDR_ABI_VERSION, true },
	{ "more than a header", sizeof(struct wdr_ev_hdr) + 8, WDR_EV_OOM, WDR_ABI_VERSION, true },
	{ "an old version", sizeof(struct wdr_ev_hdr), WDR_EV_OOM, WDR_ABI_VERSION - 1, false },
	{ "a new version", sizeof(struct wdr_ev_hdr), WDR_EV_OOM, WDR_ABI_VERSION + 1, false },
	{ "no type", sizeof(struct wdr_ev_exec), 0, WDR_ABI_VERSION, false },
	{ "a type to come", sizeof(struct wdr_ev_exec), WDR_EV_MAX - 1, WDR_ABI_VERSION, false },
	{ "a type past all", sizeof(struct wdr_ev_exec), WDR_EV_MAX, WDR_ABI_VERSION, false },
	{ "the last type", sizeof(struct wdr_ev_exec), 255, WDR_ABI_VERSION, false },
	{ "a short exec", sizeof(struct wdr_ev_exec) - 1, WDR_EV_EXEC, WDR_ABI_VERSION, false },
	{ "an exec", sizeof(struct wdr_ev_exec), WDR_EV_EXEC, WDR_ABI_VERSION, true },
	{ "a short denial", sizeof(struct wdr_ev_hdr), WDR_EV_DENIED, WDR_ABI_VERSION, false },
	{ "a denial", sizeof(struct wdr_ev_verdict), WDR_EV_DENIED, WDR_ABI_VERSION, true },
	{ "a kill", sizeof(struct wdr_ev_killed), WDR_EV_KILLED, WDR_ABI_VERSION, true },
};

static void an_event_is_known_and_whole_or_none(void **state)
{
	struct wdr_ev_exec ev;
	void *exact;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		memset(&ev, 0, sizeof(ev));
		ev.hdr.type = events[i].type;
		ev.hdr.version = events[i].version;
		/* Of its own size, so that a sanitizer sees who reads on. */
		exact = malloc(events[i].size ? events[i].size : 1);
		assert_non_null(exact);
		memcpy(exact, &ev, events[i].size < sizeof(ev) ? events[i].size : sizeof(ev));
		if (wdr_kern_event_good(exact, events[i].size) != events[i].good)
			fail_msg("%s", events[i].what);
		free(exact);
	}
}

static const struct {
	const char *log, *line;
} logs[] = {
	{ "", "" },
	{ "\n\n", "" },
	{ "unknown func bpf_x#9\nprocessed 4 insns (limit 1000000)\n", "unknown func bpf_x#9" },
	{ "0: (85) call x\nR1 is bad\nverification time 9 usec\nstack depth 8+16\nprocessed 1 insns",
	  "R1 is bad" },
	{ "one\n\ntwo", "two" },
	{ "processed 4 insns (limit 1000000)\n", "" },
	{ "a line that is longer than there is room for it in the answer",
	  "a line that is longer " },
};

static void the_verifiers_reason_is_its_last_line(void **state)
{
	char line[23];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		wdr_kern_log_line(logs[i].log, line, sizeof(line));
		assert_string_equal(line, logs[i].line);
	}
}

static void numbers_are_found_taken_and_given_back(void **state)
{
	__u64 words[2] = { 0 };
	uint32_t n;

	(void)state;
	for (n = 1; n < 128; n++) {
		assert_int_equal(wdr_kern_bit_find(words, 1, 128), n);
		assert_int_equal(wdr_kern_bit_next(words, n - 1, 128), 0);
		wdr_kern_bit_set(words, n, true);
		assert_int_equal(wdr_kern_bit_next(words, n - 1, 128), n);
		assert_int_equal(wdr_kern_bit_next(words, 0, 128), 1);
	}
	/* 0 is nobody's, and so it says that none is left. */
	assert_int_equal(wdr_kern_bit_find(words, 1, 128), 0);
	wdr_kern_bit_set(words, 64, false);
	assert_int_equal(wdr_kern_bit_find(words, 1, 128), 64);
	assert_int_equal(wdr_kern_bit_find(words, 65, 128), 0);
	assert_int_equal(wdr_kern_bit_next(words, 62, 128), 63);
	assert_int_equal(wdr_kern_bit_next(words, 63, 128), 65);
	assert_int_equal(wdr_kern_bit_next(words, 126, 127), 0);
	assert_int_equal(wdr_kern_bit_next(words, 127, 128), 0);
}

/* Cut, it would be the path of something else. */
static void a_path_that_does_not_fit_is_none(void **state)
{
	char dir[WDR_KERN_PATH_MAX], path[WDR_KERN_PATH_MAX];

	(void)state;
	memset(dir, 'a', sizeof(dir));
	dir[WDR_KERN_PATH_MAX - 4] = '\0';
	wdr_kern_path(path, dir, "bc");
	assert_int_equal(strlen(path), WDR_KERN_PATH_MAX - 1);
	wdr_kern_path(path, dir, "bcd");
	assert_string_equal(path, "");
}

static void a_supervisor_lives_if_its_process_does(void **state)
{
	const uint64_t s = 1000000000, now = wdr_kern_now_ns();
	const uint32_t here = wdr_kern_pidns();
	const struct {
		const char *what;
		struct wdr_sup sup;
		bool lives;
	} sups[] = {
		{ "none", { 0 }, false },
		{ "one of another start",
		  { .pid = (uint32_t)getpid(), .start = 1, .pidns = here },
		  false },
		{ "a beat is no life here",
		  { .pid = (uint32_t)getpid(), .start = 1, .pidns = here, .beat_ns = now },
		  false },
		{ "elsewhere, lately", { .pid = 1, .pidns = here + 1, .beat_ns = now - s }, true },
		{ "elsewhere, long ago",
		  { .pid = 1, .pidns = here + 1, .beat_ns = now - 20 * s },
		  false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sups) / sizeof(sups[0]); i++) {
		if (wdr_kern_sup_alive(&sups[i].sup) != sups[i].lives)
			fail_msg("%s", sups[i].what);
	}
}

static void a_full_map_is_said_to_be_full(void **state)
{
	struct wdr_err err = { 0 };

	(void)state;
	assert_int_equal(wdr_kern_table_err(&err, -E2BIG, "enter x into y"), -ENOSPC);
	assert_string_equal(err.msg, "enter x into y: it is full");
	memset(&err, 0, sizeof(err));
	assert_int_equal(wdr_kern_table_err(&err, -EPERM, "enter x into y"), -EPERM);
	assert_string_equal(err.msg, "enter x into y: Operation not permitted");
}

/* What other files take for granted of the tables of programs and maps. */
static void the_tables_are_in_order(void **state)
{
	const struct wdr_kern_program *p, *other;
	int i, j;

	(void)state;
	for (i = 0; i < _WDR_PROG_MAX; i++) {
		p = wdr_kern_program(i);
		assert_true(strlen(p->name) < 16); /* BPF_OBJ_NAME_LEN: the kernel cuts the rest */
		for (j = 0; j < i; j++)
			assert_string_not_equal(p->name, wdr_kern_program(j)->name);
		if (!p->instead_of)
			continue;
		/* A stand-in comes after the other, is of its object, and no protection waits for it. */
		other = wdr_kern_program(p->instead_of);
		assert_true(p->instead_of < i && other->object == p->object && !other->instead_of);
		assert_true(!p->protections && !other->protections);
	}
	assert_true(_WDR_PROG_MAX <= 64); /* bits of wdr_shared.programs */
	for (i = 0; i < _WDR_MAP_MAX; i++)
		assert_true(strlen(wdr_kern_map_name(i)) < 16);
}

static void io_uring_operations_have_names_up_to_the_last(void **state)
{
	(void)state;
	assert_string_equal(wdr_kern_uring_name(0), "nop");
	assert_string_equal(wdr_kern_uring_name(18), "openat");
	assert_null(wdr_kern_uring_name(WDR_URING_MAX));
	assert_null(wdr_kern_uring_name(UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_known_and_whole_or_none),
		cmocka_unit_test(the_verifiers_reason_is_its_last_line),
		cmocka_unit_test(numbers_are_found_taken_and_given_back),
		cmocka_unit_test(a_path_that_does_not_fit_is_none),
		cmocka_unit_test(a_supervisor_lives_if_its_process_does),
		cmocka_unit_test(a_full_map_is_said_to_be_full),
		cmocka_unit_test(the_tables_are_in_order),
		cmocka_unit_test(io_uring_operations_have_names_up_to_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
