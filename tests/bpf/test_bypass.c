/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways round the filter, each tried twice: without it, where something must arrive, so that the
 * attempt is known to be one; and with it, where nothing may.
 */
#include "wdr_test.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "bypass.h"
#include "kern_env.h"
#include "kern_net.h"

#define POLICY                                                                      \
	"{\"mode\": \"egress\", \"rules\": ["                                       \
	"{\"action\": \"allow\", \"to\": \"198.51.100.10\", \"ports\": [\"80\"]},"  \
	"{\"action\": \"allow\", \"to\": \"2001:db8:1::10\", \"ports\": [\"80\"]}," \
	"{\"action\": \"allow\", \"to\": \"64:ff9b::/96\"},"                        \
	"{\"action\": \"allow\", \"to\": \"2002::/16\"},"                           \
	"{\"action\": \"allow\", \"to\": \"0.0.0.0/0\", \"ports\": [\"7\"]}]}"

#define GOOD  "198.51.100.10"
#define BAD4  "203.0.113.10"
#define BAD6  "2001:db8:2::10"
#define GOOD6 "2001:db8:1::10"
#define HOST  "10.9.0.1"
#define OTHER "10.10.0.2" /* another job */

static struct kern_env env;
static int job_ns, world_ns, other_ns, job_cg;
static int watch_fd[2];
static unsigned int ifindex;

static const struct row {
	const char *name, *to;
	uint16_t port;
	void (*run)(const struct bypass *b);
} rows[] = {
	{ "tcp", BAD4, 80, bypass_tcp },
	{ "tcp, other port", GOOD, 81, bypass_tcp },
	{ "tcp6", BAD6, 80, bypass_tcp },
	{ "tcp, mapped", "::ffff:" BAD4, 80, bypass_tcp },
	{ "tcp fast open", BAD4, 80, bypass_tcp_fastopen },
	{ "tcp fast open by connect", BAD4, 80, bypass_tcp_fastopen_connect },
	{ "mptcp", BAD4, 80, bypass_mptcp },
	{ "io_uring", BAD4, 80, bypass_uring },
	{ "udp, connected", BAD4, 80, bypass_udp_connected },
	{ "udp", BAD4, 80, bypass_udp },
	{ "udp, other port", GOOD, 81, bypass_udp },
	{ "udp6", BAD6, 80, bypass_udp },
	{ "udp, mapped", "::ffff:" BAD4, 80, bypass_udp },
	{ "udp, sendmmsg", BAD4, 80, bypass_udp_many },
	{ "udp, MSG_MORE", BAD4, 80, bypass_udp_more },
	{ "udp, in fragments", BAD4, 80, bypass_udp_large },
	{ "udp6, in fragments", BAD6, 80, bypass_udp_large },
	{ "udp, in segments", BAD4, 80, bypass_udp_segments },
	{ "udp, connected elsewhere", BAD4, 80, bypass_udp_other_way },
	{ "udp, connected again", BAD4, 80, bypass_udp_reconnected },
	{ "udp, ipv4 address on an ipv6 socket", BAD4, 80, bypass_udp_on_six },
	{ "udp, as somebody else", GOOD, 80, bypass_udp_as_other },
	{ "udp, by the device", BAD4, 80, bypass_udp_device },
	{ "udp, options", GOOD, 80, bypass_udp_options },
	{ "udp6, options", BAD6, 80, bypass_udp_six_options },
	{ "udp-lite", BAD4, 80, bypass_udplite },
	{ "sctp socket", BAD4, 80, bypass_sctp },
	{ "ping", BAD4, 0, bypass_ping },
	{ "ping6", BAD6, 0, bypass_ping },
	{ "raw", BAD4, 0, bypass_raw },
	{ "raw6", BAD6, 0, bypass_raw },
	{ "raw with a header", BAD4, 80, bypass_raw_header },
	{ "nat64", "64:ff9b::" BAD4, 80, bypass_udp },
	{ "6to4", "2002:cb00:710a::1", 80, bypass_udp },
	{ "private", "10.77.0.10", 7, bypass_udp },
	{ "the host", HOST, 7, bypass_udp },
	{ "the host, tcp", HOST, 7, bypass_tcp },
	{ "the host's other address", "192.0.2.1", 7, bypass_udp },
	{ "the host, ipv6", "fd09::1", 80, bypass_udp },
	{ "the host, with the mark", HOST, 7, bypass_udp_marked },
	{ "another job", OTHER, 7, bypass_udp },
	{ "another job, tcp", OTHER, 7, bypass_tcp },
	{ "frame", "ip4 ME4 " BAD4 " 17; udp 1000 80; fill 4", 0, bypass_frame },
	{ "frame, ipv6", "ip6 ME6 " BAD6 " 17; udp 1000 80; fill 4", 0, bypass_frame },
	{ "frame to another port", "ip4 ME4 " GOOD " 17; udp 1000 81; fill 4", 0, bypass_frame },
	{ "frame from elsewhere", "ip4 10.9.0.88 " GOOD " 17; udp 1000 80; fill 4", 0,
	  bypass_frame },
	{ "frame to another job", "ip4 ME4 " OTHER " 17; udp 1000 7; fill 4", 0, bypass_frame },
	{ "frame to the host", "ip4 ME4 " HOST " 17; udp 1000 7; fill 4", 0, bypass_frame },
	{ "later fragment", "ip4 ME4 " BAD4 " 17 7 9; fill 64", 0, bypass_frame },
	{ "later fragment to the allowed", "ip4 ME4 " GOOD " 17 7 9; fill 64", 0, bypass_frame },
	{ "later fragment, ipv6", "ip6 ME6 " GOOD6 " 44; frag 17 9 0 7; fill 64", 0, bypass_frame },
	{ "tiny fragment", "ip4 ME4 " GOOD " 6 8 0x2000; hex 03e8005000000001", 0, bypass_frame },
	{ "ip in ip", "ip4 ME4 " GOOD " 4; hex 45000014000000004011000000000000cb00710a", 0,
	  bypass_frame },
	{ "ipv6 in ip", "ip4 ME4 " GOOD " 41; fill 48", 0, bypass_frame },
	{ "gre", "ip4 ME4 " GOOD " 47; hex 00000800; fill 20", 0, bypass_frame },
	{ "esp", "ip4 ME4 " GOOD " 50; fill 40", 0, bypass_frame },
	{ "ah", "ip6 ME6 " GOOD6 " 51; fill 40", 0, bypass_frame },
	{ "sctp", "ip4 ME4 " GOOD " 132; udp 1000 80; fill 12", 0, bypass_frame },
	{ "dccp", "ip4 ME4 " GOOD " 33; udp 1000 80; fill 12", 0, bypass_frame },
	{ "icmp error with news",
	  "ip4 ME4 " BAD4 " 1; icmp 3 1 0; hex 450000200000000040110000"
	  "cb00710a0a090002; udp 80 1000",
	  0, bypass_frame },
	{ "icmp redirect", "ip4 ME4 " GOOD " 1; icmp 5 1 0; fill 28", 0, bypass_frame },
	{ "destination options", "ip6 ME6 " BAD6 " 60; ext 17 0; udp 1000 80; fill 4", 0,
	  bypass_frame },
	{ "eight extension headers",
	  "ip6 ME6 " GOOD6 " 60; ext 60 0; ext 60 0; ext 60 0; ext 60 0; ext 60 0; ext 60 0; "
	  "ext 60 0; ext 17 0; udp 1000 80; fill 4",
	  0, bypass_frame },
	{ "routing header", "ip6 ME6 " GOOD6 " 43; ext 17 2; udp 1000 80; fill 4", 0,
	  bypass_frame },
	{ "neighbour discovery far away", "ip6 ME6 " BAD6 " 58 255; icmp 135 0 0; fill 16", 0,
	  bypass_frame },
	{ "socket from before", BAD4, 80, bypass_brought },
	{ "socket passed in", BAD4, 80, bypass_passed },
	{ "in a grandchild", BAD4, 80, bypass_child },
	{ "in a thread", BAD4, 80, bypass_thread },
	{ "in a cgroup below", BAD4, 80, bypass_deeper },
	{ "as another user", BAD4, 80, bypass_other_user },
};

