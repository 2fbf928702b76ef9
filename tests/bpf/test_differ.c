/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One policy, three judges: random rules and destinations through what `policy explain` computes,
 * through the tc program by BPF_PROG_TEST_RUN, and through a job's socket. All must agree, reason
 * and rule included.
 */
#include "wdr_test.h"

#include <bpf/bpf.h>

#include <linux/pkt_cls.h>
#include <netinet/in.h>

#include <sys/socket.h>
#include <time.h>

#include "frame.h"
#include "kern_env.h"
#include "kern_net.h"

#define POLICIES     40
#define DESTINATIONS 60
#define MAX_RULES    12

static struct kern_env env;
static struct wdr_kern *kern;
static int job_cg, prog_fd, job_ns;

/* Prefixes that nest, touch private ranges, and hold each other's addresses. */
static const char *const prefixes[] = {
	"0.0.0.0/0",
	"198.51.100.0/24",
	"198.51.100.128/25",
	"198.51.100.130",
	"203.0.113.0/24",
	"203.0.113.7",
	"10.0.0.0/8",
	"10.9.0.0/16",
	"10.9.0.1",
	"172.16.5.0/24",
	"127.0.0.0/8",
	"169.254.169.254",
	"100.64.0.0/10",
	"::/0",
	"2001:db8::/32",
	"2001:db8:1::/48",
	"2001:db8:1::7",
	"64:ff9b::/96",
	"64:ff9b::c633:6400/120",
	"2002::/16",
	"2002:c633::/32",
	"fd00::/8",
	"fd09::1",
	"fe80::/10",
};

static const char *const addresses[] = {
	"198.51.100.1",
	"198.51.100.130",
	"198.51.100.200",
	"203.0.113.7",
	"203.0.113.8",
	"192.0.2.9",
	"10.9.0.1",
	"10.9.7.7",
	"10.200.0.1",
	"172.16.5.5",
	"172.31.0.1",
	"127.0.0.1",
	"169.254.169.254",
	"169.254.1.1",
	"100.64.3.3",
	"224.0.0.9",
	"255.255.255.255",
	"0.0.0.1",
	"240.1.1.1",
	"168.63.129.16",
	"2001:db8::5",
	"2001:db8:1::7",
	"2001:db8:1::8",
	"2001:db9::1",
	"::1",
	"fd09::1",
	"fd77::1",
	"fe80::1234",
	"ff02::fb",
	"::198.51.100.130",
	"64:ff9b::c633:6482",
	"64:ff9b::cb00:7107",
	"64:ff9b::a09:1",
	"64:ff9b:1::1",
	"2002:c633:6482::1",
	"2002:cb00:7107::1",
	"2002:a09:1::1",
};

static const char *const protos[] = { "", ", \"proto\": \"tcp\"", ", \"proto\": \"udp\"",
				      ", \"proto\": \"icmp\"", ", \"proto\": 132" };
static const uint16_t ports[] = { 53, 80, 443, 8000, 8050, 65535 };
static const uint8_t numbers[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, 132, 47 };

#define PICK(a) ((a)[(unsigned int)rand() % (sizeof(a) / sizeof((a)[0]))])

static void random_policy(char *text, size_t size)
{
	unsigned int n = (unsigned int)rand() % (MAX_RULES + 1), i, proto;
	size_t at;

	at = (size_t)snprintf(text, size,
			      "{\"mode\": \"egress\", \"default\": \"%s\", \"private\": \"%s\", %s "
			      "\"rules\": [",
			      rand() % 4 ? "deny" : "allow", rand() % 4 ? "deny" : "allow",
			      rand() % 3 ? "" : "\"dns\": [\"192.0.2.9\", \"2001:db8::5\"],");
	for (i = 0; i < n; i++) {
		proto = (unsigned int)rand() % 5;
		at += (size_t)snprintf(text + at, size - at,
				       "%s{\"action\": \"%s\", \"to\": \"%s\"%s%s}", i ? "," : "",
				       rand() % 3 ? "allow" : "deny", PICK(prefixes), protos[proto],
				       proto > 2 || rand() % 2 ? "" :
				       rand() % 2 ? ", \"ports\": [\"53\", \"8000-8100\"]" :
						    ", \"ports\": [\"443\"]");
	}
	(void)snprintf(text + at, size - at, "]}");
}

