/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs cost the verifier, and objects in bytes, against tests/bpf/insns.budget. More than
 * a tenth above its line fails until the line changes in the same commit. The kernel's count varies
 * with its version: the lines hold the largest.
 */
#include "wdr_test.h"

#include <bpf/bpf.h>
#include <sys/stat.h>

#include "kern_env.h"

#define BUDGET "tests/bpf/insns.budget"

static struct kern_env env;

/* The size of object @name beside the programs that were built; 0 where it is not at hand. */
static uint32_t object_size(const char *name)
{
	const char *build = getenv("WDR_BUILD");
	char path[512];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/../bpf/%s", build ? build : "build/plain", name);
	return stat(path, &st) < 0 ? 0 : (uint32_t)st.st_size;
}

static uint32_t verified_insns(const char *name)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	int fd = kern_env_program(&env, name);

	if (fd < 0)
		return 0; /* not on this kernel */
	assert_ok(bpf_obj_get_info_by_fd(fd, &info, &len));
	(void)close(fd);
	return info.verified_insns;
}

#define MAX_LISTED 64

static char listed[MAX_LISTED][64];
static unsigned int n_listed, bad;

static void check_line(const char *name, uint32_t budget)
{
	uint32_t now = strstr(name, ".bpf.o") ? object_size(name) : verified_insns(name);

	assert_true(n_listed < MAX_LISTED);
	(void)snprintf(listed[n_listed++], sizeof(listed[0]), "%s", name);
	print_message("%-20s %6u of %6u\n", name, now, budget);
	if (now > budget + budget / 10) {
		print_error("%s: %u, a tenth above its budget of %u\n", name, now, budget);
		bad++;
	}
}

/* Each program of this kernel has its line. */
static void find_program(void *arg, const char *name, uint64_t protections, int error,
			 const char *log)
{
	unsigned int i = 0;

	(void)arg;
	(void)protections;
	(void)error;
	(void)log;
	while (i < n_listed && strcmp(listed[i], name))
		i++;
	if (i == n_listed)
		fail_msg("%s has no line in " BUDGET, name);
}

static void nothing_has_grown_by_more_than_a_tenth(void **state)
{
	FILE *f = fopen(BUDGET, "re");
	char line[128], name[64];
	unsigned int budget;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (line[0] != '#' && sscanf(line, "%63s %u", name, &budget) == 2)
			check_line(name, budget);
	}
	(void)fclose(f);
	assert_int_equal(bad, 0);
	assert_ok(wdr_kern_programs(false, find_program, NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_has_grown_by_more_than_a_tenth),
	};
	struct wdr_kern *k = NULL;
	int r = kern_env_start(&env);

	if (r)
		return r;
	r = wdr_kern_open(&env.at, &k, NULL) ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
	wdr_kern_freep(&k);
	kern_env_stop(&env);
	return r;
}
