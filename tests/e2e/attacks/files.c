/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on files: of the host, of the kernel, of other users. */
#include "attack.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static int read_file(char **args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);
	char c;
	ssize_t n;

	if (fd < 0)
		return verdict_of(fd, args[0]);
	n = read(fd, &c, 1);
	if (n == 0)
		return say(REFUSED, "%s is empty", args[0]);
	return verdict_of(n, args[0]);
}

static int list_folder(char **args)
{
	return verdict_of(open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC), args[0]);
}

/* Opened for writing and left as it is. */
static int open_for_writing(char **args)
{
	return verdict_of(open(args[0], O_WRONLY | O_CLOEXEC), args[0]);
}

/* The same bytes over it again: some files of /proc ask for rights only then. */
static int rewrite_file(char **args)
{
	int fd = open(args[0], O_RDWR | O_CLOEXEC);
	char text[4096];
	ssize_t n;

	if (fd < 0)
		return verdict_of(fd, args[0]);
	n = read(fd, text, sizeof(text));
	if (n <= 0)
		return verdict_of(-1, args[0]);
	return verdict_of(pwrite(fd, text, (size_t)n, 0), args[0]);
}

static int create_in(char **args)
{
	char path[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/.warder-attack", args[0]);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)unlink(path);
	return verdict_of(fd, path);
}

/* A character device of one's own for /dev/mem's neighbour /dev/zero: 1:5. */
static int make_device(char **args)
{
	char path[4096];
	char c = 1;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/.warder-device", args[0]);
	if (mknod(path, S_IFCHR | 0666, makedev(1, 5)) < 0)
		return verdict_of(-1, "mknod");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)unlink(path);
	if (fd < 0)
		return verdict_of(fd, "open the device");
	return verdict_of(read(fd, &c, 1) == 1 && c == 0 ? 0 : -1, "read the device");
}

static int is_set_id(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID));
}

/* Each way to a file with set-id bits; one is enough. */
static int make_set_id(char **args)
{
	char path[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/.warder-setid", args[0]);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 06755);
	if (fd < 0)
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	if (fd < 0)
		return say(BROKEN, "create %s: %s", path, strerror(errno));
	(void)chmod(path, 04755);
	(void)fchmod(fd, 04755);
	(void)syscall(SYS_fchmodat, AT_FDCWD, path, 04755);
	(void)syscall(452 /* fchmodat2 */, AT_FDCWD, path, 04755, 0);
	if (is_set_id(path))
		return say(GOT, "%s has set-id bits", path);
	(void)unlink(path);
	(void)mknod(path, S_IFREG | 04755, 0);
	return is_set_id(path) ? say(GOT, "mknod made set-id bits") :
				 say(REFUSED, "no set-id bits on %s", path);
}

static _Noreturn void traced_child(const char *path)
{
	const struct open_how how = { .flags = O_WRONLY | O_CREAT | O_CLOEXEC, .mode = 04755 };

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(1);
	(void)raise(SIGSTOP);
	(void)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	_exit(0);
}

/* A filter that asks a tracer lets pass what the tracer lets pass. */
static int make_set_id_traced(char **args)
{
	char path[4096];
	int status = 0;
	pid_t pid;

	(void)snprintf(path, sizeof(path), "%s/.warder-traced", args[0]);
	(void)unlink(path);
	pid = fork();
	if (pid == 0)
		traced_child(path);
	while (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		(void)ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESECCOMP);
		(void)ptrace(PTRACE_CONT, pid, NULL, NULL);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return say(BROKEN, "a child can't be traced");
	return is_set_id(path) ? say(GOT, "%s has set-id bits", path) :
				 say(REFUSED, "no set-id bits on %s", path);
}

/* Two folders of one file system: the name of the first one's file in the second. */
static int hard_link(char **args)
{
	int r = link(args[0], args[1]);

	if (r == 0)
		(void)unlink(args[1]);
	return verdict_of(r, "link");
}

/* Is the program that @args names executed with another effective user or new capabilities? */
static int gains_by(char **args)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return say(BROKEN, "fork: %s", strerror(errno));
	if (pid == 0) {
		(void)execv(args[0], args);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > REFUSED)
		return say(BROKEN, "%s did not run", args[0]);
	return WEXITSTATUS(status);
}

