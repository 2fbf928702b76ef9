/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's network: a *slot* is a network namespace whose only way out is a veth pair to the host,
 * with addresses of its own, NAT, and rules that keep it from the host itself, from other jobs and
 * from false source addresses. What it may reach beyond is decided by BPF on the host end.
 *
 * What holds, in the kernel, for as long as the slot is there:
 *   - packets from wdrN are dropped unless their source is the job's own address (nft fib);
 *   - addresses of the host, those of its other interfaces and of its published ports included,
 *     can't be reached, unless the packet filter marked the packet (WDR_NET_MARK_LOCAL);
 *   - nothing is forwarded between jobs, and to a job only answers to what it began;
 *   - an interface of the host that forwards only because Warder said so forwards for jobs only;
 *   - a job has at most WDR_NET_MAX_FLOWS tracked flows: the host's table is not its to fill.
 *
 * Whose namespace: by default root's in the first user namespace. The job has then no capability
 * over it at all, not even as root inside with every capability kept, which is why CAP_NET_RAW
 * (a policy that grants it) needs a namespace that belongs to the job's user namespace: clone the
 * job with CLONE_NEWUSER | CLONE_NEWNET, keep it waiting, and give its namespace as
 * wdr_net_slot_spec.netns_fd. A process enters the default kind by setns(2) in its parent around
 * clone3 (8 us); sysfs can't be mounted in it, since that asks for a capability over it.
 *
 * Slots are never given to a second job. A used namespace can't be made clean: the counters of
 * /proc/net, TIME_WAIT and orphaned sockets, TCP metrics, Fast Open cookies and path MTUs remain,
 * each a channel from one job to the next. What costs time is made ahead or beside instead: a
 * child makes the slot while the caller goes on, from wdr_net_slot_begin() to _finish().
 *
 * Nothing is mounted: a namespace lives by descriptors and by the job's processes, so that
 * SIGKILL of a supervisor leaves no interface. What it does leave (our table of nftables rules,
 * forwarding settings) wdr_net_sweep() removes.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/wdr_addr.h"
#include "base/wdr_err.h"
#include "wdr_abi_egress.h"

#define WDR_NET_MAX_SLOTS 16384 /* at once, on one host */
#define WDR_NET_MAX_AHEAD 64	/* wdr_net_pool_prepare() */
#define WDR_NET_MAX_FLOWS 4096 /* tracked at once, one job and one family; closed TCP not counted */
/*
 * A BPF program on the host end sets this as a packet's mark where a rule of the policy allows an
 * address of the host itself. A job can't: marks do not cross from another namespace.
 */
#define WDR_NET_MARK_LOCAL WDR_EGRESS_MARK_LOCAL

struct wdr_net_pool;
struct wdr_net_slot;

struct wdr_net_slot_spec {
	const char *job; /* for its record and the link's alias; NULL: made ahead */
	int netns_fd;	 /* the job's own namespace, caller's; -1: make one */
	bool contain;	 /* a sweep spares it while its link exists: jobs that outlive warderd */
};

/* Nothing of this changes while the slot lives. */
struct wdr_net_slot_info {
	unsigned int number;
	char link[IFNAMSIZ];	       /* host end: "wdr12" */
	unsigned int ifindex;	       /* of the host end */
	struct wdr_prefix job4, host4; /* full length */
	bool has6;		       /* the host has IPv6, and WARDER_NET_POOL6 is not "none" */
	struct wdr_prefix job6, host6;
	unsigned int mtu;
	uint8_t job_mac[6], host_mac[6];
};

/*
 * Open the folder where slots are kept (NULL: /run/warder/net; made if need be). Addresses come
 * from WARDER_NET_POOL4 and WARDER_NET_POOL6 (ADDR/LEN; POOL6 may be "none"), else from the first
 * of a list of private ranges that overlaps no route of the host; while slots exist they stay the
 * same. -EINVAL: a variable is malformed; -EPERM: the folder is not ours alone. Costs 0.1 ms.
 */
int wdr_net_pool_new(const char *dir, struct wdr_net_pool **ret,
		     struct wdr_err *err) wdr_must_check;
/* Slots made ahead go with it; those taken from it must be freed before. */
void wdr_net_pool_freep(struct wdr_net_pool **p);

/*
 * Keep @n slots ready (0: none), which a later begin takes. They are made by children in the
 * meantime: about 2 ms of another CPU each. Does not wait.
 */
int wdr_net_pool_prepare(struct wdr_net_pool *p, unsigned int n,
			 struct wdr_err *err) wdr_must_check;

/*
 * Start making a slot for @spec in a child process and return at once (0.2 ms), or take one made
 * ahead. @spec's job and netns_fd must stay until finish.
 * Returns 0 or the -errno of clone3: what goes wrong with the slot itself, finish tells.
 */
