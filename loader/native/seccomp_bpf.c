/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter's code: numbers with the same verdict are runs, runs are the leaves of a binary tree,
 * so that no call takes more than some nine comparisons. It is written from its end to its start:
 * a jump then knows how far its target is. Since Linux 5.11 the kernel works out at installation
 * which calls are allowed whatever their arguments, and asks the filter only for the others.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/bpf_common.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "native/seccomp_priv.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "halves of arguments are found by it");

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

#define X32_FIRST 0x40000000u /* __X32_SYSCALL_BIT */
#define X32_AFTER 0x80000000u
#define MAX_RUNS  (WDR_SYSCALL_MAX + 3)
#define MAX_JUMP  UINT8_MAX
#define MAX_CHECK 64 /* instructions of a check, three a test at most */

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))

struct run {
	uint32_t first; /* up to the next run's first */
	struct wdr_seccomp_entry what;
};

struct code {
	struct sock_filter insns[BPF_MAXINSNS];
	size_t at; /* index of the first instruction; BPF_MAXINSNS while there is none */
	bool full;
	uint32_t refusal;		  /* what REFUSE returns */
	size_t returns[WDR_SECCOMP_NEXT]; /* where each verdict was last written; 0: not yet */
};

static void push(struct code *c, struct sock_filter insn)
{
	if (!c->at) {
		c->full = true;
		return;
	}
	c->insns[--c->at] = insn;
}

/*
 * A return of @verdict, written if there is none in reach of what comes next, of a whole check even.
 * That one serves for many is a third of the filter, which the kernel compiles for each job.
 */
static size_t return_of(struct code *c, uint8_t verdict)
{
	uint32_t ret = SECCOMP_RET_ERRNO | ENOSYS;

	if (c->returns[verdict] && c->returns[verdict] - c->at <= MAX_JUMP - MAX_CHECK)
		return c->returns[verdict];
	if (verdict == WDR_SECCOMP_ALLOW)
		ret = SECCOMP_RET_ALLOW;
	else if (verdict == WDR_SECCOMP_REFUSE)
		ret = c->refusal;
	push(c, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, ret));
	c->returns[verdict] = c->at;
	return c->at;
}

/* What a jump that comes next takes to @target: at most one instruction may come between. */
static size_t in_reach(struct code *c, size_t target)
{
	if (target - c->at < MAX_JUMP)
		return target;
	push(c, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(target - c->at)));
	return c->at;
}

/* Where a test goes: @next is what comes after it, @returns are those of the check. */
static uint8_t distance(const struct code *c, uint8_t verdict, const size_t *returns, size_t next)
{
	return (uint8_t)((verdict == WDR_SECCOMP_NEXT ? next : returns[verdict]) - c->at);
}

static void push_test(struct code *c, const struct wdr_seccomp_test *t, const size_t *returns,
		      size_t next)
{
	uint8_t hit = distance(c, t->hit, returns, next);
	uint8_t miss = distance(c, t->miss, returns, next);
	size_t word = offsetof(struct seccomp_data, args) + 8 * t->arg + (t->high ? 4 : 0);

	if (t->any) {
		push(c,
		     (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, t->mask, hit, miss));
	} else {
		push(c,
		     (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, t->value, hit, miss));
		if (t->mask != UINT32_MAX)
			push(c, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, t->mask));
	}
	push(c, (struct sock_filter)LOAD(word));
}

static size_t push_check(struct code *c, const struct wdr_seccomp_check *check)
{
	size_t returns[WDR_SECCOMP_NEXT];
	size_t next;

	returns[WDR_SECCOMP_UNKNOWN] = 0; /* no test says that */
	returns[WDR_SECCOMP_REFUSE] = return_of(c, WDR_SECCOMP_REFUSE);
	returns[WDR_SECCOMP_ALLOW] = return_of(c, WDR_SECCOMP_ALLOW);
	next = returns[check->end];
	for (size_t i = check->n_tests; i-- > 0;) {
		push_test(c, &check->tests[i], returns, next);
		next = c->at;
	}
	return next;
}

/* Returns where the tree begins, which may be a return that others share. */
static size_t push_tree(struct code *c, const struct run *runs, size_t n)
{
	size_t half = n / 2, left, right;

	if (n == 1)
		return runs->what.check ? push_check(c, runs->what.check) :
					  return_of(c, runs->what.verdict);
	right = push_tree(c, runs + half, n - half);
	left = push_tree(c, runs, half);
	right = in_reach(c, right);
	left = in_reach(c, left);
	push(c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, runs[half].first,
					     (uint8_t)(right - c->at), (uint8_t)(left - c->at)));
	return c->at;
}

static void add_run(struct run *runs, size_t *n, uint32_t first, struct wdr_seccomp_entry what)
{
	const struct run *last = *n ? &runs[*n - 1] : NULL;

	if (last && last->what.check == what.check &&
	    (what.check || last->what.verdict == what.verdict))
		return;
	runs[(*n)++] = (struct run){ .first = first, .what = what };
}

/* Beyond the table: unknown, but for the block in which x32 calls come. */
static size_t make_runs(struct run *runs, const struct wdr_seccomp_entry *table)
{
	const struct wdr_seccomp_entry unknown = { .verdict = WDR_SECCOMP_UNKNOWN };
	size_t n = 0;

	for (uint32_t nr = 0; nr < WDR_SYSCALL_MAX; nr++)
		add_run(runs, &n, nr, table[nr]);
	add_run(runs, &n, WDR_SYSCALL_MAX, unknown);
#if defined(__x86_64__)
	add_run(runs, &n, X32_FIRST, (struct wdr_seccomp_entry){ .verdict = WDR_SECCOMP_REFUSE });
	add_run(runs, &n, X32_AFTER, unknown);
#endif
	return n;
}

int wdr_seccomp_compile(const struct wdr_seccomp_entry table[WDR_SYSCALL_MAX], bool kill,
			struct wdr_seccomp_filter *ret)
{
	struct run runs[MAX_RUNS];
	size_t n = make_runs(runs, table);
	struct code c;

	/* No initialiser: it would touch all 32 KiB, of which the filter needs the last tenth. */
	c.at = BPF_MAXINSNS;
	c.full = false;
	c.refusal = kill ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
	memset(c.returns, 0, sizeof(c.returns));
	(void)push_tree(&c, runs, n);
	push(&c, (struct sock_filter)LOAD(offsetof(struct seccomp_data, nr)));
	push(&c, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, c.refusal));
	push(&c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
	push(&c, (struct sock_filter)LOAD(offsetof(struct seccomp_data, arch)));
	if (c.full)
		return -E2BIG;
	n = BPF_MAXINSNS - c.at;
	ret->insns = malloc(n * sizeof(c.insns[0]));
	if (!ret->insns)
		return -ENOMEM;
	memcpy(ret->insns, c.insns + c.at, n * sizeof(c.insns[0]));
	ret->n_insns = (unsigned short)n;
	return 0;
}
