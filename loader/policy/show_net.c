/* SPDX-License-Identifier: Apache-2.0 */
/* The network section of the normal form. */
#include <netinet/in.h>

#include "policy_priv.h"

static json_t *ports(const struct wdr_rule *rule)
{
	wdr_json_ json_t *a = json_array();

	for (size_t i = 0; i < rule->n_ports; i++) {
		const struct wdr_port_range *r = &rule->ports[i];
		json_t *v = r->min == r->max ? json_sprintf("%u", r->min) :
					       json_sprintf("%u-%u", r->min, r->max);

		if (json_array_append_new(a, v) < 0)
			return NULL;
	}
	return WDR_TAKE_PTR(a);
}

static json_t *proto(uint8_t n)
{
	char buf[8];

	if (n == IPPROTO_TCP || n == IPPROTO_UDP || n == IPPROTO_ICMP)
		return json_string(wdr_proto_text(n, buf));
	return json_integer(n);
}

static json_t *show_rule(const struct wdr_rule *rule)
{
	wdr_json_ json_t *o = json_object();
	char buf[WDR_PREFIX_TEXT_MAX];
	int bad;

	bad = json_object_set_new(o, "action", json_string(wdr_words_verdict[rule->action]));
	if (rule->list)
		bad |= json_object_set_new(o, "list", json_string(rule->list));
	else
		bad |= json_object_set_new(o, "to", json_string(wdr_prefix_text(rule->to, buf)));
	if (rule->n_ports)
		bad |= json_object_set_new(o, "ports", ports(rule));
	if (rule->proto != WDR_PROTO_TCP_UDP)
		bad |= json_object_set_new(o, "proto", proto(rule->proto));
	if (rule->name)
		bad |= json_object_set_new(o, "name", json_string(rule->name));
	return bad ? NULL : WDR_TAKE_PTR(o);
}

static json_t *show_rules(const struct wdr_policy *p)
{
	wdr_json_ json_t *a = json_array();

	for (size_t i = 0; i < p->net.n_rules; i++)
		if (json_array_append_new(a, show_rule(&p->net.rules[i])) < 0)
			return NULL;
	return WDR_TAKE_PTR(a);
}

static json_t *dns(const struct wdr_policy *p)
{
	wdr_json_ json_t *a = json_array();
	char buf[WDR_PREFIX_TEXT_MAX];

	for (size_t i = 0; i < p->net.n_dns; i++)
		if (json_array_append_new(
			    a, json_string(wdr_prefix_addr_text(&p->net.dns[i], buf))) < 0)
			return NULL;
	return WDR_TAKE_PTR(a);
}

json_t *wdr_show_network(const struct wdr_policy *p)
{
	wdr_json_ json_t *o = json_object();
	int bad;

	bad = json_object_set_new(o, "mode", json_string(wdr_words_net_mode[p->net.mode]));
	bad |= json_object_set_new(o, "default", json_string(wdr_words_verdict[p->net.def]));
	bad |= json_object_set_new(o, "private", json_string(wdr_words_verdict[p->net.private]));
	bad |= json_object_set_new(o, "dns", dns(p));
	bad |= json_object_set_new(o, "rules", show_rules(p));
	bad |= json_object_set_new(o, "on_deny", json_string(wdr_words_on_deny[p->net.on_deny]));
	return bad ? NULL : WDR_TAKE_PTR(o);
}
