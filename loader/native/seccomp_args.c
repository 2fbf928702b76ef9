/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose arguments decide. The types of arguments are those of the kernel's SYSCALL_DEFINEs. */
#include <asm/ioctls.h>
#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "native/seccomp_priv.h"

#define ALLOW  WDR_SECCOMP_ALLOW
#define REFUSE WDR_SECCOMP_REFUSE
#define NEXT   WDR_SECCOMP_NEXT

/* Rows of a test table: @mask of argument @n equals @v; has one of the bits @m; says @verdict. */
#define IS(n, m, v, verdict)                                                          \
	{                                                                             \
		.arg = (n), .mask = (m), .value = (v), .hit = (verdict), .miss = NEXT \
	}
#define HAS(n, m, verdict)                                                           \
	{                                                                            \
		.arg = (n), .any = true, .mask = (m), .hit = (verdict), .miss = NEXT \
	}
#define HAS_HIGH(n, m, verdict)                                                                    \
	{                                                                                          \
		.arg = (n), .high = true, .any = true, .mask = (m), .hit = (verdict), .miss = NEXT \
	}
#define ONLY_IF_HAS(n, m)                                                        \
	{                                                                        \
		.arg = (n), .any = true, .mask = (m), .hit = NEXT, .miss = ALLOW \
	}

#define CHECK(t, last)                                                             \
	{                                                                          \
		.tests = (t), .n_tests = sizeof(t) / sizeof((t)[0]), .end = (last) \
	}
#define EVERYWHERE(t, last)                                                                   \
	{                                                                                     \
		[WDR_SECCOMP_DEFAULT] = CHECK(t, last), [WDR_SECCOMP_STRICT] = CHECK(t, last) \
	}

#define WORD	 UINT32_MAX
#define TYPE	 0xf /* SOCK_TYPE_MASK, include/linux/net.h; flags are above */
#define SET_ID	 (S_ISUID | S_ISGID)
#define TMPFILE	 020000000 /* __O_TMPFILE, asm-generic/fcntl.h; libc's O_TMPFILE adds O_DIRECTORY */
#define CREATES	 (O_CREAT | TMPFILE)
#define NEW_TIME 0x80 /* CLONE_NEWTIME, Linux 5.6: unshare only, in clone the bit is CSIGNAL's */

/* Refused: types that make packets by hand, or load protocol modules that nobody asks for. */
static const struct wdr_seccomp_test socket_tests[] = {
	IS(1, TYPE, SOCK_RAW, REFUSE),	IS(1, TYPE, SOCK_RDM, REFUSE),
	IS(1, TYPE, SOCK_DCCP, REFUSE), IS(1, TYPE, SOCK_PACKET, REFUSE),
	IS(0, WORD, AF_UNIX, ALLOW),	IS(0, WORD, AF_INET, ALLOW),
	IS(0, WORD, AF_INET6, ALLOW),
};

static const struct wdr_seccomp_test raw_socket_tests[] = {
	IS(0, WORD, AF_PACKET, ALLOW),	IS(1, TYPE, SOCK_RDM, REFUSE),
	IS(1, TYPE, SOCK_DCCP, REFUSE), IS(1, TYPE, SOCK_PACKET, REFUSE),
	IS(0, WORD, AF_UNIX, ALLOW),	IS(0, WORD, AF_INET, ALLOW),
	IS(0, WORD, AF_INET6, ALLOW),
};

static const struct wdr_seccomp_test unix_socket_tests[] = {
	IS(1, TYPE, SOCK_RAW, REFUSE),
	IS(0, WORD, AF_UNIX, ALLOW),
};

/* kernel/fork.c takes lower_32_bits() of the flags. */
static const struct wdr_seccomp_test clone_tests[] = {
	HAS(0,
	    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
		    CLONE_NEWPID | CLONE_NEWNET,
	    REFUSE),
};

/* An unsigned long, whose upper half later kernels may use: what is not known is refused. */
static const struct wdr_seccomp_test unshare_tests[] = {
	HAS_HIGH(0, WORD, REFUSE),
	HAS(0,
	    ~(uint32_t)(CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND | CLONE_VM |
			CLONE_THREAD),
	    REFUSE),
};

