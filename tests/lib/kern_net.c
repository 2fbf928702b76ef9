/* SPDX-License-Identifier: Apache-2.0 */
#include "kern_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "kern_env.h"
#include "wdr_test.h"

static void must(int ok, const char *what)
{
	if (ok)
		return;
	print_error("%s: %s\n", what, strerror(errno));
	abort();
}

void kern_net_ip(const char *args)
{
	char copy[512], *argv[32] = { (char *)"ip" }, *save = NULL, *word;
	int n = 1, status;
	pid_t pid;

	(void)snprintf(copy, sizeof(copy), "%s", args);
	for (word = strtok_r(copy, " ", &save); word && n < 31; word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	must(!posix_spawnp(&pid, "ip", NULL, NULL, argv, environ), "start ip");
	must(waitpid(pid, &status, 0) == pid && !status, args);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) > 0, path);
	(void)close(fd);
}

/* A new network namespace, ours from now on, where IPv6 addresses need no second to be usable. */
static int new_netns(void)
{
	int fd;

	must(!unshare(CLONE_NEWNET), "make a network namespace");
	write_file("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
	write_file("/proc/sys/net/ipv6/conf/default/router_solicitations", "0");
	kern_net_ip("link set lo up");
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	must(fd >= 0, "open a network namespace");
	return fd;
}

int kern_net_veth(const char *host_if, int *ret_ns)
{
	char args[256];
	int host, job;

	job = new_netns();
	host = new_netns();
	write_file("/proc/sys/net/ipv4/ip_forward", "1");
	write_file("/proc/sys/net/ipv6/conf/all/forwarding", "1");
	kern_net_ip("link set lo up");
	(void)snprintf(args, sizeof(args),
		       "link add %s type veth peer name wjob netns /proc/%d/fd/%d", host_if,
		       getpid(), job);
	kern_net_ip(args);
	(void)snprintf(args, sizeof(args), "addr add 10.9.0.1/24 dev %s", host_if);
	kern_net_ip(args);
	(void)snprintf(args, sizeof(args), "addr add fd09::1/64 dev %s nodad", host_if);
	kern_net_ip(args);
	(void)snprintf(args, sizeof(args), "link set %s up", host_if);
	kern_net_ip(args);
	must(!setns(job, CLONE_NEWNET), "enter the job's network namespace");
	kern_net_ip("addr add 10.9.0.2/24 dev wjob");
	kern_net_ip("addr add fd09::2/64 dev wjob nodad");
	kern_net_ip("link set wjob up");
	kern_net_ip("route add default via 10.9.0.1");
	kern_net_ip("route add default via fd09::1");
	must(!setns(host, CLONE_NEWNET), "go back to the host's network namespace");
	(void)close(host);
	*ret_ns = job;
	return (int)if_nametoindex(host_if);
}

static const char *const world_addrs[] = {
	"198.51.100.10/24",	 "198.51.100.66/24",	  "203.0.113.10/24",
	"10.77.0.10/24",	 "2001:db8:1::10/64",	  "2001:db8:2::10/64",
	"64:ff9b::c633:640a/96", "64:ff9b::cb00:710a/96", "2002:c633:640a::1/48",
	"2002:cb00:710a::1/48",
};

int kern_net_world(void)
{
	int host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), world;
	char args[256], prefix[64];
	unsigned int i;

	world = new_netns();
	must(host >= 0 && !setns(host, CLONE_NEWNET), "go back to the host");
	(void)snprintf(args, sizeof(args),
		       "link add whost type veth peer name eth0 netns /proc/%d/fd/%d", getpid(),
		       world);
	kern_net_ip(args);
	kern_net_ip("link set whost up");
	kern_net_ip("addr add 192.0.2.1/24 dev whost");
	kern_net_ip("addr add 2001:db8::1/64 dev whost nodad");
	must(!setns(world, CLONE_NEWNET), "enter the world");
	kern_net_ip("link set eth0 up");
	for (i = 0; i < sizeof(world_addrs) / sizeof(world_addrs[0]); i++) {
		(void)snprintf(args, sizeof(args), "addr add %s dev eth0%s", world_addrs[i],
			       strchr(world_addrs[i], ':') ? " nodad" : "");
		kern_net_ip(args);
	}
	kern_net_ip("addr add 192.0.2.2/24 dev eth0");
	kern_net_ip("addr add 2001:db8::2/64 dev eth0 nodad");
	kern_net_ip("route add default via 192.0.2.1");
	kern_net_ip("route add default via 2001:db8::1");
	must(!setns(host, CLONE_NEWNET), "go back to the host");
	for (i = 0; i < sizeof(world_addrs) / sizeof(world_addrs[0]); i++) {
		(void)snprintf(prefix, sizeof(prefix), "%.*s", (int)strcspn(world_addrs[i], "/"),
			       world_addrs[i]);
		(void)snprintf(args, sizeof(args), "route add %s via %s", prefix,
			       strchr(prefix, ':') ? "2001:db8::2" : "192.0.2.2");
		kern_net_ip(args);
	}
	(void)close(host);
	return world;
}

