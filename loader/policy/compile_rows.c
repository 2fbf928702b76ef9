/* SPDX-License-Identifier: Apache-2.0 */
/* The records of one entry: in order, none that can never decide, equal lists kept once. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "compile_priv.h"

#define DNS_PORT 53

/*
 * Whether @later, behind @sooner in one list, can never decide, in this entry and in those inside.
 * An allow may come not to count there (a private range, an address of the host): then it hides
 * only what would not count either.
 */
static bool hides(const struct wdr_egress_rec *sooner, const struct wdr_egress_rec *later)
{
	if (sooner->port_min > later->port_min || sooner->port_max < later->port_max)
		return false;
	if (sooner->proto != later->proto &&
	    (sooner->proto || (later->proto != IPPROTO_TCP && later->proto != IPPROTO_UDP)))
		return false;
	return sooner->action == WDR_ACT_DENY ||
	       (later->action == WDR_ACT_ALLOW && sooner->bits >= later->bits);
}

/* The rule number plus one: WDR_EGRESS_NO_RULE, a name server, becomes 0 and comes first. */
static uint32_t order_of(const struct wdr_egress_rec *rec)
{
	return rec->rule + 1;
}

/* "10.0.0.0/8: more than 128 rules and port ranges match it, of rules 1, 2, 7..." */
int wdr_build_refuse(const struct wdr_build *b, const struct wdr_egress_key *key,
		     struct wdr_err *err)
{
	struct wdr_prefix p = { .family = AF_INET6, .len = (uint8_t)key->prefixlen };
	char list[120] = "", buf[WDR_PREFIX_TEXT_MAX];
	size_t n = 0;

	memcpy(p.addr, key->addr, sizeof(p.addr));
	if (key->prefixlen >= WDR_EGRESS_V4_BITS && key->addr[10] == 0xff) {
		p = (struct wdr_prefix){ .family = AF_INET,
					 .len = (uint8_t)(key->prefixlen - WDR_EGRESS_V4_BITS) };
		memcpy(p.addr, key->addr + 12, 4);
	}
	for (size_t i = 0; i < b->n_recs && n < sizeof(list) - 16; i++)
		if (b->recs[i].reason == WDR_REASON_RULE &&
		    (!i || b->recs[i].rule != b->recs[i - 1].rule))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%u", n ? ", " : "",
					      b->recs[i].rule);
	return wdr_err_set(err, -E2BIG,
			   "%s is matched by more than %d rules and port ranges: rules %s%s",
			   wdr_prefix_text(&p, buf), WDR_EGRESS_MAX_DEPTH, list,
			   n >= sizeof(list) - 16 ? "..." : "");
}

/* Put @rec where its rule's order says, unless it can never decide; drop what now can't. */
static int insert(struct wdr_build *b, const struct wdr_egress_rec *rec)
{
	size_t at = 0, to;

	for (; at < b->n_recs && order_of(&b->recs[at]) <= order_of(rec); at++)
		if (hides(&b->recs[at], rec))
			return 0;
	to = at;
	for (size_t i = at; i < b->n_recs; i++)
		if (!hides(rec, &b->recs[i]))
			b->recs[to++] = b->recs[i];
	b->n_recs = to;
	if (b->n_recs == WDR_EGRESS_MAX_DEPTH)
		return -E2BIG;
	memmove(b->recs + at + 1, b->recs + at, (b->n_recs - at) * sizeof(*b->recs));
	b->recs[at] = *rec;
	b->n_recs++;
	return 0;
}

int wdr_build_insert(struct wdr_build *b, const struct wdr_item *item)
{
	struct wdr_egress_rec rec = { .rule = WDR_EGRESS_NO_RULE,
				      .port_min = DNS_PORT,
				      .port_max = DNS_PORT,
				      .action = WDR_ACT_ALLOW,
				      .reason = WDR_REASON_DNS,
				      .bits = (__u8)item->key.prefixlen };
	const struct wdr_rule *rule;
	int r = 0;

	if (item->order == WDR_ORDER_DNS)
		return insert(b, &rec);
	rule = &b->p->net.rules[item->order - 1];
	rec.rule = item->order - 1;
	rec.reason = WDR_REASON_RULE;
	rec.action = rule->action == WDR_VERDICT_ALLOW ? WDR_ACT_ALLOW : WDR_ACT_DENY;
	rec.proto = rule->proto;
	rec.port_min = 0;
	rec.port_max = UINT16_MAX;
	if (!rule->n_ports)
		return insert(b, &rec);
	for (size_t i = 0; i < rule->n_ports && r == 0; i++) {
		rec.port_min = rule->ports[i].min;
		rec.port_max = rule->ports[i].max;
		r = insert(b, &rec);
	}
	return r;
}

static size_t hash_recs(const struct wdr_egress_rec *recs, size_t n)
{
	const unsigned char *bytes = (const unsigned char *)recs;
	uint64_t h = 0x9e3779b97f4a7c15;
	uint32_t word;

	for (size_t i = 0; i < n * sizeof(*recs); i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		h = (h ^ word) * 0xff51afd7ed558ccd;
		h ^= h >> 32;
	}
	return (size_t)h;
}

static int add_rows(struct wdr_build *b, uint32_t *ret_row, struct wdr_err *err)
{
	size_t n = (b->n_recs + WDR_EGRESS_ROW - 1) / WDR_EGRESS_ROW, room = b->room_rows;
	struct wdr_compiled *c = b->c;

	if (c->n_rows + n > WDR_EGRESS_MAX_ROWS)
		return wdr_err_set(err, -E2BIG,
				   "too many rules inside one another: they take more than %d rows",
				   WDR_EGRESS_MAX_ROWS);
	if (c->n_rows + n > room) {
		struct wdr_egress_row *more;

		room = 2 * room + WDR_EGRESS_MAX_DEPTH / WDR_EGRESS_ROW;
		more = reallocarray(c->rows, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		c->rows = more;
		b->room_rows = room;
	}
	*ret_row = (uint32_t)c->n_rows;
	memset(c->rows + c->n_rows, 0, n * sizeof(*c->rows));
	memcpy(c->rows + c->n_rows, b->recs, b->n_recs * sizeof(*b->recs));
	c->n_rows += n;
	return 0;
}

int wdr_build_keep(struct wdr_build *b, uint32_t index, struct wdr_err *err)
{
	struct wdr_egress_entry *e = &b->c->entries[index];
	size_t at = hash_recs(b->recs, b->n_recs) & b->table_mask;

	e->n = (__u16)b->n_recs;
	e->row = 0;
	if (!e->n)
		return 0;
	for (; b->table[at]; at = (at + 1) & b->table_mask) {
		const struct wdr_egress_entry *same = &b->c->entries[b->table[at] - 1];

		if (same->n != e->n || memcmp(wdr_compiled_recs(b->c, same), b->recs,
					      b->n_recs * sizeof(*b->recs)) != 0)
			continue;
		e->row = same->row;
		return 0;
	}
	b->table[at] = index + 1;
	return add_rows(b, &e->row, err);
}
