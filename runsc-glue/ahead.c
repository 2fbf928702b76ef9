/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox made ahead: its first process is a program of ours that waits (idle/idle.c), with the
 * job's user, rights, filter and streams, and then becomes the job. An exec through the control
 * socket would be no job: runsc gives it no seccomp filter (runsc/boot, executeAsync).
 */
#include "ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/wdr_io.h"
#include "idle/idle.h"
#include "policy/policy.h"
#include "sandbox_priv.h"
#include "wdr_idle.h"

#define NOT_STARTED    125
#define NOT_EXECUTABLE 126
#define NOT_FOUND      127
/* What a pipe holds at once: the head and its words are one write that never waits. */
#define MAX_ERRNO  4095
#define PIPE_BYTES (2 * WDR_IDLE_MAX_BYTES)

void wdr_ahead_done(struct wdr_ahead *a)
{
	wdr_closep(&a->idle_fd);
	wdr_closep(&a->words_fd);
	wdr_closep(&a->words_out_fd);
	wdr_closep(&a->answer_fd);
	wdr_closep(&a->answer_in_fd);
	wdr_freep(&a->workdir);
}

void wdr_ahead_close_childs(struct wdr_ahead *a)
{
	wdr_closep(&a->idle_fd);
	wdr_closep(&a->words_fd);
	wdr_closep(&a->answer_fd);
	wdr_closep(&a->answer_in_fd);
}

/* gVisor takes only a descriptor that was opened for reading (pkg/sentry/fsimpl/host, NewFD). */
static int open_idle(void)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	wdr_close_ int fd = memfd_create("warder-idle", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = fd < 0 ? -errno : wdr_write_all(fd, (const char *)wdr_idle, sizeof(wdr_idle));
	char path[32];
	int own;

	if (r == 0 && (fchmod(fd, 0555) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0))
		r = -errno;
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDONLY | O_CLOEXEC);
	return own < 0 ? -errno : own;
}

