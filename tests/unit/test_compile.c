/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiled form against the rules' own words: a second, slow reading of DESIGN 4 decides the
 * same random destinations under the same random policies, straight from the list of rules.
 */
#include "wdr_test.h"

#include <netinet/in.h>
#include <time.h>

#include "policy/compile.h"

#define ROUNDS	1500
#define TARGETS 200

static struct wdr_prefix prefix(const char *s)
{
	struct wdr_prefix p;

	if (wdr_addr_prefix(s, &p, NULL) < 0)
		fail_msg("not a prefix: %s", s);
	return p;
}

static const char *const ranges[] = {
	"0.0.0.0/8",	   "10.0.0.0/8",     "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
	"172.16.0.0/12",   "192.168.0.0/16", "224.0.0.0/4",   "240.0.0.0/4", "255.255.255.255/32",
	"169.254.169.254", "168.63.129.16",  "::/128",	      "::1/128",     "::/96",
	"64:ff9b:1::/48",  "fc00::/7",	     "fe80::/10",     "ff00::/8",    "fd00:ec2::254/128",
};

#define N(a) (sizeof(a) / sizeof((a)[0]))

struct verdict {
	bool allow;
	const char *reason;
	int rule; /* -1: none */
};

static bool tcp_or_udp(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP;
}

/* The narrowest private range that holds @a, the host's own addresses among them. */
static bool find_range(const struct wdr_prefix *a, const struct wdr_prefix *own, size_t n_own,
		       struct wdr_prefix *ret)
{
	bool found = false;

	for (size_t i = 0; i < N(ranges) + n_own; i++) {
		struct wdr_prefix r = i < N(ranges) ? prefix(ranges[i]) : own[i - N(ranges)];

		if (!wdr_prefix_contains(&r, a) || (found && ret->len >= r.len))
			continue;
		*ret = r;
		found = true;
	}
	return found;
}

static bool rule_matches(const struct wdr_rule *rule, const struct wdr_prefix *a, uint16_t port,
			 uint8_t proto, const struct wdr_prefix *range)
{
	bool port_ok = !rule->n_ports, to_ok = false;

	if (rule->proto ? rule->proto != proto : !tcp_or_udp(proto))
		return false;
	for (size_t i = 0; i < rule->n_ports; i++)
		port_ok |= port >= rule->ports[i].min && port <= rule->ports[i].max;
	for (size_t i = 0; i < rule->n_to; i++)
		to_ok |= wdr_prefix_contains(&rule->to[i], a) &&
			 (!range || rule->action == WDR_VERDICT_DENY ||
			  wdr_prefix_contains(range, &rule->to[i]));
	return port_ok && to_ok;
}

/* The IPv4 address in a NAT64 or 6to4 one. */
static bool find_inside(const struct wdr_prefix *p, struct wdr_prefix *ret)
{
	struct wdr_prefix nat64 = prefix("64:ff9b::/96"), to4 = prefix("2002::/16");

	if (!wdr_prefix_contains(&nat64, p) && !wdr_prefix_contains(&to4, p))
		return false;
	*ret = (struct wdr_prefix){ .family = AF_INET, .len = 32 };
	memcpy(ret->addr, p->addr + (wdr_prefix_contains(&nat64, p) ? 12 : 2), 4);
	return true;
}

/* A server in such a form is the IPv4 server inside, too: both must be allowed to reach it. */
static bool is_dns(const struct wdr_policy *p, const struct wdr_prefix *a, uint16_t port,
		   uint8_t proto)
{
	if (port != 53 || !tcp_or_udp(proto))
		return false;
	for (size_t i = 0; i < p->net.n_dns; i++) {
		struct wdr_prefix in;

		if (!wdr_prefix_cmp(&p->net.dns[i], a) ||
		    (find_inside(&p->net.dns[i], &in) && !wdr_prefix_cmp(&in, a)))
			return true;
	}
	return false;
}

static struct verdict judge(const struct wdr_policy *p, const struct wdr_prefix *a, uint16_t port,
			    uint8_t proto, const struct wdr_prefix *own, size_t n_own)
{
	struct wdr_prefix range;
	bool private = p->net.private == WDR_VERDICT_DENY && find_range(a, own, n_own, &range);

	if (p->net.mode == WDR_NET_NONE)
		return (struct verdict){ false, tcp_or_udp(proto) ? "default" : "protocol", -1 };
	if (is_dns(p, a, port, proto))
		return (struct verdict){ true, "dns", -1 };
	for (size_t i = 0; i < p->net.n_rules; i++)
		if (rule_matches(&p->net.rules[i], a, port, proto, private ? &range : NULL))
			return (struct verdict){ p->net.rules[i].action == WDR_VERDICT_ALLOW,
						 "rule", (int)i };
	if (private)
		return (struct verdict){ false, "private", -1 };
	if (!tcp_or_udp(proto))
		return (struct verdict){ false, "protocol", -1 };
	return (struct verdict){ p->net.def == WDR_VERDICT_ALLOW, "default", -1 };
}

