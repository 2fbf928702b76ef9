/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must outlive a killed supervisor: /run/warder with a record for each job, and the locks
 * that say whose job it is. A record is locked as long as its supervisor lives; one that can be
 * locked by somebody else belongs to the dead and is swept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/wdr_err.h"

#define WDR_STATE_DIR "/run/warder"

struct wdr_state;  /* the opened directory */
struct wdr_record; /* one job's, locked by us */

/*
 * Open (make) the state directory: WDR_STATE_DIR for root, else "warder" in XDG_RUNTIME_DIR.
 * Refuses one that somebody else owns or may write to. -ENOENT: an ordinary user without
 * XDG_RUNTIME_DIR.
 */
int wdr_state_open(struct wdr_state **ret, struct wdr_err *err) wdr_must_check;
void wdr_state_freep(struct wdr_state **s);
/* Path of the folder for derived data that may be deleted at any time. Stays @s's. */
const char *wdr_state_cache_dir(const struct wdr_state *s);

/* Write down that @job begins. -EEXIST if that id is taken. */
int wdr_record_new(struct wdr_state *s, const char *job, struct wdr_record **ret,
		   struct wdr_err *err) wdr_must_check;
/* The job is gone with everything it had: forget it. */
void wdr_record_remove(struct wdr_record *r);
/* Frees and unlocks; the file stays unless it was removed. */
void wdr_record_freep(struct wdr_record **r);

/*
 * How many jobs have a living supervisor; their names go to @names of @size, with commas between,
 * cut with "..." where they don't fit. Or -errno.
 */
int wdr_state_running(struct wdr_state *s, char *names, size_t size) wdr_must_check;
/*
 * Call @fn for each job whose supervisor is dead and, if it returns 0, forget the job. Returns how
 * many were swept; a job whose @fn fails is left for the next sweep.
 */
int wdr_state_sweep(struct wdr_state *s, int (*fn)(const char *job, void *userdata),
		    void *userdata) wdr_must_check;

/*
 * Take a host uid that no other running job has, out of WARDER_UID_RANGE=FIRST:COUNT or, by
 * default, 1879048192:65536 (just above systemd-nspawn's container range, systemd
 * docs/UIDS-GIDS.md). It is ours until *ret_fd is closed. -EUSERS: all are taken; -EINVAL: a
 * malformed range.
 */
int wdr_state_take_uid(struct wdr_state *s, uint32_t *ret_uid, int *ret_fd,
		       struct wdr_err *err) wdr_must_check;

#define wdr_state_  wdr_cleanup(wdr_state_freep)
#define wdr_record_ wdr_cleanup(wdr_record_freep)
