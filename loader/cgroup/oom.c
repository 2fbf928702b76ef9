/* SPDX-License-Identifier: Apache-2.0 */
/* Being told when the OOM killer takes a process of a job. */
#include "cgroup_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

/*
 * v1 notifies before it looks for a victim (Linux 6.1 mm/memcontrol.c, mem_cgroup_oom), and not again
 * when one has been killed and counted. So an event makes us look at the counter now and then for a
 * while: after 1, 3, 7 ... 255 ms. An event that ends in no kill, since the victim was about
 * to exit, costs these looks.
 */
#define LOOKS	      8
#define FIRST_LOOK_NS 1000000

void wdr_cgroup_oom_init(struct wdr_cgroup_oom *o)
{
	o->fd = o->event_fd = o->timer_fd = o->file_fd = -1;
}

void wdr_cgroup_oom_close(struct wdr_cgroup_oom *o)
{
	wdr_closep(&o->fd);
	wdr_closep(&o->event_fd);
	wdr_closep(&o->timer_fd);
	wdr_closep(&o->file_fd);
}

int wdr_cgroup_oom_kills(const struct wdr_cgroup *cg, uint64_t *ret)
{
	int h = wdr_cgroup_tree_find(cg->tree_ref, WDR_CGROUP_MEMORY);

	if (h < 0)
		return h;
	return wdr_cgroup_read_key(
		cg->fd[h], cg->tree_ref->hier[h].v2 ? "memory.events" : "memory.oom_control",
		"oom_kill", ret);
}

static int add(int epoll_fd, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* Ask for events on the eventfd (kernel's admin-guide/cgroup-v1/memory.rst, 10). */
static int register_event(struct wdr_cgroup_oom *o, int dir_fd)
{
	char text[32];

	o->file_fd = openat(dir_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	if (o->file_fd < 0)
		return -errno;
	o->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (o->event_fd < 0)
		return -errno;
	(void)snprintf(text, sizeof(text), "%d %d", o->event_fd, o->file_fd);
	return wdr_cgroup_write(dir_fd, "cgroup.event_control", text);
}

static int open_v1(struct wdr_cgroup_oom *o, int dir_fd)
{
	int r;

	r = register_event(o, dir_fd);
	if (r < 0)
		return r;
	o->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (o->timer_fd < 0)
		return -errno;
	o->fd = epoll_create1(EPOLL_CLOEXEC);
	if (o->fd < 0)
		return -errno;
	r = add(o->fd, o->event_fd);
	return r < 0 ? r : add(o->fd, o->timer_fd);
}

static int open_v2(struct wdr_cgroup_oom *o, int dir_fd)
{
	char text[512];

	o->fd = openat(dir_fd, "memory.events", O_RDONLY | O_CLOEXEC);
	if (o->fd < 0)
		return -errno;
	/* The first poll after an open is ready unless the file was read. */
	return pread(o->fd, text, sizeof(text), 0) < 0 ? -errno : 0;
}

int wdr_cgroup_oom_fd(struct wdr_cgroup *cg, uint32_t *ret_events)
{
	int h = wdr_cgroup_tree_find(cg->tree_ref, WDR_CGROUP_MEMORY);
	bool v2;
	int r;

	if (h < 0)
		return -EOPNOTSUPP;
	v2 = cg->tree_ref->hier[h].v2;
	if (cg->oom.fd < 0) {
		r = v2 ? open_v2(&cg->oom, cg->fd[h]) : open_v1(&cg->oom, cg->fd[h]);
		if (r < 0) {
			wdr_cgroup_oom_close(&cg->oom);
			return r == -ENOENT ? -EOPNOTSUPP : r;
		}
		(void)!wdr_cgroup_oom_kills(cg, &cg->oom.kills);
	}
	*ret_events = v2 ? EPOLLPRI : EPOLLIN;
	return cg->oom.fd;
}

static void look_again(struct wdr_cgroup_oom *o)
{
	struct itimerspec in = { 0 };

	if (o->looks) {
		in.it_value.tv_nsec = FIRST_LOOK_NS << (LOOKS - o->looks);
		o->looks--;
	}
	/* All zero disarms it. */
	(void)timerfd_settime(o->timer_fd, 0, &in, NULL);
}

static void ack_v1(struct wdr_cgroup *cg)
{
	struct wdr_cgroup_oom *o = &cg->oom;
	uint64_t n, kills = o->kills;

	if (read(o->event_fd, &n, sizeof(n)) == sizeof(n))
		o->looks = LOOKS;
	(void)!read(o->timer_fd, &n, sizeof(n));
	(void)!wdr_cgroup_oom_kills(cg, &kills);
	if (kills > o->kills)
		o->looks = 0;
	o->kills = kills;
	look_again(o);
}

void wdr_cgroup_oom_ack(struct wdr_cgroup *cg)
{
	char text[512];

	if (cg->oom.event_fd >= 0)
		ack_v1(cg);
	else if (cg->oom.fd >= 0)
		(void)!pread(cg->oom.fd, text, sizeof(text), 0);
}
