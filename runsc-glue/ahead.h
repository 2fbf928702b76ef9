/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side of a sandbox that is made before its job is known. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/wdr_err.h"
#include "model/spec.h"
#include "policy/policy.h"

struct wdr_backend_job;

struct wdr_ahead {
	int idle_fd;	  /* the program that waits */
	int words_fd;	  /* its end of what it reads, the keeper's until runsc has it */
	int words_out_fd; /* ours */
	int answer_fd;	  /* its end of what it says where it can't become the job */
	int answer_in_fd; /* the keeper's */
	struct wdr_limits made;
	char *workdir;
};

#define WDR_AHEAD_NONE                          \
	{                                       \
		-1, -1, -1, -1, -1, { 0 }, NULL \
	}

/* With spec->ahead: all of it; -EOPNOTSUPP if this runsc can't, or for a pty. Else nothing, 0. */
int wdr_ahead_open(struct wdr_backend_job *b, struct wdr_err *err) wdr_must_check;
/* After the clone: what only the keeper uses. */
void wdr_ahead_close_childs(struct wdr_ahead *a);
void wdr_ahead_done(struct wdr_ahead *a);

/* wdr_backend_ops.take. -EXDEV if a folder that was mounted is another one now. */
int wdr_ahead_take(struct wdr_backend_job *b, struct wdr_err *err) wdr_must_check;

/*
 * What the one that waits is to read: of @s, in a sandbox made with the limits @made and its first
 * process in @workdir. *ret is the caller's. 0; -E2BIG; -ENOMEM. Pure.
 */
int wdr_ahead_words(const struct wdr_spec *s, const struct wdr_limits *made, const char *workdir,
		    char **ret, size_t *ret_n, struct wdr_err *err) wdr_must_check;

/* Its answer in words; both figures are its own. Returns what to exit with. Pure. */
int wdr_ahead_failure(uint32_t step, int32_t error, const struct wdr_spec *s, struct wdr_err *err);