static const struct wdr_seccomp_test seccomp_tests[] = {
	HAS(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, REFUSE),
};

/* Typing into a terminal; the console's menu and redirection; line disciplines, which load modules. */
static const struct wdr_seccomp_test ioctl_tests[] = {
	IS(1, WORD, TIOCSTI, REFUSE),
	IS(1, WORD, TIOCLINUX, REFUSE),
	IS(1, WORD, TIOCCONS, REFUSE),
	IS(1, WORD, TIOCSETD, REFUSE),
};

/* What /proc says of this process; a CPU core that no other job's task may share. */
static const struct wdr_seccomp_test prctl_tests[] = {
	IS(0, WORD, PR_SET_MM, REFUSE),
	IS(0, WORD, PR_SCHED_CORE, REFUSE),
};

/* PER_LINUX, PER_LINUX32, both with UNAME26, and the question. */
static const struct wdr_seccomp_test personality_tests[] = {
	IS(0, ~0x20008u, 0, ALLOW),
	IS(0, WORD, UINT32_MAX, ALLOW),
};

static const struct wdr_seccomp_test mode1_tests[] = { HAS(1, SET_ID, REFUSE) };
static const struct wdr_seccomp_test mode2_tests[] = { HAS(2, SET_ID, REFUSE) };
static const struct wdr_seccomp_test open_tests[] = {
	ONLY_IF_HAS(1, CREATES),
	HAS(2, SET_ID, REFUSE),
};
static const struct wdr_seccomp_test openat_tests[] = {
	ONLY_IF_HAS(2, CREATES),
	HAS(3, SET_ID, REFUSE),
};
static const struct wdr_seccomp_test mknod_tests[] = {
	HAS(1, SET_ID, REFUSE),
	IS(1, S_IFMT, S_IFCHR, REFUSE),
	IS(1, S_IFMT, S_IFBLK, REFUSE),
};
static const struct wdr_seccomp_test mknodat_tests[] = {
	HAS(2, SET_ID, REFUSE),
	IS(2, S_IFMT, S_IFCHR, REFUSE),
	IS(2, S_IFMT, S_IFBLK, REFUSE),
};

const struct wdr_seccomp_arg_rule wdr_seccomp_arg_rules[] = {
	{ .names = "socket socketpair ",
	  .check = { [WDR_SECCOMP_DEFAULT] = CHECK(socket_tests, REFUSE),
		     [WDR_SECCOMP_STRICT] = CHECK(unix_socket_tests, REFUSE) },
	  .capability = UINT64_C(1) << CAP_NET_RAW,
	  .with_cap = { [WDR_SECCOMP_DEFAULT] = CHECK(raw_socket_tests, REFUSE),
			[WDR_SECCOMP_STRICT] = CHECK(unix_socket_tests, REFUSE) } },
	{ .names = "clone ", .check = EVERYWHERE(clone_tests, ALLOW) },
	{ .names = "unshare ", .check = EVERYWHERE(unshare_tests, ALLOW) },
	{ .names = "seccomp ", .check = EVERYWHERE(seccomp_tests, ALLOW) },
	{ .names = "ioctl ", .check = EVERYWHERE(ioctl_tests, ALLOW) },
	{ .names = "prctl ", .check = EVERYWHERE(prctl_tests, ALLOW) },
	{ .names = "personality ", .check = EVERYWHERE(personality_tests, REFUSE) },
	{ .names = "chmod fchmod creat ", .check = EVERYWHERE(mode1_tests, ALLOW) },
	{ .names = "fchmodat fchmodat2 ", .check = EVERYWHERE(mode2_tests, ALLOW) },
	{ .names = "open ", .check = EVERYWHERE(open_tests, ALLOW) },
	{ .names = "openat ", .check = EVERYWHERE(openat_tests, ALLOW) },
	{ .names = "mknod ", .check = EVERYWHERE(mknod_tests, ALLOW) },
	{ .names = "mknodat ", .check = EVERYWHERE(mknodat_tests, ALLOW) },
};

const size_t wdr_seccomp_n_arg_rules =
	sizeof(wdr_seccomp_arg_rules) / sizeof(wdr_seccomp_arg_rules[0]);
