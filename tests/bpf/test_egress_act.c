/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Egress on the real network stack: a job behind a veth, the host that forwards, a server in the
 * world. What is refused must be told at once and must not arrive; what is allowed must work.
 */
#include "wdr_test.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "kern_env.h"
#include "kern_net.h"

#define POLICY                                                                       \
	"{\"mode\": \"egress\", \"rules\": ["                                        \
	"{\"action\": \"deny\", \"to\": \"198.51.100.66\", \"name\": \"bad\"},"      \
	"{\"action\": \"allow\", \"to\": \"198.51.100.0/24\", \"ports\": [\"80\"]}," \
	"{\"action\": \"allow\", \"to\": \"2001:db8:1::/64\", \"ports\": [\"80\"]}," \
	"{\"action\": \"allow\", \"to\": \"10.0.0.0/8\"}]}"

#define AT_ONCE_MS 100

static struct kern_env env;
static struct wdr_kern *kern;
static int job_ns, world_ns, job_cg, watch_fd;
static unsigned int ifindex;

/* How a socket came to be: inside of the job, or before it was one, so that only tc sees it. */
enum {
	BORN,
	BROUGHT
};

static const struct row {
	const char *name, *to;
	uint16_t port;
	int type, how;
	int want;   /* errno of connect, or of the answer to a datagram; 0: it works */
	int reason; /* of the denial */
} rows[] = {
	{ "tcp, other port", "198.51.100.10", 81, SOCK_STREAM, BORN, EPERM, WDR_REASON_DEFAULT },
	{ "tcp, allowed", "198.51.100.10", 80, SOCK_STREAM, BORN, 0, 0 },
	{ "tcp, denied by a rule", "198.51.100.66", 80, SOCK_STREAM, BORN, EPERM, WDR_REASON_RULE },
	{ "tcp, elsewhere", "203.0.113.10", 80, SOCK_STREAM, BORN, EPERM, WDR_REASON_DEFAULT },
	{ "tcp, the host", "10.9.0.1", 80, SOCK_STREAM, BORN, EPERM, WDR_REASON_PRIVATE },
	{ "tcp6, allowed", "2001:db8:1::10", 80, SOCK_STREAM, BORN, 0, 0 },
	{ "tcp6, elsewhere", "2001:db8:2::10", 80, SOCK_STREAM, BORN, EPERM, WDR_REASON_DEFAULT },
	{ "tcp, mapped", "::ffff:198.51.100.10", 80, SOCK_STREAM, BORN, 0, 0 },
	{ "tcp, mapped, elsewhere", "::ffff:203.0.113.10", 80, SOCK_STREAM, BORN, EPERM,
	  WDR_REASON_DEFAULT },
	{ "udp, allowed", "198.51.100.10", 80, SOCK_DGRAM, BORN, 0, 0 },
	{ "udp, elsewhere", "203.0.113.10", 80, SOCK_DGRAM, BORN, EPERM, WDR_REASON_DEFAULT },
	{ "udp6, allowed", "2001:db8:1::10", 80, SOCK_DGRAM, BORN, 0, 0 },
	{ "brought tcp, allowed", "198.51.100.10", 80, SOCK_STREAM, BROUGHT, 0, 0 },
	{ "brought tcp, elsewhere", "203.0.113.10", 80, SOCK_STREAM, BROUGHT, ECONNREFUSED,
	  WDR_REASON_DEFAULT },
	{ "brought tcp6, elsewhere", "2001:db8:2::10", 80, SOCK_STREAM, BROUGHT, ECONNREFUSED,
	  WDR_REASON_DEFAULT },
	{ "brought udp, elsewhere", "203.0.113.10", 80, SOCK_DGRAM, BROUGHT, EHOSTUNREACH,
	  WDR_REASON_DEFAULT },
	{ "brought udp6, elsewhere", "2001:db8:2::10", 80, SOCK_DGRAM, BROUGHT, EACCES,
	  WDR_REASON_DEFAULT },
	{ "brought tcp, the host", "10.9.0.1", 80, SOCK_STREAM, BROUGHT, ECONNREFUSED,
	  WDR_REASON_PRIVATE },
	{ "own loopback", "127.0.0.1", 80, SOCK_STREAM, BORN, ECONNREFUSED, 0 },
	{ "own loopback, ipv6", "::1", 80, SOCK_STREAM, BORN, ECONNREFUSED, 0 },
	{ "own address", "10.9.0.2", 80, SOCK_STREAM, BORN, ECONNREFUSED, 0 },
	{ "the unspecified address", "0.0.0.0", 80, SOCK_STREAM, BORN, ECONNREFUSED, 0 },
};

