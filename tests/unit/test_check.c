/* SPDX-License-Identifier: Apache-2.0 */
/* The runner of probes and the two forms of its report. */
#include "wdr_test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/check.h"

#define BIT WDR_PROT_BIT

static void answer(struct wdr_check_report *rep)
{
	wdr_check_yes(rep, WDR_PROT_LANDLOCK, "ABI %d", 7);
	wdr_check_no(rep, WDR_PROT_KEYRING, "keyctl: %s", "not permitted");
	wdr_check_fact(rep, "fact", "value");
}

static void hang(struct wdr_check_report *rep)
{
	wdr_check_yes(rep, WDR_PROT_SECCOMP, "in time");
	for (;;)
		(void)pause();
}

static void die(struct wdr_check_report *rep)
{
	(void)rep;
	(void)raise(SIGKILL);
}

static void keep_silent(struct wdr_check_report *rep)
{
	(void)rep;
}

/* Leaves a process behind that would outlive it. */
static void leave(struct wdr_check_report *rep)
{
	if (!fork())
		hang(rep);
	wdr_check_yes(rep, WDR_PROT_PID_NS, "left");
}

static const struct wdr_probe answers = { "answers", BIT(WDR_PROT_LANDLOCK) | BIT(WDR_PROT_KEYRING),
					  0, answer };
/* Parts of others' rows. */
static void have_a_part(struct wdr_check_report *rep)
{
	wdr_check_bar(rep, WDR_PROT_LANDLOCK, "no %s", "place");
	wdr_check_bar(rep, WDR_PROT_KEYRING, "not needed");
	wdr_check_stand_in(rep, WDR_PROT_RLIMITS, "by %s", "others");
	wdr_check_stand_in(rep, WDR_PROT_SECCOMP, "not needed");
}

static const struct wdr_probe hangs = { "hangs", BIT(WDR_PROT_SECCOMP) | BIT(WDR_PROT_IDMAP), 0,
					hang };
static const struct wdr_probe dies = { "dies", BIT(WDR_PROT_RLIMITS), 0, die };
static const struct wdr_probe silent = { "silent", BIT(WDR_PROT_UTS_NS), 0, keep_silent };
static const struct wdr_probe leaves = { "leaves", BIT(WDR_PROT_PID_NS), 0, leave };

static const struct wdr_probe has_a_part = { "part", 0, 0, have_a_part };
static const struct wdr_probe hangs_at_its_part = { "late", 0, BIT(WDR_PROT_LANDLOCK), hang };

static void assert_row(const struct wdr_check_report *rep, enum wdr_protection p, bool yes,
		       const char *why)
{
	assert_true(rep->rows[p].said);
	assert_int_equal(rep->rows[p].yes, yes);
	assert_string_equal(rep->rows[p].why, why);
}

