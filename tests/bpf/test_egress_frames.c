/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tc programs make of frames, by BPF_PROG_TEST_RUN: each row is a frame in the order in
 * which a job sends and gets them, and what must become of it. A fresh job a table.
 */
#include "wdr_test.h"

#include <bpf/bpf.h>
#include <linux/pkt_cls.h>
#include <netinet/in.h>
#include <sched.h>

#include "frame.h"
#include "kern_env.h"
#include "kern_net.h"

#define POLICY                                                                          \
	"{\"mode\": \"egress\", \"dns\": [\"192.0.2.53\"], \"rules\": ["                \
	"{\"action\": \"deny\", \"to\": \"198.51.100.66\"},"                            \
	"{\"action\": \"allow\", \"to\": \"198.51.100.0/24\", \"ports\": [\"80-90\"], " \
	" \"proto\": \"tcp\"},"                                                         \
	"{\"action\": \"allow\", \"to\": \"198.51.100.0/24\", \"ports\": [\"53\"], "    \
	" \"proto\": \"udp\"},"                                                         \
	"{\"action\": \"allow\", \"to\": \"198.51.100.0/24\", \"proto\": \"icmp\"},"    \
	"{\"action\": \"allow\", \"to\": \"198.51.100.0/24\", \"proto\": 132},"         \
	"{\"action\": \"allow\", \"to\": \"2001:db8:1::/48\", \"ports\": [\"53\"]},"    \
	"{\"action\": \"allow\", \"to\": \"2001:db8:1::/48\", \"proto\": \"icmp\"},"    \
	"{\"action\": \"allow\", \"to\": \"10.0.0.0/8\"},"                              \
	"{\"action\": \"allow\", \"to\": \"10.9.0.1\", \"ports\": [\"22\"]},"           \
	"{\"action\": \"allow\", \"to\": \"64:ff9b::/96\"},"                            \
	"{\"action\": \"allow\", \"to\": \"2002::/16\"}"                                \
	"]}"

enum {
	OUT,
	IN
};

/* What a program returns. */
enum {
	PASS = TC_ACT_UNSPEC,
	DROP = TC_ACT_SHOT,
	ANSWER = TC_ACT_REDIRECT, /* turned round, with RST or ICMP */
};

#define RULE  WDR_REASON_RULE
#define DEF   WDR_REASON_DEFAULT
#define PRIV  WDR_REASON_PRIVATE
#define PROTO WDR_REASON_PROTOCOL
#define BAD   WDR_REASON_MALFORMED

/* UDP to a destination that is all the row is about. */
#define U4(dst, port) "ip4 ME4 " dst " 17; udp 1000 " port "; fill 20"
#define U6(dst, port) "ip6 ME6 " dst " 17; udp 1000 " port "; fill 20"
#define T4(dst, port) "ip4 ME4 " dst " 6; tcp 1000 " port " 2"
/* "Fragmentation needed" from a router about a datagram of ours to @dst, port 53. */
#define BIG(dst)                                                                    \
	"ip4 192.0.2.1 ME4 1; icmp 3 4 0; hex 450005dc00014000401100000a090002" dst \
	"03e8003505c80000"