/* NAT64 and 6to4: the IPv4 address inside is judged first, and both must be allowed. */
static struct verdict expect(const struct wdr_policy *p, const struct wdr_dest *d,
			     const struct wdr_prefix *own, size_t n_own)
{
	uint16_t port = d->has_ports ? d->ports.min : 0;
	struct wdr_prefix in;
	struct verdict v;

	if (!find_inside(&d->to, &in))
		return judge(p, &d->to, port, d->proto, own, n_own);
	v = judge(p, &in, port, d->proto, own, n_own);
	return v.allow ? judge(p, &d->to, port, d->proto, own, n_own) : v;
}

static unsigned int below(unsigned int n)
{
	return (unsigned int)random() % n;
}

/* Few addresses, so that prefixes nest and targets hit: the private ranges' edges among them. */
static struct wdr_prefix random_address(void)
{
	static const char *const bases[] = {
		"10.0.0.0",	 "10.0.0.5",	    "192.0.2.0",
		"198.51.100.7",	 "169.254.169.254", "8.8.8.8",
		"127.0.0.1",	 "2001:db8::",	    "2001:db8::1",
		"fd00:ec2::254", "64:ff9b::a00:5",  "64:ff9b::808:808",
		"2002:a00:5::1", "2002:808:808::",  "::1",
		"::8.8.8.8",	 "::1:0:0:0",	    "64:ff9b:1::1",
		"fe80::1",	 "255.255.255.255",
	};
	struct wdr_prefix p = prefix(bases[below(N(bases))]);
	unsigned int bits = p.family == AF_INET ? 32 : 128, flip = below(bits + 1);

	if (below(2) && flip < bits)
		p.addr[flip / 8] ^= (uint8_t)(0x80 >> flip % 8);
	return p;
}

/* A flipped bit may have made a mapped address of it, which parsing would have turned to IPv4. */
static bool is_mapped(const struct wdr_prefix *p)
{
	static const uint8_t head[12] = { [10] = 0xff, [11] = 0xff };

	return p->family == AF_INET6 && !memcmp(p->addr, head, sizeof(head));
}

static struct wdr_prefix random_prefix(void)
{
	struct wdr_prefix p = random_address();
	unsigned int bits = p.family == AF_INET ? 32 : 128, len = below(bits + 1);

	if (is_mapped(&p))
		return random_prefix();
	if (below(3) == 0)
		len = bits;
	p.len = (uint8_t)len;
	for (; len < bits; len++)
		p.addr[len / 8] &= (uint8_t) ~(0x80 >> len % 8);
	return p;
}

static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, 132, 0, 0, 0 };

static void random_rule(struct wdr_rule *rule)
{
	*rule = (struct wdr_rule){ .action = below(2),
				   .n_to = 1 + below(3),
				   .proto = protos[below(N(protos))] };
	rule->to = calloc(rule->n_to, sizeof(*rule->to));
	rule->ports = calloc(2, sizeof(*rule->ports));
	for (size_t i = 0; i < rule->n_to; i++)
		rule->to[i] = random_prefix();
	if (rule->proto == IPPROTO_ICMP || rule->proto == 132)
		return;
	rule->n_ports = below(3);
	for (size_t i = 0; i < rule->n_ports; i++) {
		rule->ports[i].min = (uint16_t)(1 + below(100));
		rule->ports[i].max = (uint16_t)(rule->ports[i].min + below(40));
	}
}

static struct wdr_policy *random_policy(void)
{
	struct wdr_policy *p = NULL;

	assert_ok(wdr_policy_default(&p));
	p->net.mode = below(20) ? WDR_NET_EGRESS : WDR_NET_NONE;
	p->net.def = below(2);
	p->net.private = below(2);
	p->net.n_dns = below(3);
	p->net.dns = calloc(2, sizeof(*p->net.dns));
	for (size_t i = 0; i < p->net.n_dns; i++)
		do
			p->net.dns[i] = random_address();
		while (is_mapped(&p->net.dns[i]));
	p->net.n_rules = below(12);
	p->net.rules = calloc(12, sizeof(*p->net.rules));
	for (size_t i = 0; i < p->net.n_rules; i++)
		random_rule(&p->net.rules[i]);
	return p;
}

