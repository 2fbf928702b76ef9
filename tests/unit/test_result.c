/* SPDX-License-Identifier: Apache-2.0 */
/* What a result says: its line on stderr, its exit status, its object (golden files). */
#include "wdr_golden.h"
#include "wdr_test.h"

#include <signal.h>
#include <sys/mman.h>

#include "model/result.h"

#define S UINT64_C(1000000000)
#define M UINT64_C(1 << 20)

static char *const hello[] = { (char *)"python3", (char *)"a.py", NULL };

static const struct wdr_denial denial_rule = {
	.to = "192.0.2.1:443/tcp",
	.reason = WDR_DENY_RULE,
	.rule = 3,
	.rule_name = "no \"web\"",
	.count = 2,
	.first = { 1796029201, 5000000 },
	.last = { 1796029202, 999999999 },
};
static const struct wdr_finding finding_kill = {
	.detector = "mining",
	.action = WDR_FINDING_KILL,
	.score = 0.97,
	.threshold = 0.8,
	.n_evidence = 2,
	.evidence = { { "fpu", "rounding modes used evenly", 0.74, 0.5 },
		      { "network", "stratum handshake", 1, 1 } },
};

static struct wdr_result new_result(enum wdr_exit_reason reason)
{
	struct wdr_result r = WDR_RESULT_INIT;

	(void)strcpy(r.job, "j-7f3k2q9xw4");
	r.backend = "native";
	r.command_ref = hello;
	r.started = (struct timespec){ 1796029200, 123456789 };
	r.exit.reason = reason;
	r.usage.wall_ns = 1;
	return r;
}

static const struct {
	struct wdr_exit exit;
	int status;
	const char *line; /* behind "warder: " */
} ends[] = {
	{ { WDR_EXIT_EXITED, .code = 0 }, 0, NULL },
	{ { WDR_EXIT_EXITED, .code = 3 }, 3, NULL },
	{ { WDR_EXIT_SIGNALED, .signal = SIGSEGV },
	  139,
	  "j-7f3k2q9xw4 killed: signaled: ended by SIGSEGV (Segmentation fault)" },
	{ { WDR_EXIT_TIMEOUT, .signal = SIGKILL, .limit = 2 * S },
	  124,
	  "j-7f3k2q9xw4 killed: timeout: wall-clock limit of 2s reached" },
	{ { WDR_EXIT_CPU_BUDGET, .limit = 30 * S, .value = 30004 * S / 1000 },
	  137,
	  "j-7f3k2q9xw4 killed: cpu-budget: CPU budget of 30s reached: 30.004s used" },
	{ { WDR_EXIT_OOM, .limit = 512 * M, .value = 1 },
	  137,
	  "j-7f3k2q9xw4 killed: oom: memory limit of 512M reached: the OOM killer took 1 process" },
	{ { WDR_EXIT_OOM, .limit = WDR_UNKNOWN, .value = 2 },
	  137,
	  "j-7f3k2q9xw4 killed: oom: the machine ran out of memory: "
	  "the OOM killer took 2 processes" },
	{ { WDR_EXIT_PIDS_LIMIT, .limit = 100, .value = 7 },
	  137,
	  "j-7f3k2q9xw4 killed: pids-limit: limit of 100 processes and threads reached: "
	  "7 forks refused" },
	{ { WDR_EXIT_OUTPUT_LIMIT, .limit = 10 * M, .what = "stdout" },
	  137,
	  "j-7f3k2q9xw4 killed: output-limit: more than 10M of output on stdout" },
	{ { .reason = WDR_EXIT_MINING }, 137, "j-7f3k2q9xw4 killed: mining: found to be mining" },
	{ { .reason = WDR_EXIT_EGRESS },
	  137,
	  "j-7f3k2q9xw4 killed: egress: connection refused by the policy" },
	{ { WDR_EXIT_SYSCALL, .what = "ptrace" },
	  137,
	  "j-7f3k2q9xw4 killed: syscall: call of ptrace, which the policy refuses" },
	{ { WDR_EXIT_KILLED, .value = SIGINT },
	  130,
	  "j-7f3k2q9xw4 killed: killed: warder got SIGINT" },
	{ { WDR_EXIT_KILLED, .value = SIGHUP },
	  129,
	  "j-7f3k2q9xw4 killed: killed: warder got SIGHUP" },
	{ { WDR_EXIT_KILLED, .what = "warder kill" },
	  137,
	  "j-7f3k2q9xw4 killed: killed: by warder kill" },
	{ { WDR_EXIT_SUPERVISOR_LOST, .limit = 2 * S },
	  137,
	  "j-7f3k2q9xw4 killed: supervisor-lost: its supervisor was silent for 2s" },
	{ { WDR_EXIT_ERROR, .value = 125, .what = "lost \"a\":\nno memory" },
	  125,
	  "j-7f3k2q9xw4 killed: error: lost \"a\":\\nno memory" },
};

