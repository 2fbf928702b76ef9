/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces: a process in a new one does what only its own namespace lets it do. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/socket.h>

#include "base/wdr_io.h"
#include "base/wdr_tree.h"
#include "native/native_priv.h"
#include "native/probe.h"
#include "native/probe_priv.h"

#define FOREIGN_UID    1879048192 /* the first that a job may get: loader/state */
#define PROC_FILE_SIZE 4096

static int be_root(const char **step)
{
	*step = "be root in a user namespace";
	return getuid() == 0 && getgid() == 0 ? 0 : -EPERM;
}

/* Map another uid than the caller's and take it: outside, this process is then nobody we know. */
static int be_another(const char **step)
{
	*step = "become a uid of the job's own";
	return setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0 ? -errno : be_root(step);
}

static int change_mounts(const char **step)
{
	*step = "make all mounts private";
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}

static int be_pid_1(const char **step)
{
	*step = "be pid 1";
	return getpid() == 1 ? 0 : -ESRCH;
}

static int raise_loopback(const char **step)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	wdr_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*step = "set up loopback";
	return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr) < 0 ? -errno : 0;
}

/* Of a new namespace the first queue has index 0; a kernel without System V IPC has none to hide. */
static int make_queue(const char **step)
{
	int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);

	*step = "make a message queue";
	if (id < 0)
		return errno == ENOSYS ? 0 : -errno;
	return msgctl(id, IPC_RMID, NULL) < 0 ? -errno : 0;
}

static int change_name(const char **step)
{
	*step = "set the host's name";
	return sethostname("warder", 6) < 0 ? -errno : 0;
}

/* Every line of a process at the root of its namespace ends in ":/" (cgroup_namespaces(7)). */
static int be_at_cgroup_root(const char **step)
{
	wdr_free_ char *text = NULL;
	int r;

	*step = "read /proc/self/cgroup";
	r = wdr_read_file(AT_FDCWD, "/proc/self/cgroup", PROC_FILE_SIZE, &text, NULL);
	if (r < 0)
		return r;
	*step = "be at the root of a cgroup namespace";
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		size_t n = strlen(line);

		if (n < 2 || strcmp(line + n - 2, ":/") != 0)
			return -EXDEV;
	}
	return 0;
}

static int set_clocks_back(const char **step)
{
	*step = "set the clocks of a time namespace";
	return wdr_native_start_clocks();
}

static const struct wdr_trial trials[] = {
	{ WDR_PROT_USER_NS, 0, CLONE_NEWUSER, be_root },
	{ WDR_PROT_MOUNT_NS, 0, CLONE_NEWUSER | CLONE_NEWNS, change_mounts },
	{ WDR_PROT_PID_NS, 0, CLONE_NEWUSER | CLONE_NEWPID, be_pid_1 },
	{ WDR_PROT_NET_NS, 0, CLONE_NEWUSER | CLONE_NEWNET, raise_loopback },
	{ WDR_PROT_IPC_NS, 0, CLONE_NEWUSER | CLONE_NEWIPC, make_queue },
	{ WDR_PROT_UTS_NS, 0, CLONE_NEWUSER | CLONE_NEWUTS, change_name },
	{ WDR_PROT_CGROUP_NS, 0, CLONE_NEWUSER | CLONE_NEWCGROUP, be_at_cgroup_root },
	{ WDR_PROT_TIME_NS, 0, CLONE_NEWUSER, set_clocks_back },
	{ WDR_PROT_HOST_UID, FOREIGN_UID, CLONE_NEWUSER, be_another },
};

#define COVERS                                                               \
	(WDR_PROT_BIT(WDR_PROT_USER_NS) | WDR_PROT_BIT(WDR_PROT_MOUNT_NS) |  \
	 WDR_PROT_BIT(WDR_PROT_PID_NS) | WDR_PROT_BIT(WDR_PROT_NET_NS) |     \
	 WDR_PROT_BIT(WDR_PROT_IPC_NS) | WDR_PROT_BIT(WDR_PROT_UTS_NS) |     \
	 WDR_PROT_BIT(WDR_PROT_CGROUP_NS) | WDR_PROT_BIT(WDR_PROT_TIME_NS) | \
	 WDR_PROT_BIT(WDR_PROT_HOST_UID))

/* Root's job sees its cgroup by a clone of the mount, made before there is any namespace of its own. */
static int show_cgroup(void)
{
	wdr_close_ int fd = -1;

	if (geteuid() != 0 || !wdr_userns_is_first())
		return 0;
	fd = wdr_tree_clone(AT_FDCWD, "/sys/fs/cgroup", 0, MOUNT_ATTR_RDONLY);
	return fd < 0 ? WDR_TAKE_FD(fd) : 0;
}

static void probe(struct wdr_check_report *rep)
{
	int r = show_cgroup();

	wdr_native_try(trials, sizeof(trials) / sizeof(trials[0]), rep);
	if (r < 0)
		wdr_check_bar(rep, WDR_PROT_CGROUP_NS, "show the job its cgroup: %s", strerror(-r));
}

const struct wdr_probe wdr_native_ns_probe = { "namespaces", COVERS, 0, probe };