static void check_target(const struct wdr_policy *p, const struct wdr_compiled *c,
			 const struct wdr_prefix *own, size_t n_own)
{
	struct wdr_dest d = { .to = random_address(), .proto = protos[below(4)] };
	char buf[WDR_PREFIX_TEXT_MAX];
	struct wdr_egress_verdict got;
	struct verdict want;

	if (is_mapped(&d.to))
		return;
	d.has_ports = d.proto == IPPROTO_TCP || d.proto == IPPROTO_UDP;
	if (d.has_ports)
		d.ports.min = d.ports.max = (uint16_t)(below(4) ? 1 + below(140) : 53);
	want = expect(p, &d, own, n_own);
	got = wdr_compiled_decide(c, &d, own, n_own);
	if (want.allow != (got.action == WDR_ACT_ALLOW) ||
	    strcmp(want.reason, wdr_reason_name(got.reason)) != 0 ||
	    (want.rule < 0 ? got.rule != WDR_EGRESS_NO_RULE : got.rule != (uint32_t)want.rule))
		fail_msg("%s port %u proto %u: %s rule %d by the list, %s rule %d compiled",
			 wdr_prefix_addr_text(&d.to, buf), d.ports.min, d.proto, want.reason,
			 want.rule, wdr_reason_name(got.reason), (int)got.rule);
}

static void the_compiled_form_says_what_the_list_says(void **state)
{
	struct wdr_prefix own[] = { prefix("10.0.0.5"), prefix("198.51.100.7"),
				    prefix("2001:db8::1") };

	(void)state;
	srandom(7);
	for (int round = 0; round < ROUNDS; round++) {
		wdr_policy_ struct wdr_policy *p = random_policy();
		wdr_compiled_ struct wdr_compiled *c = NULL;
		size_t n_own = below(N(own) + 1);

		assert_ok(wdr_compiled_new(p, &c, NULL));
		for (int i = 0; i < TARGETS; i++)
			check_target(p, c, own, n_own);
	}
}

static struct wdr_policy *parse(const char *rules)
{
	wdr_free_ char *text = NULL;
	struct wdr_policy *p = NULL;
	struct wdr_err err = { 0 };

	if (asprintf(&text,
		     "{\"version\":1,\"network\":{\"mode\":\"egress\",\"dns\":[\"192.0.2.53\","
		     "\"64:ff9b::192.168.1.1\"],\"rules\":[%s]}}",
		     rules) < 0 ||
	    wdr_policy_parse("t.json", text, strlen(text), &p, &err) < 0)
		fail_msg("%s: %s", err.where, err.msg);
	return p;
}

#define R(action, rest) "{\"action\":\"" #action "\"," rest "}"
#define EVERYWHERE	R(allow, "\"to\":\"0.0.0.0/0\"") "," R(allow, "\"to\":\"::/0\"")

