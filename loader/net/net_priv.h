/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this folder share. Three things have three lifetimes:
 *   a slot    one job's: number, lock, record, veth, network namespace     net_slot.c, net_make.c
 *   shared    first slot to last: nftables table, forwarding sysctls       net_shared.c
 *   table     boot: /run/warder/net/slots, who holds which number          net_table.c
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wdr_addr.h"
#include "net.h"

#define WDR_NET_LINK_PREFIX "wdr" /* host ends are wdr0, wdr1...: rules match iifname "wdr*" */
#define WDR_NET_JOB_LINK    "eth0"
#define WDR_NET_TABLE	    "warder" /* nftables, family inet */
#define WDR_NET_SLOT_ADDRS  4	     /* network, host, job, broadcast: a /30 and a /126 */
#define WDR_NET_HOST_ADDR   1
#define WDR_NET_JOB_ADDR    2
#define WDR_NET_MAX_UPLINKS 64 /* interfaces of the host that routes lead to */
/* A SYN to here is a probe of ours: documentation addresses (RFC 5737, 3849), nobody's. */
#define WDR_NET_PROBE_PORT 9
#define WDR_NET_PROBE_TO4  "198.51.100.1"
#define WDR_NET_PROBE_TO6  "2001:db8::1"

/* A flow's mark in connection tracking: this and the last 16 bits of the job's address. */
#define WDR_NET_FLOW_MARK4 0x57440000U
#define WDR_NET_FLOW_MARK6 0x57460000U

/* Where jobs' addresses come from. Both ranges give slot N its Nth four addresses. */
struct wdr_net_ranges {
	struct wdr_prefix v4, v6;
	bool has6;
};

/* ---- net_addr.c: pure ---- */

/* What WARDER_NET_POOL4 or 6 says: @text is ADDR/LEN with room for a slot, or "none" for IPv6. */
int wdr_net_range_parse(int family, const char *text, struct wdr_prefix *ret, bool *ret_none,
			struct wdr_err *err) wdr_must_check;
/* The ranges to try where nothing is configured, best first. *ret_n of them. */
const char *const *wdr_net_range_defaults(int family, size_t *ret_n);
/* Slots of one range, and of both; at most WDR_NET_MAX_SLOTS. */
unsigned int wdr_net_range_slots(const struct wdr_prefix *range);
unsigned int wdr_net_ranges_slots(const struct wdr_net_ranges *r);
/* Address @offset of @slot, as a prefix of full length. */
void wdr_net_range_address(const struct wdr_prefix *range, unsigned int slot, unsigned int offset,
			   struct wdr_prefix *ret);
/* Which slot of @range owns @addr (a prefix of full length). -ENOENT: none. */
int wdr_net_range_find(const struct wdr_prefix *range, const struct wdr_prefix *addr);
/* "wdr12". -EINVAL from wdr_net_link_number() if @name is not of this form. */
void wdr_net_link_name(unsigned int slot, char ret[IFNAMSIZ]);
int wdr_net_link_number(const char *name);

/* ---- net_host.c: what the host's routes say ---- */

struct wdr_net_uplink {
	unsigned int ifindex, mtu;
	bool is_default; /* a default route leads there */
	char name[IFNAMSIZ];
};

/* A range under examination. */
struct wdr_net_candidate {
	struct wdr_prefix range;
	bool clash;
	struct wdr_prefix with; /* the host's route that overlaps */
};

#define WDR_NET_MAX_CANDIDATES 16

struct wdr_net_host {
	struct wdr_net_candidate candidates[WDR_NET_MAX_CANDIDATES];
	unsigned int n_candidates;
	struct wdr_net_uplink uplinks[WDR_NET_MAX_UPLINKS];
	unsigned int n_uplinks;
	bool too_many;	  /* there are more */
	unsigned int mtu; /* for a job: within 1280..65535 */
	/* Slots with an address that the host already has a route of full length for. */
	uint8_t taken[WDR_NET_MAX_SLOTS / 8];
};

/*
 * Read the host's routes through @nl_fd: judge the candidates in *h, note the uplinks, their MTU
 * and the taken slots. Routes of full length inside a candidate only take a slot: ours are such.
 */
int wdr_net_host_scan(int nl_fd, struct wdr_net_host *h, struct wdr_err *err) wdr_must_check;
bool wdr_net_host_taken(const struct wdr_net_host *h, unsigned int slot);
/* Whether the host uses IPv6 at all. @proc_fd is /proc/sys/net, here and below. */
bool wdr_net_host_has6(int proc_fd);
/*
 * Choose ranges: those of *fixed if jobs already use them, else what the environment says, else
 * the first default without a clash. -EADDRINUSE or -EADDRNOTAVAIL says which route is in the way.
 */
