/* SPDX-License-Identifier: Apache-2.0 */
#include "bypass.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/io_uring.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame.h"
#include "kern_net.h"
#include "wdr_abi_egress.h"

struct to {
	struct sockaddr_storage addr;
	socklen_t len;
};

static struct to target(const char *text, uint16_t port)
{
	struct to to;

	to.len = kern_net_addr(text, port, &to.addr);
	return to;
}

static void send_to(int fd, const struct to *to, const void *bytes, size_t n, int flags)
{
	(void)!sendto(fd, bytes, n, flags, (const struct sockaddr *)&to->addr, to->len);
}

static int open_for(const struct to *to, int type, int proto)
{
	int fd = socket(to->addr.ss_family, type | SOCK_CLOEXEC, proto);

	if (fd < 0 && (errno == EPROTONOSUPPORT || errno == ESOCKTNOSUPPORT))
		_exit(BYPASS_IMPOSSIBLE);
	return fd;
}

static void connect_for(int fd, const struct to *to)
{
	(void)!fcntl(fd, F_SETFL, O_NONBLOCK);
	(void)!connect(fd, (const struct sockaddr *)&to->addr, to->len);
}

static void use(int fd, const struct bypass *b)
{
	struct to to = target(b->to, b->port);

	connect_for(fd, &to);
	(void)!send(fd, "x", 1, MSG_NOSIGNAL);
}

void bypass_udp_connected(const struct bypass *b)
{
	struct to to = target(b->to, b->port);

	use(open_for(&to, SOCK_DGRAM, 0), b);
}

void bypass_tcp(const struct bypass *b)
{
	struct to to = target(b->to, b->port);

	connect_for(open_for(&to, SOCK_STREAM, 0), &to);
}

void bypass_tcp_fastopen(const struct bypass *b)
{
	struct to to = target(b->to, b->port);

	send_to(open_for(&to, SOCK_STREAM | SOCK_NONBLOCK, 0), &to, "x", 1, MSG_FASTOPEN);
}

void bypass_tcp_fastopen_connect(const struct bypass *b)
{
	struct to to = target(b->to, b->port);
	int fd = open_for(&to, SOCK_STREAM, 0), one = 1;

	(void)!setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof(one));
	use(fd, b);
}

void bypass_mptcp(const struct bypass *b)
{
	struct to to = target(b->to, b->port);

	connect_for(open_for(&to, SOCK_STREAM, IPPROTO_MPTCP), &to);
}

void bypass_udp(const struct bypass *b)
{
	struct to to = target(b->to, b->port);

	send_to(open_for(&to, SOCK_DGRAM, 0), &to, "x", 1, 0);
}

void bypass_udp_many(const struct bypass *b)
{
	struct to to = target(b->to, b->port);
	struct iovec iov = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct mmsghdr msg = { .msg_hdr = { .msg_name = &to.addr,
					    .msg_namelen = to.len,
					    .msg_iov = &iov,
					    .msg_iovlen = 1 } };

	(void)!sendmmsg(open_for(&to, SOCK_DGRAM, 0), &msg, 1, 0);
}

void bypass_udp_more(const struct bypass *b)
{
	struct to to = target(b->to, b->port), good = target(b->allowed, 80);
	int fd = open_for(&to, SOCK_DGRAM, 0);

	send_to(fd, &good, "x", 1, MSG_MORE);
	send_to(fd, &to, "x", 1, 0);
	close(fd);
	fd = open_for(&to, SOCK_DGRAM, 0);
	send_to(fd, &to, "x", 1, MSG_MORE);
	(void)!send(fd, "x", 1, 0);
	send_to(fd, &to, "x", 1, 0);
}

void bypass_udp_large(const struct bypass *b)
{
	static char large[8000];
	struct to to = target(b->to, b->port);

	send_to(open_for(&to, SOCK_DGRAM, 0), &to, large, sizeof(large), 0);
}

void bypass_udp_segments(const struct bypass *b)
{
	static char large[4000];
	struct to to = target(b->to, b->port);
	int fd = open_for(&to, SOCK_DGRAM, 0), size = 1000;

	(void)!setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size));
	send_to(fd, &to, large, sizeof(large), 0);
}

void bypass_udp_other_way(const struct bypass *b)
{
	struct to to = target(b->to, b->port), good = target(b->allowed, 80);
	int fd = open_for(&to, SOCK_DGRAM, 0);

	connect_for(fd, &good);
	(void)!send(fd, "x", 1, 0);
	send_to(fd, &to, "x", 1, 0);
}

void bypass_udp_reconnected(const struct bypass *b)
{
	struct to to = target(b->to, b->port), good = target(b->allowed, 80), none = good;
	int fd = open_for(&to, SOCK_DGRAM, 0);

	connect_for(fd, &good);
	none.addr.ss_family = AF_UNSPEC;
	connect_for(fd, &none);
	connect_for(fd, &to);
	(void)!send(fd, "x", 1, 0);
}

void bypass_udp_on_six(const struct bypass *b)
{
	const struct to to = target(b->to, b->port);

	send_to(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), &to, "x", 1, 0);
}

