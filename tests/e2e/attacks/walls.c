/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on the walls: namespaces, mounts, the root. */
#include "attack.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static int user_namespace(char **args)
{
	(void)args;
	return verdict_of(unshare(CLONE_NEWUSER), "unshare a user namespace");
}

static int end_child(long pid, const char *what)
{
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, 0);
	return verdict_of(pid, what);
}

static int clone_user_namespace(char **args)
{
	(void)args;
	return end_child(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0),
			 "clone into a user namespace");
}

static int clone3_user_namespace(char **args)
{
	struct clone_args a = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };

	(void)args;
	return end_child(syscall(SYS_clone3, &a, sizeof(a)), "clone3 into a user namespace");
}

static int enter_namespace(char **args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return verdict_of(fd, args[0]);
	return verdict_of(setns(fd, 0), "setns");
}

static int mount_proc(char **args)
{
	int r = mount("proc", args[0], "proc", 0, NULL);

	if (r == 0)
		(void)umount2(args[0], MNT_DETACH);
	return verdict_of(r, "mount proc");
}

static int mount_new_api(char **args)
{
	(void)args;
	return verdict_of(syscall(SYS_fsopen, "tmpfs", 0), "fsopen tmpfs");
}

static int bind_mount(char **args)
{
	int r = mount(args[0], args[1], NULL, MS_BIND, NULL);

	if (r == 0)
		(void)umount2(args[1], MNT_DETACH);
	return verdict_of(r, "bind mount");
}

static int remount_writable(char **args)
{
	return verdict_of(mount(NULL, args[0], NULL, MS_REMOUNT | MS_BIND, NULL), "remount rw");
}

static int set_writable(char **args)
{
	struct {
		uint64_t set, clear, propagation, userns_fd;
	} attr = { .clear = 1 /* MOUNT_ATTR_RDONLY */ };

	return verdict_of(syscall(SYS_mount_setattr, AT_FDCWD, args[0], 0, &attr, sizeof(attr)),
			  "mount_setattr rw");
}

static int unmount(char **args)
{
	return verdict_of(umount2(args[0], MNT_DETACH), args[0]);
}

/* The classic: a root below the working directory leaves that outside the root. */
static int chroot_escape(char **args)
{
	char dir[256];
	struct stat before;
	struct stat after;

	(void)snprintf(dir, sizeof(dir), "%s/.warder-chroot", args[0]);
	(void)mkdir(dir, 0700);
	if (stat("/", &before) < 0 || chroot(dir) < 0)
		return verdict_of(-1, "chroot");
	for (int i = 0; i < 64; i++)
		(void)!chdir("..");
	if (chroot(".") < 0 || stat("/", &after) < 0)
		return verdict_of(-1, "chroot back");
	return verdict_of(0, "chroot");
}

static int pivot(char **args)
{
	(void)args;
	if (chdir("/") < 0)
		return say(BROKEN, "chdir: %s", strerror(errno));
	/* EBUSY, EINVAL: allowed to, and then a matter of where. */
	if (syscall(SYS_pivot_root, ".", ".") < 0 && errno != EBUSY && errno != EINVAL)
		return verdict_of(-1, "pivot_root");
	return say(GOT, "pivot_root");
}

static int host_name(char **args)
{
	return verdict_of(sethostname(args[0], strlen(args[0])), "sethostname");
}

/* Is this name, which is the host's, ours too? */
static int has_host_name(char **args)
{
	char name[256] = "";

	(void)gethostname(name, sizeof(name) - 1);
	return strcmp(name, args[0]) ? say(REFUSED, "host name %s", name) :
				       say(GOT, "host name %s", name);
}

/* Seconds since boot are within three of @args[0], the host's. */
static int host_uptime(char **args)
{
	struct timespec t;
	long long diff;

	if (clock_gettime(CLOCK_BOOTTIME, &t) < 0)
		return say(BROKEN, "clock_gettime: %s", strerror(errno));
	diff = (long long)t.tv_sec - number(args[0]);
	return diff > -4 && diff < 4 ? say(GOT, "up %lld s", (long long)t.tv_sec) :
				       say(REFUSED, "up %lld s", (long long)t.tv_sec);
}

static int set_clock(char **args)
{
	struct timespec t;

	(void)args;
	(void)clock_gettime(CLOCK_REALTIME, &t);
	return verdict_of(clock_settime(CLOCK_REALTIME, &t), "clock_settime");
}

/* The link of a namespace is @args[1], the host's. */
static int same_namespace(char **args)
{
	char link[64] = "";

	if (readlink(args[0], link, sizeof(link) - 1) < 0)
		return verdict_of(-1, args[0]);
	return strcmp(link, args[1]) ? say(REFUSED, "%s", link) : say(GOT, "%s", link);
}

static const struct attack attacks[] = {
	{ "userns", user_namespace },
	{ "clone", clone_user_namespace },
	{ "clone3", clone3_user_namespace },
	{ "setns", enter_namespace },
	{ "mount-proc", mount_proc },
	{ "fsopen", mount_new_api },
	{ "bind", bind_mount },
	{ "remount", remount_writable },
	{ "mount-setattr", set_writable },
	{ "umount", unmount },
	{ "chroot", chroot_escape },
	{ "pivot", pivot },
	{ "set-host-name", host_name },
	{ "host-name", has_host_name },
	{ "uptime", host_uptime },
	{ "set-clock", set_clock },
	{ "same-namespace", same_namespace },
};

int main(int argc, char **argv)
{
	(void)argc;
	return attack_main(attacks, N_OF(attacks), argv);
}