int wdr_net_host_choose(int nl_fd, int proc_fd, const struct wdr_net_ranges *fixed,
			struct wdr_net_host *h, struct wdr_net_ranges *ret,
			struct wdr_err *err) wdr_must_check;

/* ---- net_table.c: who holds which slot ---- */

enum wdr_net_record_flag {
	WDR_NET_RECORD_USED = 1,
	WDR_NET_RECORD_CONTAIN = 2, /* outlives its supervisor: see wdr_net_slot_spec.contain */
};

struct wdr_net_record {
	char job[56]; /* "" for one made ahead */
	uint32_t flags;
	uint32_t mtu;
};

struct wdr_net_head {
	char magic[8];
	uint64_t rules_hash; /* of the nftables rules in force, 0 for none */
	struct wdr_net_ranges ranges;
	uint8_t has_ranges;
	uint8_t unused[72];
};

struct wdr_net_table {
	int fd; /* holds the table's lock while open */
	struct wdr_net_head head;
	struct wdr_net_record *records;
	unsigned int n_records;
};

/* Open below @dir_fd, lock, read. -EBUSY if another holds the lock for 10 s. */
int wdr_net_table_open(int dir_fd, struct wdr_net_table *ret, struct wdr_err *err) wdr_must_check;
/* Unlock, close, free. */
void wdr_net_table_close(struct wdr_net_table *t);
int wdr_net_table_write_head(struct wdr_net_table *t) wdr_must_check;
int wdr_net_table_write(struct wdr_net_table *t, unsigned int slot,
			const struct wdr_net_record *rec) wdr_must_check;
/* Only one's own: @lock_fd holds it. */
int wdr_net_table_write_own(int lock_fd, unsigned int slot,
			    const struct wdr_net_record *rec) wdr_must_check;
/* Lock @slot for as long as *ret_fd is open, in whatever process. -EBUSY: somebody has it. */
int wdr_net_table_take(int dir_fd, unsigned int slot, int *ret_fd) wdr_must_check;
/* Whether some process holds @slot. */
bool wdr_net_table_held(const struct wdr_net_table *t, unsigned int slot);
/* Whether its job may still run: held, or contained and its link is still there. */
bool wdr_net_table_alive(const struct wdr_net_table *t, unsigned int slot);

#define wdr_net_table_ wdr_cleanup(wdr_net_table_close)

/* ---- net_sysctl.c: change, remember, put back ---- */

/*
 * Set @path (below @proc_fd) to @value unless it already is, after noting in the file "sysctls"
 * below @dir_fd what it was, so that a crash between the two loses nothing. 1 if it was changed.
 */
int wdr_net_sysctl_set(int dir_fd, int proc_fd, const char *path, const char *value,
		       struct wdr_err *err) wdr_must_check;
/* As above, but put back only if the value is @then: what undoing a later line leaves behind. */
int wdr_net_sysctl_note(int dir_fd, int proc_fd, const char *path, const char *then,
			struct wdr_err *err) wdr_must_check;
/* Call @fn with each path that was changed. */
int wdr_net_sysctl_each(int dir_fd, void (*fn)(const char *path, void *userdata),
			void *userdata) wdr_must_check;
/*
 * Put everything back, last change first, and forget it. A value that is not ours any more stays;
 * so does per-interface IPv4 forwarding if somebody has since turned it on for all.
 */
int wdr_net_sysctl_restore(int dir_fd, int proc_fd, struct wdr_err *err) wdr_must_check;
/* One value, without its newline. */
int wdr_net_sysctl_read(int proc_fd, const char *path, char *ret, size_t size) wdr_must_check;

/* ---- net_rules.c, net_nft.c, net_firewall.c: nftables ---- */

/* Interfaces that forward only because we said so: what they may not do. */
struct wdr_net_guard {
	unsigned int v4[WDR_NET_MAX_UPLINKS]; /* ifindex */
	unsigned int v6[WDR_NET_MAX_UPLINKS];
	unsigned int n4, n6;
	bool all6; /* every interface forwards IPv6 because of us */
};

/* The text of our table, new string. Pure. */
int wdr_net_rules_text(const struct wdr_net_guard *g, char **ret) wdr_must_check;
uint64_t wdr_net_rules_hash(const char *text);

/*
 * Run @text in one transaction. libnftables is loaded for it. Its own words in *err.
 * @leave_open: the caller is about to end and leaves libnftables' socket to the kernel. Closing any
 * socket of nfnetlink waits until the kernel has freed what was deleted from its rules, one RCU
 * grace period, 10 to 20 ms (nf_tables_api.c: nft_rcv_nl_event).
 */