/* This machine's own addresses, as all three know them. */
static const char *const own_text[] = { "10.9.0.1", "fd09::1" };

static void give_addresses(struct wdr_prefix own[2])
{
	struct wdr_egress_addr addrs[2] = { { { 0 } }, { { 0 } } };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		assert_ok(wdr_addr_host(own_text[i], &own[i], NULL));
		if (own[i].family == AF_INET6) {
			memcpy(addrs[i].addr, own[i].addr, 16);
			continue;
		}
		addrs[i].addr[10] = addrs[i].addr[11] = 0xff;
		memcpy(addrs[i].addr + 12, own[i].addr, 4);
	}
	assert_ok(wdr_kern_hosts(kern, addrs, 2, NULL));
}

struct verdict {
	bool allow;
	int reason, rule;
};

struct found {
	uint64_t at;
	struct verdict v;
};

static void find_last(void *arg, const struct wdr_deny_key *key, const struct wdr_deny_val *val)
{
	struct found *f = arg;

	if (val->last_ns > f->at) {
		f->at = val->last_ns;
		f->v.reason = key->reason;
		f->v.rule = (int)key->rule;
	}
}

static struct verdict last_denial(const struct wdr_kern_slot *s)
{
	struct found f = { 0 };

	assert_ok(wdr_kern_slot_denials(s, find_last, &f));
	return f.v;
}

static struct verdict by_packet(const struct wdr_kern_slot *s, const char *to, uint8_t proto,
				uint16_t port, uint16_t from)
{
	struct __sk_buff ctx = { .ifindex = 1 };
	bool six = strchr(to, ':') != NULL;
	struct verdict v = { 0 };
	static uint8_t out[4096];
	char text[256], l4[64];
	struct frame f;

	if (proto == IPPROTO_ICMP)
		(void)snprintf(l4, sizeof(l4), "icmp %d 0 %u", six ? 128 : 8, from);
	else if (proto == IPPROTO_TCP)
		(void)snprintf(l4, sizeof(l4), "tcp %u %u 2", from, port);
	else
		(void)snprintf(l4, sizeof(l4), "udp %u %u; fill 20", from, port);
	(void)snprintf(text, sizeof(text), "%s %s %u; %s", six ? "ip6 ME6" : "ip4 ME4", to,
		       proto == IPPROTO_ICMP && six ? 58 : proto, l4);
	frame_make(&f, text);
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f.b, .data_size_in = (uint32_t)f.n,
		    .data_out = out, .data_size_out = sizeof(out), .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx), .repeat = 1);
	wdr_kern_beat(kern);
	assert_ok(bpf_prog_test_run_opts(prog_fd, &opts));
	if ((int)opts.retval == TC_ACT_UNSPEC) {
		v.allow = true;
		return v;
	}
	return last_denial(s);
}

