/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netlink, as much of it as a job's network needs: one message at a time, built in place, with
 * the kernel's own words when it refuses.
 *
 * libnl-route-3 would do this too. Linked, it costs every start of every job 0.18 ms (its
 * constructors; a bare program starts in 0.55), and loaded on need it wants a table of 55 symbols
 * and 0.19 ms: more code and more time than these calls.
 */
#pragma once

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wdr_err.h"

#define WDR_NL_MSG_MAX 1024 /* the largest message of ours, a veth with its peer, is below 300 */

struct wdr_nl_msg {
	union {
		struct nlmsghdr hdr;
		char buf[WDR_NL_MSG_MAX];
	};
	size_t len; /* of all messages in buf: there may be more than one (wdr_nl_next) */
	size_t at;  /* where the header of the last one is */
	bool full;  /* something did not fit: nothing is sent */
};

/* Given every answer in turn. What it returns below 0 is the result; the rest comes all the same. */
typedef int wdr_nl_fn(const struct nlmsghdr *h, void *userdata);

/* A socket in the caller's network namespace, which it stays in. 0 or the -errno of socket. */
int wdr_nl_open(int protocol, int *ret_fd) wdr_must_check;

/*
 * Start a message: a request that is acknowledged, with @flags beside. @head is the family's own
 * header of @n bytes.
 */
void wdr_nl_start(struct wdr_nl_msg *m, uint16_t type, uint16_t flags, const void *head, size_t n);
/* One more behind it, to be sent together, with no flag but @flags: a batch of nf_tables. */
void wdr_nl_next(struct wdr_nl_msg *m, uint16_t type, uint16_t flags, const void *head, size_t n);
void wdr_nl_put(struct wdr_nl_msg *m, uint16_t type, const void *data, size_t n);
void wdr_nl_put_u8(struct wdr_nl_msg *m, uint16_t type, uint8_t v);
void wdr_nl_put_u32(struct wdr_nl_msg *m, uint16_t type, uint32_t v);
void wdr_nl_put_text(struct wdr_nl_msg *m, uint16_t type, const char *s);
/* Bytes that are no attribute: the header inside VETH_INFO_PEER. */
void wdr_nl_put_raw(struct wdr_nl_msg *m, const void *data, size_t n);
/* Attributes put until wdr_nl_end() of the returned place are inside this one. */
size_t wdr_nl_nest(struct wdr_nl_msg *m, uint16_t type);
void wdr_nl_end(struct wdr_nl_msg *m, size_t at);

/*
 * Send @m and read up to its acknowledgement or the end of its dump. The kernel answers before
 * send(2) returns, so this never waits. Returns 0; the kernel's -errno, with its own words in *err
 * where it has any; -EMSGSIZE if @m did not fit; -EIO if the kernel stays silent. wdr_nl_ask()
 * gives the answers in between to @fn.
 */
int wdr_nl_call(int fd, struct wdr_nl_msg *m, struct wdr_err *err) wdr_must_check;
int wdr_nl_ask(int fd, struct wdr_nl_msg *m, wdr_nl_fn *fn, void *userdata) wdr_must_check;

/*
 * Find attribute @type in the @n bytes at @attrs (4-byte aligned, as in every netlink message).
 * NULL where it is not there or has less than @min bytes of payload.
 */
const void *wdr_nl_find(const void *attrs, size_t n, uint16_t type, size_t min, size_t *ret_n);
/* The attributes behind a family header of @head bytes, and how many bytes they are. */
const void *wdr_nl_attrs(const struct nlmsghdr *h, size_t head, size_t *ret_n);
