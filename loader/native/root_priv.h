/* SPDX-License-Identifier: Apache-2.0 */
/* The job's root while it is being built, shared by the files that each build a part of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/wdr_cover.h"
#include "native/native_priv.h"

#define WDR_ROOT_LENT	"/tmp" /* where the tmpfs is attached, and covered, in a prepared root */
#define ROOT_MAX_OWN	(WDR_POLICY_MAX_TMPFS + 8)
#define ROOT_MAX_PLACES 8 /* that an image may lack beside the policy's */

struct root {
	struct wdr_backend_job *b;
	bool prepared;			/* begun with the folder that prepared.c keeps */
	int list_fd;			/* of that folder while it is made */
	int fd;				/* top of the new root */
	int scratch_fd;			/* top of the one tmpfs that everything of ours lives on */
	uint64_t own_mnt[ROOT_MAX_OWN]; /* mount ids where a target may be created */
	unsigned int n_own;
	unsigned int n_tops;	 /* mounts attached over "/" */
	unsigned int n_overlays; /* names the folders below scratch/overlay */
};

/* Attach detached mount @fd over "/". */
int wdr_root_attach_top(struct root *r, int fd, struct wdr_err *err) wdr_must_check;

/* Begin with the image of --root instead of the skeleton. */
int wdr_root_start_image(struct root *r, struct wdr_err *err) wdr_must_check;

/* What is missing of the places that the policy names, and of our own. */
struct gaps {
	struct wdr_gap items[WDR_POLICY_MAX_TMPFS + WDR_POLICY_MAX_MOUNTS + ROOT_MAX_PLACES];
	size_t n;
};

/* Add what is missing of @path, if it can't just be made there. */
int wdr_root_find_gap(struct root *r, struct gaps *g, const char *path, bool is_dir,
		      struct wdr_err *err) wdr_must_check;
/* The same for all of the policy's, and the files that an image gets of us. */
int wdr_root_find_gaps(struct root *r, struct gaps *g, struct wdr_err *err) wdr_must_check;
void wdr_root_gaps_done(struct gaps *g);
#define gaps_ wdr_cleanup(wdr_root_gaps_done)

/* Fill the gaps in what is read-only, before anything is attached at them. */
int wdr_root_cover(struct root *r, struct wdr_err *err) wdr_must_check;

/*
 * Descriptor (O_PATH) of @path inside the root. What is missing is made in the job's view, in a
 * tmpfs of ours; never in a mount of the user's: -EROFS.
 */
int wdr_root_target(struct root *r, const char *path, bool is_dir,
		    struct wdr_err *err) wdr_must_check;

/* A link may lead the user's mount where a path of the policy may not: -EINVAL. */
int wdr_root_check_target(int at_fd, const char *path, struct wdr_err *err) wdr_must_check;

/* Remember the mount at @fd as ours: targets may be created in it. */
int wdr_root_own(struct root *r, int fd) wdr_must_check;

/* Attach @tree_fd at @path, absolute, which is one of ours and there. */
int wdr_root_attach_known(struct root *r, int tree_fd, const char *path) wdr_must_check;

/* Show the host's @path at the same place, which is there. A path the host lacks is skipped. */
int wdr_root_bind_host(struct root *r, const char *path, uint64_t attrs,
		       struct wdr_err *err) wdr_must_check;

/* Bind scratch/@name to @target. */
int wdr_root_bind_scratch(struct root *r, const char *name, const char *target, uint64_t attrs,
			  struct wdr_err *err) wdr_must_check;

/* Parts of the skeleton, in scratch/@root: as files to mount on, or with @nodes as device nodes. */
int wdr_root_make_dev(struct root *r, bool nodes) wdr_must_check;
int wdr_root_make_sys(struct root *r) wdr_must_check;
/* /etc/localtime is a link into /usr/share/zoneinfo nearly everywhere: the same link will do. */
void wdr_root_put_localtime(struct root *r);

#define WDR_ROOT_JVM "/usr/lib/jvm"
typedef int (*wdr_root_etc_fn)(struct root *r, const char *name, bool is_dir, struct wdr_err *err);
/* Call @fn for what a job may see of the host's /etc, there or not, until it fails. */
int wdr_root_each_etc(struct root *r, wdr_root_etc_fn fn, struct wdr_err *err) wdr_must_check;

/*
 * Make in the empty folder @dir_fd what prepared.c keeps. 0, too, if this machine can't have such a
 * root, which is then to be seen; or -errno.
 */
int wdr_root_fill_prepared(struct wdr_backend_job *b, int dir_fd) wdr_must_check;
/* A detached mount of it, read-only, whose nodes are devices. Descriptor or -errno. */
int wdr_root_clone_prepared(int dir_fd) wdr_must_check;
/* Show what the prepared root's list has of the host. */
int wdr_root_bind_listed(struct root *r, struct wdr_err *err) wdr_must_check;

/* What /etc, /dev and /sys need before the root is assembled: files below scratch/@root. */
int wdr_root_make_skeleton(struct root *r, struct wdr_err *err) wdr_must_check;
int wdr_root_bind_etc(struct root *r, struct wdr_err *err) wdr_must_check;
/* What an image's resolver is told by us, if it has a network: paths, NULL behind the last. */
extern const char *const wdr_root_image_etc[];
int wdr_root_bind_dev(struct root *r, struct wdr_err *err) wdr_must_check;
int wdr_root_bind_proc(struct root *r, struct wdr_err *err) wdr_must_check;
int wdr_root_bind_sys(struct root *r, struct wdr_err *err) wdr_must_check;
