/* SPDX-License-Identifier: Apache-2.0 */
#include "kern_env.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "wdr_test.h"

static void must(int ok, const char *what)
{
	if (ok)
		return;
	print_error("%s: %s\n", what, strerror(errno));
	abort();
}

static void path_in(char ret[KE_PATH], const char *dir, const char *name)
{
	must(snprintf(ret, KE_PATH, "%s/%s", dir, name) < KE_PATH, "a path is too long");
}

/* The first cgroup2 mount. */
static int find_cgroup2(char ret[KE_PATH])
{
	char line[1024], at[KE_PATH], type[64];
	FILE *f = fopen("/proc/self/mounts", "re");
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %255s %63s", at, type) == 2 && !strcmp(type, "cgroup2")) {
			(void)snprintf(ret, KE_PATH, "%s", at);
			found = 1;
		}
	}
	if (f)
		(void)fclose(f);
	return found ? 0 : -ENOENT;
}

static int say_skip(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	return 77;
}

/* As any cgroup manager does: with the first controller come the implicit ones, perf_event's. */
static void hand_down(const char *root)
{
	char path[KE_PATH], text[256] = "+";
	int fd;

	path_in(path, root, "cgroup.controllers");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text + 1, sizeof(text) - 2) > 0) {
		text[strcspn(text, " \n")] = '\0';
		(void)close(fd);
		path_in(path, root, "cgroup.subtree_control");
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			(void)!write(fd, text, strlen(text));
	}
	if (fd >= 0)
		(void)close(fd);
}

int kern_env_start(struct kern_env *e)
{
	char root[KE_PATH], name[64];

	memset(e, 0, sizeof(*e));
	if (geteuid())
		return say_skip("not root");
	if (find_cgroup2(root) < 0)
		return say_skip("no cgroup2 file system");
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return say_skip("no mount namespace of our own");
	(void)snprintf(e->dir, sizeof(e->dir), "%s/kern", getenv("TMPDIR") ?: "/tmp");
	(void)mkdir(e->dir, 0700);
	must(!mount("tmpfs", e->dir, "tmpfs", 0, NULL), "mount a tmpfs");
	path_in(e->bpffs, e->dir, "bpf");
	path_in(e->lock, e->dir, "lock");
	(void)mkdir(e->bpffs, 0700);
	if (mount("bpf", e->bpffs, "bpf", 0, NULL) < 0)
		return say_skip("no bpf file system");
	path_in(e->bpffs, e->dir, "bpf/warder");
	e->at = (struct wdr_kern_place){ .bpffs = e->bpffs, .lock = e->lock };
	(void)snprintf(name, sizeof(name), "wdr-test-%d", getpid());
	path_in(e->parent, root, name);
	hand_down(root);
	must(!mkdir(e->parent, 0755), "make a cgroup");
	e->cgroup2_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(e->cgroup2_fd >= 0, "open cgroup2");
	return 0;
}

/* rmdir of each name below the parent; the kernel's files can't be removed, and need not. */
static int drop_cgroup(void *arg, const char *name)
{
	char path[KE_PATH];

	path_in(path, arg, name);
	(void)rmdir(path);
	return 0;
}

void kern_env_stop(struct kern_env *e)
{
	struct dirent *d;
	DIR *dir;

	kern_env_enter(e, -1);
	dir = opendir(e->parent);
	while (dir && (d = readdir(dir)) != NULL) {
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			(void)drop_cgroup(e->parent, d->d_name);
	}
	if (dir)
		(void)closedir(dir);
	must(!rmdir(e->parent), "remove the test's cgroup");
	(void)close(e->cgroup2_fd);
	must(!umount2(e->dir, MNT_DETACH), "unmount");
	(void)rmdir(e->dir);
}

int kern_env_cgroup(struct kern_env *e, const char *name)
{
	char path[KE_PATH];
	int fd;

	path_in(path, e->parent, name);
	must(!mkdir(path, 0755) || errno == EEXIST, "make a job's cgroup");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0, "open a job's cgroup");
	return fd;
}

void kern_env_enter(struct kern_env *e, int fd)
{
	int procs = openat(fd < 0 ? e->cgroup2_fd : fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	must(procs >= 0 && write(procs, "0", 1) == 1, "enter a cgroup");
	(void)close(procs);
}

struct wdr_compiled *kern_env_compile(const char *network)
{
	struct wdr_compiled *c = NULL;
	struct wdr_policy *p = NULL;
	struct wdr_err err = { 0 };
	char text[8192];
	int r;

	(void)snprintf(text, sizeof(text), "{\"version\": 1, \"network\": %s}", network);
	r = wdr_policy_parse("test.json", text, strlen(text), &p, &err);
	if (r >= 0)
		r = wdr_policy_finish(p, &err);
	if (r >= 0)
		r = wdr_compiled_new(p, &c, &err);
	wdr_policy_freep(&p);
	if (r < 0)
		print_error("%s: %s\n", err.where, err.msg);
	must(r >= 0, "compile a policy");
	return c;
}

void kern_env_policy(const struct wdr_compiled *c, struct wdr_kern_policy *ret)
{
	*ret = (struct wdr_kern_policy){
		.head = c->head,
		.keys = c->keys,
		.entries = c->entries,
		.n_entries = (uint32_t)c->n_entries,
		.rows = c->rows,
		.n_rows = (uint32_t)c->n_rows,
	};
}

void kern_env_ip(const char *args)
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
	kern_env_ip("link set lo up");
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	must(fd >= 0, "open a network namespace");
	return fd;
}

