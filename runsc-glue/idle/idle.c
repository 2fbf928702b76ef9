/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that waits in a sandbox made ahead, as its first process and with the job's user,
 * rights, seccomp filter and streams: it reads which job it is, and becomes it. Nothing of it stays.
 *
 * It comes from a descriptor and needs nothing of the sandbox's root, so it has no libc.
 */
#include "idle/idle.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define PATH_BYTES 4096

static char words[WDR_IDLE_MAX_BYTES];
static char *list[WDR_IDLE_MAX_WORDS + 2];

#if defined(__x86_64__)
static long call(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return r;
}
#elif defined(__aarch64__)
static long call(long nr, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}
#else
#error "no system calls for this machine"
#endif

#define CALL(nr, a, b, c, d) call(nr, (long)(a), (long)(b), (long)(c), (long)(d))

static _Noreturn void fail(enum wdr_idle_step step, long error)
{
	struct wdr_idle_answer a = { step, (int32_t)-error };

	(void)CALL(SYS_write, WDR_IDLE_ANSWER_FD, &a, sizeof(a), 0);
	for (;;)
		(void)CALL(SYS_exit_group, 1, 0, 0, 0);
}

/* An end of file before the last byte is a supervisor that gave up. */
static void read_all(void *to, size_t n)
{
	char *p = to;
	long got;

	for (size_t done = 0; done < n; done += (size_t)got) {
		got = CALL(SYS_read, WDR_IDLE_WORDS_FD, p + done, n - done, 0);
		if (got == -EINTR)
			got = 0;
		else if (got <= 0)
			fail(WDR_IDLE_READ, got ? got : -EPIPE);
	}
}

static void limit(int which, uint64_t value)
{
	struct rlimit l = { value, value };
	long r = 0;

	if (value != WDR_IDLE_SAME)
		r = CALL(SYS_prlimit64, 0, which, &l, 0);
	if (r < 0)
		fail(WDR_IDLE_LIMIT, r);
}

static void null_stdin(void)
{
	long fd = CALL(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0);
	long r = fd < 0 ? fd : CALL(SYS_dup3, fd, 0, 0, 0);

	if (r < 0)
		fail(WDR_IDLE_STDIN, r);
	(void)CALL(SYS_close, fd, 0, 0, 0);
}

/* The next word of *at, which ends before @end. */
static char *next(char **at, const char *end)
{
	char *w = *at, *p = w;

	while (p < end && *p)
		p++;
	if (p == end)
		fail(WDR_IDLE_READ, -EPROTO);
	*at = p + 1;
	return w;
}

static const char *path_of(char **env)
{
	static const char name[] = "PATH=";

	for (; *env; env++) {
		size_t i = 0;

		while (name[i] && (*env)[i] == name[i])
			i++;
		if (!name[i])
			return *env + i;
	}
	return "";
}

/* @dir of @n bytes, a slash, @name. Returns whether it fits. */
static int join(char *to, const char *dir, size_t n, const char *name)
{
	size_t i = 0;

	for (; i < n && i < PATH_BYTES; i++)
		to[i] = dir[i];
	if (i + 1 >= PATH_BYTES)
		return 0;
	to[i++] = '/';
	for (; i < PATH_BYTES; i++) {
		to[i] = *name;
		if (!*name++)
			return 1;
	}
	return 0;
}

/* As execvp(3), but for a file without "#!", which is none of its business. */
static long execute(char **argv, char **env)
{
	static char file[PATH_BYTES];
	const char *dir = path_of(env);
	long best = -ENOENT;

	for (const char *c = argv[0]; *c; c++)
		if (*c == '/')
			return CALL(SYS_execve, argv[0], argv, env, 0);
	while (*dir && argv[0][0]) {
		size_t n = 0;
		long r = -ENOENT;

		while (dir[n] && dir[n] != ':')
			n++;
		if (n && join(file, dir, n, argv[0]))
			r = CALL(SYS_execve, file, argv, env, 0);
		if (r != -ENOENT && r != -ENOTDIR && r != -EACCES)
			return r;
		if (r == -EACCES)
			best = r;
		dir += n + (dir[n] == ':');
	}
	return best;
}

static _Noreturn void be_job(const struct wdr_idle_head *h)
{
	char *at = words, *dir = next(&at, words + h->n_bytes);
	char **argv = list, **env = list + h->n_args + 1;
	long r;

	for (uint32_t i = 0; i < h->n_args; i++)
		argv[i] = next(&at, words + h->n_bytes);
	for (uint32_t i = 0; i < h->n_envs; i++)
		env[i] = next(&at, words + h->n_bytes);
	r = *dir ? CALL(SYS_chdir, dir, 0, 0, 0) : 0;
	if (r < 0)
		fail(WDR_IDLE_WORKDIR, r);
	/* Last: with fewer files than the answer's number it could not be kept. */
	limit(RLIMIT_FSIZE, h->file_size_bytes);
	limit(RLIMIT_NPROC, h->pids);
	limit(RLIMIT_NOFILE, h->files);
	fail(WDR_IDLE_EXEC, execute(argv, env));
}

_Noreturn void wdr_idle_start(void);

_Noreturn void wdr_idle_start(void)
{
	struct wdr_idle_head h;
	long r = CALL(SYS_fcntl, WDR_IDLE_ANSWER_FD, F_SETFD, FD_CLOEXEC, 0);

	if (r < 0)
		fail(WDR_IDLE_READ, r);
	read_all(&h, sizeof(h));
	if (h.n_bytes > WDR_IDLE_MAX_BYTES || h.n_args == 0 || h.n_args > WDR_IDLE_MAX_WORDS ||
	    h.n_envs > WDR_IDLE_MAX_WORDS - h.n_args)
		fail(WDR_IDLE_READ, -EPROTO);
	read_all(words, h.n_bytes);
	(void)CALL(SYS_close, WDR_IDLE_WORDS_FD, 0, 0, 0);
	if (h.flags & WDR_IDLE_NO_STDIN)
		null_stdin();
	be_job(&h);
}

/* The kernel enters with a stack that is aligned, a function expects a return address on it. */
#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tcall wdr_idle_start\n");
#else
__asm__(".globl _start\n_start:\n\tbl wdr_idle_start\n");
#endif
