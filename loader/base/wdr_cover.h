/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places that must be there in a tree where nothing can be made: the host's folders, an image. They
 * are made in memory, in a layer that an overlay lays over the folder where they are missing.
 *
 * One layer for all that one mount lacks, before anything is attached at them: a second overlay
 * over the first would hide what is mounted in it, and the kernel stacks no more than two
 * (FILESYSTEM_MAX_STACK_DEPTH, linux/fs.h).
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wdr_err.h"

/* A place of which something is missing. */
struct wdr_gap {
	char *dir; /* owned; what is there of it, by its real path in the tree: "/usr/local" */
	const char *path; /* the place as it was asked for; the caller's */
	size_t n_there;	  /* bytes of @path that led to @dir: after them comes what is missing */
	uint64_t mnt;	  /* the mount that @dir is in */
	bool is_dir;	  /* what is missing last is a folder, else a file */
};

/*
 * Descriptor (O_PATH) of @path in the tree at @root_fd, or of the longest part of it that is there:
 * *ret_there is then less than its length. Else the -errno of openat2(2): -ENOTDIR, -ELOOP...
 */
int wdr_gap_open(int root_fd, const char *path, size_t *ret_there) wdr_must_check;

/*
 * Describe what is missing below @at_fd, which wdr_gap_open() gave for @path and @n_there. The tree
 * must be attached in our mount namespace. 0 or -errno; wdr_gap_done() frees.
 */
int wdr_gap_init(struct wdr_gap *g, int root_fd, int at_fd, const char *path, size_t n_there,
		 bool is_dir) wdr_must_check;
void wdr_gap_done(struct wdr_gap *g);

/* Make in @layer_fd, which will lie over folder @above of the tree, what @g lacks. 0 or -errno. */
int wdr_gap_fill(const struct wdr_gap *g, const char *above, int layer_fd) wdr_must_check;

/* What comes of @path after the folder @above, without a slash; NULL if it is not below. */
const char *wdr_path_below(const char *path, const char *above);

/* What is mounted below folder @above in mount @mnt of the tree at @root_fd. */
struct wdr_submounts;
int wdr_submounts_take(int root_fd, uint64_t mnt, const char *above,
		       struct wdr_submounts **ret) wdr_must_check;
/* Attach it again, after an overlay has hidden it. 0 or -errno. */
int wdr_submounts_put(const struct wdr_submounts *s, int root_fd) wdr_must_check;
void wdr_submounts_freep(struct wdr_submounts **s);

/*
 * A detached overlay of @layer_fd above @below_fd, which must be attached: read-only, or writing to
 * the folders upper and work in @rw_fd if that is not -1. Returns a descriptor or -errno.
 */
int wdr_cover_overlay(int layer_fd, int below_fd, int rw_fd) wdr_must_check;

/*
 * Lay a layer over each mount of the tree at @root_fd that has some of the @n gaps, which it fills.
 * The layers' folders, "o" and a number from *n_layers on, are made below @scratch_fd, a
 * file system in memory. No gap may be at the top of @root_fd's own mount: its cover would be above
 * @root_fd. 0, or -errno with the gap named.
 */
int wdr_cover_gaps(int root_fd, int scratch_fd, const struct wdr_gap *gaps, size_t n,
		   unsigned int *n_layers, struct wdr_err *err) wdr_must_check;

/* Path of @fd's file from our root. 0 or -errno. */
int wdr_real_path(int fd, char path[PATH_MAX]) wdr_must_check;

#define wdr_submounts_ wdr_cleanup(wdr_submounts_freep)