static const struct row {
	const char *name;
	int dir, verdict, reason; /* reason 0: nothing is recorded */
	const char *frame;
} rows[] = {
	{ "udp, allowed", OUT, PASS, 0, U4("198.51.100.10", "53") },
	{ "udp, other port", OUT, ANSWER, DEF, U4("198.51.100.10", "54") },
	{ "udp, elsewhere", OUT, ANSWER, DEF, U4("203.0.113.10", "53") },
	{ "udp, first rule denies", OUT, ANSWER, RULE, U4("198.51.100.66", "53") },
	{ "udp, name server", OUT, PASS, 0, U4("192.0.2.53", "53") },
	{ "udp, name server's other port", OUT, ANSWER, DEF, U4("192.0.2.53", "54") },
	{ "udp, private, and a rule within its range", OUT, PASS, 0, U4("10.1.2.3", "7") },
	{ "udp, the host's address in 10/8", OUT, ANSWER, PRIV, U4("10.9.0.1", "7") },
	{ "udp, the host's address by itself", OUT, PASS, 0, U4("10.9.0.1", "22") },
	{ "udp, the host's address again", OUT, PASS, 0, U4("10.9.0.1", "22") },
	{ "udp, metadata", OUT, ANSWER, PRIV, U4("169.254.169.254", "80") },
	{ "udp, multicast", OUT, DROP, PRIV, U4("224.0.0.251", "5353") },
	{ "udp, broadcast", OUT, DROP, PRIV, U4("255.255.255.255", "67") },
	{ "udp, loopback on the wire", OUT, ANSWER, PRIV, U4("127.0.0.1", "53") },
	{ "tcp, allowed", OUT, PASS, 0, T4("198.51.100.10", "80") },
	{ "tcp, past the range", OUT, ANSWER, DEF, T4("198.51.100.10", "91") },
	{ "tcp, to udp's port", OUT, ANSWER, DEF, T4("198.51.100.10", "53") },
	{ "tcp, elsewhere", OUT, ANSWER, DEF, T4("203.0.113.10", "80") },
	{ "udp6, allowed", OUT, PASS, 0, U6("2001:db8:1::10", "53") },
	{ "udp6, other port", OUT, ANSWER, DEF, U6("2001:db8:1::10", "54") },
	{ "udp6, elsewhere", OUT, ANSWER, DEF, U6("2001:db8:2::10", "53") },
	{ "mapped destination as ipv6", OUT, DROP, BAD, U6("::ffff:198.51.100.10", "53") },
	{ "nat64, both allowed", OUT, PASS, 0, U6("64:ff9b::198.51.100.10", "53") },
	{ "nat64, inside denied", OUT, ANSWER, DEF, U6("64:ff9b::203.0.113.10", "53") },
	{ "nat64, metadata inside", OUT, ANSWER, PRIV, U6("64:ff9b::169.254.169.254", "53") },
	{ "nat64, local prefix", OUT, ANSWER, PRIV, U6("64:ff9b:1::198.51.100.10", "53") },
	{ "6to4, both allowed", OUT, PASS, 0, U6("2002:c633:640a::1", "53") },
	{ "6to4, inside denied", OUT, ANSWER, DEF, U6("2002:cb00:710a::1", "53") },
	{ "ipv4-compatible", OUT, ANSWER, PRIV, U6("::198.51.100.10", "53") },
	{ "link-local", OUT, ANSWER, PRIV, U6("fe80::1", "53") },
	{ "foreign source", OUT, DROP, BAD, "ip4 10.9.0.3 198.51.100.10 17; udp 1000 53" },
	{ "foreign source, ipv6", OUT, DROP, BAD, "ip6 fd09::3 2001:db8:1::10 17; udp 1000 53" },
	{ "options", OUT, DROP, BAD, "ip4 ME4 198.51.100.10 17; opt 01010101; udp 1000 53" },
	{ "source route", OUT, DROP, BAD,
	  "ip4 ME4 198.51.100.10 17; opt 830704cb00710a00; udp 1000 53" },
	{ "later fragment before the first", OUT, DROP, BAD,
	  "ip4 ME4 198.51.100.10 17 55 9; fill 64" },
	{ "first fragment", OUT, PASS, 0,
	  "ip4 ME4 198.51.100.10 17 55 0x2000; udp 1000 53; fill 64" },
	{ "later fragment", OUT, PASS, 0, "ip4 ME4 198.51.100.10 17 55 9; fill 64" },
	{ "later fragment to elsewhere", OUT, DROP, BAD, "ip4 ME4 203.0.113.10 17 55 9; fill 64" },
	{ "later fragment of nothing", OUT, DROP, BAD, "ip4 ME4 198.51.100.10 17 99 9; fill 64" },
	{ "first fragment, denied", OUT, ANSWER, DEF,
	  "ip4 ME4 198.51.100.10 17 57 0x2000; udp 1000 54; fill 64" },
	{ "later fragment of a denied one", OUT, DROP, BAD,
	  "ip4 ME4 198.51.100.10 17 57 9; fill 64" },
	{ "tcp, 8 bytes in the first fragment", OUT, DROP, BAD,
	  "ip4 ME4 198.51.100.10 6 56 0x2000; hex 03e8005000000001" },
	{ "udp, 4 bytes in the first fragment", OUT, DROP, BAD,
	  "ip4 ME4 198.51.100.10 17 58 0x2000; hex 03e80035" },
	{ "header of 16 bytes", OUT, DROP, BAD, U4("198.51.100.10", "53") "; set 14 44" },
	{ "length past the end", OUT, DROP, BAD, U4("198.51.100.10", "53") "; set 16 0900" },
	{ "length within the header", OUT, DROP, BAD, U4("198.51.100.10", "53") "; set 16 0013" },
	{ "version 6 in an ipv4 frame", OUT, DROP, BAD, U4("198.51.100.10", "53") "; set 14 65" },
	{ "vlan", OUT, DROP, BAD,
	  "eth 0x8100; hex 00050800; ip4 ME4 198.51.100.10 17; udp 1000 53" },
	{ "lldp", OUT, DROP, BAD, "eth 0x88cc; fill 46" },
	{ "arp", OUT, PASS, 0, "eth 0x806; hex 0001080006040001; fill 38" },
	{ "sctp, named", OUT, PASS, 0, "ip4 ME4 198.51.100.10 132; udp 1000 2905; fill 20" },
	{ "sctp, elsewhere", OUT, ANSWER, PROTO, "ip4 ME4 203.0.113.10 132; udp 1000 2905" },
	{ "gre", OUT, ANSWER, PROTO, "ip4 ME4 198.51.100.10 47; hex 00000800; fill 20" },
	{ "ip in ip", OUT, ANSWER, PROTO, "ip4 ME4 198.51.100.10 4; fill 28" },
	{ "ipv6 in ipv4", OUT, ANSWER, PROTO, "ip4 ME4 198.51.100.10 41; fill 48" },
	{ "igmp", OUT, DROP, 0, "ip4 ME4 224.0.0.22 2; opt 94040000; fill 16" },
	{ "ping", OUT, PASS, 0, "ip4 ME4 198.51.100.10 1; icmp 8 0 7" },
	{ "ping, elsewhere", OUT, ANSWER, PROTO, "ip4 ME4 203.0.113.10 1; icmp 8 0 7" },
	{ "pong", IN, PASS, 0, "ip4 198.51.100.10 ME4 1; icmp 0 0 7" },
	{ "pong, not asked for", IN, DROP, 0, "ip4 198.51.100.10 ME4 1; icmp 0 0 8" },
	{ "icmp redirect", IN, DROP, 0, "ip4 198.51.100.10 ME4 1; icmp 5 1 0; fill 28" },
	{ "ping6", OUT, PASS, 0, "ip6 ME6 2001:db8:1::10 58; icmp 128 0 7" },
	{ "pong6", IN, PASS, 0, "ip6 2001:db8:1::10 ME6 58; icmp 129 0 7" },
	{ "icmp's number in ipv6", OUT, DROP, BAD, "ip6 ME6 2001:db8:1::10 1; icmp 8 0 7" },
	{ "answer", IN, PASS, 0, "ip4 198.51.100.10 ME4 17; udp 53 1000" },
	{ "answer to another port", IN, DROP, 0, "ip4 198.51.100.10 ME4 17; udp 53 1001" },
	{ "answer from another port", IN, DROP, 0, "ip4 198.51.100.10 ME4 17; udp 54 1000" },
	{ "answer from elsewhere", IN, DROP, 0, "ip4 203.0.113.10 ME4 17; udp 53 1000" },
	{ "answer over tcp", IN, DROP, 0, "ip4 198.51.100.10 ME4 6; tcp 53 1000 18" },
	{ "answer6", IN, PASS, 0, "ip6 2001:db8:1::10 ME6 17; udp 53 1000" },
	{ "icmp error about ours", IN, PASS, 0, BIG("c633640a") },
	{ "icmp error about others", IN, DROP, 0, BIG("c633640b") },
	{ "extension headers", OUT, PASS, 0,
	  "ip6 ME6 2001:db8:1::10 0; ext 60 0; ext 17 2; udp 1000 53" },
	{ "extension headers, other port", OUT, ANSWER, DEF,
	  "ip6 ME6 2001:db8:1::10 0; ext 60 2; ext 17 1; udp 1000 54" },
	{ "seven extension headers", OUT, DROP, BAD,
	  "ip6 ME6 2001:db8:1::10 60; ext 60 0; ext 60 0; ext 60 0; ext 60 0; ext 60 0; ext 60 0; "
	  "ext 17 0; udp 1000 53" },
	{ "extension header past the end", OUT, DROP, BAD,
	  "ip6 ME6 2001:db8:1::10 60; ext 17 0; udp 1000 53; set 55 20" },
	{ "routing header", OUT, DROP, BAD, "ip6 ME6 2001:db8:1::10 43; ext 17 2; udp 1000 53" },
	{ "first fragment, ipv6", OUT, PASS, 0,
	  "ip6 ME6 2001:db8:1::10 44; frag 17 0 1 77; udp 1000 53; fill 64" },
	{ "later fragment, ipv6", OUT, PASS, 0,
	  "ip6 ME6 2001:db8:1::10 44; frag 17 9 0 77; fill 20" },
	{ "later fragment of nothing, ipv6", OUT, DROP, BAD,
	  "ip6 ME6 2001:db8:1::10 44; frag 17 9 0 78; fill 20" },
	{ "first fragment without ports, ipv6", OUT, DROP, BAD,
	  "ip6 ME6 2001:db8:1::10 44; frag 60 0 1 79; ext 17 0" },
	{ "two fragment headers", OUT, DROP, BAD,
	  "ip6 ME6 2001:db8:1::10 44; frag 44 0 0 0; frag 17 0 1 81; udp 1000 53" },
	{ "esp", OUT, ANSWER, PROTO, "ip6 ME6 2001:db8:1::10 50; fill 24" },
	{ "no next header", OUT, ANSWER, PROTO, "ip6 ME6 2001:db8:1::10 59; fill 8" },
	{ "length past the end, ipv6", OUT, DROP, BAD, U6("2001:db8:1::10", "53") "; set 18 0900" },
	{ "neighbour solicitation", OUT, PASS, 0,
	  "ip6 ME6 ff02::1:ff00:1 58 255; icmp 135 0 0; fill 16" },
	{ "neighbour solicitation past the link", OUT, ANSWER, PROTO,
	  "ip6 ME6 2001:db8:2::10 58 255; icmp 135 0 0; fill 16" },
	{ "neighbour solicitation that was routed", OUT, ANSWER, PRIV,
	  "ip6 ME6 fe80::1 58 254; icmp 135 0 0; fill 16" },
	{ "router search", OUT, DROP, 0, "ip6 ME6 ff02::2 58 255; icmp 133 0 0" },
	{ "router advertisement", IN, DROP, 0, "ip6 fe80::9 ff02::1 58 255; icmp 134 0 0; fill 8" },
};

