/* SPDX-License-Identifier: Apache-2.0 */
/* network: the mode, the name servers, the rules. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "policy_priv.h"

#define AT(member)	offsetof(struct wdr_policy, member)
#define RULE_AT(member) offsetof(struct wdr_rule, member)

static int read_dns(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	struct wdr_policy *p = at;
	size_t i, mark;
	json_t *e;
	int r;

	(void)f;
	if (json_array_size(v) > WDR_POLICY_MAX_DNS)
		return wdr_err_set(c->err, -EINVAL, "too many: %zu, at most %d", json_array_size(v),
				   WDR_POLICY_MAX_DNS);
	p->net.dns = calloc(json_array_size(v) + 1, sizeof(*p->net.dns));
	if (!p->net.dns)
		return -ENOMEM;
	json_array_foreach(v, i, e) {
		struct wdr_prefix *server = &p->net.dns[p->net.n_dns];

		mark = wdr_cursor_enter_index(c, i);
		r = wdr_field_type(c, e, WDR_IS_STRING);
		if (r < 0)
			return r;
		r = wdr_addr_host(json_string_value(e), server, c->err);
		if (r < 0)
			return r;
		for (size_t j = 0; j < i; j++)
			if (json_equal(json_array_get(v, j), e))
				return wdr_err_set(c->err, -EINVAL, "this server is here twice");
		p->net.n_dns++;
		wdr_cursor_leave(c, mark);
	}
	return 0;
}

static int read_to(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	struct wdr_rule *rule = at;

	(void)f;
	rule->to = calloc(1, sizeof(*rule->to));
	if (!rule->to)
		return -ENOMEM;
	rule->n_to = 1;
	return wdr_addr_prefix(json_string_value(v), rule->to, c->err);
}

/* A file beside the policy: whoever wrote the policy must not read elsewhere with our rights. */
static int read_list(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	const char *s = json_string_value(v);
	int r;

	(void)f;
	r = wdr_policy_check_name(s, NULL);
	if (r < 0)
		return wdr_err_set(c->err, -EINVAL,
				   "not a list: want the name of a file beside the policy, of "
				   "letters, digits, \".\", \"_\" and \"-\", 63 at most");
	return wdr_policy_set_string(at, s);
}

static int read_port(struct wdr_cursor *c, const json_t *e, struct wdr_port_range *ret)
{
	json_int_t n = json_integer_value(e);

	if (json_is_string(e))
		return wdr_addr_ports(json_string_value(e), ret, c->err);
	if (n < 1 || n > UINT16_MAX)
		return wdr_err_set(c->err, -EINVAL, "not a port: want 1..65535");
	ret->min = ret->max = (uint16_t)n;
	return 0;
}

static int read_ports(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	struct wdr_rule *rule = at;
	size_t i, mark;
	json_t *e;
	int r;

	(void)f;
	if (!json_array_size(v))
		return wdr_err_set(c->err, -EINVAL, "no port: leave \"ports\" out to mean all");
	if (json_array_size(v) > WDR_POLICY_MAX_PORTS)
		return wdr_err_set(c->err, -EINVAL, "too many: %zu, at most %d", json_array_size(v),
				   WDR_POLICY_MAX_PORTS);
	rule->ports = calloc(json_array_size(v), sizeof(*rule->ports));
	if (!rule->ports)
		return -ENOMEM;
	json_array_foreach(v, i, e) {
		mark = wdr_cursor_enter_index(c, i);
		r = wdr_field_type(c, e, WDR_IS_STRING | WDR_IS_WHOLE);
		if (r == 0)
			r = read_port(c, e, &rule->ports[i]);
		if (r < 0)
			return r;
		rule->n_ports++;
		wdr_cursor_leave(c, mark);
	}
	return 0;
}

/* A number in JSON is written as one: "132" would be a second spelling of the same. */
static int read_proto(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	static const char *const names[] = { "tcp", "udp", "icmp", NULL };
	unsigned int i;
	int r;

	(void)f;
	if (json_is_integer(v))
		return wdr_addr_proto_number(json_integer_value(v), at, c->err);
	r = wdr_word_find(json_string_value(v), names, &i, c->err);
	return r < 0 ? r : wdr_addr_proto(names[i], at, c->err);
}

static int read_rule_name(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	int r = wdr_policy_check_name(json_string_value(v), c->err);

	(void)f;
	return r < 0 ? r : wdr_policy_set_string(at, json_string_value(v));
}

static const struct wdr_field rule_fields[] = {
	{ "action", WDR_IS_STRING, true, wdr_field_word, RULE_AT(action), wdr_words_verdict },
	{ "to", WDR_IS_STRING, false, read_to, 0, NULL },
	{ "list", WDR_IS_STRING, false, read_list, RULE_AT(list), NULL },
	{ "ports", WDR_IS_ARRAY, false, read_ports, 0, NULL },
	{ "proto", WDR_IS_STRING | WDR_IS_WHOLE, false, read_proto, RULE_AT(proto), NULL },
	{ "name", WDR_IS_STRING, false, read_rule_name, RULE_AT(name), NULL },
	WDR_FIELD_END,
};

/* What two keys of one rule say together. */
static int check_rule(struct wdr_cursor *c, const struct wdr_rule *rule)
{
	if (!rule->to && !rule->list)
		return wdr_err_set(
			c->err, -EINVAL,
			"missing: \"to\" (an address or prefix) or \"list\" is required");
	if (rule->to && rule->list)
		return wdr_err_set(c->err, -EINVAL, "\"to\" and \"list\": want one of them");
	if (rule->n_ports && rule->proto != WDR_PROTO_TCP_UDP && rule->proto != IPPROTO_TCP &&
	    rule->proto != IPPROTO_UDP)
		return wdr_err_set(c->err, -EINVAL,
				   "ports of a protocol other than tcp and udp: leave one out");
	return 0;
}

static int read_rules(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	struct wdr_policy *p = at;
	size_t i, mark;
	json_t *e;
	int r;

	(void)f;
	/* WDR_POLICY_MAX_RULES is out of reach: it takes more than WDR_POLICY_MAX_BYTES. */
	p->net.rules = calloc(json_array_size(v) + 1, sizeof(*p->net.rules));
	if (!p->net.rules)
		return -ENOMEM;
	json_array_foreach(v, i, e) {
		struct wdr_rule *rule = &p->net.rules[p->net.n_rules++];

		mark = wdr_cursor_enter_index(c, i);
		r = wdr_field_read(c, e, rule_fields, rule);
		if (r == 0)
			r = check_rule(c, rule);
		if (r < 0)
			return r;
		wdr_cursor_leave(c, mark);
	}
	return 0;
}

#define WORD(name, member, words)                                               \
	{                                                                       \
		name, WDR_IS_STRING, false, wdr_field_word, AT(member), (words) \
	}

const struct wdr_field wdr_network_fields[] = {
	WORD("mode", net.mode, wdr_words_net_mode),
	WORD("default", net.def, wdr_words_verdict),
	WORD("private", net.private, wdr_words_verdict),
	{ "dns", WDR_IS_ARRAY, false, read_dns, 0, NULL },
	{ "rules", WDR_IS_ARRAY, false, read_rules, 0, NULL },
	WORD("on_deny", net.on_deny, wdr_words_on_deny),
	WDR_FIELD_END,
};