static void one_probe_that_hangs_or_dies_costs_its_rows_and_no_more(void **state)
{
	static const struct wdr_probe *const probes[] = { &hangs,  &dies,    &silent,
							  &leaves, &answers, NULL };
	static struct wdr_check_report rep;

	(void)state;
	assert_ok(wdr_check_run(probes, 300, 0, &rep, NULL));
	assert_row(&rep, WDR_PROT_LANDLOCK, true, "ABI 7");
	assert_row(&rep, WDR_PROT_KEYRING, false, "keyctl: not permitted");
	assert_row(&rep, WDR_PROT_SECCOMP, true, "in time");
	assert_row(&rep, WDR_PROT_IDMAP, false, "probe \"hangs\" did not end within 300ms");
	assert_row(&rep, WDR_PROT_RLIMITS, false, "probe \"dies\" ended by SIGKILL");
	assert_row(&rep, WDR_PROT_UTS_NS, false, "probe \"silent\" gave no answer");
	assert_row(&rep, WDR_PROT_PID_NS, true, "left");
	assert_row(&rep, WDR_PROT_AUDIT, false, "not in this build of warder");
	assert_int_equal(rep.n_facts, 1);
	assert_int_equal(wdr_check_missing(&rep), _WDR_PROT_MAX - 3);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static void the_second_of_two_probes_has_the_last_word(void **state)
{
	static const struct wdr_probe *const probes[] = { &answers, &dies, &hangs, &has_a_part,
							  NULL };
	static const struct wdr_probe *const late[] = { &answers, &hangs_at_its_part, NULL };
	static struct wdr_check_report rep, rep2;

	(void)state;
	assert_ok(wdr_check_run(probes, 300, 0, &rep, NULL));
	assert_row(&rep, WDR_PROT_LANDLOCK, false, "no place");
	assert_row(&rep, WDR_PROT_KEYRING, false, "keyctl: not permitted");
	assert_row(&rep, WDR_PROT_RLIMITS, true, "by others");
	assert_row(&rep, WDR_PROT_SECCOMP, true, "in time");
	assert_ok(wdr_check_run(late, 300, 0, &rep2, NULL));
	assert_row(&rep2, WDR_PROT_LANDLOCK, false, "probe \"late\" did not end within 300ms");
	assert_int_equal(rep2.n_facts, 2);
	assert_string_equal(rep2.facts[1].name, "late");
}

static void one_program_is_a_line_and_what_the_verifier_says(void **state)
{
	char refused[] = "0: (95) exit\nR0 !read_ok\n";
	static const char want[] = "\nprograms in the kernel\n"
				   "wdr_a           yes  for cpu_budget, detect_cpu\n"
				   "wdr_b           no  Permission denied  good to have\n"
				   "                    0: (95) exit\n"
				   "                    R0 !read_ok\n";
	char text[1024] = "", empty[] = "";
	wdr_fclose_ FILE *f = fmemopen(text, sizeof(text), "w");
	static struct wdr_check_programs ps;
	wdr_json_ json_t *o = NULL;

	(void)state;
	assert_non_null(f);
	ps.p[0] = (struct wdr_check_program){ "wdr_a",
					      BIT(WDR_PROT_CPU_BUDGET) | BIT(WDR_PROT_DETECT_CPU),
					      0, empty };
	ps.p[1] = (struct wdr_check_program){ "wdr_b", 0, -EACCES, refused };
	ps.n = 2;
	wdr_check_programs_print(&ps, f);
	(void)fflush(f);
	assert_string_equal(text, want);
	o = wdr_check_programs_json(&ps);
	assert_int_equal(json_array_size(o), 2);
	assert_true(json_is_true(json_object_get(json_array_get(o, 0), "ok")));
	assert_string_equal(json_string_value(json_object_get(json_array_get(o, 1), "log")),
			    refused);
}

static void what_is_disabled_counts_as_missing(void **state)
{
	static const struct wdr_probe *const probes[] = { &answers, NULL };
	static struct wdr_check_report rep;

	(void)state;
	assert_ok(wdr_check_run(probes, 5000, BIT(WDR_PROT_LANDLOCK), &rep, NULL));
	assert_row(&rep, WDR_PROT_LANDLOCK, false, "turned off by WARDER_DISABLE");
	assert_non_null(strstr(rep.rows[WDR_PROT_LANDLOCK].remedy, "WARDER_DISABLE"));
}

static void fill(struct wdr_check_report *rep, bool all)
{
	for (enum wdr_protection p = 0; p < _WDR_PROT_MAX; p++)
		wdr_check_yes(rep, p, "%s", "");
	if (!all)
		wdr_check_no(rep, WDR_PROT_IDMAP, "mount_setattr: \x1b[31mno");
}

static void prints_the_remedy_of_each_no(void **state)
{
	static struct wdr_check_report rep;
	char text[8192] = "";
	wdr_fclose_ FILE *f = fmemopen(text, sizeof(text), "w");

	(void)state;
	assert_non_null(f);
	fill(&rep, false);
	wdr_check_print(&rep, f);
	(void)fflush(f);
	assert_non_null(strstr(text, "\nidmap           no  mount_setattr: \\x1b[31mno\n"));
	assert_non_null(strstr(text, "remedy: needs Linux 5.12"));
	assert_non_null(strstr(text, "\npids_limit      yes\n"));
	assert_null(strstr(strstr(text, "remedy") + 1, "remedy"));
	assert_non_null(strstr(text, "34 of 35 protections; "));
	rewind(f);
	rep.rows[WDR_PROT_IDMAP].remedy = "do something";
	wdr_check_print(&rep, f);
	(void)fflush(f);
	assert_non_null(strstr(text, "remedy: do something\n"));
}

static void says_the_same_in_json(void **state)
{
	static struct wdr_check_report rep;
	wdr_json_ json_t *o = NULL;
	json_t *row;

	(void)state;
	fill(&rep, false);
	o = wdr_check_json(&rep);
	assert_true(json_is_false(json_object_get(o, "all")));
	assert_int_equal(json_array_size(json_object_get(o, "protections")), _WDR_PROT_MAX);
	row = json_array_get(json_object_get(o, "protections"), WDR_PROT_IDMAP);
	assert_string_equal(json_string_value(json_object_get(row, "name")), "idmap");
	assert_true(json_is_false(json_object_get(row, "ok")));
	assert_true(json_is_string(json_object_get(row, "remedy")));
	row = json_array_get(json_object_get(o, "protections"), WDR_PROT_USER_NS);
	assert_true(json_is_null(json_object_get(row, "remedy")));
	wdr_json_putp(&o);
	fill(&rep, true);
	o = wdr_check_json(&rep);
	assert_true(json_is_true(json_object_get(o, "all")));
	assert_int_equal(wdr_check_missing(&rep), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_probe_that_hangs_or_dies_costs_its_rows_and_no_more),
		cmocka_unit_test(the_second_of_two_probes_has_the_last_word),
		cmocka_unit_test(one_program_is_a_line_and_what_the_verifier_says),
		cmocka_unit_test(what_is_disabled_counts_as_missing),
		cmocka_unit_test(prints_the_remedy_of_each_no),
		cmocka_unit_test(says_the_same_in_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