static struct kern_env env;
static struct wdr_kern *kern;
static int prog_fd[2];

static int run(int dir, const char *name, const struct frame *f, struct frame *out,
	       uint32_t *ret_mark)
{
	struct __sk_buff ctx = { .ifindex = 1 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->b, .data_size_in = (uint32_t)f->n,
		    .data_out = out->b, .data_size_out = sizeof(out->b), .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx), .ctx_out = &ctx, .ctx_size_out = sizeof(ctx),
		    .repeat = 1);

	if (bpf_prog_test_run_opts(prog_fd[dir], &opts)) {
		print_error("%s: %s\n", name, strerror(errno));
		return -errno;
	}
	out->n = opts.data_size_out;
	*ret_mark = ctx.mark;
	return (int)opts.retval;
}

struct found {
	uint64_t total;
	int reason;
};

static void add_denial(void *arg, const struct wdr_deny_key *key, const struct wdr_deny_val *val)
{
	struct found *found = arg;

	if (val->last_ns >= found->total) {
		found->total = val->last_ns;
		found->reason = key->reason;
	}
}

static struct wdr_kern_slot *start(const char *policy)
{
	static const struct wdr_egress_addr self4 = { { [10] = 0xff, 0xff, 10, 9, 0, 2 } };
	static const struct wdr_egress_addr self6 = { { 0xfd, 9, [15] = 2 } };
	static const struct wdr_egress_addr host = { { [10] = 0xff, 0xff, 10, 9, 0, 1 } };
	struct wdr_compiled *c = kern_env_compile(policy);
	struct wdr_kern_slot *s = NULL;
	struct wdr_kern_policy pol;
	int fd = kern_env_cgroup(&env, "job");
	struct wdr_kern_ask ask = {
		.cgroup_fd = fd, .netns = true, .policy = &pol, .on_denied = WDR_DENIED_REJECT
	};
	struct wdr_err err = { 0 };

