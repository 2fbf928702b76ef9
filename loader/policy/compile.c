/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prefixes are sorted so that each stands behind those that contain it, and walked with a stack of
 * the open ones: the records of an entry are those of the one around it and its own, in the order
 * of the rules. Equal lists are kept once, so that a list of 200,000 prefixes costs one.
 */
#include "compile_priv.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/* RFC 6890 and the registries it began, as far as DESIGN 4 names them, and cloud metadata. */
static const char *const private_ranges[] = {
	"0.0.0.0/8",	   "10.0.0.0/8",     "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
	"172.16.0.0/12",   "192.168.0.0/16", "224.0.0.0/4",   "240.0.0.0/4", "255.255.255.255/32",
	"169.254.169.254", "168.63.129.16",  "::/128",	      "::1/128",     "::/96",
	"64:ff9b:1::/48",  "fc00::/7",	     "fe80::/10",     "ff00::/8",    "fd00:ec2::254/128",
};
static const char *const roots[] = { "::/0", "0.0.0.0/0" };

#define N(a) (sizeof(a) / sizeof((a)[0]))

void wdr_compiled_freep(struct wdr_compiled **c)
{
	if (!*c)
		return;
	free((*c)->keys);
	free((*c)->entries);
	free((*c)->parents);
	free((*c)->rows);
	wdr_freep(c);
}

static struct wdr_egress_key key_of(const struct wdr_prefix *p)
{
	struct wdr_egress_key key = { .prefixlen = p->len };

	if (p->family == AF_INET6) {
		memcpy(key.addr, p->addr, sizeof(key.addr));
		return key;
	}
	key.prefixlen = WDR_EGRESS_V4_BITS + p->len;
	key.addr[10] = key.addr[11] = 0xff;
	memcpy(key.addr + 12, p->addr, 4);
	return key;
}

static void add_item(struct wdr_build *b, const struct wdr_prefix *p, uint32_t order)
{
	b->items[b->n_items++] = (struct wdr_item){ .key = key_of(p), .order = order };
}

static int add_ranges(struct wdr_build *b, const char *const *ranges, size_t n, uint32_t order)
{
	for (size_t i = 0; i < n; i++) {
		struct wdr_prefix p;
		int r = wdr_addr_prefix(ranges[i], &p, NULL);

		if (r < 0)
			return r;
		add_item(b, &p, order);
	}
	return 0;
}

/* A name server behind NAT64 is allowed before all rules, so what is inside it is, too. */
static void add_dns(struct wdr_build *b, const struct wdr_prefix *server)
{
	struct wdr_prefix inside = { .family = AF_INET, .len = 32 };
	uint32_t at = server->family == AF_INET6 ? wdr_egress_inside(server->addr) : 0;

	add_item(b, server, WDR_ORDER_DNS);
	if (!at)
		return;
	memcpy(inside.addr, server->addr + at, 4);
	add_item(b, &inside, WDR_ORDER_DNS);
}

static int collect(struct wdr_build *b)
{
	const struct wdr_policy *p = b->p;
	size_t n = N(private_ranges) + N(roots) + 2 * p->net.n_dns;
	int r;

	for (size_t i = 0; i < p->net.n_rules; i++)
		n += p->net.rules[i].n_to;
	b->items = calloc(n, sizeof(*b->items));
	if (!b->items)
		return -ENOMEM;
	r = add_ranges(b, roots, N(roots), WDR_ORDER_ROOT);
	if (r < 0 || p->net.mode == WDR_NET_NONE)
		return r;
	if (p->net.private == WDR_VERDICT_DENY) {
		r = add_ranges(b, private_ranges, N(private_ranges), WDR_ORDER_PRIVATE);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < p->net.n_dns; i++)
		add_dns(b, &p->net.dns[i]);
	for (size_t i = 0; i < p->net.n_rules; i++)
		for (size_t j = 0; j < p->net.rules[i].n_to; j++)
			add_item(b, &p->net.rules[i].to[j], WDR_ORDER_RULE(i));
	return 0;
}

static int compare_keys(const struct wdr_egress_key *a, const struct wdr_egress_key *b)
{
	int r = memcmp(a->addr, b->addr, sizeof(a->addr));

	return r ? r : (int)a->prefixlen - (int)b->prefixlen;
}