int kern_net_socket(int ns, int family, int type, int proto)
{
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), fd;

	must(here >= 0 && !setns(ns, CLONE_NEWNET), "enter a network namespace");
	fd = socket(family, type | SOCK_CLOEXEC, proto);
	if (fd < 0)
		fd = -errno;
	must(!setns(here, CLONE_NEWNET), "go back to a network namespace");
	(void)close(here);
	return fd;
}

unsigned int kern_net_addr(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		return sizeof(*in);
	}
	must(inet_pton(AF_INET6, text, &in6->sin6_addr) == 1, text);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	return sizeof(*in6);
}

int64_t kern_net_now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int kern_net_watch(int ns)
{
	int fd = kern_net_socket(ns, AF_PACKET, SOCK_DGRAM, htons(0x0003));

	must(fd >= 0, "open a packet socket");
	return fd;
}

unsigned int kern_net_count(int watch_fd, const struct sockaddr_storage *to)
{
	unsigned int n = 0;
	uint8_t b[2048];
	ssize_t len;

	while ((len = recv(watch_fd, b, sizeof(b), MSG_DONTWAIT)) > 0) {
		if (to->ss_family == AF_INET && len >= 20 && b[0] == 0x45 && b[12] == 10 &&
		    !memcmp(b + 16, &((const struct sockaddr_in *)to)->sin_addr, 4))
			n++;
		if (to->ss_family == AF_INET6 && len >= 40 && b[0] >> 4 == 6 && b[8] == 0xfd &&
		    !memcmp(b + 24, &((const struct sockaddr_in6 *)to)->sin6_addr, 16))
			n++;
	}
	return n;
}

int kern_net_finish(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int e = 0;

	if (poll(&p, 1, ms) != 1)
		return ETIMEDOUT;
	must(!getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &len), "read a socket's error");
	return e;
}

int kern_net_exchange(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte;

	if (send(fd, "x", 1, MSG_NOSIGNAL) < 0)
		return errno;
	if (poll(&p, 1, ms) != 1)
		return ETIMEDOUT;
	return recv(fd, &byte, 1, 0) == 1 ? 0 : errno;
}

static void answer_datagrams(int udp)
{
	struct sockaddr_storage from;
	struct iovec iov = { .iov_base = (char[16]){ 0 }, .iov_len = 16 };
	char control[128];
	struct msghdr msg = { .msg_name = &from,
			      .msg_namelen = sizeof(from),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(udp, &msg, 0);

	if (n > 0) {
		iov.iov_len = (size_t)n;
		(void)sendmsg(udp, &msg, 0); /* from the address that it was sent to: IP_PKTINFO */
	}
}

pid_t kern_net_serve(int ns)
{
	int one = 1, zero = 0, tcp, udp, fd;
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(80) };
	struct pollfd p[2];
	pid_t pid;

	tcp = kern_net_socket(ns, AF_INET6, SOCK_STREAM, 0);
	udp = kern_net_socket(ns, AF_INET6, SOCK_DGRAM, 0);
	must(!setsockopt(tcp, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)), "set a server up");
	must(!setsockopt(udp, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)), "set a server up");
	must(!setsockopt(udp, IPPROTO_IPV6, IPV6_RECVPKTINFO, &one, sizeof(one)),
	     "set a server up");
	must(!bind(tcp, (struct sockaddr *)&any, sizeof(any)), "set a server up");
	must(!bind(udp, (struct sockaddr *)&any, sizeof(any)), "set a server up");
	must(!listen(tcp, 64), "set a server up");
	pid = kern_env_fork();
	if (pid) {
		(void)close(tcp);
		(void)close(udp);
		return pid;
	}
	p[0] = (struct pollfd){ .fd = tcp, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = udp, .events = POLLIN };
	for (;;) {
		if (poll(p, 2, -1) < 0)
			_exit(0);
		if (p[1].revents)
			answer_datagrams(udp);
		fd = p[0].revents ? accept(tcp, NULL, NULL) : -1;
		if (fd >= 0)
			(void)close(fd);
	}
}

int kern_net_other(void)
{
	int host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), other = new_netns();
	char args[256];

	must(host >= 0 && !setns(host, CLONE_NEWNET), "go back to the host");
	(void)snprintf(args, sizeof(args),
		       "link add whoth type veth peer name wother netns /proc/%d/fd/%d", getpid(),
		       other);
	kern_net_ip(args);
	kern_net_ip("link set whoth up");
	kern_net_ip("addr add 10.10.0.1/24 dev whoth");
	must(!setns(other, CLONE_NEWNET), "enter the other job");
	kern_net_ip("link set wother up");
	kern_net_ip("addr add 10.10.0.2/24 dev wother");
	kern_net_ip("route add default via 10.10.0.1");
	must(!setns(host, CLONE_NEWNET), "go back to the host");
	(void)close(host);
	return other;
}
