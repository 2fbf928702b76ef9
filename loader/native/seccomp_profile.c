/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile as data: every call that has a name stands in one group. Where a call's arguments
 * decide, seccomp_args.c has the question and the group here its reason.
 *
 * `default` is what compilers, interpreters, shells and their tools need. `strict` is what a
 * program needs that computes, reads and writes files and starts others of its kind.
 */
#include "native/seccomp_priv.h"

/* clang-format off */
#define BOTH(v)	     { [WDR_SECCOMP_DEFAULT] = (v), [WDR_SECCOMP_STRICT] = (v) }
#define NOT_STRICT   { [WDR_SECCOMP_DEFAULT] = WDR_SECCOMP_ALLOW, \
		       [WDR_SECCOMP_STRICT] = WDR_SECCOMP_REFUSE }
/* clang-format on */

const struct wdr_seccomp_group wdr_seccomp_groups[] = {
	{ "reading and writing what is open", BOTH(WDR_SECCOMP_ALLOW),
	  "read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close "
	  "close_range dup dup2 dup3 fcntl ioctl pipe pipe2 sendfile copy_file_range fsync "
	  "fdatasync sync_file_range fadvise64 readahead fallocate ftruncate flock cachestat " },
	{ "files and folders by name; creating one with set-id bits is refused, since in a "
	  "read-write mount it would be its owner's program outside",
	  BOTH(WDR_SECCOMP_ALLOW),
	  "open openat creat stat lstat fstat newfstatat statx access faccessat faccessat2 "
	  "readlink readlinkat getdents getdents64 getcwd chdir fchdir mkdir mkdirat rmdir unlink "
	  "unlinkat rename renameat renameat2 link linkat symlink symlinkat chmod fchmod fchmodat "
	  "fchmodat2 chown lchown fchown fchownat umask utime utimes futimesat utimensat truncate "
	  "statfs fstatfs mknod mknodat getxattr lgetxattr fgetxattr getxattrat listxattr "
	  "llistxattr flistxattr listxattrat setxattr lsetxattr fsetxattr setxattrat removexattr "
	  "lremovexattr fremovexattr removexattrat file_getattr " },
	{ "memory of one's own", BOTH(WDR_SECCOMP_ALLOW),
	  "mmap munmap mprotect mremap brk madvise mincore msync membarrier pkey_alloc pkey_free "
	  "pkey_mprotect mseal map_shadow_stack get_mempolicy " },
	{ "processes and threads; new namespaces are refused to clone and unshare",
	  BOTH(WDR_SECCOMP_ALLOW),
	  "fork vfork clone unshare execve exit exit_group wait4 waitid getpid getppid gettid "
	  "getpgrp getpgid setpgid getsid set_tid_address set_robust_list get_robust_list rseq "
	  "rseq_slice_yield uretprobe uprobe prctl arch_prctl pidfd_open futex futex_waitv "
	  "futex_wake futex_wait futex_requeue restart_syscall " },
	{ "signals: the pid namespace bounds whom they reach", BOTH(WDR_SECCOMP_ALLOW),
	  "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal rt_sigaction "
	  "rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack "
	  "signalfd signalfd4 pause " },
	{ "reading clocks, sleeping, timers", BOTH(WDR_SECCOMP_ALLOW),
	  "clock_gettime clock_getres gettimeofday time times nanosleep clock_nanosleep alarm "
	  "getitimer setitimer timer_create timer_delete timer_gettime timer_settime "
	  "timer_getoverrun timerfd_create timerfd_gettime timerfd_settime " },
	{ "waiting for descriptors", BOTH(WDR_SECCOMP_ALLOW),
	  "poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait "
	  "epoll_pwait2 eventfd eventfd2 " },
	{ "scheduling of one's own tasks; what would take from others needs a capability",
	  BOTH(WDR_SECCOMP_ALLOW),
	  "sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_setparam "
	  "sched_getscheduler sched_setscheduler sched_getattr sched_setattr "
	  "sched_get_priority_max sched_get_priority_min sched_rr_get_interval getpriority "
	  "setpriority ioprio_get ioprio_set getcpu " },
	{ "who one is, and being less: without capabilities nothing can be gained",
	  BOTH(WDR_SECCOMP_ALLOW),
	  "getuid geteuid getgid getegid getgroups getresuid getresgid setuid setgid setreuid "
	  "setregid setresuid setresgid setfsuid setfsgid setgroups capget capset " },
	{ "what the system says about itself, limits of one's own, random numbers",
	  BOTH(WDR_SECCOMP_ALLOW),
	  "uname sysinfo getrusage getrlimit setrlimit prlimit64 getrandom " },
	{ "sockets; families and types are seccomp_args.c's", BOTH(WDR_SECCOMP_ALLOW),
	  "socket socketpair bind connect listen accept accept4 getsockname getpeername sendto "
	  "recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown setsockopt getsockopt " },
	{ "tightening one's own sandbox; a listener, which decides for others, is refused",
	  BOTH(WDR_SECCOMP_ALLOW),
	  "seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self " },

	{ "leaving the session, which job control and daemons do", NOT_STRICT, "setsid " },
	{ "programs that are no file", NOT_STRICT, "memfd_create execveat " },
	{ "memory that is locked, placed on NUMA nodes or mapped in odd ways", NOT_STRICT,
	  "mlock mlock2 munlock mlockall munlockall mbind set_mempolicy set_mempolicy_home_node "
	  "remap_file_pages " },
	{ "System V and POSIX message passing inside the job's ipc namespace", NOT_STRICT,
	  "shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl "
	  "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr " },
	{ "moving pages between pipes and files", NOT_STRICT, "splice tee vmsplice " },
	{ "watching folders", NOT_STRICT,
	  "inotify_init inotify_init1 inotify_add_watch inotify_rm_watch " },
	{ "execution domains, the few that change nothing for others", NOT_STRICT, "personality " },

	{ "memory, descriptors and secrets of other processes", BOTH(WDR_SECCOMP_REFUSE),
	  "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease pidfd_getfd "
	  "kcmp perf_event_open memfd_secret move_pages migrate_pages " },
	{ "ways into the kernel that other calls' checks do not cover", BOTH(WDR_SECCOMP_REFUSE),
	  "bpf userfaultfd io_uring_setup io_uring_enter io_uring_register " },
	{ "keyrings: not divided by namespaces", BOTH(WDR_SECCOMP_REFUSE),
	  "add_key request_key keyctl " },
	{ "the tree of mounts and the root, which are the sandbox's walls",
	  BOTH(WDR_SECCOMP_REFUSE),
	  "mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig "
	  "fsmount fspick mount_setattr setns " },
	{ "files by handle, past every path; events of whole file systems",
	  BOTH(WDR_SECCOMP_REFUSE),
	  "name_to_handle_at open_by_handle_at fanotify_init fanotify_mark lookup_dcookie " },
	{ "the machine: code of the kernel, power, swap, quotas, accounting, its log and name",
	  BOTH(WDR_SECCOMP_REFUSE),
	  "init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff "
	  "quotactl quotactl_fd acct syslog sethostname setdomainname vhangup " },
	{ "the machine's clock", BOTH(WDR_SECCOMP_REFUSE),
	  "settimeofday clock_settime adjtimex clock_adjtime " },
	{ "I/O ports and segments", BOTH(WDR_SECCOMP_REFUSE), "iopl ioperm modify_ldt " },
	{ "budgets that all jobs share: the writeback of every disk, fs.aio-max-nr",
	  BOTH(WDR_SECCOMP_REFUSE),
	  "sync syncfs io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents " },

	{ "flags in memory, where a filter can't look: callers fall back on clone and openat",
	  BOTH(WDR_SECCOMP_UNKNOWN), "clone3 openat2 " },
	{ "newer than most programs, which do without; about mounts, security modules, attributes",
	  BOTH(WDR_SECCOMP_UNKNOWN),
	  "statmount listmount listns lsm_get_self_attr lsm_set_self_attr lsm_list_modules "
	  "file_setattr " },
	{ "gone from the kernel, or never there", BOTH(WDR_SECCOMP_UNKNOWN),
	  "ustat sysfs uselib _sysctl create_module get_kernel_syms query_module nfsservctl "
	  "getpmsg putpmsg afs_syscall tuxcall security vserver set_thread_area get_thread_area "
	  "epoll_ctl_old epoll_wait_old " },
};

const size_t wdr_seccomp_n_groups = sizeof(wdr_seccomp_groups) / sizeof(wdr_seccomp_groups[0]);
