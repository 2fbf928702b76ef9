/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens inside a sandbox, as gVisor's sentry tells it: processes, files, connections and
 * system calls of the guest. The sentry is as untrusted as its guest here: every message is bounded
 * in size and every stream in rate, and what is dropped anywhere is counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wdr_addr.h"
#include "base/wdr_json.h"
#include "base/wdr_syscall.h"
#include "model/spec.h"

/* Bytes of one message, header included; what is longer is refused. A long argv may be. */
#define WDR_SECCHECK_MAX_MSG 32768
/* Texts are cut to this, NUL included. */
#define WDR_GUEST_TEXT_MAX 256
/* Events a second that reach the caller, and as many saved up; system call counts are not among
 * them. */
#define WDR_SECCHECK_RATE 2000
/* Connections at once: the sandbox's start makes one. */
#define WDR_SECCHECK_MAX_CONNS 2

enum wdr_guest_type {
	WDR_GUEST_START, /* the job's program has been started */
	WDR_GUEST_CLONE,
	WDR_GUEST_EXEC,
	WDR_GUEST_EXIT,
	WDR_GUEST_OPEN,
	WDR_GUEST_CONNECT,
	WDR_GUEST_SYSCALL,
	_WDR_GUEST_MAX
};

/* Text of the guest's, control characters and all, NUL-terminated. */
struct wdr_guest_text {
	char s[WDR_GUEST_TEXT_MAX];
	bool cut;
};

struct wdr_guest_event {
	enum wdr_guest_type type;
	uint64_t time_ns; /* of the guest's clock, CLOCK_REALTIME; 0: not said */
	int32_t pid, tid; /* in the guest; 0: not said */
	char comm[16];
	union {
		struct {
			struct wdr_guest_text path; /* "" for START */
			struct wdr_guest_text args; /* separated by spaces */
		} exec;
		struct {
			int32_t pid, tid; /* of the new task */
		} clone;
		struct {
			int32_t status; /* as wait(2) has it */
		} exit;
		struct {
			struct wdr_guest_text path;
			uint32_t flags;
		} open;
		struct {
			struct wdr_prefix to; /* full length; family 0: not an IP address */
			uint16_t port;
		} connect;
		struct {
			uint32_t nr;
		} call;
	};
};

/*
 * Read one message of @n bytes: header and protobuf. Returns 0; 1 if it is well-formed and of a
 * type that is not used; -EPROTO if it is not. Either way *ret_dropped is what the sender says it
 * dropped so far, where the header could be read. Pure, and allocates nothing.
 */
int wdr_seccheck_parse(const void *msg, size_t n, struct wdr_guest_event *ret,
		       uint32_t *ret_dropped) wdr_must_check;

/* Whether @n bytes are the greeting of a peer that can be spoken to: version 1 or later. */
int wdr_seccheck_greeting(const void *msg, size_t n) wdr_must_check;

/*
 * The session that tells @what (enum wdr_telemetry), as runsc's --pod-init-config wants it, its
 * sink at the socket @endpoint. *ret is the caller's, NULL if @what is 0. 0 or -ENOMEM.
 */
int wdr_seccheck_session(unsigned int what, const char *endpoint, json_t **ret) wdr_must_check;

struct wdr_guest_stats {
	uint64_t calls[WDR_SYSCALL_MAX]; /* entered, by number */
	uint64_t calls_total;		 /* those of numbers without a name, too */
	uint64_t dropped;		 /* by the sentry: the reader was too slow */
	uint64_t suppressed;		 /* events past WDR_SECCHECK_RATE */
	uint64_t malformed;		 /* messages that are none */
	bool connected;			 /* a peer has come */
};

/* Who hears of events. May not free the reader. */
struct wdr_guest_ops {
	void (*event)(const struct wdr_guest_event *ev, void *userdata);
};

struct wdr_seccheck; /* a reader */

/*
 * Read what comes to @listen_fd, a listening SOCK_SEQPACKET socket, which becomes the reader's on
 * success. @ops (NULL: only calls are counted) and @userdata must outlive it. 0, -ENOMEM, or the -errno of epoll_create1(2).
 */
int wdr_seccheck_new(int listen_fd, const struct wdr_guest_ops *ops, void *userdata,
		     struct wdr_seccheck **ret) wdr_must_check;
void wdr_seccheck_freep(struct wdr_seccheck **s);

/* Readable when there is something to do. */
int wdr_seccheck_fd(const struct wdr_seccheck *s);
/*
 * Take at most WDR_SECCHECK_BATCH messages; @now_ns is CLOCK_MONOTONIC, for the rate. Returns 1 if
 * more may wait, 0 if not. Never fails: a peer that breaks the protocol is counted and cut off.
 */
int wdr_seccheck_pump(struct wdr_seccheck *s, uint64_t now_ns);
#define WDR_SECCHECK_BATCH 512

const struct wdr_guest_stats *wdr_seccheck_stats(const struct wdr_seccheck *s);

#define wdr_seccheck_ wdr_cleanup(wdr_seccheck_freep)
