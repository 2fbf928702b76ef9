/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the host's own firewall lets a job out, found by sending: a packet leaves the job's
 * namespace for the outside and is caught by the last rule of the last forward chain (ours), which
 * counts it and answers. Every other forward chain has then let it pass. It never leaves the host.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "net_nl_priv.h"
#include "net_priv.h"

#define WAIT_MS 250 /* an answer takes 0.1 ms; only where there is none is this spent */

union target {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t make_target(int family, union target *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->sa.sa_family = (sa_family_t)family;
	if (family == AF_INET) {
		ret->v4.sin_port = htons(WDR_NET_PROBE_PORT);
		(void)inet_pton(family, WDR_NET_PROBE_TO4, &ret->v4.sin_addr);
		return sizeof(ret->v4);
	}
	ret->v6.sin6_port = htons(WDR_NET_PROBE_PORT);
	(void)inet_pton(family, WDR_NET_PROBE_TO6, &ret->v6.sin6_addr);
	return sizeof(ret->v6);
}

/* Without a route there is nothing to be let through to. */
static bool has_route(int nl_fd, const union target *to)
{
	bool v4 = to->sa.sa_family == AF_INET;
	const struct rtmsg head = { .rtm_family = (uint8_t)to->sa.sa_family,
				    .rtm_dst_len = v4 ? 32 : 128 };
	struct wdr_nl_msg m;

	wdr_nl_start(&m, RTM_GETROUTE, 0, &head, sizeof(head));
	if (v4)
		wdr_nl_put(&m, RTA_DST, &to->v4.sin_addr, sizeof(to->v4.sin_addr));
	else
		wdr_nl_put(&m, RTA_DST, &to->v6.sin6_addr, sizeof(to->v6.sin6_addr));
	return wdr_nl_call(nl_fd, &m, NULL) == 0;
}

static int seen(int nf_fd, uint64_t before)
{
	uint64_t now = 0;
	int r = wdr_net_nft_counter(nf_fd, "probe", &now);

	return r < 0 ? r : now > before;
}

/*
 * Send a SYN. It has usually passed all chains when connect returns; else wait for what comes back:
 * our answer (a reset, since ICMP errors are rate-limited), a firewall's refusal, or nothing.
 * 1 if our rule has seen it. Which answer came says nothing, a firewall's may be the same.
 */
static int send_probe(int nf_fd, int tcp_fd, const union target *to, socklen_t n)
{
	const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	struct pollfd p = { .fd = tcp_fd, .events = POLLOUT };
	uint64_t before = 0;
	int r = wdr_net_nft_counter(nf_fd, "probe", &before);

	if (r < 0)
		return r;
	/* Undo an earlier probe: a socket connects once. */
	(void)connect(tcp_fd, &nowhere, sizeof(nowhere));
	if (connect(tcp_fd, &to->sa, n) < 0 && errno != EINPROGRESS && errno != ECONNREFUSED &&
	    errno != EHOSTUNREACH && errno != ENETUNREACH && errno != EACCES)
		return -errno;
	r = seen(nf_fd, before);
	if (r != 0)
		return r;
	do {
		r = poll(&p, 1, WAIT_MS);
	} while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : seen(nf_fd, before);
}

static int probe(int nl_fd, int nf_fd, int tcp_fd, int family, struct wdr_err *err)
{
	union target to;
	socklen_t n = make_target(family, &to);
	int r;

	if (!has_route(nl_fd, &to))
		return 0;
	r = send_probe(nf_fd, tcp_fd, &to, n);
	if (r < 0)
		return wdr_err_wrap(err, r, "probe whether the host forwards IPv%d",
				    family == AF_INET ? 4 : 6);
	/* Others' probes count too, and are under the same rules. */
	return r > 0 ? 0 : wdr_net_firewall_name(family, err);
}

int wdr_net_reach(int nl_fd, int nf_fd, int tcp4, int tcp6, const struct wdr_net_slot_info *info,
		  struct wdr_err *err)
{
	int r = probe(nl_fd, nf_fd, tcp4, AF_INET, err);

	return r == 0 && info->has6 ? probe(nl_fd, nf_fd, tcp6, AF_INET6, err) : r;
}
