/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network section as the kernel gets it (wdr_abi_egress.h): an ordered list of rules made into
 * longest-prefix entries, each with exactly the rules that match its addresses, in file order. What
 * `policy explain` prints is read from the same form by the same function.
 */
#pragma once

#include "policy/policy.h"
#include "wdr_egress_judge.h"

struct wdr_compiled {
	struct wdr_egress_head head;
	struct wdr_egress_key *keys;	  /* sorted: by address, then length */
	struct wdr_egress_entry *entries; /* one a key */
	uint32_t *parents; /* the entry around each; the outermost ones are their own */
	size_t n_entries;
	struct wdr_egress_row *rows; /* entries with equal records share theirs */
	size_t n_rows;
};

/*
 * Compile @p, finished. With mode `none` nothing is allowed, whatever the rules.
 * *ret is the caller's. Returns 0; -E2BIG if more than WDR_EGRESS_MAX_DEPTH rules and port ranges
 * match one prefix, naming the prefix and the rules, or past WDR_EGRESS_MAX_ROWS; -ENOMEM.
 * 200,000 prefixes take a tenth of a second.
 */
int wdr_compiled_new(const struct wdr_policy *p, struct wdr_compiled **ret,
		     struct wdr_err *err) wdr_must_check;
void wdr_compiled_freep(struct wdr_compiled **c);

#define wdr_compiled_ wdr_cleanup(wdr_compiled_freep)

/*
 * What becomes of a connection to @to, one address with one port (0 where its protocol has none).
 * @own are this machine's addresses, full-length prefixes: a private range each.
 */
struct wdr_egress_verdict wdr_compiled_decide(const struct wdr_compiled *c,
					      const struct wdr_dest *to,
					      const struct wdr_prefix *own, size_t n_own);

/* The records of @e, e->n of them. */
static inline const struct wdr_egress_rec *wdr_compiled_recs(const struct wdr_compiled *c,
							     const struct wdr_egress_entry *e)
{
	return (const struct wdr_egress_rec *)(c->rows + e->row);
}

/* "rule", "default", "private": the words of denials and of explain. */
const char *wdr_reason_name(enum wdr_reason r);
