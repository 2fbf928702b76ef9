/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attacks on the kernel's surface. Where a call that succeeded would harm the machine it is made
 * with an argument that is found wrong only after the question of rights: that error is success.
 */
#include "attack.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static int load_bpf(char **args)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
				.insn_cnt = N_OF(insns),
				.insns = (uintptr_t)insns,
				.license = (uintptr_t) "GPL" };

	(void)args;
	return verdict_of(syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)), "load a program");
}

static int perf_event(char **args)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.exclude_kernel = 1 };

	(void)args;
	return verdict_of(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf_event_open");
}

static int user_faults(char **args)
{
	(void)args;
	return verdict_of(syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */),
			  "userfaultfd");
}

static int io_ring(char **args)
{
	char params[256] = { 0 };

	(void)args;
	return verdict_of(syscall(SYS_io_uring_setup, 4, params), "io_uring_setup");
}

static int past_rights(long r, int later, const char *what)
{
	return verdict_of(r < 0 && errno == later ? 0 : r, what);
}

static int load_module(char **args)
{
	static const char garbage[64] = "not a module";

	(void)args;
	return past_rights(syscall(SYS_init_module, garbage, sizeof(garbage), ""), ENOEXEC,
			   "init_module");
}

static int restart(char **args)
{
	(void)args;
	return past_rights(syscall(SYS_reboot, 0, 0, 0, 0), EINVAL, "reboot");
}

static int swap_on(char **args)
{
	return past_rights(syscall(SYS_swapon, args[0], 0), EINVAL, "swapon");
}

static int accounting(char **args)
{
	return past_rights(syscall(SYS_acct, args[0]), EACCES, "acct");
}

static int kernel_log(char **args)
{
	char text[64];

	(void)args;
	return verdict_of(klogctl(3 /* read all */, text, sizeof(text)), "syslog");
}

/* A root folder's handle, opened by number: past every path and every mount. */
static int by_handle(char **args)
{
	struct {
		struct file_handle h;
		unsigned char space[MAX_HANDLE_SZ];
	} x = { .h.handle_bytes = MAX_HANDLE_SZ };
	int fd = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int mount_id;

	if (fd < 0)
		return say(BROKEN, "%s: %s", args[0], strerror(errno));
	if (name_to_handle_at(fd, "", &x.h, &mount_id, AT_EMPTY_PATH) < 0)
		return verdict_of(-1, "name_to_handle_at");
	return verdict_of(open_by_handle_at(fd, &x.h, O_RDONLY), "open_by_handle_at");
}

static int io_ports(char **args)
{
	(void)args;
#if defined(__x86_64__)
	return verdict_of(syscall(SYS_iopl, 3), "iopl");
#else
	return say(BROKEN, "no ports on this machine");
#endif
}

static int segments(char **args)
{
	(void)args;
#if defined(__x86_64__)
	char text[64];

	return verdict_of(syscall(SYS_modify_ldt, 0, text, sizeof(text)), "modify_ldt");
#else
	return say(BROKEN, "no segments on this machine");
#endif
}

#if defined(__x86_64__)
static int call_i386(char **args)
{
	int r;

	(void)args;
	/* 20 is getpid there. */
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
	return r > 0 ? say(GOT, "int 0x80") : say(REFUSED, "int 0x80: %s", strerror(-r));
}
#else
static int call_i386(char **args)
{
	(void)args;
	return say(BROKEN, "no i386 here");
}
#endif

static int new_keyring(char **args)
{
	(void)args;
	return verdict_of(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL), "keyctl");
}

static int executable_data(char **args)
{
	(void)args;
	return verdict_of(personality(READ_IMPLIES_EXEC), "personality");
}

/* Whoever listens decides what other processes' calls return. */
static int seccomp_listener(char **args)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { .len = 1, .filter = &allow };

	(void)args;
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return verdict_of(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				  SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog),
			  "seccomp listener");
}

static int async_io(char **args)
{
	unsigned long ctx = 0;

	(void)args;
	return verdict_of(syscall(SYS_io_setup, 1, &ctx), "io_setup");
}

static int watch_all(char **args)
{
	(void)args;
	return verdict_of(syscall(SYS_fanotify_init, 0x200 /* FAN_REPORT_FID */, O_RDONLY),
			  "fanotify_init");
}

static const struct attack attacks[] = {
	{ "bpf", load_bpf },
	{ "perf", perf_event },
	{ "userfaultfd", user_faults },
	{ "io_uring", io_ring },
	{ "module", load_module },
	{ "reboot", restart },
	{ "swapon", swap_on },
	{ "acct", accounting },
	{ "klog", kernel_log },
	{ "handle", by_handle },
	{ "iopl", io_ports },
	{ "ldt", segments },
	{ "i386", call_i386 },
	{ "keyring", new_keyring },
	{ "personality", executable_data },
	{ "listener", seccomp_listener },
	{ "aio", async_io },
	{ "fanotify", watch_all },
};

int main(int argc, char **argv)
{
	(void)argc;
	return attack_main(attacks, N_OF(attacks), argv);
}