	kern_env_policy(c, &pol);
	assert_ok(wdr_kern_hosts(kern, &host, 1, &err));
	assert_ok(wdr_kern_slot_new(kern, &ask, &s, &err));
	assert_ok(wdr_kern_slot_link(s, 1, &self4, &self6, &err));
	wdr_compiled_freep(&c);
	(void)close(fd);
	return s;
}

static void judges_each_frame(void **state)
{
	struct wdr_kern_slot *s = start(POLICY);
	struct frame f, out;
	struct wdr_live live, before;
	unsigned int i, bad = 0;
	uint64_t counted;
	uint32_t mark = 0;
	int verdict;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct found found = { 0 };

		frame_make(&f, rows[i].frame);
		wdr_kern_beat(kern);
		wdr_kern_slot_live(s, &before);
		verdict = run(rows[i].dir, rows[i].name, &f, &out, &mark);
		wdr_kern_slot_live(s, &live);
		if (live.out_denied != before.out_denied)
			assert_ok(wdr_kern_slot_denials(s, add_denial, &found));
		if (verdict != rows[i].verdict || found.reason != rows[i].reason) {
			print_error("%s: verdict %d reason %d, want %d and %d\n", rows[i].name,
				    verdict, found.reason, rows[i].verdict, rows[i].reason);
			bad++;
		}
		/* Only what is for the host itself bears the mark that its firewall wants. */
		if ((verdict == PASS && strstr(rows[i].name, "host's address")) !=
		    (mark == WDR_EGRESS_MARK_LOCAL)) {
			print_error("%s: mark %x\n", rows[i].name, mark);
			bad++;
		}
		/* What passes counts, but for the link's own talk; nothing else does. */
		counted =
			live.out_packets + live.in_packets - before.out_packets - before.in_packets;
		if (counted != (verdict == PASS && strncmp(rows[i].frame, "eth", 3) &&
				!strstr(rows[i].frame, "icmp 135"))) {
			print_error("%s: counted %d\n", rows[i].name, (int)counted);
			bad++;
		}
	}
	wdr_kern_slot_drop(&s);
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judges_each_frame),
	};
	int r = kern_env_start(&env);

	if (r)
		return r;
	if (unshare(CLONE_NEWNET) < 0)
		return 1;
	kern_net_ip("link set lo up");
	r = kern_env_join(&env, &kern);
	prog_fd[OUT] = kern_env_program(&env, "wdr_tc_out");
	prog_fd[IN] = kern_env_program(&env, "wdr_tc_in");
	r = r ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_leave(&kern);
	kern_env_stop(&env);
	return r;
}