int wdr_net_slot_begin(struct wdr_net_pool *p, const struct wdr_net_slot_spec *spec,
		       struct wdr_net_slot **ret, struct wdr_err *err) wdr_must_check;
/* A namespace with nothing but loopback (which is up), for `--net none`: same begin and finish. */
int wdr_net_slot_begin_empty(struct wdr_net_slot **ret, struct wdr_err *err) wdr_must_check;
/* Readable when finish will not wait. Stays the slot's; -1 after finish. */
int wdr_net_slot_wait_fd(const struct wdr_net_slot *s);
/*
 * Wait until the slot is there: every address usable (no duplicate address detection), every rule
 * in force, and a packet was seen to pass the host's own forward rules. On failure nothing is
 * left and *err names the cause:
 *   -ENOSPC        the address pool is used up
 *   -EADDRINUSE    the configured range overlaps a route of the host
 *   -EADDRNOTAVAIL so does every range of the list
 *   -EHOSTUNREACH  a firewall of the host drops what is forwarded: which table and chain
 *   -EBUSY         another process holds the folder's lock for 10 s
 *   -ENOPKG        libnftables.so.1 is not installed
 *   or the kernel's own -errno, with its words.
 */
int wdr_net_slot_finish(struct wdr_net_slot *s, struct wdr_err *err) wdr_must_check;
/* Both in one. */
int wdr_net_slot_new(struct wdr_net_pool *p, const struct wdr_net_slot_spec *spec,
		     struct wdr_net_slot **ret, struct wdr_err *err) wdr_must_check;

/*
 * Take over the slot of a contained @job whose supervisor is gone: lock it again. It has no
 * namespace descriptor. -ENOENT: there is none; -EBUSY: somebody supervises it.
 */
int wdr_net_slot_adopt(struct wdr_net_pool *p, const char *job, struct wdr_net_slot **ret,
		       struct wdr_err *err) wdr_must_check;

/* Valid after finish; stays @s's. */
const struct wdr_net_slot_info *wdr_net_slot_info(const struct wdr_net_slot *s);
/* The namespace, for setns(2); stays @s's. -1 where the caller gave it, and after adopt. */
int wdr_net_slot_netns_fd(const struct wdr_net_slot *s);

/*
 * Cut the job off, give the number back, and if it was the last slot, remove our nftables table and
 * put the forwarding settings back: 0.3 ms. A child of ours does what takes the kernel longer, some
 * 40 ms: forget the flows that the host tracks for the job, remove the pair and, with that, the
 * namespace. It outlives the caller if need be. The job's processes must be dead. For a slot not
 * finished, the making is stopped first. -errno: what is left, a sweep removes.
 */
int wdr_net_slot_remove(struct wdr_net_slot *s, struct wdr_err *err) wdr_must_check;
/* Closes and frees. Without remove before, this is what dying does: a sweep is due. */
void wdr_net_slot_freep(struct wdr_net_slot **s);

/*
 * Our nftables table can be flushed by others (`nft flush ruleset`): make it again if it is gone.
 * Cheap (10 us) while it is there: for a timer. 1 if it had to be made, 0 if not.
 */
int wdr_net_mend(struct wdr_net_pool *p, struct wdr_err *err) wdr_must_check;

/*
 * Remove what dead supervisors left: records, links, tracked flows, and with the last of them the
 * table and the settings. Slots that are held, or contained and alive, stay. Returns how many
 * records went.
 */
int wdr_net_sweep(struct wdr_net_pool *p, struct wdr_err *err) wdr_must_check;

/* Packets refused by the rules that all slots share, since the first slot came. */
struct wdr_net_drops {
	uint64_t spoofed; /* source address not the job's own */
	uint64_t to_host; /* for an address of the host */
	uint64_t to_job;  /* for another job */
	uint64_t inbound; /* for a job that had not asked */
	uint64_t invalid; /* fits no flow: would have left with the job's own address */
	uint64_t flows;	  /* beyond WDR_NET_MAX_FLOWS */
	uint64_t transit; /* from outside to outside, through forwarding that we turned on */
};
/* -ENOENT while there is no slot. */
int wdr_net_drops(struct wdr_net_drops *ret) wdr_must_check;

/*
 * For `warder check`: make a slot and remove it. 0 and what was found in @detail ("10.213.0.0/16,
 * fd3c:.../112, forwarding per interface"), or why not. Root only. Takes some milliseconds.
 */
int wdr_net_probe(char *detail, size_t size, struct wdr_err *err) wdr_must_check;

#define wdr_net_pool_ wdr_cleanup(wdr_net_pool_freep)
#define wdr_net_slot_ wdr_cleanup(wdr_net_slot_freep)
