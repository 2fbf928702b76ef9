/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One deed with network slots, in the network namespace of the caller: what the integration tests
 * of loader/net are made of.
 *
 * usage: net_try hold DIR JOB [own] [contain] [ahead]   make a slot, tell of it, keep it until
 *                                                       stdin ends; "leave" on stdin: don't remove
 *        net_try count DIR N                            N slots one after another
 *        net_try sweep|mend|drops DIR | adopt DIR JOB | empty N
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "net/net.h"

struct
try {
	int argc;
	char **argv;
	const char *dir;
	struct wdr_net_pool *pool;
	struct wdr_err err;
};

static uint64_t now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static bool has(const struct try *t, const char *word)
{
	for (int i = 4; i < t->argc; i++)
		if (!strcmp(t->argv[i], word))
			return true;
	return false;
}

static void tell(const struct wdr_net_slot *s)
{
	const struct wdr_net_slot_info *i = wdr_net_slot_info(s);
	char text[WDR_PREFIX_TEXT_MAX];

	printf("number %u\nlink %s\nifindex %u\nmtu %u\n", i->number, i->link, i->ifindex, i->mtu);
	printf("job4 %s\n", wdr_prefix_addr_text(&i->job4, text));
	printf("host4 %s\n", wdr_prefix_addr_text(&i->host4, text));
	if (i->has6) {
		printf("job6 %s\n", wdr_prefix_addr_text(&i->job6, text));
		printf("host6 %s\n", wdr_prefix_addr_text(&i->host6, text));
	}
	printf("netns /proc/%d/fd/%d\n", getpid(), wdr_net_slot_netns_fd(s));
}

/* A namespace that belongs to another user namespace, and a process that lives in it. */
static int own_netns(pid_t *ret_pid)
{
	char path[64], go;
	int ready[2];
	FILE *f;

	if (pipe2(ready, 0) < 0)
		return -errno;
	*ret_pid = fork();
	if (*ret_pid == 0) {
		(void)close(ready[0]);
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0)
			(void)!write(ready[1], "r", 1);
		(void)close(ready[1]);
		pause();
		_exit(0);
	}
	(void)close(ready[1]);
	if (read(ready[0], &go, 1) != 1)
		return -EIO;
	(void)close(ready[0]);
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", *ret_pid);
	f = fopen(path, "re");
	printf("netns_own %s\n", path);
	return f ? fileno(f) : -errno;
}

static int try_hold(struct try *t)
{
	struct wdr_net_slot_spec spec = { .job = t->argv[3], .netns_fd = -1 };
	wdr_net_slot_ struct wdr_net_slot *s = NULL;
	char word[32] = "";
	uint64_t start;
	pid_t pid = 0;
	int r = 0;

	spec.contain = has(t, "contain");
	if (has(t, "own"))
		r = spec.netns_fd = own_netns(&pid);
	if (r >= 0 && has(t, "ahead")) {
		r = wdr_net_pool_prepare(t->pool, 2, &t->err);
		(void)usleep(200000);
	}
	start = now_us();
	if (r >= 0)
		r = wdr_net_slot_new(t->pool, &spec, &s, &t->err);
	if (r == 0) {
		tell(s);
		printf("us %" PRIu64 "\nready\n", now_us() - start);
		(void)fflush(stdout);
		while (scanf("%31s", word) == 1 && strcmp(word, "leave"))
			;
	}
	if (pid)
		(void)kill(pid, SIGKILL);
	return r == 0 && strcmp(word, "leave") ? wdr_net_slot_remove(s, &t->err) : r;
}

static int try_count(struct try *t)
{
	const struct wdr_net_slot_spec spec = { .job = "j-count", .netns_fd = -1 };
	uint64_t make = 0, take = 0;
	int n = (int)strtol(t->argv[3], NULL, 10);
	int r = 0;

	for (int i = 0; i < n && r == 0; i++) {
		wdr_net_slot_ struct wdr_net_slot *s = NULL;
		uint64_t start = now_us();

		r = wdr_net_slot_new(t->pool, &spec, &s, &t->err);
		make += now_us() - start;
		start = now_us();
		if (r == 0)
			r = wdr_net_slot_remove(s, &t->err);
		take += now_us() - start;
	}
	printf("make_us %" PRIu64 "\nremove_us %" PRIu64 "\n", make / (uint64_t)n,
	       take / (uint64_t)n);
	return r;
}

static int try_sweep(struct try *t)
{
	int n = wdr_net_sweep(t->pool, &t->err);

	if (n >= 0)
		printf("swept %d\n", n);
	return n < 0 ? n : 0;
}

static int try_mend(struct try *t)
{
	int n = wdr_net_mend(t->pool, &t->err);

	if (n >= 0)
		printf("mended %d\n", n);
	return n < 0 ? n : 0;
}

static int try_drops(struct try *t)
{
	struct wdr_net_drops d;
	int r = wdr_net_drops(&d);

	(void)t;
	if (r == 0)
		printf("spoofed %" PRIu64 "\nto_host %" PRIu64 "\nto_job %" PRIu64
		       "\ninbound %" PRIu64 "\ninvalid %" PRIu64 "\nflows %" PRIu64
		       "\ntransit %" PRIu64 "\n",
		       d.spoofed, d.to_host, d.to_job, d.inbound, d.invalid, d.flows, d.transit);
	return r;
}

static int try_adopt(struct try *t)
{
	wdr_net_slot_ struct wdr_net_slot *s = NULL;
	int r = wdr_net_slot_adopt(t->pool, t->argv[3], &s, &t->err);

	if (r < 0)
		return r;
	tell(s);
	return wdr_net_slot_remove(s, &t->err);
}

static int try_empty(struct try *t)
{
	wdr_net_slot_ struct wdr_net_slot *s = NULL;
	int r = wdr_net_slot_begin_empty(&s, &t->err);

	if (r == 0)
		r = wdr_net_slot_finish(s, &t->err);
	if (r < 0)
		return r;
	printf("netns /proc/%d/fd/%d\nready\n", getpid(), wdr_net_slot_netns_fd(s));
	(void)fflush(stdout);
	while (getchar() != EOF)
		;
	return wdr_net_slot_remove(s, &t->err);
}

static const struct {
	const char *name;
	int argc;
	int (*run)(struct try *t);
} deeds[] = {
	{ "hold", 4, try_hold },   { "count", 4, try_count }, { "sweep", 3, try_sweep },
	{ "mend", 3, try_mend },   { "drops", 3, try_drops }, { "adopt", 4, try_adopt },
	{ "empty", 3, try_empty },
};

int main(int argc, char **argv)
{
	struct try t = { .argc = argc, .argv = argv };
	int r = -EINVAL;

	for (size_t i = 0; argc > 1 && i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		if (strcmp(argv[1], deeds[i].name) || argc < deeds[i].argc)
			continue;
		r = wdr_net_pool_new(argv[2], &t.pool, &t.err);
		if (r == 0)
			r = deeds[i].run(&t);
		wdr_net_pool_freep(&t.pool);
	}
	if (r < 0)
		fprintf(stderr, "%s: %s\n", t.err.where[0] ? t.err.where : strerror(-r), t.err.msg);
	return r < 0;
}
