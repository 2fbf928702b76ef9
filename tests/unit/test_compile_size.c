/* SPDX-License-Identifier: Apache-2.0 */
/* Large policies: what they cost, what they share, and how too much is refused. */
#include "wdr_test.h"

#include <time.h>

#include "policy/compile.h"

#define MANY WDR_POLICY_MAX_RULES

/* A sanitizer's build is several times slower: the bound is for what users get. */
#ifdef __SANITIZE_ADDRESS__
#define SLOW 8
#else
#define SLOW 1
#endif

static struct wdr_policy *parse(const char *text)
{
	struct wdr_policy *p = NULL;
	struct wdr_err err = { 0 };

	if (wdr_policy_parse("t.json", text, strlen(text), &p, &err) < 0)
		fail_msg("%s: %s", err.where, err.msg);
	return p;
}

#define LISTS                                                         \
	"{\"version\":1,\"network\":{\"mode\":\"egress\",\"rules\":[" \
	"{\"action\":\"deny\",\"to\":\"198.18.0.0/15\"},"             \
	"{\"action\":\"allow\",\"list\":\"a.txt\",\"ports\":[\"443\"]}]}}"

/* @n prefixes of both families, nested here and there; *ret_len is without the NUL. */
static char *make_list(size_t n, size_t *ret_len)
{
	char *text = malloc(n * 48 + 1), *at = text;

	assert_non_null(text);
	srandom(3);
	for (size_t i = 0; i < n; i++) {
		unsigned int v = (unsigned int)random() * 2654435761U ^ (unsigned int)i;

		if (i % 4 == 3)
			at += snprintf(at, 48, "2001:db8:%x:%x::/64\n", v >> 16, v & 0xffff);
		else if (i % 4 == 2)
			at += snprintf(at, 48, "%u.%u.%u.0/24 # near\n", v >> 24, v >> 16 & 255,
				       v >> 8 & 255);
		else
			at += snprintf(at, 48, "%u.%u.%u.%u\n", v >> 24, v >> 16 & 255,
				       v >> 8 & 255, v & 255);
	}
	*ret_len = (size_t)(at - text);
	return text;
}

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static void a_list_of_200000_takes_less_than_a_second(void **state)
{
	wdr_policy_ struct wdr_policy *p = parse(LISTS);
	wdr_compiled_ struct wdr_compiled *c = NULL;
	wdr_free_ char *text = NULL;
	struct wdr_err err = { 0 };
	struct timespec start;
	double took;
	size_t len;

	(void)state;
	text = make_list(MANY - 1, &len);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	if (wdr_policy_add_list(p, 1, "a.txt", text, len, &err) < 0)
		fail_msg("%s: %s", err.where, err.msg);
	assert_ok(wdr_compiled_new(p, &c, NULL));
	took = seconds_since(&start);
	print_message("%.3f s for %zu entries, %zu rows\n", took, c->n_entries, c->n_rows);
	assert_true(took < 1 * SLOW);
	assert_in_range(c->n_entries, MANY / 2, MANY + 100);
	/* One list, whatever is inside what: 443 allowed at a length each, denied before it. */
	assert_in_range(c->n_rows, 1, 32);
}

static void one_prefix_too_many_is_refused(void **state)
{
	wdr_policy_ struct wdr_policy *p = parse(LISTS);
	wdr_free_ char *text = NULL;
	struct wdr_err err = { 0 };
	size_t len;

	(void)state;
	text = make_list(MANY, &len);
	assert_int_equal(wdr_policy_add_list(p, 1, "a.txt", text, len, &err), -E2BIG);
	assert_string_equal(err.where, "a.txt:200000");
	assert_non_null(strstr(err.msg, "at most 200000"));
}

