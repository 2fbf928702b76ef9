/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the reader of a seccheck sink, a role without rights, and its supervisor. Who reads what
 * an enemy sends is taken for the enemy's: the supervisor checks a message's size, then whether it
 * may come now, then each of its values; one that fails ends the reader.
 *
 * Both ends are the same file in memory: fields are in this machine's order and width.
 */
#pragma once

#include "seccheck.h"

#define WDR_FEED_ROLE "warder: reader" /* argv[0] of the role */

/* Supervisor to reader. */
enum wdr_feed_ask_type {
	WDR_FEED_START = 1, /* value: the uid to live as; flags: WDR_FEED_EVENTS */
	WDR_FEED_ASK = 2,   /* value: a number; the answer is COUNTS, behind all that came before */
};

#define WDR_FEED_EVENTS 1u /* events are wanted, not counts alone */

struct wdr_feed_ask {
	uint32_t type, value, flags;
};

/* Reader to supervisor. */
enum wdr_feed_type {
	WDR_FEED_READY = 1, /* it has given up its rights and listens */
	WDR_FEED_FAILED = 2,
	WDR_FEED_EVENT = 3,
	WDR_FEED_COUNTS = 4,
	_WDR_FEED_MAX
};

struct wdr_feed_ready {
	uint32_t type;
};

struct wdr_feed_failed {
	uint32_t type;
	int32_t code; /* -errno */
	char msg[256];
};

/* What of it a kind does not use is zero. */
struct wdr_feed_event {
	uint32_t type;
	uint32_t kind; /* enum wdr_guest_type, but CALL */
	uint64_t time_ns;
	int32_t pid, tid;
	char comm[16];
	uint32_t a, b; /* clone: pid, tid · exit: status · open: flags · connect: family, port */
	uint32_t cut;  /* bits: path, args */
	uint32_t zero;
	uint8_t addr[16];
	char path[WDR_GUEST_TEXT_MAX], args[WDR_GUEST_TEXT_MAX];
};

/* Since its start. */
struct wdr_feed_counts {
	uint32_t type;
	uint32_t answers; /* value of the ask */
	uint64_t dropped, suppressed, malformed, calls_total;
	uint64_t connected; /* 0, 1 */
	uint64_t calls[WDR_SYSCALL_MAX];
};

#define WDR_FEED_MAX_MSG sizeof(struct wdr_feed_counts)

/* In the reader. @ev may be any event that wdr_seccheck_parse() gives, but a call. */
void wdr_feed_put_event(const struct wdr_guest_event *ev, struct wdr_feed_event *ret);
void wdr_feed_put_counts(const struct wdr_guest_stats *st, uint32_t answers,
			 struct wdr_feed_counts *ret);

/* What a message may do, in the supervisor. May not free the feed. */
struct wdr_feed_ops {
	void (*ready)(void *userdata);
	void (*event)(const struct wdr_guest_event *ev, void *userdata);
	void (*answer)(uint32_t value, void *userdata); /* stats are new */
};

enum wdr_feed_state {
	WDR_FEED_STARTING = 1 << 0,
	WDR_FEED_RUNNING = 1 << 1,
	WDR_FEED_ASKED = 1 << 2, /* runs, and owes an answer */
};

/* The supervisor's side of one reader. Start it with wdr_feed_init(). */
struct wdr_feed {
	const struct wdr_feed_ops *ops;
	void *userdata;
	enum wdr_feed_state state;
	uint32_t asked; /* what the answer must say */
	struct wdr_guest_stats stats;
	uint64_t tokens_ns, last_ns; /* of events; a reader that keeps its own rate meets no end */
};

void wdr_feed_init(struct wdr_feed *f, const struct wdr_feed_ops *ops, void *userdata);
/* The answer of @value is due. One at a time. */
void wdr_feed_expect(struct wdr_feed *f, uint32_t value);

/*
 * Take one message of @n bytes at @now_ns (CLOCK_MONOTONIC). 0; the reader's own -errno if it says
 * that it failed; -EPROTO, naming the fault, for one that an honest reader does not send.
 */
int wdr_feed_take(struct wdr_feed *f, const void *msg, size_t n, uint64_t now_ns,
		  struct wdr_err *err) wdr_must_check;
