/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler against an interpreter: any table, each number, every jump however far. */
#include "wdr_test.h"

#include <linux/audit.h>
#include <linux/seccomp.h>

#include "native/seccomp_priv.h"

#define ROUNDS	  200
#define KILLED	  (-1)
#define MAX_STEPS 64 /* what one call may cost */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

static const struct wdr_seccomp_test tests_of_both_halves[] = {
	{ .arg = 2,
	  .high = true,
	  .any = true,
	  .mask = 1,
	  .hit = WDR_SECCOMP_REFUSE,
	  .miss = WDR_SECCOMP_NEXT },
	{ .arg = 2,
	  .mask = 0xf0,
	  .value = 0x30,
	  .hit = WDR_SECCOMP_ALLOW,
	  .miss = WDR_SECCOMP_NEXT },
	{ .arg = 5,
	  .mask = UINT32_MAX,
	  .value = 7,
	  .hit = WDR_SECCOMP_NEXT,
	  .miss = WDR_SECCOMP_REFUSE },
};
static const struct wdr_seccomp_check ends_allowed = { tests_of_both_halves, 3, WDR_SECCOMP_ALLOW };
static const struct wdr_seccomp_check ends_refused = { tests_of_both_halves, 2,
						       WDR_SECCOMP_REFUSE };

/* errno that the filter gives, 0: allowed, KILLED. */
static int verdict(const struct wdr_seccomp_filter *f, const struct seccomp_data *d)
{
	uint32_t a = 0;
	size_t steps = 0;

	for (size_t pc = 0;; pc++) {
		const struct sock_filter *i;

		assert_true(pc < f->n_insns);
		assert_true(++steps <= MAX_STEPS);
		i = &f->insns[pc];
		if (i->code == (BPF_RET | BPF_K)) {
			if (i->k == SECCOMP_RET_ALLOW)
				return 0;
			return i->k == SECCOMP_RET_KILL_PROCESS ? KILLED :
								  (int)(i->k & SECCOMP_RET_DATA);
		}
		if (i->code == (BPF_LD | BPF_W | BPF_ABS)) {
			assert_true(i->k % 4 == 0 && i->k + 4 <= sizeof(*d));
			memcpy(&a, (const char *)d + i->k, sizeof(a));
		} else if (i->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= i->k;
		else if (i->code == (BPF_JMP | BPF_JA))
			pc += i->k;
		else if (i->code == (BPF_JMP | BPF_JEQ | BPF_K))
			pc += a == i->k ? i->jt : i->jf;
		else if (i->code == (BPF_JMP | BPF_JGE | BPF_K))
			pc += a >= i->k ? i->jt : i->jf;
		else if (i->code == (BPF_JMP | BPF_JSET | BPF_K))
			pc += a & i->k ? i->jt : i->jf;
		else
			fail_msg("instruction %zu has code %#x", pc, i->code);
	}
}

static int refusal(bool kill)
{
	return kill ? KILLED : EPERM;
}

/* What the table says of a call with @d's arguments. */
static int want(const struct wdr_seccomp_entry *table, const struct seccomp_data *d, bool kill)
{
	uint32_t nr = (uint32_t)d->nr;

#if defined(__x86_64__)
	if (nr >= 0x40000000 && nr < 0x80000000)
		return refusal(kill);
#endif
	if (nr >= WDR_SYSCALL_MAX)
		return ENOSYS;
	if (table[nr].check == &ends_allowed || table[nr].check == &ends_refused) {
		bool last = table[nr].check == &ends_allowed;

		if (d->args[2] >> 32 & 1)
			return refusal(kill);
		if ((d->args[2] & 0xf0) == 0x30)
			return 0;
		return last && (uint32_t)d->args[5] == 7 ? 0 : refusal(kill);
	}
	if (table[nr].verdict == WDR_SECCOMP_ALLOW)
		return 0;
	return table[nr].verdict == WDR_SECCOMP_REFUSE ? refusal(kill) : ENOSYS;
}

static void draw_table(struct wdr_seccomp_entry *table, unsigned int *seed, int run)
{
	struct wdr_seccomp_entry e = { 0 };

	for (unsigned int nr = 0; nr < WDR_SYSCALL_MAX; nr++) {
		if (rand_r(seed) % run == 0) {
			int kind = rand_r(seed) % 5;

			e = (struct wdr_seccomp_entry){ .verdict = (uint8_t)(kind % 3) };
			if (kind >= 3)
				e.check = kind == 3 ? &ends_allowed : &ends_refused;
		}
		table[nr] = e;
	}
}

static const struct {
	uint64_t two, five;
} arguments[] = {
	{ 0, 0 },
	{ 0x30, 0 },
	{ 0x130, 7 },
	{ 0x40, 7 },
	{ 0x40, 0x700000007 },
	{ 0x100000030, 7 },
	{ 0x200000030, 0 },
	{ 0xfffffffeffffff3f, 8 },
	{ 0xffffffffffffffff, 7 },
};

static void compare(const struct wdr_seccomp_filter *f, const struct wdr_seccomp_entry *table,
		    bool kill, uint32_t nr)
{
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		struct seccomp_data d = { .nr = (int)nr, .arch = ARCH };

		d.args[2] = arguments[i].two;
		d.args[5] = arguments[i].five;
		if (verdict(f, &d) != want(table, &d, kill))
			fail_msg("call %u, arguments %zu: %d, want %d", nr, i, verdict(f, &d),
				 want(table, &d, kill));
		d.arch = AUDIT_ARCH_I386;
		assert_int_equal(verdict(f, &d), refusal(kill));
	}
}

static void says_what_the_table_says(void **state)
{
	static const uint32_t beyond[] = { 512,	       513,	   0x3fffffff, 0x40000000,
					   0x40000201, 0x7fffffff, 0x80000000, 0xffffffff };
	struct wdr_seccomp_entry table[WDR_SYSCALL_MAX];
	unsigned int seed = 1;
	size_t longest = 0;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct wdr_seccomp_filter f;
		bool kill = round % 2;

		draw_table(table, &seed, 1 + round % 20);
		assert_ok(wdr_seccomp_compile(table, kill, &f));
		longest = f.n_insns > longest ? f.n_insns : longest;
		for (uint32_t nr = 0; nr < WDR_SYSCALL_MAX; nr++)
			compare(&f, table, kill, nr);
		for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++)
			compare(&f, table, kill, beyond[i]);
		wdr_seccomp_filter_free(&f);
	}
	/* Some had jumps that do not fit eight bits. */
	assert_true(longest > 1000);
}

static void a_table_of_one_verdict_is_short(void **state)
{
	struct wdr_seccomp_entry table[WDR_SYSCALL_MAX];
	struct wdr_seccomp_filter f;

	(void)state;
	for (unsigned int nr = 0; nr < WDR_SYSCALL_MAX; nr++)
		table[nr] = (struct wdr_seccomp_entry){ .verdict = WDR_SECCOMP_ALLOW };
	assert_ok(wdr_seccomp_compile(table, false, &f));
	assert_true(f.n_insns <= 12);
	wdr_seccomp_filter_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_the_table_says),
		cmocka_unit_test(a_table_of_one_verdict_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
