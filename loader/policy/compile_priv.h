/* SPDX-License-Identifier: Apache-2.0 */
/* A policy while it is being compiled: compile.c has its prefixes, compile_rows.c its records. */
#pragma once

#include "compile.h"

/* An item's place in the order of rules: name servers, rule 0 and on, then what is no rule. */
#define WDR_ORDER_DNS	  0
#define WDR_ORDER_RULE(i) ((uint32_t)(i) + 1)
#define WDR_ORDER_PRIVATE (UINT32_MAX - 1)
#define WDR_ORDER_ROOT	  UINT32_MAX

/* One prefix of one rule, or of a private range. */
struct wdr_item {
	struct wdr_egress_key key;
	uint32_t order;
};

struct wdr_build {
	const struct wdr_policy *p;
	struct wdr_compiled *c;
	struct wdr_item *items;
	size_t n_items;
	uint32_t stack[WDR_EGRESS_HOST_BITS + 1]; /* open entries, outermost first */
	size_t n_stack;
	size_t room_rows;
	uint32_t *table; /* of record lists seen, by hash: 1 + the entry that has it, 0: none */
	size_t table_mask;
	struct wdr_egress_rec recs[WDR_EGRESS_MAX_DEPTH]; /* of the entry at hand */
	size_t n_recs;
};

/* Add the records of @item's rule to those at hand. -E2BIG: more than WDR_EGRESS_MAX_DEPTH. */
int wdr_build_insert(struct wdr_build *b, const struct wdr_item *item);
/* The error for that: "10.0.0.0/8 is matched by more than 128 ...: rules 1, 2, 7". */
int wdr_build_refuse(const struct wdr_build *b, const struct wdr_egress_key *key,
		     struct wdr_err *err);
/* Give entry @index the records at hand: rows that are there already, or new ones. */
int wdr_build_keep(struct wdr_build *b, uint32_t index, struct wdr_err *err);
