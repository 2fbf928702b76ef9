/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shim remembers of a container from its creation to its deletion, which are two
 * processes: a small file for each in a folder of root's. There is no daemon to ask.
 */
#pragma once

#include <stdbool.h>

#include "base/wdr_err.h"
#include "base/wdr_json.h"

#define WDR_SHIM_DIR	    "/run/warder/shim"
#define WDR_SHIM_MAX_RECORD (64 * 1024)
#define WDR_SHIM_LOCK_MS    2000 /* a line is written in less; who takes longer was stopped */

struct wdr_shim_record {
	char *id, *root;   /* which container; root is runsc's --root, "" for its default */
	char *policy;	   /* name */
	char *cgroup;	   /* as config.json says, "" if it does not */
	char *netns;	   /* the same */
	long long made_ns; /* CLOCK_BOOTTIME */
	bool done;	   /* its creation, with all that holds it */
	char *place;	   /* v2 cgroup of the sandbox below the mount, "" if it is not known */
	double quota;	   /* CPUs that the engine gives it, 0: no limit */
	bool told;	   /* a line about its end was written, or was about to be */
	char *rules;	   /* what the policy's rules were, as wdr_shim_report_mark() says */
};

/* Both for the container @id of @root below @dir (WDR_SHIM_DIR). 0; -ENOENT; -EPROTO; -errno. */
int wdr_shim_record_write(const char *dir, const struct wdr_shim_record *r) wdr_must_check;
int wdr_shim_record_read(const char *dir, const char *root, const char *id,
			 struct wdr_shim_record **ret) wdr_must_check;
/* 0 too if there is none. */
int wdr_shim_record_remove(const char *dir, const char *root, const char *id) wdr_must_check;
/*
 * A line about the end of @r is about to be written: note that, so that after a kill between the two
 * whoever removes the note can tell. *ret_fd, the caller's, holds others off until it is closed.
 * Returns 1 if it was noted before, else 0; -ENOENT if the note is gone or a later container's, since
 * another process has come first; -EBUSY if others hold it off for WDR_SHIM_LOCK_MS; -errno.
 */
int wdr_shim_record_tell(const char *dir, const struct wdr_shim_record *r,
			 int *ret_fd) wdr_must_check;
/* Is what is noted there a later container of the same id? */
bool wdr_shim_record_is_anew(const char *dir, const struct wdr_shim_record *r);
/* flock(2) with a deadline: -EBUSY after WDR_SHIM_LOCK_MS. */
int wdr_shim_lock(int fd) wdr_must_check;
/* Has runsc a file of it: the first of its sandbox, or one that joined another? */
bool wdr_shim_record_is_there(const struct wdr_shim_record *r);
/* The sandbox of it, as runsc's state file says. Returns its pid; -ENOENT; -EPROTO; -errno. */
pid_t wdr_shim_record_sandbox(const struct wdr_shim_record *r) wdr_must_check;
void wdr_shim_record_freep(struct wdr_shim_record **r);

/*
 * Call @gone for each record whose container is not there any more, as runsc's state file below its
 * root says, and that is older than @min_age_ns; then remove it. Returns how many, or -errno.
 */
int wdr_shim_record_sweep(const char *dir, long long now_ns, long long min_age_ns,
			  void (*gone)(void *arg, const struct wdr_shim_record *r),
			  void *arg) wdr_must_check;

/* Parts without a system call. *ret is the caller's; NULL: no memory. */
json_t *wdr_shim_record_to_json(const struct wdr_shim_record *r);
int wdr_shim_record_from_json(json_t *o, struct wdr_shim_record **ret) wdr_must_check;

#define wdr_shim_record_ wdr_cleanup(wdr_shim_record_freep)