int kern_env_veth(const char *host_if, int *ret_ns)
{
	char args[256];
	int host, job;

	job = new_netns();
	host = new_netns();
	write_file("/proc/sys/net/ipv4/ip_forward", "1");
	write_file("/proc/sys/net/ipv6/conf/all/forwarding", "1");
	kern_env_ip("link set lo up");
	(void)snprintf(args, sizeof(args),
		       "link add %s type veth peer name wjob netns /proc/%d/fd/%d", host_if,
		       getpid(), job);
	kern_env_ip(args);
	(void)snprintf(args, sizeof(args), "addr add 10.9.0.1/24 dev %s", host_if);
	kern_env_ip(args);
	(void)snprintf(args, sizeof(args), "addr add fd09::1/64 dev %s nodad", host_if);
	kern_env_ip(args);
	(void)snprintf(args, sizeof(args), "link set %s up", host_if);
	kern_env_ip(args);
	must(!setns(job, CLONE_NEWNET), "enter the job's network namespace");
	kern_env_ip("addr add 10.9.0.2/24 dev wjob");
	kern_env_ip("addr add fd09::2/64 dev wjob nodad");
	kern_env_ip("link set wjob up");
	kern_env_ip("route add default via 10.9.0.1");
	kern_env_ip("route add default via fd09::1");
	must(!setns(host, CLONE_NEWNET), "go back to the host's network namespace");
	(void)close(host);
	*ret_ns = job;
	return (int)if_nametoindex(host_if);
}

int kern_env_program(const struct kern_env *e, const char *name)
{
	char path[3 * KE_PATH];
	struct dirent *d;
	int fd = -1;
	DIR *at;

	at = opendir(e->bpffs);
	while (at && fd < 0 && (d = readdir(at)) != NULL) {
		(void)snprintf(path, sizeof(path), "%s/%s/%s", e->bpffs, d->d_name, name);
		if (d->d_name[0] != '.')
			fd = bpf_obj_get(path);
	}
	if (at)
		(void)closedir(at);
	return fd;
}

static const char *const world_addrs[] = {
	"198.51.100.10/24",	 "198.51.100.66/24",	  "203.0.113.10/24",
	"10.77.0.10/24",	 "2001:db8:1::10/64",	  "2001:db8:2::10/64",
	"64:ff9b::c633:640a/96", "64:ff9b::cb00:710a/96", "2002:c633:640a::1/48",
	"2002:cb00:710a::1/48",
};

int kern_env_world(void)
{
	int host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), world;
	char args[256], prefix[64];
	unsigned int i;

	world = new_netns();
	must(host >= 0 && !setns(host, CLONE_NEWNET), "go back to the host");
	(void)snprintf(args, sizeof(args),
		       "link add whost type veth peer name eth0 netns /proc/%d/fd/%d", getpid(),
		       world);
	kern_env_ip(args);
	kern_env_ip("link set whost up");
	kern_env_ip("addr add 192.0.2.1/24 dev whost");
	kern_env_ip("addr add 2001:db8::1/64 dev whost nodad");
	must(!setns(world, CLONE_NEWNET), "enter the world");
	kern_env_ip("link set eth0 up");
	for (i = 0; i < sizeof(world_addrs) / sizeof(world_addrs[0]); i++) {
		(void)snprintf(args, sizeof(args), "addr add %s dev eth0%s", world_addrs[i],
			       strchr(world_addrs[i], ':') ? " nodad" : "");
		kern_env_ip(args);
	}
	kern_env_ip("addr add 192.0.2.2/24 dev eth0");
	kern_env_ip("addr add 2001:db8::2/64 dev eth0 nodad");
	kern_env_ip("route add default via 192.0.2.1");
	kern_env_ip("route add default via 2001:db8::1");
	must(!setns(host, CLONE_NEWNET), "go back to the host");
	for (i = 0; i < sizeof(world_addrs) / sizeof(world_addrs[0]); i++) {
		(void)snprintf(prefix, sizeof(prefix), "%.*s", (int)strcspn(world_addrs[i], "/"),
			       world_addrs[i]);
		(void)snprintf(args, sizeof(args), "route add %s via %s", prefix,
			       strchr(prefix, ':') ? "2001:db8::2" : "192.0.2.2");
		kern_env_ip(args);
	}
	(void)close(host);
	return world;
}

int kern_env_socket(int ns, int family, int type, int proto)
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

unsigned int kern_env_addr(const char *text, uint16_t port, struct sockaddr_storage *ret)
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
