/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a small UDP packet costs its sender on several ways out, a block on each in turn, so that
 * what the machine does meanwhile hits all alike. On a veth the sender also does what the other end
 * does with the packet: filters, forwarding, NAT.
 *
 * usage: sends MODE ROUNDS BLOCK DESTS WAY...
 * MODE: connected (a socket for each of the first destinations), unconnected (one for all of
 *   them), first (each packet goes to a destination of its own, and so begins a flow)
 * DESTS: a file of IPv4 addresses, one a line
 * WAY: NETNS or NETNS,CGROUP: a namespace, and the cgroup2 directory to send from
 * Prints "INDEX NS" for each block of BLOCK packets; a refused packet is like any other.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_WAYS  16
#define MAX_DESTS 100000
#define N_CYCLED  64 /* destinations that packets of known flows go to */
#define PORT	  9
#define PAYLOAD	  16
#define NS_PER_S  1000000000LL

static struct sockaddr_in g_dests[MAX_DESTS];
static int g_n_dests;

struct way {
	int ask_fd, answer_fd;
};

static void die(const char *what)
{
	(void)fprintf(stderr, "sends: %s: %s\n", what, strerror(errno));
	_exit(2);
}

static long long now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static void read_dests(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[64];

	if (!f)
		die(path);
	while (g_n_dests < MAX_DESTS && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		g_dests[g_n_dests].sin_family = AF_INET;
		g_dests[g_n_dests].sin_port = htons(PORT);
		if (inet_pton(AF_INET, line, &g_dests[g_n_dests].sin_addr) == 1)
			g_n_dests++;
	}
	(void)fclose(f);
	if (g_n_dests < N_CYCLED) {
		errno = EINVAL;
		die("too few destinations");
	}
}

/*
 * All on one CPU: only one is awake at a time, and none gains by where it runs. What else wants that
 * CPU waits for the end of a block, where it may.
 */
static void pin(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((int)sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	(void)sched_setscheduler(0, SCHED_FIFO, &first);
}

static void enter(char *spec)
{
	char *cgroup = strchr(spec, ',');
	char path[512];
	int fd;

	if (cgroup) {
		*cgroup++ = '\0';
		(void)snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			die(path);
		(void)close(fd);
	}
	fd = open(spec, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
		die(spec);
	(void)close(fd);
}

static int make_socket(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || (to && connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0))
		die("socket");
	return fd;
}

static void send_one(const int *fds, bool connected, const struct sockaddr_in *to, int i)
{
	static const char payload[PAYLOAD];

	if (connected)
		(void)!send(fds[i % N_CYCLED], payload, sizeof(payload), 0);
	else
		(void)!sendto(fds[0], payload, sizeof(payload), 0, (const struct sockaddr *)to,
			      sizeof(*to));
}

/* Sends a block for each byte it reads, and answers how long that took. */
static void serve(char *spec, const char *mode, int block, int in_fd, int out_fd)
{
	bool connected = !strcmp(mode, "connected"), first = !strcmp(mode, "first");
	int cycle = first ? g_n_dests : N_CYCLED;
	int fds[N_CYCLED];
	int at = 0;
	char c;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	enter(spec);
	for (int i = 0; i < (connected ? N_CYCLED : 1); i++)
		fds[i] = make_socket(connected ? &g_dests[i] : NULL);
	for (int i = 0; !first && i < N_CYCLED; i++)
		send_one(fds, connected, &g_dests[i], i);
	while (read(in_fd, &c, 1) == 1) {
		long long ns = now_ns();

		for (int i = 0; i < block; i++, at = (at + 1) % cycle)
			send_one(fds, connected, &g_dests[at], at);
		ns = now_ns() - ns;
		if (write(out_fd, &ns, sizeof(ns)) != sizeof(ns))
			_exit(1);
	}
	_exit(0);
}

static void start(struct way *w, char *spec, const char *mode, int block)
{
	int ask[2], answer[2];

	if (pipe2(ask, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0)
		die("pipe");
	if (fork() == 0) {
		(void)close(ask[1]);
		(void)close(answer[0]);
		serve(spec, mode, block, ask[0], answer[1]);
	}
	(void)close(ask[0]);
	(void)close(answer[1]);
	*w = (struct way){ ask[1], answer[0] };
}

int main(int argc, char **argv)
{
	struct way ways[MAX_WAYS];
	int n = argc - 5;
	int rounds, block;

	if (n < 1 || n > MAX_WAYS) {
		(void)fprintf(stderr, "usage: sends MODE ROUNDS BLOCK DESTS WAY...\n");
		return 2;
	}
	rounds = (int)strtol(argv[2], NULL, 10);
	block = (int)strtol(argv[3], NULL, 10);
	read_dests(argv[4]);
	pin();
	for (int i = 0; i < n; i++)
		start(&ways[i], argv[5 + i], argv[1], block);
	for (int i = 0; i < rounds * n; i++) {
		const struct way *w = &ways[i % n];
		long long ns;

		if (write(w->ask_fd, "", 1) != 1 ||
		    read(w->answer_fd, &ns, sizeof(ns)) != sizeof(ns))
			die(argv[5 + i % n]);
		(void)printf("%d %lld\n", i % n, ns);
	}
	return 0;
}
