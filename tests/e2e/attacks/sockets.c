/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks through sockets. */
#include "attack.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

static const struct {
	const char *name;
	int family, type, protocol;
} kinds[] = {
	{ "raw", AF_INET, SOCK_RAW, IPPROTO_ICMP },
	{ "raw6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 },
	{ "packet", AF_PACKET, SOCK_RAW, 0 },
	{ "old-packet", AF_INET, SOCK_PACKET, 0 },
	{ "netlink", AF_NETLINK, SOCK_DGRAM, 0 },
	{ "uevents", AF_NETLINK, SOCK_DGRAM, 15 /* NETLINK_KOBJECT_UEVENT */ },
	{ "vsock", AF_VSOCK, SOCK_STREAM, 0 },
	{ "alg", AF_ALG, SOCK_SEQPACKET, 0 },
	{ "xdp", AF_XDP, SOCK_RAW, 0 },
	{ "key", AF_KEY, SOCK_RAW, 2 },
};

static int open_socket(char **args)
{
	for (size_t i = 0; i < N_OF(kinds); i++)
		if (!strcmp(kinds[i].name, args[0]))
			return verdict_of(socket(kinds[i].family, kinds[i].type | SOCK_CLOEXEC,
						 kinds[i].protocol),
					  args[0]);
	return say(BROKEN, "no kind of socket \"%s\"", args[0]);
}

static int connect_tcp(char **args)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)number(args[1])) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || inet_pton(AF_INET, args[0], &sa.sin_addr) != 1)
		return say(BROKEN, "%s: %s", args[0], strerror(errno));
	return verdict_of(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), "connect");
}

/* "@name" is abstract. */
static int connect_unix(char **args)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t len = offsetof(struct sockaddr_un, sun_path) + strlen(args[0]);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return say(BROKEN, "socket: %s", strerror(errno));
	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", args[0]);
	if (args[0][0] == '@')
		sa.sun_path[0] = 0;
	else
		len++;
	return verdict_of(connect(fd, (struct sockaddr *)&sa, (socklen_t)len), args[0]);
}

/* An interface that is not the loopback. */
static int interface(char **args)
{
	struct ifreq ifr[16];
	struct ifconf c = { .ifc_len = sizeof(ifr), .ifc_ifcu.ifcu_req = ifr };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)args;
	if (fd < 0 || ioctl(fd, SIOCGIFCONF, &c) < 0)
		return say(BROKEN, "SIOCGIFCONF: %s", strerror(errno));
	for (size_t i = 0; i < (size_t)c.ifc_len / sizeof(ifr[0]); i++)
		if (strcmp(ifr[i].ifr_name, "lo"))
			return say(GOT, "interface %s", ifr[i].ifr_name);
	return say(REFUSED, "lo alone");
}

static const struct attack attacks[] = {
	{ "open", open_socket },
	{ "tcp", connect_tcp },
	{ "unix", connect_unix },
	{ "interface", interface },
};

int main(int argc, char **argv)
{
	(void)argc;
	return attack_main(attacks, N_OF(attacks), argv);
}