/* What DESIGN 4 promises, spelt out. The machine's own address is 10.0.0.5. */
static const struct {
	const char *rules, *target, *want;
} promises[] = {
	{ "", "192.0.2.1:443", "deny default" },
	{ "", "192.0.2.53:53/udp", "allow dns" },
	{ "", "192.0.2.53:53", "allow dns" },
	{ "", "192.0.2.53:443", "deny default" },
	{ "", "[64:ff9b::192.168.1.1]:53/udp", "allow dns" },
	{ R(deny, "\"to\":\"0.0.0.0/0\""), "192.0.2.53:53/udp", "allow dns" },
	{ EVERYWHERE, "192.0.2.1:443", "allow rule 0" },
	{ EVERYWHERE, "[2001:db8::1]:443", "allow rule 1" },
	{ EVERYWHERE, "10.0.0.1:443", "deny private" },
	{ EVERYWHERE, "127.0.0.1:443", "deny private" },
	{ EVERYWHERE, "169.254.169.254:80", "deny private" },
	{ EVERYWHERE, "168.63.129.16:80", "deny private" },
	{ EVERYWHERE, "[fd00:ec2::254]:80", "deny private" },
	{ EVERYWHERE, "[::ffff:10.0.0.1]:80", "deny private" },
	{ EVERYWHERE, "[::10.0.0.1]:80", "deny private" },
	{ EVERYWHERE, "[64:ff9b::10.0.0.1]:80", "deny private" },
	{ EVERYWHERE, "[64:ff9b::192.0.2.1]:80", "allow rule 1" },
	{ EVERYWHERE, "[2002:a00:1::1]:80", "deny private" },
	{ EVERYWHERE, "[64:ff9b:1::1]:80", "deny private" },
	{ EVERYWHERE, "192.0.2.1/icmp", "deny protocol" },
	{ EVERYWHERE, "192.0.2.1/132", "deny protocol" },
	{ EVERYWHERE, "10.0.0.1/132", "deny private" },
	{ R(allow, "\"to\":\"::/0\""), "[64:ff9b::192.0.2.1]:80", "deny default" },
	{ R(allow, "\"to\":\"::/0\""), "192.0.2.1:80", "deny default" },
	{ R(allow, "\"to\":\"10.0.0.0/8\""), "10.0.0.1:443", "allow rule 0" },
	{ R(allow, "\"to\":\"10.0.0.0/8\""), "10.0.0.5:443", "deny private" },
	{ R(allow, "\"to\":\"10.0.0.5\""), "10.0.0.5:443", "allow rule 0" },
	{ R(allow, "\"to\":\"10.0.0.0/7\""), "10.0.0.1:443", "deny private" },
	{ R(allow, "\"to\":\"169.254.0.0/16\""), "169.254.169.254:80", "deny private" },
	{ R(allow, "\"to\":\"169.254.0.0/16\""), "169.254.169.253:80", "allow rule 0" },
	{ R(allow, "\"to\":\"240.0.0.0/4\""), "255.255.255.255:80", "deny private" },
	{ R(deny, "\"to\":\"10.0.0.0/7\"") "," EVERYWHERE, "10.0.0.1:443", "deny rule 0" },
	{ EVERYWHERE "," R(deny, "\"to\":\"10.0.0.0/7\""), "10.0.0.1:443", "deny rule 2" },
	{ EVERYWHERE "," R(deny, "\"to\":\"10.0.0.0/7\""), "11.0.0.1:443", "allow rule 0" },
	{ R(allow, "\"to\":\"192.0.2.0/24\",\"ports\":[\"443\",\"8000-8100\"],\"proto\":\"tcp\""),
	  "192.0.2.1:8100", "allow rule 0" },
	{ R(allow, "\"to\":\"192.0.2.0/24\",\"ports\":[\"443\",\"8000-8100\"],\"proto\":\"tcp\""),
	  "192.0.2.1:8101", "deny default" },
	{ R(allow, "\"to\":\"192.0.2.0/24\",\"ports\":[443],\"proto\":\"tcp\""),
	  "192.0.2.1:443/udp", "deny default" },
	{ R(deny, "\"to\":\"192.0.2.7\"") "," R(allow, "\"to\":\"192.0.2.0/24\""), "192.0.2.7:443",
	  "deny rule 0" },
	{ R(allow, "\"to\":\"192.0.2.0/24\"") "," R(deny, "\"to\":\"192.0.2.7\""), "192.0.2.7:443",
	  "allow rule 0" },
	{ R(allow, "\"to\":\"192.0.2.0/24\",\"proto\":\"icmp\""), "192.0.2.1/icmp",
	  "allow rule 0" },
	{ R(allow, "\"to\":\"2001:db8::/32\",\"proto\":\"icmp\""), "[2001:db8::1]/icmp",
	  "allow rule 0" },
	{ R(allow, "\"to\":\"192.0.2.0/24\",\"proto\":132"), "192.0.2.1/132", "allow rule 0" },
	{ R(allow, "\"to\":\"192.0.2.0/24\",\"proto\":132"), "192.0.2.1:80", "deny default" },
};

static void keeps_what_the_design_promises(void **state)
{
	struct wdr_prefix own = prefix("10.0.0.5");

	(void)state;
	for (size_t i = 0; i < N(promises); i++) {
		wdr_policy_ struct wdr_policy *p = parse(promises[i].rules);
		wdr_compiled_ struct wdr_compiled *c = NULL;
		struct wdr_egress_verdict v;
		struct wdr_dest d;
		char got[64];

		assert_ok(wdr_addr_target(promises[i].target, &d, NULL));
		assert_ok(wdr_compiled_new(p, &c, NULL));
		v = wdr_compiled_decide(c, &d, &own, 1);
		(void)snprintf(got, sizeof(got), "%s %s",
			       v.action == WDR_ACT_ALLOW ? "allow" : "deny",
			       wdr_reason_name(v.reason));
		if (v.reason == WDR_REASON_RULE)
			(void)snprintf(got + strlen(got), 16, " %u", v.rule);
		if (strcmp(got, promises[i].want) != 0)
			fail_msg("%s\n%s: %s, want %s", promises[i].rules, promises[i].target, got,
				 promises[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_compiled_form_says_what_the_list_says),
		cmocka_unit_test(keeps_what_the_design_promises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