static void explains_every_end_in_one_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct wdr_result r = new_result(ends[i].exit.reason);
		char line[WDR_RESULT_LINE_MAX];
		size_t n;

		r.exit = ends[i].exit;
		assert_int_equal(wdr_result_status(&r), ends[i].status);
		n = wdr_result_line(&r, line);
		assert_int_equal(n, strlen(line));
		if (ends[i].line)
			assert_string_equal(line + strlen("warder: "), ends[i].line);
		else
			assert_string_equal(line, "");
	}
}

static void explains_a_kill_by_its_evidence(void **state)
{
	struct wdr_result r = new_result(WDR_EXIT_MINING);
	struct wdr_finding f = finding_kill;
	char buf[512];

	(void)state;
	wdr_result_add_finding(&r, &f);
	f.action = WDR_FINDING_ALERT;
	f.score = 0.5;
	wdr_result_add_finding(&r, &f);
	wdr_result_explain(&r, buf, sizeof(buf));
	assert_string_equal(buf,
			    "score 0.97, threshold 0.80: fpu: rounding modes used evenly (0.74, "
			    "threshold 0.5); network: stratum handshake (1, threshold 1)");
	r.exit.reason = WDR_EXIT_CPU_BUDGET;
	wdr_result_explain(&r, buf, 40);
	assert_string_equal(buf, "detector mining: score 0.97, threshold ");
	r.exit.reason = WDR_EXIT_EGRESS;
	wdr_result_add_denial(&r, &denial_rule);
	wdr_result_explain(&r, buf, sizeof(buf));
	assert_string_equal(buf,
			    "connection to 192.0.2.1:443/tcp refused: rule 3 \"no \\\"web\\\"\"");
	wdr_result_done(&r);
}

static void a_job_that_never_ran_was_not_killed(void **state)
{
	struct wdr_result r = new_result(WDR_EXIT_ERROR);
	char line[WDR_RESULT_LINE_MAX];

	(void)state;
	r.usage.wall_ns = 0;
	r.exit.value = 127;
	(void)strcpy(r.exit.what, "nosuch: not found");
	(void)wdr_result_line(&r, line);
	assert_string_equal(line, "warder: nosuch: not found");
	assert_int_equal(wdr_result_status(&r), 127);
}

static void denials_gather_by_destination_rule_and_reason(void **state)
{
	struct wdr_result r = new_result(WDR_EXIT_EXITED);
	struct wdr_denial d = denial_rule;

	(void)state;
	wdr_result_add_denial(&r, &d);
	d.first.tv_sec -= 10;
	d.last.tv_sec -= 5;
	wdr_result_add_denial(&r, &d);
	assert_int_equal(r.n_denials, 1);
	assert_int_equal(r.denials[0].count, 4);
	assert_int_equal(r.denials[0].first.tv_sec, denial_rule.first.tv_sec - 10);
	assert_int_equal(r.denials[0].last.tv_sec, denial_rule.last.tv_sec);
	d.rule = 4;
	wdr_result_add_denial(&r, &d);
	d.reason = WDR_DENY_DEFAULT;
	wdr_result_add_denial(&r, &d);
	assert_int_equal(r.n_denials, 3);
	wdr_result_done(&r);
}

static void what_has_no_room_is_counted(void **state)
{
	struct wdr_result r = new_result(WDR_EXIT_EXITED);
	struct wdr_denial d = denial_rule;

	(void)state;
	for (int i = 0; i < WDR_RESULT_MAX_DENIALS + 3; i++) {
		d.rule = i;
		wdr_result_add_denial(&r, &d);
	}
	assert_int_equal(r.n_denials, WDR_RESULT_MAX_DENIALS);
	assert_int_equal(r.denials_lost, 3 * d.count);
	for (int i = 0; i < WDR_RESULT_MAX_FINDINGS + 2; i++)
		wdr_result_add_finding(&r, &finding_kill);
	assert_int_equal(r.n_findings, WDR_RESULT_MAX_FINDINGS);
	assert_int_equal(r.findings_lost, 2);
	wdr_result_done(&r);
	assert_null(r.denials);
	assert_int_equal(r.out.fd, -1);
}

static void keep(struct wdr_capture *c, const char *text, size_t n)
{
	c->fd = memfd_create("capture", MFD_CLOEXEC);
	assert_true(c->fd >= 0);
	assert_ok(wdr_write_all(c->fd, text, n));
	c->kept_bytes = n;
	c->bytes = n;
}

static void fill_plain(struct wdr_result *r)
{
	keep(&r->out, "hello\n", 6);
	keep(&r->err, "", 0);
	r->usage.net_counted = true;
	r->prot_on = UINT64_MAX >> (64 - _WDR_PROT_MAX);
}

