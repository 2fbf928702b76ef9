/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include "job/events.h"
#include "job/events_priv.h"
#include "job/job_priv.h"
#include "seccheck.h"

/* A job of which there is only what its lines need. */
static void set_up(struct wdr_job *j)
{
	memset(j, 0, sizeof(*j));
	j->o.events_fd = memfd_create("test", MFD_CLOEXEC);
	assert_true(j->o.events_fd >= 0);
	(void)snprintf(j->spec.id, sizeof(j->spec.id), "j-test");
	wdr_lines_init(&j->events, j->o.events_fd);
}

static void tear_down(struct wdr_job *j)
{
	wdr_lines_done(&j->events);
	(void)close(j->o.events_fd);
}

/* The one line that was written, as JSON; NULL if there is none. The file is empty afterwards. */
static json_t *take_line(struct wdr_job *j)
{
	char line[2 * PIPE_BUF] = "";
	ssize_t n = pread(j->o.events_fd, line, sizeof(line) - 1, 0);
	json_t *o;

	if (n == 0)
		return NULL;
	assert_in_range(n, 1, PIPE_BUF);
	assert_ptr_equal(strchr(line, '\n'), line + n - 1);
	o = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(o);
	assert_ok(ftruncate(j->o.events_fd, 0));
	assert_int_equal(lseek(j->o.events_fd, 0, SEEK_SET), 0);
	return o;
}

/* No bytes of a job's make more than one line, or one that a pipe would cut. */
static void bears_any_text(void **state)
{
	static const char *const fills[] = { "\x01", "\xff", "\n", "\"",
					     "\\",   "\x7f", "{",  "\xe2\x82" };
	struct wdr_job j;

	(void)state;
	for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
		struct wdr_guest_event g = { .type = WDR_GUEST_EXEC, .pid = 1, .tid = 1 };
		struct wdr_ev_exec e = { .hdr = { .type = WDR_EV_EXEC } };
		const size_t n = strlen(fills[i]);
		wdr_json_ json_t *host = NULL;
		wdr_json_ json_t *guest = NULL;

		for (size_t k = 0; k < sizeof(g.exec.args.s) - 1; k++)
			g.exec.args.s[k] = g.exec.path.s[k] = fills[i][k % n];
		for (size_t k = 0; k < sizeof(e.path) - 1; k++)
			e.path[k] = fills[i][k % n];
		for (size_t k = 0; k < sizeof(e.hdr.comm); k++)
			e.hdr.comm[k] = fills[i][k % n];
		memcpy(g.comm, e.hdr.comm, sizeof(g.comm) - 1);
		g.exec.args.cut = true;
		set_up(&j);
		wdr_job_event_kernel(&j, &e.hdr);
		host = take_line(&j);
		assert_true(json_is_true(json_object_get(host, "cut")));
		wdr_job_event_guest(&j, &g);
		guest = take_line(&j);
		assert_true(json_is_true(json_object_get(guest, "cut")));
		assert_null(strstr(json_string_value(json_object_get(guest, "args")), "..."));
		tear_down(&j);
	}
}

static void drops_what_is_no_event(void **state)
{
	static const uint8_t types[] = { 0, WDR_EV_ALLOWED + 1, WDR_EV_MAX, 255 };
	struct wdr_job j;

	(void)state;
	set_up(&j);
	for (size_t i = 0; i < sizeof(types); i++) {
		const struct wdr_ev_hdr ev = { .type = types[i] };

		wdr_job_event_kernel(&j, &ev);
		assert_null(take_line(&j));
	}
	assert_int_equal(wdr_lines_lost(&j.events), 0);
	tear_down(&j);
}

/* Forks without number leave room for a denial, and anything leaves room for the end. */
static void keeps_room_for_what_matters(void **state)
{
	static const struct {
		uint64_t bytes; /* in the file already */
		bool fork, refused;
	} cases[] = {
		{ 0, true, true },
		{ WDR_EVENTS_MAX_BYTES - WDR_EVENTS_KEPT_BYTES - 1000, true, true },
		{ WDR_EVENTS_MAX_BYTES - WDR_EVENTS_KEPT_BYTES - 10, false, true },
		{ WDR_EVENTS_MAX_BYTES - 1000, false, true },
		{ WDR_EVENTS_MAX_BYTES - 10, false, false },
		{ 2 * WDR_EVENTS_MAX_BYTES, false, false },
	};
	const struct wdr_ev_fork fork = { .hdr = { .type = WDR_EV_FORK } };
	const struct wdr_ev_cap cap = { .hdr = { .type = WDR_EV_CAP }, .cap = 21 };
	struct wdr_job j;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const unsigned int lost = (unsigned int)!cases[i].fork + !cases[i].refused;
		wdr_json_ json_t *forked = NULL;
		wdr_json_ json_t *refused = NULL;
		wdr_json_ json_t *ended = NULL;

		set_up(&j);
		j.events.bytes = cases[i].bytes;
		wdr_job_event_kernel(&j, &fork.hdr);
		forked = take_line(&j);
		assert_int_equal(forked != NULL, cases[i].fork);
		wdr_job_event_kernel(&j, &cap.hdr);
		refused = take_line(&j);
		assert_int_equal(refused != NULL, cases[i].refused);
		wdr_job_event_ended(&j);
		ended = take_line(&j);
		assert_non_null(ended);
		assert_int_equal(json_integer_value(json_object_get(ended, "lost_in_writing")),
				 lost);
		assert_int_equal(j.result.events_lost, lost);
		tear_down(&j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bears_any_text),
		cmocka_unit_test(drops_what_is_no_event),
		cmocka_unit_test(keeps_room_for_what_matters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