static int compare_items(const void *a, const void *b)
{
	const struct wdr_item *x = a, *y = b;
	int r = compare_keys(&x->key, &y->key);

	if (r)
		return r;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool key_contains(const struct wdr_egress_key *outer, const struct wdr_egress_key *inner)
{
	struct wdr_prefix o = { .family = AF_INET6, .len = (uint8_t)outer->prefixlen };
	struct wdr_prefix i = { .family = AF_INET6, .len = (uint8_t)inner->prefixlen };

	memcpy(o.addr, outer->addr, sizeof(o.addr));
	memcpy(i.addr, inner->addr, sizeof(i.addr));
	return wdr_prefix_contains(&o, &i);
}

static bool is_v4_root(const struct wdr_egress_key *key)
{
	return key->prefixlen == WDR_EGRESS_V4_BITS && key->addr[10] == 0xff &&
	       key->addr[11] == 0xff;
}

/* The items from @first on that have one key become one entry. Returns how many they are. */
static int add_entry(struct wdr_build *b, size_t first, struct wdr_err *err)
{
	const struct wdr_egress_key *key = &b->items[first].key;
	uint32_t index = (uint32_t)b->c->n_entries++, parent = index;
	struct wdr_egress_entry *e = &b->c->entries[index];
	size_t i = first;
	int r = 0;

	while (b->n_stack && !key_contains(&b->c->keys[b->stack[b->n_stack - 1]], key))
		b->n_stack--;
	b->n_recs = 0;
	if (b->n_stack)
		parent = b->stack[b->n_stack - 1];
	/* What is said of ::/0 is not said of IPv4: only a look-up goes on from there. */
	if (b->n_stack && !is_v4_root(key)) {
		*e = b->c->entries[parent];
		b->n_recs = e->n;
		if (e->n)
			memcpy(b->recs, wdr_compiled_recs(b->c, e), e->n * sizeof(*b->recs));
	}
	b->c->keys[index] = *key;
	b->c->parents[index] = parent;
	b->stack[b->n_stack++] = index;
	for (; i < b->n_items && !compare_keys(&b->items[i].key, key) && r == 0; i++) {
		if (b->items[i].order == WDR_ORDER_PRIVATE)
			e->private_bits = (__u8)key->prefixlen;
		else if (b->items[i].order != WDR_ORDER_ROOT)
			r = wdr_build_insert(b, &b->items[i]);
	}
	if (r < 0)
		return wdr_build_refuse(b, key, err);
	r = wdr_build_keep(b, index, err);
	return r < 0 ? r : (int)(i - first);
}

static void fill_head(const struct wdr_policy *p, struct wdr_egress_head *head)
{
	bool none = p->net.mode == WDR_NET_NONE;

	head->def = !none && p->net.def == WDR_VERDICT_ALLOW ? WDR_ACT_ALLOW : WDR_ACT_DENY;
	head->private = none || p->net.private == WDR_VERDICT_ALLOW ? WDR_ACT_ALLOW : WDR_ACT_DENY;
	for (size_t i = 0; i < p->net.n_rules && !none; i++) {
		uint8_t proto = p->net.rules[i].proto;

		if (proto != WDR_PROTO_TCP_UDP)
			head->protos[proto / 64] |= UINT64_C(1) << proto % 64;
		if (proto == IPPROTO_ICMP)
			head->protos[IPPROTO_ICMPV6 / 64] |= UINT64_C(1) << IPPROTO_ICMPV6 % 64;
	}
	head->protos[0] |= UINT64_C(1) << IPPROTO_TCP | UINT64_C(1) << IPPROTO_UDP;
}

static int walk(struct wdr_build *b, struct wdr_err *err)
{
	size_t size = 1024;

	while (size < 2 * b->n_items)
		size *= 2;
	b->table = calloc(size, sizeof(*b->table));
	b->table_mask = size - 1;
	b->c->keys = calloc(b->n_items, sizeof(*b->c->keys));
	b->c->entries = calloc(b->n_items, sizeof(*b->c->entries));
	b->c->parents = calloc(b->n_items, sizeof(*b->c->parents));
	if (!b->table || !b->c->keys || !b->c->entries || !b->c->parents)
		return -ENOMEM;
	for (size_t i = 0; i < b->n_items;) {
		int n = add_entry(b, i, err);

		if (n < 0)
			return n;
		i += (size_t)n;
	}
	return 0;
}

int wdr_compiled_new(const struct wdr_policy *p, struct wdr_compiled **ret, struct wdr_err *err)
{
	wdr_compiled_ struct wdr_compiled *c = calloc(1, sizeof(*c));
	wdr_free_ struct wdr_build *b = calloc(1, sizeof(*b));
	int r = -ENOMEM;

	if (!c || !b)
		return r;
	b->p = p;
	b->c = c;
	fill_head(p, &c->head);
	r = collect(b);
	if (r == 0) {
		qsort(b->items, b->n_items, sizeof(*b->items), compare_items);
		r = walk(b, err);
	}
	free(b->items);
	free(b->table);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(c);
	return 0;
}