int wdr_net_nft_run(const char *text, bool leave_open, struct wdr_err *err) wdr_must_check;
/* A listing, as JSON. */
int wdr_net_nft_list(const char *text, char **ret_json, struct wdr_err *err) wdr_must_check;
/*
 * Without libnftables, through @nf_fd of NETLINK_NETFILTER.
 * 1: our table is there; 0: it is not.
 */
int wdr_net_nft_exists(int nf_fd) wdr_must_check;
/* 1: removed; 0: was not there. */
int wdr_net_nft_remove(int nf_fd, struct wdr_err *err) wdr_must_check;
/* Packets that the named counter of our table has seen. */
int wdr_net_nft_counter(int nf_fd, const char *name, uint64_t *ret) wdr_must_check;

/* Say in *err who drops forwarded packets of @family. Always returns -EHOSTUNREACH. */
int wdr_net_firewall_name(int family, struct wdr_err *err);

/* ---- net_shared.c ---- */

struct wdr_net_shared {
	int dir_fd, proc_fd, nf_fd; /* the caller's */
	bool leave_open;	    /* see wdr_net_nft_run() */
};

/* Table and sysctls are there when this returns; @t is locked. 1 if the table had to be made. */
int wdr_net_shared_up(const struct wdr_net_shared *s, struct wdr_net_table *t,
		      const struct wdr_net_host *h, struct wdr_err *err) wdr_must_check;
/* Undo, if no slot is alive. 1 if rules were removed: closing nf_fd would wait. */
int wdr_net_shared_down(const struct wdr_net_shared *s, struct wdr_net_table *t,
			struct wdr_err *err) wdr_must_check;

/* ---- net_link.c: the veth pair, through sockets in both namespaces ---- */

int wdr_net_link_create(int nl_fd, const struct wdr_net_slot_info *info, int netns_fd,
			struct wdr_err *err) wdr_must_check;
/* Index of a link; -ENODEV. */
int wdr_net_link_index(int nl_fd, const char *name);
/* Loopback up, in the namespace that @nl_fd belongs to. */
int wdr_net_link_loopback(int nl_fd, struct wdr_err *err) wdr_must_check;
/* Host end: settings, up, addresses, the job's hardware address. */
int wdr_net_link_host(int nl_fd, int proc_fd, const struct wdr_net_slot_info *info,
		      const char *alias, struct wdr_err *err) wdr_must_check;
/* The job's end, seen from inside: up, addresses, default routes. */
int wdr_net_link_job(int nl_fd, const struct wdr_net_slot_info *info,
		     struct wdr_err *err) wdr_must_check;
int wdr_net_link_alias(int nl_fd, unsigned int ifindex, const char *alias);
/* Remove a host end, and with it the pair. Waits for the kernel: about 35 ms. 0 if not there. */
int wdr_net_link_delete(int nl_fd, const char *name, struct wdr_err *err) wdr_must_check;

/*
 * Leave the job's packets no way: no route to it, so that they count as spoofed (and not even
 * rp_filter lets them in, should our rules be gone), and no forwarding of IPv6 from its link.
 */
int wdr_net_link_cut(int nl_fd, int proc_fd, const struct wdr_net_slot_info *info,
		     struct wdr_err *err) wdr_must_check;

/* ---- net_ready.c ---- */

/*
 * Wait until the job's end is ready, through @nl_fd in its namespace, with @watch_fd opened there
 * by wdr_net_ready_watch() before it was set up. -ETIMEDOUT after two seconds.
 */
int wdr_net_ready_watch(int *ret_fd) wdr_must_check;
int wdr_net_ready_wait(int nl_fd, int watch_fd, const struct wdr_net_slot_info *info,
		       struct wdr_err *err) wdr_must_check;

/* ---- net_flows.c: connection tracking of the host ---- */

/* Forget every flow of the slot's. 0 too where nothing is tracked. */
int wdr_net_flows_forget(int nf_fd, const struct wdr_net_slot_info *info) wdr_must_check;

/* ---- net_reach.c ---- */

/*
 * Send a SYN through each of @tcp4 and @tcp6 (if @info has IPv6), non-blocking sockets in the job's
 * namespace, towards the host's default route, and see whether it passes every forward chain; it
 * never leaves (net_rules.c). 0: it does, or the host has no such route; -EHOSTUNREACH and who is
 * in the way.
 */
int wdr_net_reach(int nl_fd, int nf_fd, int tcp4, int tcp6, const struct wdr_net_slot_info *info,
		  struct wdr_err *err) wdr_must_check;

