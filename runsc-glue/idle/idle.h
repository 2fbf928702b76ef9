/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox that was made ahead is told of its job, between the supervisor and the program
 * that waits inside in the job's place. Both are of one build: no version.
 */
#pragma once

#include <stdint.h>

/* Descriptors of the one that waits, beside the job's three. */
#define WDR_IDLE_WORDS_FD  3 /* to be read: a head and its words, once */
#define WDR_IDLE_ANSWER_FD 4 /* to be written: an answer on failure, nothing on success */

#define WDR_IDLE_MAX_BYTES (128 * 1024) /* of words: more is for a cold start */
#define WDR_IDLE_MAX_WORDS 4096

enum wdr_idle_flag {
	WDR_IDLE_NO_STDIN = 1 << 0, /* descriptor 0 becomes /dev/null */
};

#define WDR_IDLE_SAME UINT64_MAX /* of a limit: as the sandbox has it */

/* Before n_bytes of words, each with its NUL: workdir, arguments, environment. */
struct wdr_idle_head {
	uint32_t n_bytes, n_args, n_envs, flags;
	uint64_t files, file_size_bytes, pids; /* RLIMIT_NOFILE, _FSIZE, _NPROC: soft and hard */
};

enum wdr_idle_step {
	WDR_IDLE_READ = 1,
	WDR_IDLE_STDIN,
	WDR_IDLE_LIMIT,
	WDR_IDLE_WORKDIR,
	WDR_IDLE_EXEC
};

struct wdr_idle_answer {
	uint32_t step; /* enum wdr_idle_step */
	int32_t error; /* errno */
};