static void lists_are_refused_with_their_line(void **state)
{
	static const struct {
		const char *text;
		size_t len; /* 0: strlen */
		const char *where, *msg;
	} bad[] = {
		{ "10.0.0.0/8\n\n# x\nexample.org\n", 0, "a.txt:4", "names are not looked up" },
		{ "10.0.0.1/8", 0, "a.txt:1", "did you mean \"10.0.0.0/8\"?" },
		{ "10.0.0.0/8 11.0.0.0/8\n", 0, "a.txt:1", "not a" },
		{ "10.0.0.0\0/8\n", 12, "a.txt:1", "not an address" },
		{ "\r\n\0", 3, "a.txt:2", "not an address" },
		{ "\357\273\27710.0.0.0/8\n", 0, "a.txt:1", "not an address" },
		{ "10.0.0.0/8:443\n", 0, "a.txt:1", "not a prefix length" },
		{ "1111111111111111111111111111111111111111111111111111111111111111111111111111111"
		  "11111111111111",
		  0, "a.txt:1", "not an address" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		wdr_policy_ struct wdr_policy *p = parse(LISTS);
		struct wdr_err err = { 0 };
		size_t len = bad[i].len ? bad[i].len : strlen(bad[i].text);

		assert_int_equal(wdr_policy_add_list(p, 1, "a.txt", bad[i].text, len, &err),
				 -EINVAL);
		assert_string_equal(err.where, bad[i].where);
		if (!strstr(err.msg, bad[i].msg))
			fail_msg("\"%s\" is not in \"%s\"", bad[i].msg, err.msg);
	}
}

static void lists_may_have_comments_and_other_systems_line_ends(void **state)
{
	static const char text[] =
		"# all of it\r\n\r\n  10.0.0.0/8 # ten\r\n\t2001:db8::/32\t\n::1";
	wdr_policy_ struct wdr_policy *p = parse(LISTS);

	(void)state;
	assert_int_equal(wdr_policy_finish(p, NULL), -EINVAL); /* not read yet */
	assert_ok(wdr_policy_add_list(p, 1, "a.txt", text, sizeof(text) - 1, NULL));
	assert_int_equal(p->net.rules[1].n_to, 3);
	assert_ok(wdr_policy_finish(p, NULL));
	assert_ok(wdr_policy_add_list(p, 1, "a.txt", "", 0, NULL));
	assert_int_equal(p->net.rules[1].n_to, 0);
	assert_ok(wdr_policy_finish(p, NULL));
}

/* Rules of @n ports each, all for one prefix. */
static struct wdr_policy *nested(unsigned int n_rules, unsigned int n_ports, const char *first)
{
	wdr_free_ char *text = NULL;
	struct wdr_policy *p;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	(void)fprintf(f, "{\"version\":1,\"network\":{\"mode\":\"egress\",\"rules\":[%s", first);
	for (unsigned int i = 0; i < n_rules; i++) {
		(void)fprintf(f, "%s{\"action\":\"allow\",\"to\":\"192.0.2.0/%u\",\"ports\":[",
			      i || *first ? "," : "", 24 + i % 3);
		for (unsigned int j = 0; j < n_ports; j++)
			(void)fprintf(f, "%s%u", j ? "," : "", 1 + i * n_ports + j);
		(void)fprintf(f, "]}");
	}
	(void)fprintf(f, "]}}");
	assert_ok(fclose(f));
	p = parse(text);
	return p;
}

static void too_deep_nesting_names_the_prefix_and_the_rules(void **state)
{
	wdr_compiled_ struct wdr_compiled *c = NULL;
	wdr_policy_ struct wdr_policy *good = nested(16, 8, "");
	wdr_policy_ struct wdr_policy *bad = nested(17, 8, "");
	struct wdr_err err = { 0 };

	(void)state;
	assert_ok(wdr_compiled_new(good, &c, &err));
	wdr_compiled_freep(&c);
	assert_int_equal(wdr_compiled_new(bad, &c, &err), -E2BIG);
	assert_null(c);
	assert_non_null(strstr(err.msg, "192.0.2.0/26 is matched by more than 128 rules"));
	assert_non_null(strstr(err.msg, "rules 0, 1, 2, 3, 4, 5, 6, 7, 8"));
}

/* What a rule before it makes pointless costs no room: deny everything, then 400 more. */
static void rules_that_can_never_decide_are_left_out(void **state)
{
	wdr_policy_ struct wdr_policy *p =
		nested(50, 8, "{\"action\":\"deny\",\"to\":\"0.0.0.0/0\"}");
	wdr_compiled_ struct wdr_compiled *c = NULL;

	(void)state;
	assert_ok(wdr_compiled_new(p, &c, NULL));
	assert_int_equal(c->n_rows, 1);
}

/* 70,000 rules, each with records of its own. */
static void too_many_different_records_are_refused(void **state)
{
	wdr_policy_ struct wdr_policy *p = NULL;
	wdr_compiled_ struct wdr_compiled *c = NULL;
	struct wdr_err err = { 0 };

	(void)state;
	assert_ok(wdr_policy_default(&p));
	p->net.mode = WDR_NET_EGRESS;
	p->net.n_rules = 70000;
	p->net.rules = calloc(p->net.n_rules, sizeof(*p->net.rules));
	for (size_t i = 0; i < p->net.n_rules; i++) {
		struct wdr_rule *rule = &p->net.rules[i];

		rule->to = calloc(1, sizeof(*rule->to));
		rule->n_to = 1;
		*rule->to = (struct wdr_prefix){ .addr = { 45, (uint8_t)(i >> 16),
							   (uint8_t)(i >> 8), (uint8_t)i },
						 .family = 2,
						 .len = 32 };
	}
	assert_int_equal(wdr_compiled_new(p, &c, &err), -E2BIG);
	assert_non_null(strstr(err.msg, "more than 65536 rows"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_of_200000_takes_less_than_a_second),
		cmocka_unit_test(one_prefix_too_many_is_refused),
		cmocka_unit_test(lists_are_refused_with_their_line),
		cmocka_unit_test(lists_may_have_comments_and_other_systems_line_ends),
		cmocka_unit_test(too_deep_nesting_names_the_prefix_and_the_rules),
		cmocka_unit_test(rules_that_can_never_decide_are_left_out),
		cmocka_unit_test(too_many_different_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
