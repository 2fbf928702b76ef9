/* SPDX-License-Identifier: Apache-2.0 */
/* The tables themselves are held against the kernel's headers by tests/lint/syscalls.py. */
#include "wdr_test.h"

#include <sys/syscall.h>

#include "base/wdr_syscall.h"

static void knows_numbers_and_names(void **state)
{
	static const struct {
		const char *name;
		int nr;
	} calls[] = {
		{ "read", SYS_read },	     { "openat", SYS_openat }, { "clone3", SYS_clone3 },
		{ "futex", SYS_futex },	     { "statx", SYS_statx },   { "rseq", SYS_rseq },
		{ "fchmodat2", 452 },	     { "mseal", 462 },	       { "file_setattr", 469 },
		{ "rseq_slice_yield", 471 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		assert_int_equal(wdr_syscall_number(calls[i].name), calls[i].nr);
		assert_string_equal(wdr_syscall_name((unsigned int)calls[i].nr), calls[i].name);
	}
}

static void every_name_leads_back_to_its_number(void **state)
{
	int n = 0;

	(void)state;
	for (unsigned int nr = 0; nr < WDR_SYSCALL_MAX; nr++) {
		const char *name = wdr_syscall_name(nr);

		if (!name)
			continue;
		n++;
		assert_int_equal(wdr_syscall_number(name), nr);
	}
	assert_true(n > 320);
}

static void a_stranger_has_neither(void **state)
{
	static const char *const strangers[] = { "",	 "-",	  "rea",     "readd",
						 "READ", "read ", "sys_read" };

	(void)state;
	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
		assert_int_equal(wdr_syscall_number(strangers[i]), -ENOENT);
	assert_int_equal(wdr_syscall_find("readlink", 4), SYS_read);
	assert_null(wdr_syscall_name(423));
	assert_null(wdr_syscall_name(WDR_SYSCALL_MAX));
	assert_null(wdr_syscall_name(0x40000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_numbers_and_names),
		cmocka_unit_test(every_name_leads_back_to_its_number),
		cmocka_unit_test(a_stranger_has_neither),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
