/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to get a packet to where it may not go. Each runs in a process of the job's, as root with
 * all capabilities: what seccomp and a policy would take from it is left to it here. They only try:
 * whether something arrived is seen at the other end.
 */
#pragma once

#include <stdint.h>

#define BYPASS_IMPOSSIBLE 77 /* exit status of one for which this kernel has no socket */

struct bypass {
	const char *to; /* address; or a frame, see frame.h */
	uint16_t port;
	const char *allowed; /* an address that the policy allows, at port 80 */
	int brought_fd;	     /* a socket from outside, or -1 */
	int job_cgroup_fd;
};

void bypass_tcp(const struct bypass *b);
void bypass_tcp_fastopen(const struct bypass *b);
void bypass_tcp_fastopen_connect(const struct bypass *b);
void bypass_mptcp(const struct bypass *b);
void bypass_udp_connected(const struct bypass *b);
void bypass_udp(const struct bypass *b);
void bypass_udp_many(const struct bypass *b);  /* sendmmsg */
void bypass_udp_more(const struct bypass *b);  /* MSG_MORE */
void bypass_udp_large(const struct bypass *b); /* in fragments */
void bypass_udp_segments(const struct bypass *b);
void bypass_udp_other_way(const struct bypass *b);   /* connected to the allowed one */
void bypass_udp_reconnected(const struct bypass *b); /* by AF_UNSPEC */
void bypass_udp_on_six(const struct bypass *b);	     /* an AF_INET address to an AF_INET6 socket */
void bypass_udp_as_other(const struct bypass *b);    /* IP_TRANSPARENT: from an address not ours */
void bypass_udp_device(const struct bypass *b);	     /* SO_BINDTODEVICE, SO_DONTROUTE */
void bypass_udp_marked(const struct bypass *b);	     /* with the mark that opens the firewall */
void bypass_udp_options(const struct bypass *b);     /* IP_OPTIONS: source route */
void bypass_udp_six_options(const struct bypass *b); /* IPV6_DSTOPTS */
void bypass_udplite(const struct bypass *b);
void bypass_sctp(const struct bypass *b);
void bypass_ping(const struct bypass *b);	/* a ping socket */
void bypass_raw(const struct bypass *b);	/* of ICMP */
void bypass_raw_header(const struct bypass *b); /* with an IP header of our own */
void bypass_frame(const struct bypass *b);	/* b->to, through a packet socket */
void bypass_brought(const struct bypass *b);	/* a socket that is older than the job */
void bypass_passed(const struct bypass *b);	/* the same, through SCM_RIGHTS */
void bypass_child(const struct bypass *b);	/* in a grandchild of another session */
void bypass_thread(const struct bypass *b);
void bypass_deeper(const struct bypass *b); /* in a cgroup below the job's */
void bypass_other_user(const struct bypass *b);
void bypass_uring(const struct bypass *b); /* IORING_OP_CONNECT */