static void fill_everything(struct wdr_result *r)
{
	static char *const odd[] = { (char *)"sh", (char *)"-c",
				     (char *)"printf '\\377'; # \xff\xfe\xc3\xbc", NULL };

	r->command_ref = odd;
	(void)strcpy(r->name, "build-7");
	r->backend = "runsc";
	keep(&r->out, "\xff\x00\x01zz", 5);
	keep(&r->err, "gr\xc3\xbc\xc3\x9f\xc3", 7);
	r->err.truncated = true;
	r->err.bytes = 1000;
	r->exit = (struct wdr_exit){ WDR_EXIT_MINING, .signal = SIGKILL };
	r->usage = (struct wdr_usage){
		.wall_ns = 5 * S,
		.start_ns = 2500000,
		.cpu_ns = 3 * S,
		.user_ns = 2 * S,
		.system_ns = S,
		.memory_peak_bytes = 12 * M,
		.pids_peak = 4,
		.net_counted = true,
		.egress_packets = 10,
		.egress_bytes = 9000,
		.egress_denied = 5,
		.ingress_packets = 8,
		.ingress_bytes = 70000,
		.syscalls_counted = true,
		.syscalls_origin = WDR_ORIGIN_GUEST,
		.syscalls_total = 1203,
		.syscalls_lost = 1,
		.n_syscalls = 4,
	};
	r->usage.syscalls = calloc(4, sizeof(*r->usage.syscalls));
	assert_non_null(r->usage.syscalls);
	r->usage.syscalls[0] = (struct wdr_syscall_count){ "ptrace", 1, 1 };
	r->usage.syscalls[1] = (struct wdr_syscall_count){ "write", 200, 0 };
	r->usage.syscalls[2] = (struct wdr_syscall_count){ "read", 1000, 0 };
	r->usage.syscalls[3] = (struct wdr_syscall_count){ "openat", 200, 2 };
	wdr_result_add_denial(r, &denial_rule);
	wdr_result_add_denial(r, &(struct wdr_denial){ .to = "[2001:db8::1]:53/udp",
						       .rule = -1,
						       .reason = WDR_DENY_DEFAULT,
						       .count = 1 });
	wdr_result_add_finding(r, &finding_kill);
	r->prot_on = WDR_PROT_BIT(WDR_PROT_SECCOMP);
	r->prot_missing = WDR_PROT_BIT(WDR_PROT_LANDLOCK) | WDR_PROT_BIT(WDR_PROT_EGRESS_PACKET);
}

/* An ordinary user's machine: no cgroup to measure with, nothing counted. */
static void fill_unmeasured(struct wdr_result *r)
{
	r->usage.cpu_ns = r->usage.user_ns = r->usage.system_ns = WDR_UNKNOWN;
	r->usage.memory_peak_bytes = r->usage.pids_peak = WDR_UNKNOWN;
	r->exit = (struct wdr_exit){ WDR_EXIT_SIGNALED, .signal = SIGRTMIN + 2 };
}

static void fill_failed_start(struct wdr_result *r)
{
	r->usage.wall_ns = 0;
	r->exit = (struct wdr_exit){ WDR_EXIT_ERROR, .value = 127, .what = "python3: not found" };
}

static void writes_the_object_of_the_schema(void **state)
{
	static const struct {
		const char *file;
		void (*fill)(struct wdr_result *r);
	} cases[] = {
		{ "result_plain.json", fill_plain },
		{ "result_everything.json", fill_everything },
		{ "result_unmeasured.json", fill_unmeasured },
		{ "result_failed_start.json", fill_failed_start },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wdr_result_ struct wdr_result r = new_result(WDR_EXIT_EXITED);
		wdr_close_ int fd = memfd_create("result", MFD_CLOEXEC);
		wdr_free_ char *text = NULL;
		char path[64];
		size_t n = 0;

		cases[i].fill(&r);
		assert_ok(wdr_result_write(&r, fd, NULL));
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		assert_ok(wdr_read_file(AT_FDCWD, path, WDR_GOLDEN_MAX, &text, &n));
		assert_golden(cases[i].file, text, n);
	}
}

/* The words of the schema's enums; tests/lint/result_schema.py compares them. */
static void knows_the_words_of_the_schema(void **state)
{
	char text[2048];
	size_t n = 0;

	(void)state;
	for (int i = 0; i < _WDR_EXIT_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "exit %s\n",
				      wdr_exit_reason_name((enum wdr_exit_reason)i));
	for (int i = 0; i < _WDR_DENY_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "deny %s\n",
				      wdr_deny_reason_name((enum wdr_deny_reason)i));
	for (int i = 0; i < _WDR_FINDING_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "action %s\n",
				      wdr_finding_action_name((enum wdr_finding_action)i));
	assert_golden("result_words.txt", text, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(explains_every_end_in_one_line),
		cmocka_unit_test(explains_a_kill_by_its_evidence),
		cmocka_unit_test(a_job_that_never_ran_was_not_killed),
		cmocka_unit_test(denials_gather_by_destination_rule_and_reason),
		cmocka_unit_test(what_has_no_room_is_counted),
		cmocka_unit_test(writes_the_object_of_the_schema),
		cmocka_unit_test(knows_the_words_of_the_schema),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
