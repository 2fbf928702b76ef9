/* SPDX-License-Identifier: Apache-2.0 */
#include "protection.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/wdr_text.h"

#define NAME_MAX_BYTES 32

struct protection {
	const char *name;
	const char *what;   /* it keeps a job from... */
	const char *remedy; /* for the operator of a machine without it */
};

#define USERNS_REMEDY                                                                       \
	"needs CONFIG_USER_NS and, for ordinary users, kernel.unprivileged_userns_clone=1 " \
	"and user.max_user_namespaces above 0"
#define NS_REMEDY(name, config) \
	"needs a kernel with " config " and user.max_" name "_namespaces above 0; run as root"
#define CONTROLLER_REMEDY(name)                                   \
	"run as root on a writable /sys/fs/cgroup with the " name \
	" controller (v1, or v2 with it "                         \
	"in cgroup.subtree_control); in a container, mount cgroups read-write"
#define BPF_REMEDY \
	"run as root on Linux 6.1 or later with CONFIG_BPF_SYSCALL and CONFIG_DEBUG_INFO_BTF"

static const struct protection table[] = {
	[WDR_PROT_USER_NS] = { "user_ns", "having any privilege on the host, as root inside too",
			       USERNS_REMEDY },
	[WDR_PROT_MOUNT_NS] = { "mount_ns", "seeing or changing the host's mounts",
				NS_REMEDY("mnt", "namespaces") },
	[WDR_PROT_PID_NS] = { "pid_ns", "seeing or signalling processes that are not its own",
			      NS_REMEDY("pid", "CONFIG_PID_NS") },
	[WDR_PROT_NET_NS] = { "net_ns", "using the host's interfaces and abstract sockets",
			      NS_REMEDY("net", "CONFIG_NET_NS") },
	[WDR_PROT_IPC_NS] = { "ipc_ns", "reaching System V IPC and message queues of others",
			      NS_REMEDY("ipc", "CONFIG_IPC_NS") },
	[WDR_PROT_UTS_NS] = { "uts_ns", "learning or changing the host's name",
			      NS_REMEDY("uts", "CONFIG_UTS_NS") },
	[WDR_PROT_CGROUP_NS] = { "cgroup_ns", "learning where its control groups are on the host",
				 NS_REMEDY("cgroup", "CONFIG_CGROUPS") },
	[WDR_PROT_TIME_NS] = { "time_ns", "learning how long the host has been up",
			       NS_REMEDY("time", "CONFIG_TIME_NS") },
	[WDR_PROT_HOST_UID] = { "host_uid",
				"sharing a host user, and its kernel quotas, with others",
				"run as root, so that a uid out of the configured range can be mapped" },
	[WDR_PROT_IDMAP] = { "idmap", "leaving files of a foreign owner in read-write mounts",
			     "needs Linux 5.12 or later, root, and a file system that takes idmapped "
			     "mounts (ext4, xfs, btrfs, tmpfs from 6.3)" },
	[WDR_PROT_PIVOT_ROOT] = { "pivot_root", "reaching any file outside the root it was given",
				  "needs mount and user namespaces; inside a chroot the kernel refuses "
				  "it, start warder outside" },
	[WDR_PROT_MASKED_PATHS] = { "masked_paths",
				    "reading or setting the kernel through /proc, /sys",
				    "needs a fresh proc mount: unmask /proc of the container that "
				    "warder itself runs in" },
	[WDR_PROT_NO_NEW_PRIVS] = { "no_new_privs", "gaining privileges by set-id programs",
				    "needs Linux 3.5 or later" },
	[WDR_PROT_CAPABILITIES] = { "capabilities", "holding any root capability, inside too",
				    "allow prctl(PR_CAPBSET_DROP) and capset to warder" },
	[WDR_PROT_SECCOMP] = { "seccomp", "making system calls outside the profile",
			       "needs CONFIG_SECCOMP_FILTER; allow seccomp(2) to warder" },
	[WDR_PROT_LANDLOCK] = { "landlock", "opening paths that escaped the mount namespace",
				"needs CONFIG_SECURITY_LANDLOCK and landlock in the kernel's lsm= list" },
	[WDR_PROT_RLIMITS] = { "rlimits",
			       "opening too many files, writing too big ones, dumping core",
			       "raise the hard limits of warder's own session" },
	[WDR_PROT_KEYRING] = { "keyring", "using keys of its caller's session",
			       "needs CONFIG_KEYS; allow keyctl(2) to warder" },
	[WDR_PROT_CGROUP_ENTRY] = { "cgroup_entry", "running one instruction outside its limits",
				    "run as root on Linux 5.7 or later with a writable cgroup v2 "
				    "hierarchy" },
	[WDR_PROT_CGROUP_KILL] = { "cgroup_kill", "outliving its verdict by forking",
				   "run as root on Linux 5.14 or later with a writable cgroup v2 "
				   "hierarchy" },
	[WDR_PROT_MEMORY_LIMIT] = { "memory_limit", "using more memory than it was given",
				    CONTROLLER_REMEDY("memory") },
	[WDR_PROT_SWAP_LIMIT] = { "swap_limit", "using more swap than it was given",
				  CONTROLLER_REMEDY("memory") "; swap accounting: swapaccount=1" },
	[WDR_PROT_PIDS_LIMIT] = { "pids_limit", "exhausting processes and threads: fork bombs",
				  CONTROLLER_REMEDY("pids") },
	[WDR_PROT_CPU_LIMIT] = { "cpu_limit", "taking more than its share of the CPUs",
				 CONTROLLER_REMEDY("cpu") },
	[WDR_PROT_OOM_EVENTS] = { "oom_events", "running out of memory without being found out",
				  CONTROLLER_REMEDY("memory") },
	[WDR_PROT_CPU_BUDGET] = { "cpu_budget", "burning more CPU seconds than its budget",
				  BPF_REMEDY },
	[WDR_PROT_DISK_LIMIT] = { "disk_limit", "writing more than its share of tmpfs",
				  "needs a mount namespace and CONFIG_TMPFS" },
	[WDR_PROT_EGRESS_SOCKET] = { "egress_socket",
				     "connecting to what the policy does not allow",
				     BPF_REMEDY " and CONFIG_CGROUP_BPF" },
	[WDR_PROT_EGRESS_PACKET] = { "egress_packet", "sending packets to what it does not allow",
				     BPF_REMEDY ", CONFIG_NET_CLS_ACT and CONFIG_VETH" },
	[WDR_PROT_SYSCALL_COUNT] = { "syscall_count", "making system calls that nobody counts",
				     BPF_REMEDY " and CONFIG_FTRACE_SYSCALLS" },
	[WDR_PROT_DETECT_CPU] = { "detect_cpu", "using its whole quota for long without notice",
				  BPF_REMEDY },
	[WDR_PROT_DETECT_MINING] = { "detect_mining", "mining coins without notice",
				     BPF_REMEDY ", on x86-64" },
	[WDR_PROT_PROC_EVENTS] = { "proc_events", "running programs that nobody records",
				   BPF_REMEDY },
	[WDR_PROT_HEARTBEAT] = { "heartbeat", "keeping its network when its supervisor is dead",
				 BPF_REMEDY },
	[WDR_PROT_AUDIT] = { "audit", "running without a record that can't be edited unnoticed",
			     "give --audit a file on a disk with room that warder may write" },
};