/*
 * Is this what the policy allows: a datagram from 10.9.0.2 to 198.51.100.10, port 80, or an ICMP
 * error about its answer, for which nobody waited?
 */
static bool is_allowed(const uint8_t *b)
{
	static const uint8_t ends[8] = { 10, 9, 0, 2, 198, 51, 100, 10 };

	if (b[0] != 0x45 || b[6] & 0x3f || b[7] || memcmp(b + 12, ends, sizeof(ends)))
		return false;
	return (b[9] == 17 && !b[22] && b[23] == 80) || (b[9] == 1 && b[20] == 3);
}

/* What came to the world or to the other job and may not, but for the link's own talk. */
static unsigned int count_arrivals(void)
{
	unsigned int n = 0, i;
	uint8_t b[2048];
	ssize_t len;

	for (i = 0; i < 2; i++) {
		while ((len = recv(watch_fd[i], b, sizeof(b), MSG_DONTWAIT)) > 0) {
			if (len >= 28 && b[0] >> 4 == 4)
				n += b[12] == 10 && !is_allowed(b);
			else if (len >= 40 && b[0] >> 4 == 6)
				n += b[8] == 0xfd && b[24] != 0xfe && b[24] != 0xff;
		}
	}
	return n;
}

/* Datagrams and connections that came to a service of the host's own. */
static int service_fd[3];