void bypass_udp_as_other(const struct bypass *b)
{
	struct to to = target(b->to, b->port), other = target("10.9.0.77", 4000);
	int fd = open_for(&to, SOCK_DGRAM, 0), one = 1;

	(void)!setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one));
	(void)!bind(fd, (struct sockaddr *)&other.addr, other.len);
	send_to(fd, &to, "x", 1, 0);
}

void bypass_udp_device(const struct bypass *b)
{
	struct to to = target(b->to, b->port);
	int fd = open_for(&to, SOCK_DGRAM, 0), one = 1;

	(void)!setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "wjob", 5);
	send_to(fd, &to, "x", 1, 0);
	(void)!setsockopt(fd, SOL_SOCKET, SO_DONTROUTE, &one, sizeof(one));
	send_to(fd, &to, "x", 1, 0);
}

void bypass_udp_marked(const struct bypass *b)
{
	struct to to = target(b->to, b->port);
	int fd = open_for(&to, SOCK_DGRAM, 0), mark = WDR_EGRESS_MARK_LOCAL;

	(void)!setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark));
	send_to(fd, &to, "x", 1, 0);
}

void bypass_udp_options(const struct bypass *b)
{
	struct to to = target(b->to, b->port);
	int fd = open_for(&to, SOCK_DGRAM, 0);
	const uint8_t record[4] = { 1, 1, 1, 0 };

	(void)!setsockopt(fd, IPPROTO_IP, IP_OPTIONS, record, sizeof(record));
	send_to(fd, &to, "x", 1, 0);
}

void bypass_udp_six_options(const struct bypass *b)
{
	struct to to = target(b->to, b->port);
	int fd = open_for(&to, SOCK_DGRAM, 0);
	const uint8_t pad[8] = { 0, 0, 1, 4 };

	(void)!setsockopt(fd, IPPROTO_IPV6, IPV6_DSTOPTS, pad, sizeof(pad));
	send_to(fd, &to, "x", 1, 0);
}

void bypass_udplite(const struct bypass *b)
{
	struct to to = target(b->to, b->port);

	send_to(open_for(&to, SOCK_DGRAM, IPPROTO_UDPLITE), &to, "x", 1, 0);
}

void bypass_sctp(const struct bypass *b)
{
	struct to to = target(b->to, b->port);

	connect_for(open_for(&to, SOCK_STREAM, IPPROTO_SCTP), &to);
}

static const uint8_t echo4[8] = { 8, 0, 0xf7, 0xfd, 0, 1, 0, 1 };
static const uint8_t echo6[8] = { 128, 0, 0, 0, 0, 1, 0, 1 };

static void send_echo(const struct bypass *b, int type)
{
	struct to to = target(b->to, 0);
	int six = to.addr.ss_family == AF_INET6;

	send_to(open_for(&to, type, six ? IPPROTO_ICMPV6 : IPPROTO_ICMP), &to, six ? echo6 : echo4,
		8, 0);
}

void bypass_ping(const struct bypass *b)
{
	int range = open("/proc/sys/net/ipv4/ping_group_range", O_WRONLY | O_CLOEXEC);

	(void)!write(range, "0 0", 3);
	send_echo(b, SOCK_DGRAM);
}

void bypass_raw(const struct bypass *b)
{
	send_echo(b, SOCK_RAW);
}

void bypass_raw_header(const struct bypass *b)
{
	struct to to = target(b->to, 0);
	char text[128];
	struct frame f;

	(void)snprintf(text, sizeof(text), "ip4 ME4 %s 17; udp 1000 %u; fill 4", b->to, b->port);
	frame_make(&f, text);
	send_to(open_for(&to, SOCK_RAW, IPPROTO_RAW), &to, f.b + 14, f.n - 14, 0);
}

void bypass_frame(const struct bypass *b)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	struct sockaddr_ll out = { .sll_family = AF_PACKET,
				   .sll_ifindex = (int)if_nametoindex("wjob"),
				   .sll_halen = 6 };
	struct ifreq me = { .ifr_name = "wjob" };
	struct frame f;

	frame_make(&f, b->to);
	(void)!ioctl(fd, SIOCGIFHWADDR, &me);
	memcpy(f.b + 6, me.ifr_hwaddr.sa_data, 6);
	memcpy(f.b, "\2\0\0\0\0\x99", 6); /* what the test gave the host's end */
	memcpy(out.sll_addr, f.b, 6);
	(void)!sendto(fd, f.b, f.n, 0, (struct sockaddr *)&out, sizeof(out));
}

void bypass_uring(const struct bypass *b)
{
	struct to to = target(b->to, b->port);
	struct io_uring_params p = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	struct io_uring_sqe *sqe;
	char *ring;

	if (fd < 0) {
		bypass_tcp(b); /* no io_uring here, then this way is the only one */
		return;
	}
	ring = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    IORING_OFF_SQ_RING);
	sqe = mmap(NULL, p.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   IORING_OFF_SQES);
	sqe->opcode = IORING_OP_CONNECT;
	sqe->fd = open_for(&to, SOCK_STREAM | SOCK_NONBLOCK, 0);
	sqe->addr = (uint64_t)(uintptr_t)&to.addr;
	sqe->off = to.len;
	*(uint32_t *)(ring + p.sq_off.array) = 0;
	__atomic_add_fetch((uint32_t *)(ring + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	(void)syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0);
}