_Static_assert(sizeof(table) / sizeof(table[0]) == _WDR_PROT_MAX, "a row per protection");

const char *wdr_protection_name(enum wdr_protection p)
{
	return table[p].name;
}

const char *wdr_protection_what(enum wdr_protection p)
{
	return table[p].what;
}

const char *wdr_protection_remedy(enum wdr_protection p)
{
	return table[p].remedy;
}

int wdr_protection_find(const char *name)
{
	for (int p = 0; p < _WDR_PROT_MAX; p++)
		if (!strcmp(table[p].name, name))
			return p;
	return -ENOENT;
}

static int refuse_name(const char *name, struct wdr_err *err)
{
	struct wdr_nearest near = { .word = name };
	char shown[64];

	if (!name[0])
		return wdr_err_set(err, -EINVAL,
				   "an empty name: want protections with commas between");
	for (int p = 0; p < _WDR_PROT_MAX; p++)
		wdr_nearest_offer(&near, table[p].name);
	wdr_text_escape(name, strlen(name), shown, sizeof(shown));
	if (near.best)
		return wdr_err_set(err, -EINVAL, "unknown protection \"%s\", did you mean \"%s\"?",
				   shown, near.best);
	return wdr_err_set(err, -EINVAL, "unknown protection \"%s\": warder check lists them",
			   shown);
}

int wdr_protection_parse(const char *list, uint64_t *ret, struct wdr_err *err)
{
	uint64_t set = 0;

	while (list && *list) {
		size_t n = strcspn(list, ",");
		const char *first = list;
		const char *end = list + n;
		char name[NAME_MAX_BYTES + 1];
		int p;

		while (first < end && isspace((unsigned char)*first))
			first++;
		while (end > first && isspace((unsigned char)end[-1]))
			end--;
		/* A name too long is cut, and stays too long to be known. */
		(void)snprintf(name, sizeof(name), "%.*s", (int)(end - first), first);
		p = wdr_protection_find(name);
		if (p < 0)
			return refuse_name(name, err);
		set |= WDR_PROT_BIT(p);
		list += n;
		if (*list == ',' && !list[1])
			return refuse_name("", err);
		list += *list == ',';
	}
	*ret = set;
	return 0;
}

const char *wdr_protection_list(uint64_t set, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (int p = 0; p < _WDR_PROT_MAX; p++) {
		if (!(set & WDR_PROT_BIT(p)))
			continue;
		n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", table[p].name);
		if (n < size)
			continue;
		if (size > 3)
			(void)snprintf(buf + size - 4, 4, "...");
		break;
	}
	return buf;
}