static unsigned int count_served(void)
{
	unsigned int n = 0;
	char byte;
	int fd;

	while (recv(service_fd[0], &byte, 1, MSG_DONTWAIT) >= 0)
		n++;
	while (recv(service_fd[1], &byte, 1, MSG_DONTWAIT) >= 0)
		n++;
	while ((fd = accept4(service_fd[2], NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		(void)close(fd);
		n++;
	}
	return n;
}

static int serve(int type, uint16_t port)
{
	int fd = socket(AF_INET6, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), zero = 0;
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	assert_ok(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)));
	assert_ok(bind(fd, (struct sockaddr *)&any, sizeof(any)));
	if (type == SOCK_STREAM)
		assert_ok(listen(fd, 16));
	return fd;
}

/* What arrives of @row; @filtered: the attempt is made by the job. -1: this kernel can't. */
static int try_row(const struct row *row, bool filtered)
{
	const struct timespec moment = { .tv_nsec = 3000000 };
	struct bypass b = {
		.to = row->to, .port = row->port, .allowed = GOOD, .job_cgroup_fd = job_cg
	};
	int status;
	pid_t pid;

	b.brought_fd = kern_net_socket(job_ns, AF_INET, SOCK_DGRAM, 0);
	(void)count_arrivals();
	(void)count_served();
	pid = fork();
	if (!pid) {
		if (filtered)
			kern_env_enter(&env, job_cg);
		if (setns(job_ns, CLONE_NEWNET))
			_exit(1);
		row->run(&b);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)close(b.brought_fd);
	if (!filtered && WEXITSTATUS(status) == BYPASS_IMPOSSIBLE)
		return -1;
	assert_true(!status || filtered);
	(void)nanosleep(&moment, NULL);
	return (int)(count_arrivals() + count_served());
}

static bool got_through[sizeof(rows) / sizeof(rows[0])];

static void each_gets_through_without_the_filter(void **state)
{
	unsigned int i, tries, missing = 0;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (tries = 0; tries < 20 && !got_through[i]; tries++)
			got_through[i] = try_row(&rows[i], false) != 0;
		if (!got_through[i]) {
			print_error("%s: nothing arrives even without the filter\n", rows[i].name);
			missing++;
		}
	}
	assert_int_equal(missing, 0);
	assert_true(i >= 60);
}

static void none_gets_through_the_filter(void **state)
{
	static const struct wdr_egress_addr self4 = { { [10] = 0xff, 0xff, 10, 9, 0, 2 } };
	static const struct wdr_egress_addr self6 = { { 0xfd, 9, [15] = 2 } };
	static const struct wdr_egress_addr hosts[] = {
		{ { [10] = 0xff, 0xff, 10, 9, 0, 1 } },
		{ { [10] = 0xff, 0xff, 10, 10, 0, 1 } },
		{ { [10] = 0xff, 0xff, 192, 0, 2, 1 } },
		{ { 0xfd, 9, [15] = 1 } },
	};
	struct wdr_compiled *c = kern_env_compile(POLICY);
	struct wdr_kern_policy pol;
	struct wdr_kern_ask ask = {
		.cgroup_fd = job_cg, .netns = true, .policy = &pol, .on_denied = WDR_DENIED_REJECT
	};
	struct wdr_kern_slot *s = NULL;
	struct wdr_kern *k = NULL;
	struct wdr_err err = { 0 };
	unsigned int i, bad = 0;
	int n;

	(void)state;
	assert_ok(wdr_kern_open(&env.at, &k, &err));
	assert_ok(wdr_kern_join(k, &err));
	kern_env_policy(c, &pol);
	assert_ok(wdr_kern_hosts(k, hosts, 4, &err));
	assert_ok(wdr_kern_slot_new(k, &ask, &s, &err));
	assert_ok(wdr_kern_slot_link(s, ifindex, &self4, &self6, &err));
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		wdr_kern_beat(k);
		n = try_row(&rows[i], true);
		if (n) {
			print_error("%s: %d packets got through\n", rows[i].name, n);
			bad++;
		}
	}
	wdr_kern_slot_drop(&s);
	wdr_kern_leave(k);
	wdr_kern_freep(&k);
	wdr_compiled_freep(&c);
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_gets_through_without_the_filter),
		cmocka_unit_test(none_gets_through_the_filter),
	};
	int r = kern_env_start(&env);
	pid_t server;

	if (r)
		return r;
	ifindex = (unsigned int)kern_net_veth("wdr-h0", &job_ns);
	kern_net_ip("link set wdr-h0 address 02:00:00:00:00:99");
	world_ns = kern_net_world();
	other_ns = kern_net_other();
	server = kern_net_serve(world_ns);
	watch_fd[0] = kern_net_watch(world_ns);
	watch_fd[1] = kern_net_watch(other_ns);
	service_fd[0] = serve(SOCK_DGRAM, 7);
	service_fd[1] = serve(SOCK_DGRAM, 80);
	service_fd[2] = serve(SOCK_STREAM, 7);
	job_cg = kern_env_cgroup(&env, "job");
	r = cmocka_run_group_tests(tests, NULL, NULL);
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	kern_env_stop(&env);
	return r;
}
