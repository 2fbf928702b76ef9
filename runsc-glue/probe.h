/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which runsc there is, what it understands and whether a sandbox really starts under it here.
 * Learnt by asking and by starting one; the answer is kept per boot and binary, so that no job
 * pays for it but the first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wdr_err.h"
#include "base/wdr_json.h"

enum wdr_runsc_platform {
	WDR_RUNSC_SYSTRAP,
	WDR_RUNSC_KVM,
	WDR_RUNSC_PTRACE,
	_WDR_RUNSC_PLATFORM_MAX
};

/* What ages of runsc differ in. Append only: the numbers are in the cache. */
enum wdr_runsc_feature {
	WDR_RUNSC_OVERLAY2 = 1 << 0,	 /* --overlay2=none turns its default overlay off */
	WDR_RUNSC_OVERLAY2_DIR = 1 << 1, /* --overlay2=root:dir=PATH */
	WDR_RUNSC_OCI_SECCOMP = 1 << 2,	 /* filters inside the sandbox */
	WDR_RUNSC_TRACE = 1 << 3,	 /* seccheck sessions */
	_WDR_RUNSC_FEATURES = (1 << 4) - 1,
};

struct wdr_runsc {
	char path[256];	  /* absolute */
	char version[64]; /* as it says itself */
	unsigned int features;
	bool works; /* a sandbox started, on: */
	enum wdr_runsc_platform platform;
	char why[200]; /* where it does not: what was tried and what came */
};

/* Which file an answer is about: one that was replaced, or another boot, is another question. */
struct wdr_runsc_key {
	char boot[40]; /* /proc/sys/kernel/random/boot_id */
	char path[256];
	uint64_t dev, ino, size_bytes;
	int64_t mtime_ns;
};

/* "systrap" */
const char *wdr_runsc_platform_name(enum wdr_runsc_platform p);

/*
 * The binary that WARDER_RUNSC names, else the first `runsc` on PATH, made absolute, into @path of
 * @size. Returns 0; -ENOENT, or -EACCES for a file that can't be executed, naming it.
 */
int wdr_runsc_find(char *path, size_t size, struct wdr_err *err) wdr_must_check;

/*
 * What there is to know of the runsc found. From @cache_dir (NULL: no cache) when it holds an
 * answer about this file and this boot, else by asking and starting a sandbox, which takes about
 * half a second and at most WDR_RUNSC_PROBE_MS. A "no" is asked again after
 * WDR_RUNSC_RETRY_S.
 * Returns 0; -EOPNOTSUPP if no sandbox starts, *ret then says why; else as wdr_runsc_find().
 */
int wdr_runsc_get(const char *cache_dir, struct wdr_runsc *ret, struct wdr_err *err) wdr_must_check;
/* Where root's answers are kept. */
#define WDR_RUNSC_CACHE "/run/warder/cache"
/* The same without reading the cache: for `warder check`, which is believed. */
int wdr_runsc_ask(const char *cache_dir, struct wdr_runsc *ret, struct wdr_err *err) wdr_must_check;

/*
 * Whether @r can hold a sandbox for a job to come: it takes its first program, and descriptors for
 * it, from us. Asked each time. 0; -EOPNOTSUPP, naming @r; else why it does not answer.
 */
int wdr_runsc_ask_holds(const struct wdr_runsc *r, struct wdr_err *err) wdr_must_check;

#define WDR_RUNSC_PROBE_MS 40000
#define WDR_RUNSC_RETRY_S  600

/* Pure parts, for tests and fuzzers. */

/* Features from the text of `runsc flags`. */
unsigned int wdr_runsc_features(const char *flags_text);
/* From the text of `runsc help run`. */
bool wdr_runsc_holds(const char *run_help);
/* The version in the text of `runsc --version`; -EPROTO if it is not runsc's. */
int wdr_runsc_version(const char *text, char *ret, size_t size) wdr_must_check;
/* An answer about @k as JSON, with the time it was given, seconds of CLOCK_BOOTTIME. */
json_t *wdr_runsc_to_json(const struct wdr_runsc *r, const struct wdr_runsc_key *k, int64_t now_s);
/*
 * Read it back. -ESTALE if it is about another file or boot, or a "no" that is too old; -EPROTO if
 * it is not one of ours.
 */
int wdr_runsc_from_json(json_t *o, const struct wdr_runsc_key *k, int64_t now_s,
			struct wdr_runsc *ret) wdr_must_check;