/* What gains_by executes: run with set-id bits or file capabilities on it. */
static int have_gained(char **args)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long caps = 0;

	(void)args;
	while (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "CapEff: %llx", &caps);
	if (geteuid() != getuid() || getegid() != getgid())
		return say(GOT, "uid %d became %d", getuid(), geteuid());
	return caps ? say(GOT, "capabilities %llx", caps) : say(REFUSED, "nothing gained");
}

/* For the test itself: CAP_NET_RAW in a file, permitted and effective (capabilities(7), version 2). */
static int add_capability(char **args)
{
	const struct vfs_cap_data caps = {
		.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		.data[0].permitted = 1U << CAP_NET_RAW,
	};

	return verdict_of(setxattr(args[0], "security.capability", &caps, sizeof(caps), 0),
			  args[0]);
}

/* Of a program that goes on running: ETXTBSY is asked before rights are. */
static int open_program(char **args)
{
	int fd = open(args[0], O_WRONLY | O_CLOEXEC);

	return verdict_of(fd < 0 && errno == ETXTBSY ? 0 : fd, args[0]);
}

static int wait_to_be_killed(char **args)
{
	(void)args;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)!write(STDOUT_FILENO, "", 1);
	(void)pause();
	return say(BROKEN, "nobody killed us");
}

/* The shape of CVE-2019-5736: hold on to the program of another process, write when it has ended. */
static int overwrite_program(char **args)
{
	int ready[2];
	char path[64];
	char c;
	int fd;
	pid_t pid;

	if (pipe(ready) < 0)
		return say(BROKEN, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		(void)dup2(ready[1], STDOUT_FILENO);
		(void)execl(args[0], args[0], "wait", NULL);
		_exit(127);
	}
	(void)close(ready[1]);
	if (pid < 0 || read(ready[0], &c, 1) != 1)
		return say(BROKEN, "%s does not run", args[0]);
	(void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_PATH | O_CLOEXEC);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	if (fd < 0)
		return verdict_of(fd, path);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return verdict_of(open(path, O_WRONLY | O_CLOEXEC), args[0]);
}

/* A descriptor that nobody meant to hand over. */
static int inherited(char **args)
{
	(void)args;
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return say(GOT, "descriptor %d", fd);
	return say(REFUSED, "0, 1 and 2 only");
}

/* Are standard input, output and error the caller's own files, sockets or terminal? */
static int same_stdio(char **args)
{
	struct stat mine;
	struct stat st;

	if (stat(args[0], &st) < 0)
		return verdict_of(-1, args[0]);
	for (int fd = 0; fd < 3; fd++)
		if (fstat(fd, &mine) == 0 && mine.st_ino == st.st_ino && mine.st_dev == st.st_dev)
			return say(GOT, "descriptor %d is %s", fd, args[0]);
	return say(REFUSED, "none is %s", args[0]);
}

static const struct attack attacks[] = {
	{ "read", read_file },
	{ "list", list_folder },
	{ "write", open_for_writing },
	{ "rewrite", rewrite_file },
	{ "create", create_in },
	{ "device", make_device },
	{ "setid", make_set_id },
	{ "link", hard_link },
	{ "traced-setid", make_set_id_traced },
	{ "gains", gains_by },
	{ "gained", have_gained },
	{ "add-caps", add_capability },
	{ "program", open_program },
	{ "wait", wait_to_be_killed },
	{ "overwrite", overwrite_program },
	{ "inherited", inherited },
	{ "stdio", same_stdio },
};

int main(int argc, char **argv)
{
	(void)argc;
	return attack_main(attacks, N_OF(attacks), argv);
}