static int open_pipes(struct wdr_ahead *a)
{
	int words[2], answer[2];

	if (pipe2(words, O_CLOEXEC) < 0)
		return -errno;
	a->words_fd = words[0];
	a->words_out_fd = words[1];
	if (fcntl(a->words_out_fd, F_SETPIPE_SZ, PIPE_BYTES) < 0 ||
	    fcntl(a->words_out_fd, F_SETFL, O_NONBLOCK) < 0 || pipe2(answer, O_CLOEXEC) < 0)
		return -errno;
	a->answer_in_fd = answer[0];
	a->answer_fd = answer[1];
	return fcntl(a->answer_in_fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

int wdr_ahead_open(struct wdr_backend_job *b, struct wdr_err *err)
{
	struct wdr_ahead *a = &b->ahead;
	int r;

	if (!b->spec->ahead)
		return 0;
	if (b->spec->tty)
		return wdr_err_set(err, -EOPNOTSUPP, "a sandbox made ahead has no terminal");
	r = wdr_runsc_ask_holds(&b->runsc, err);
	if (r < 0)
		return r;
	a->made = b->spec->policy->limits;
	a->workdir = strdup(b->spec->policy->workdir);
	a->idle_fd = a->workdir ? open_idle() : -ENOMEM;
	r = a->idle_fd < 0 ? a->idle_fd : open_pipes(a);
	return r < 0 ? wdr_err_wrap(err, r, "make a sandbox ahead") : 0;
}

static size_t count(char *const *v, size_t *n_bytes)
{
	size_t n = 0;

	for (; v && v[n]; n++)
		*n_bytes += strlen(v[n]) + 1;
	return n;
}

static char *put(char *at, const char *word)
{
	size_t n = strlen(word) + 1;

	memcpy(at, word, n);
	return at + n;
}

static uint64_t lower(uint64_t made, uint64_t job)
{
	return job == made ? WDR_IDLE_SAME : job;
}

int wdr_ahead_words(const struct wdr_spec *s, const struct wdr_limits *made, const char *workdir,
		    char **ret, size_t *ret_n, struct wdr_err *err)
{
	const struct wdr_limits *l = &s->policy->limits;
	const char *dir = strcmp(workdir, s->policy->workdir) ? s->policy->workdir : "";
	size_t n_bytes = strlen(dir) + 1;
	size_t n_args = count(s->argv, &n_bytes), n_envs = count(s->envp, &n_bytes);
	struct wdr_idle_head h = {
		.n_bytes = (uint32_t)n_bytes,
		.n_args = (uint32_t)n_args,
		.n_envs = (uint32_t)n_envs,
		.flags = s->stdio_fds[0] < 0 ? WDR_IDLE_NO_STDIN : 0,
		.files = lower(made->files, l->files),
		.file_size_bytes = lower(made->file_size_bytes, l->file_size_bytes),
		.pids = lower(made->pids, l->pids),
	};
	char *text, *at;

	if (n_bytes > WDR_IDLE_MAX_BYTES || n_args + n_envs > WDR_IDLE_MAX_WORDS)
		return wdr_err_set(err, -E2BIG,
				   "arguments and environment of more than %d bytes or %d words: "
				   "not for a sandbox made ahead",
				   WDR_IDLE_MAX_BYTES, WDR_IDLE_MAX_WORDS);
	text = malloc(sizeof(h) + n_bytes);
	if (!text)
		return -ENOMEM;
	memcpy(text, &h, sizeof(h));
	at = put(text + sizeof(h), dir);
	for (size_t i = 0; i < n_args; i++)
		at = put(at, s->argv[i]);
	for (size_t i = 0; i < n_envs; i++)
		at = put(at, s->envp[i]);
	*ret = text;
	*ret_n = (size_t)(at - text);
	return 0;
}

/* By that name there may be another folder by now: the job would get the one of then. */
static int check_tree(int fd, const char *path, struct wdr_err *err)
{
	struct stat then, now;

	if (fstat(fd, &then) < 0 || stat(path, &now) < 0)
		return wdr_err_wrap(err, -errno, "%s", path);
	if (then.st_dev != now.st_dev || then.st_ino != now.st_ino)
		return wdr_err_set(err, -EXDEV, "%s is another one than when the sandbox was made",
				   path);
	return 0;
}

static int check_trees(struct wdr_backend_job *b, struct wdr_err *err)
{
	const struct wdr_policy *p = b->spec->policy;
	int r = p->fs.root ? check_tree(b->root.fd, p->fs.root, err) : 0;

	for (size_t i = 0; r == 0 && i < b->n_mounts; i++) {
		wdr_free_ char *path = wdr_mount_source(&p->fs.mounts[i]);

		r = path ? check_tree(b->mounts[i].fd, path, err) : -ENOMEM;
	}
	return r;
}

int wdr_ahead_take(struct wdr_backend_job *b, struct wdr_err *err)
{
	const struct wdr_keep_cmd cmd = { .type = WDR_KEEP_TAKE,
					  .wall_ns = b->spec->policy->limits.wall_ns };
	wdr_free_ char *words = NULL;
	ssize_t put_n;
	size_t n = 0;
	int r;

	if (b->ahead.words_out_fd < 0)
		return wdr_err_set(err, -EBUSY, "the sandbox has had its job");
	r = check_trees(b, err);
	if (r == 0)
		r = wdr_ahead_words(b->spec, &b->ahead.made, b->ahead.workdir, &words, &n, err);
	/* First, so that the clock runs before the job does. */
	if (r == 0)
		r = wdr_sandbox_tell(b, &cmd);
	if (r < 0)
		return err && err->code ? r : wdr_err_wrap(err, r, "speak to the sandbox's keeper");
	do
		put_n = write(b->ahead.words_out_fd, words, n);
	while (put_n < 0 && errno == EINTR);
	r = put_n < 0 ? -errno : (size_t)put_n < n ? -EIO : 0;
	wdr_closep(&b->ahead.words_out_fd);
	return r < 0 ? wdr_err_wrap(err, r, "speak to the sandbox") : 0;
}

int wdr_ahead_failure(uint32_t step, int32_t error, const struct wdr_spec *s, struct wdr_err *err)
{
	static const char *const steps[] = {
		[WDR_IDLE_READ] = "read its words",
		[WDR_IDLE_STDIN] = "open /dev/null",
		[WDR_IDLE_LIMIT] = "lower a limit",
	};

	if (error <= 0 || error > MAX_ERRNO)
		step = 0; /* none of ours */
	if (step == WDR_IDLE_WORKDIR) {
		(void)wdr_err_wrap(err, -error, "workdir %s", s->policy->workdir);
		return NOT_STARTED;
	}
	if (step == WDR_IDLE_EXEC && (error == ENOENT || error == ENOTDIR)) {
		(void)wdr_err_set(err, -error, "%s: not found", s->argv[0]);
		return NOT_FOUND;
	}
	if (step == WDR_IDLE_EXEC) {
		(void)wdr_err_set(err, -error, "%s: %s", s->argv[0], strerror(error));
		return NOT_EXECUTABLE;
	}
	if (step >= sizeof(steps) / sizeof(steps[0]) || !steps[step]) {
		(void)wdr_err_set(err, -EPROTO, "no answer of a sandbox made ahead");
		return NOT_STARTED;
	}
	(void)wdr_err_wrap(err, -error, "in the sandbox, %s", steps[step]);
	return NOT_STARTED;
}