static int attempt(const struct row *row, const struct sockaddr_storage *to, socklen_t len)
{
	int fd = -1, r;

	if (row->how == BROUGHT)
		fd = kern_net_socket(job_ns, to->ss_family, row->type | SOCK_NONBLOCK, 0);
	kern_env_enter(&env, job_cg);
	if (row->how == BORN)
		fd = kern_net_socket(job_ns, to->ss_family, row->type | SOCK_NONBLOCK, 0);
	assert_true(fd >= 0);
	r = connect(fd, (const struct sockaddr *)to, len) < 0 ? errno : 0;
	if (row->type == SOCK_DGRAM && !r)
		r = kern_net_exchange(fd, 500);
	else if (r == EINPROGRESS)
		r = kern_net_finish(fd, 2000);
	(void)close(fd);
	kern_env_enter(&env, -1);
	return r;
}

struct found {
	int reason;
	uint64_t at;
};

static void find_last(void *arg, const struct wdr_deny_key *key, const struct wdr_deny_val *val)
{
	struct found *f = arg;

	if (val->last_ns > f->at) {
		f->at = val->last_ns;
		f->reason = key->reason;
	}
}

static void refuses_at_once_and_lets_the_allowed_through(void **state)
{
	static const struct wdr_egress_addr self4 = { { [10] = 0xff, 0xff, 10, 9, 0, 2 } };
	static const struct wdr_egress_addr self6 = { { 0xfd, 9, [15] = 2 } };
	static const struct wdr_egress_addr host[] = { { { [10] = 0xff, 0xff, 10, 9, 0, 1 } },
						       { { 0xfd, 9, [15] = 1 } } };
	struct wdr_compiled *c = kern_env_compile(POLICY);
	struct wdr_kern_policy pol;
	struct wdr_kern_ask ask = {
		.cgroup_fd = job_cg, .netns = true, .policy = &pol, .on_denied = WDR_DENIED_REJECT
	};
	struct wdr_kern_slot *s = NULL;
	struct wdr_err err = { 0 };
	unsigned int i, bad = 0;

	(void)state;
	kern_env_policy(c, &pol);
	assert_ok(wdr_kern_hosts(kern, host, 2, &err));
	assert_ok(wdr_kern_slot_new(kern, &ask, &s, &err));
	assert_ok(wdr_kern_slot_link(s, ifindex, &self4, &self6, &err));
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sockaddr_storage to;
		socklen_t len = kern_net_addr(rows[i].to, rows[i].port, &to);
		struct wdr_live before, after;
		struct found found = { 0 };
		int64_t start = kern_net_now_ms();
		unsigned int arrived;
		int r;

		(void)kern_net_count(watch_fd, &to);
		wdr_kern_beat(kern);
		wdr_kern_slot_live(s, &before);
		r = attempt(&rows[i], &to, len);
		start = kern_net_now_ms() - start;
		wdr_kern_slot_live(s, &after);
		if (after.out_denied != before.out_denied)
			assert_ok(wdr_kern_slot_denials(s, find_last, &found));
		if (!strncmp(rows[i].to, "::ffff:", 7))
			len = kern_net_addr(rows[i].to + 7, rows[i].port, &to);
		arrived = kern_net_count(watch_fd, &to);
		if (r == rows[i].want && found.reason == rows[i].reason &&
		    (!rows[i].want || start < AT_ONCE_MS) && !arrived == !!rows[i].want)
			continue;
		bad++;
		print_error("%s: %s after %d ms, reason %d, %u packets arrived; want %s, %d\n",
			    rows[i].name, strerror(r), (int)start, found.reason, arrived,
			    strerror(rows[i].want), rows[i].reason);
	}
	wdr_kern_slot_drop(&s);
	wdr_compiled_freep(&c);
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_at_once_and_lets_the_allowed_through),
	};
	int r = kern_env_start(&env);
	pid_t server;

	if (r)
		return r;
	ifindex = (unsigned int)kern_net_veth("wdr-h0", &job_ns);
	world_ns = kern_net_world();
	server = kern_net_serve(world_ns);
	watch_fd = kern_net_watch(world_ns);
	job_cg = kern_env_cgroup(&env, "job");
	r = kern_env_join(&env, &kern);
	r = r ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
	kern_env_leave(&kern);
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	kern_env_stop(&env);
	return r;
}