/* ---- net_pool.c ---- */

#define WDR_NET_MAX_CHILDREN 32

struct wdr_net_pool {
	int dir_fd;	/* /run/warder/net */
	int proc_fd;	/* /proc/sys/net */
	uint64_t netns; /* inode of the host's namespace */
	unsigned int n_ahead;
	struct wdr_net_slot *ahead[WDR_NET_MAX_AHEAD];
	unsigned int n_children;
	int children[WDR_NET_MAX_CHILDREN]; /* pidfds of what has done its work and may yet end */
};

/*
 * Settings are those of the namespace that the caller is in, whatever descriptor it has: elsewhere the
 * host's would be not found, taken for gone, and never put back. 0; -EXDEV: not in the host's.
 */
int wdr_net_pool_at_home(const struct wdr_net_pool *p, struct wdr_err *err) wdr_must_check;

/* Reap @pidfd (taken over) now if it has ended, else later. -1 only reaps earlier ones. */
void wdr_net_pool_reap(struct wdr_net_pool *p, int pidfd);

/* ---- net_make.c, net_child.c: the child that makes a slot ---- */

/* What the child made, and sent. */
struct wdr_net_made {
	int lock_fd, netns_fd, tcp4, tcp6; /* -1 if not there */
	struct wdr_net_slot_info info;
};

#define WDR_NET_MADE_NONE                                             \
	{                                                             \
		.lock_fd = -1, .netns_fd = -1, .tcp4 = -1, .tcp6 = -1 \
	}

void wdr_net_made_close(struct wdr_net_made *m);

/* fork(2) that nobody else who reaps children will see: it ends without a signal. */
long wdr_net_fork(int *ret_pidfd);

/*
 * Start the child. @p NULL: an empty namespace. *ret_sock becomes readable when it is done, or
 * dead; *ret_pidfd is the child.
 */
int wdr_net_make_start(const struct wdr_net_pool *p, const struct wdr_net_slot_spec *spec,
		       int *ret_sock, int *ret_pidfd, struct wdr_err *err) wdr_must_check;
int wdr_net_report_send(int sock, int result, struct wdr_net_made *m,
			const struct wdr_err *err) wdr_must_check;
/* Wait for what it sends. On failure it has undone what it did, unless it died: -ECHILD. */
int wdr_net_report_receive(int sock, struct wdr_net_made *ret, struct wdr_err *err) wdr_must_check;

/* What takes long at the end: the caller's descriptors, which it closes right after. */
struct wdr_net_ending {
	int nf_fd; /* closing it waits if rules were removed (wdr_net_nft_run) */
	int netns_fd;
	const struct wdr_net_slot_info *slot; /* to forget its flows, and remove its link: 35 ms */
};

/* Do it in a child, the descriptor of which is returned; -1: there is none. */
int wdr_net_end_aside(const struct wdr_net_ending *e);

/* ---- net_slot.c and net_sweep.c ---- */

struct wdr_net_slot {
	struct wdr_net_pool *pool_ref; /* NULL: an empty namespace */
	struct wdr_net_slot_spec spec;
	int sock, pidfd; /* of the child, until finish */
	bool ahead;	 /* made for nobody; finish gives it to spec.job */
	bool recorded;	 /* remove has something to do */
	struct wdr_net_made made;
};

/* What a slot's numbers and addresses are, out of its number. Not its ifindex. */
void wdr_net_slot_fill(const struct wdr_net_ranges *r, unsigned int number, unsigned int mtu,
		       struct wdr_net_slot_info *ret);
/* The record of a slot for @spec. */
void wdr_net_slot_record(const struct wdr_net_slot_spec *spec, unsigned int mtu,
			 struct wdr_net_record *ret);
/* Look at the host again, and bring what all slots share up to it. 1 if rules were made. */
int wdr_net_refresh(struct wdr_net_pool *p, int nf_fd, struct wdr_err *err) wdr_must_check;

/* ---- net_end.c ---- */

int wdr_net_end_record(struct wdr_net_table *t, unsigned int slot,
		       struct wdr_err *err) wdr_must_check;
/*
 * All that has to be done before the caller may say that the slot is no more: cut it off, give its
 * record back (with @lock_fd, closed), and take what all shared along with the last. Its flows and
 * its link are for wdr_net_end_aside(): as long as the link is there, its number is not used again.
 */
int wdr_net_release(const struct wdr_net_pool *p, int nf_fd, const struct wdr_net_slot_info *info,
		    int *lock_fd, bool *ret_rules_gone, struct wdr_err *err) wdr_must_check;
