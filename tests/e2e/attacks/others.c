/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on other processes, and on what processes share: memory segments, queues, keys, terminals. */
#include "attack.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

static int trace(char **args)
{
	return verdict_of(ptrace(PTRACE_SEIZE, (pid_t)number(args[0]), 0, 0), "ptrace");
}

/* Of a child of one's own, where only the profile stands in the way. */
static int trace_child(char **args)
{
	pid_t pid = fork();
	int r;

	(void)args;
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	r = verdict_of(ptrace(PTRACE_SEIZE, pid, 0, 0), "ptrace a child");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return r;
}

static int read_memory(char **args)
{
	char c;
	struct iovec mine = { &c, 1 };
	struct iovec theirs = { &c, 1 };
	ssize_t n = process_vm_readv((pid_t)number(args[0]), &mine, 1, &theirs, 1, 0);

	/* EFAULT: let in, but nothing lies at that address over there. */
	return verdict_of(n < 0 && errno == EFAULT ? 0 : n, "process_vm_readv");
}

/* Does the process exist for us? */
static int sees(char **args)
{
	pid_t pid = (pid_t)number(args[0]);

	if (kill(pid, 0) == 0 || errno == EPERM)
		return say(GOT, "process %d is there", pid);
	return say(REFUSED, "process %d: %s", pid, strerror(errno));
}

static int hits(char **args)
{
	return verdict_of(kill((pid_t)number(args[0]), SIGTERM), "SIGTERM");
}

/* Every signal to pid 1; it is hit if we do not live to tell, or if it is gone. */
static int hit_init(char **args)
{
	const struct timespec moment = { .tv_nsec = 20000000 };

	(void)args;
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		(void)kill(1, sig);
	(void)nanosleep(&moment, NULL);
	if (getppid() == 0 || (kill(1, 0) < 0 && errno == ESRCH))
		return say(GOT, "pid 1 is gone");
	return say(REFUSED, "pid 1 goes on");
}

static int environment(char **args)
{
	const char *value = getenv(args[0]);

	return value ? say(GOT, "%s=%s", args[0], value) : say(REFUSED, "no %s", args[0]);
}

static int shared_memory(char **args)
{
	return verdict_of(shmget((key_t)strtol(args[0], NULL, 0), 0, 0), "shmget");
}

/* For the test itself: a segment for the attack above, and its end. */
static int make_shared_memory(char **args)
{
	return verdict_of(shmget((key_t)number(args[0]), 4096, IPC_CREAT | 0666), "make a segment");
}

static int drop_shared_memory(char **args)
{
	return verdict_of(shmctl(shmget((key_t)number(args[0]), 0, 0), IPC_RMID, NULL),
			  "drop the segment");
}

static int message_queue(char **args)
{
	return verdict_of(mq_open(args[0], O_RDONLY), "mq_open");
}

/* For the test itself: a queue for the attack above, and its end. */
static int make_queue(char **args)
{
	mqd_t q = mq_open(args[0], O_RDWR | O_CREAT, 0666, NULL);

	return verdict_of(q < 0 ? -1 : fchmod(q, 0666), "make a queue");
}

static int drop_queue(char **args)
{
	return verdict_of(mq_unlink(args[0]), "drop the queue");
}

static int read_key(char **args)
{
	char text[64];
	long key = syscall(SYS_request_key, "user", args[0], NULL, 0);

	if (key < 0)
		return verdict_of(key, "request_key");
	return verdict_of(syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof(text)),
			  "read the key");
}

/* For the test itself: a new session keyring with the key in it, then the program. */
static int with_key(char **args)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ||
	    syscall(SYS_add_key, "user", args[0], "secret", 6, KEY_SPEC_SESSION_KEYRING) < 0)
		return say(BROKEN, "make a key: %s", strerror(errno));
	(void)execvp(args[1], args + 1);
	return say(BROKEN, "%s: %s", args[1], strerror(errno));
}

static int type_into_terminal(char **args)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	(void)args;
	return verdict_of(ioctl(fd < 0 ? STDIN_FILENO : fd, TIOCSTI, "x"), "TIOCSTI");
}

/* A child dies of SIGSEGV with core dumps turned up as far as they go: is there a file? */
static int core_dump(char **args)
{
	struct rlimit all = { 0 };
	struct stat st;
	char path[4096];
	pid_t pid;
	int status;

	if (getrlimit(RLIMIT_CORE, &all) < 0 || chdir(args[0]) < 0)
		return say(BROKEN, "%s: %s", args[0], strerror(errno));
	all.rlim_cur = all.rlim_max;
	(void)setrlimit(RLIMIT_CORE, &all);
	pid = fork();
	if (pid == 0) {
		(void)kill(getpid(), SIGSEGV);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSIGNALED(status))
		return say(BROKEN, "nothing crashed");
	(void)snprintf(path, sizeof(path), "core.%d", pid);
	if (!WCOREDUMP(status) || (stat("core", &st) < 0 && stat(path, &st) < 0))
		return say(REFUSED, "no core file");
	(void)unlink("core");
	(void)unlink(path);
	return say(GOT, "a core file of %lld bytes", (long long)st.st_size);
}

static void ignore_all_signals(void)
{
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		(void)signal(sig, SIG_IGN);
}

/* Leaves a process behind that ignores every signal, in a session of its own, under a name. */
static int leave_daemon(char **args)
{
	int ready[2];
	char c;

	if (pipe(ready) < 0)
		return say(BROKEN, "pipe: %s", strerror(errno));
	if (fork() == 0) {
		(void)setsid();
		if (fork() != 0)
			_exit(0);
		ignore_all_signals();
		(void)prctl(PR_SET_NAME, args[0]);
		(void)!write(ready[1], "x", 1);
		for (;;)
			(void)pause();
	}
	/* It holds our output, too: whoever waits for the end of it waits for ever. */
	return read(ready[0], &c, 1) == 1 ? say(GOT, "%s runs", args[0]) : say(BROKEN, "no daemon");
}

static const struct attack attacks[] = {
	{ "ptrace", trace },
	{ "ptrace-child", trace_child },
	{ "vm-read", read_memory },
	{ "sees", sees },
	{ "hits", hits },
	{ "hit-init", hit_init },
	{ "env", environment },
	{ "shm", shared_memory },
	{ "make-shm", make_shared_memory },
	{ "drop-shm", drop_shared_memory },
	{ "mqueue", message_queue },
	{ "make-mqueue", make_queue },
	{ "drop-mqueue", drop_queue },
	{ "key", read_key },
	{ "with-key", with_key },
	{ "tiocsti", type_into_terminal },
	{ "core-dump", core_dump },
	{ "daemon", leave_daemon },
};

int main(int argc, char **argv)
{
	(void)argc;
	return attack_main(attacks, N_OF(attacks), argv);
}
