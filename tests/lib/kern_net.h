/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces for a test: a job, the host that forwards for it, a world with servers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/*
 * Two network namespaces and a veth: this process stays in the first, "the host", with @host_if of
 * 10.9.0.1/24 and fd09::1/64, forwarding; *ret_ns is the job's, with 10.9.0.2 and fd09::2 on wjob
 * and routes by the host. Returns the ifindex of the host's end.
 */
int kern_net_veth(const char *host_if, int *ret_ns);
/* Run ip(8) with @args; the test fails where it does. */
void kern_net_ip(const char *args);
/*
 * Add a third network namespace, "the world", behind the host: 198.51.100.10 and .66, 203.0.113.10,
 * 10.77.0.10, 2001:db8:1::10, 2001:db8:2::10, 64:ff9b::c633:640a, 64:ff9b::cb00:710a,
 * 2002:c633:640a::1 and 2002:cb00:710a::1 on eth0, with routes back. Returns its descriptor.
 */
int kern_net_world(void);
/* Another job's namespace behind the host: 10.10.0.2. Its descriptor. */
int kern_net_other(void);
/* A socket made in network namespace @ns. -errno. */
int kern_net_socket(int ns, int family, int type, int proto);
/* "ADDR" of either family and @port. */
unsigned int kern_net_addr(const char *text, uint16_t port, struct sockaddr_storage *ret);

/*
 * A process that serves TCP (accepts, closes) and UDP (sends back) at port 80 of all addresses in
 * namespace @ns. The caller kills and reaps it.
 */
pid_t kern_net_serve(int ns);

/* What arrives on interfaces of namespace @ns from now on: see kern_net_count(). */
int kern_net_watch(int ns);
/* IP packets to @to from a job's address among those that came since the last call. */
unsigned int kern_net_count(int watch_fd, const struct sockaddr_storage *to);

/* What non-blocking connect(2) on @fd comes to: 0, or the errno; ETIMEDOUT after @ms. */
int kern_net_finish(int fd, int ms);
/* Send a byte on connected @fd and wait for one: 0, or the errno that came; ETIMEDOUT after @ms. */
int kern_net_exchange(int fd, int ms);

int64_t kern_net_now_ms(void);