/* TCP and UDP only: what other sockets there are depends on the kernel. */
static struct verdict by_socket(const struct wdr_kern_slot *s, const char *to, uint8_t proto,
				uint16_t port)
{
	struct sockaddr_storage addr;
	socklen_t len = kern_net_addr(to, port, &addr);
	struct verdict v = { .allow = true };
	int fd, r;

	wdr_kern_beat(kern);
	kern_env_enter(&env, job_cg);
	fd = kern_net_socket(job_ns, addr.ss_family,
			     (proto == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK, 0);
	assert_true(fd >= 0);
	r = connect(fd, (struct sockaddr *)&addr, len) < 0 ? errno : 0;
	(void)close(fd);
	kern_env_enter(&env, -1);
	return r == EPERM ? last_denial(s) : v;
}

static struct verdict by_explain(const struct wdr_compiled *c, const char *to, uint8_t proto,
				 uint16_t port, const struct wdr_prefix own[2])
{
	struct wdr_dest dest = { .proto = proto };
	struct wdr_egress_verdict e;
	struct verdict v;

	assert_ok(wdr_addr_host(to, &dest.to, NULL));
	dest.has_ports = wdr_egress_has_ports(proto);
	if (dest.has_ports)
		dest.ports = (struct wdr_port_range){ .min = port, .max = port };
	e = wdr_compiled_decide(c, &dest, own, 2);
	v = (struct verdict){ .allow = e.action == WDR_ACT_ALLOW,
			      .reason = e.reason,
			      .rule = (int)e.rule };
	return v;
}

static bool same(const struct verdict *a, const struct verdict *b)
{
	return a->allow == b->allow && (a->allow || (a->reason == b->reason && a->rule == b->rule));
}

/* What never leaves the job, and so is not judged at its sockets. */
static bool stays_inside(const char *to)
{
	return !strncmp(to, "127.", 4) || !strcmp(to, "::1");
}

static unsigned int compare(const struct wdr_kern_slot *s, const struct wdr_compiled *c,
			    const struct wdr_prefix own[2], const char *policy, uint16_t from)
{
	const char *to = PICK(addresses);
	uint8_t proto = PICK(numbers);
	uint16_t port = proto == IPPROTO_ICMP || proto == 47 ? 0 : PICK(ports);
	struct verdict e = by_explain(c, to, proto, port, own), p, k = e;

	p = by_packet(s, to, proto, port, from);
	if ((proto == IPPROTO_TCP || proto == IPPROTO_UDP) && !stays_inside(to))
		k = by_socket(s, to, proto, port);
	if (same(&e, &p) && same(&e, &k))
		return 0;
	print_error(
		"%s port %u proto %u under %s:\n explain %d %d %d, packet %d %d %d, socket %d %d "
		"%d\n",
		to, port, proto, policy, e.allow, e.reason, e.rule, p.allow, p.reason, p.rule,
		k.allow, k.reason, k.rule);
	return 1;
}

static void all_judges_agree(void **state)
{
	static const struct wdr_egress_addr self4 = { { [10] = 0xff, 0xff, 10, 9, 0, 2 } };
	static const struct wdr_egress_addr self6 = { { 0xfd, 9, [15] = 2 } };
	unsigned int seed = (unsigned int)time(NULL), i, j, bad = 0;
	struct wdr_prefix own[2];
	char policy[4096];

	(void)state;
	print_message("seed %u\n", seed);
	srand(seed);
	give_addresses(own);
	for (i = 0; i < POLICIES && !bad; i++) {
		struct wdr_compiled *c;
		struct wdr_kern_policy pol;
		struct wdr_kern_ask ask = { .cgroup_fd = job_cg,
					    .netns = true,
					    .policy = &pol,
					    .on_denied = WDR_DENIED_DROP };
		struct wdr_kern_slot *s = NULL;
		struct wdr_err err = { 0 };

		random_policy(policy, sizeof(policy));
		c = kern_env_compile(policy);
		kern_env_policy(c, &pol);
		assert_ok(wdr_kern_slot_new(kern, &ask, &s, &err));
		assert_ok(wdr_kern_slot_link(s, 1, &self4, &self6, &err));
		for (j = 0; j < DESTINATIONS; j++)
			bad += compare(s, c, own, policy, (uint16_t)(1000 + j));
		wdr_kern_slot_drop(&s);
		wdr_compiled_freep(&c);
	}
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_judges_agree),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	(void)kern_net_veth("wdr-h0", &job_ns);
	job_cg = kern_env_cgroup(&env, "job");
	r = kern_env_join(&env, &kern);
	prog_fd = kern_env_program(&env, "wdr_tc_out");
	r = r ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_leave(&kern);
	kern_env_stop(&env);
	return r;
}
