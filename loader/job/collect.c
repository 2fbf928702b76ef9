/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side counted, as the result says it. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/wdr_log.h"
#include "base/wdr_syscall.h"
#include "job/job_priv.h"
#include "job/kernel.h"

#define NS_PER_S 1000000000ULL

static const struct {
	uint8_t from; /* WDR_REASON_* */
	enum wdr_deny_reason to;
} reasons[] = {
	{ WDR_REASON_RULE, WDR_DENY_RULE },
	{ WDR_REASON_DEFAULT, WDR_DENY_DEFAULT },
	{ WDR_REASON_PRIVATE, WDR_DENY_PRIVATE },
	{ WDR_REASON_PROTOCOL, WDR_DENY_PROTOCOL },
	{ WDR_REASON_MALFORMED, WDR_DENY_MALFORMED },
	{ WDR_REASON_SUPERVISOR_LOST, WDR_DENY_SUPERVISOR_LOST },
};

static const struct {
	uint8_t number;
	const char *name;
} protocols[] = {
	{ IPPROTO_TCP, "tcp" },
	{ IPPROTO_UDP, "udp" },
	{ IPPROTO_ICMP, "icmp" },
	{ IPPROTO_ICMPV6, "icmp" },
};

/* "192.0.2.1:443/tcp", "[2001:db8::1]:53/udp", "192.0.2.1/icmp", "192.0.2.1/132" */
static void write_to(const struct wdr_deny_key *k, char *to, size_t size)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool v4 = !memcmp(k->addr, mapped, sizeof(mapped));
	char addr[INET6_ADDRSTRLEN] = "?";
	char proto[8];
	char port[8] = "";

	(void)inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? k->addr + 12 : k->addr, addr, sizeof(addr));
	(void)snprintf(proto, sizeof(proto), "%u", k->proto);
	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
		if (protocols[i].number == k->proto)
			(void)snprintf(proto, sizeof(proto), "%s", protocols[i].name);
	}
	if (k->proto == IPPROTO_TCP || k->proto == IPPROTO_UDP)
		(void)snprintf(port, sizeof(port), ":%u", k->port);
	(void)snprintf(to, size, "%s%s%s%s/%s", v4 ? "" : "[", addr, v4 ? "" : "]", port, proto);
}

/* The programs' clock is monotonic, the result's is the wall's. */
struct timespec wdr_job_wall_time(uint64_t mono_ns)
{
	struct timespec now;
	uint64_t ns;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec - (wdr_now_ns() - mono_ns);
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
				  .tv_nsec = (long)(ns % NS_PER_S) };
}

void wdr_job_name_denial(const struct wdr_policy *p, const struct wdr_deny_key *k,
			 struct wdr_denial *ret)
{
	ret->rule = -1;
	ret->reason = WDR_DENY_DEFAULT;
	write_to(k, ret->to, sizeof(ret->to));
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].from == k->reason)
			ret->reason = reasons[i].to;
	}
	if (k->rule != WDR_EGRESS_NO_RULE && (!p || k->rule < p->net.n_rules)) {
		const char *name = p ? p->net.rules[k->rule].name : NULL;

		ret->rule = (int32_t)k->rule;
		(void)snprintf(ret->rule_name, sizeof(ret->rule_name), "%s", name ? name : "");
	}
}

struct collecting {
	const struct wdr_policy *policy;
	struct wdr_result *result;
};

static void add_denial(void *arg, const struct wdr_deny_key *k, const struct wdr_deny_val *v)
{
	struct wdr_denial d = { .count = v->count };
	const struct collecting *c = arg;

	wdr_job_name_denial(c->policy, k, &d);
	d.first = wdr_job_wall_time(v->first_ns);
	d.last = wdr_job_wall_time(v->last_ns);
	wdr_result_add_denial(c->result, &d);
}

int wdr_job_collect_slot(const struct wdr_kern_slot *s, const struct wdr_policy *p,
			 struct wdr_result *r)
{
	struct collecting c = { p, r };
	struct wdr_usage *u = &r->usage;
	struct wdr_live live;

	wdr_kern_slot_live(s, &live);
	u->net_counted = true;
	u->egress_packets = live.out_packets;
	u->egress_bytes = live.out_bytes;
	u->egress_denied = live.out_denied;
	u->ingress_packets = live.in_packets;
	u->ingress_bytes = live.in_bytes;
	r->denials_lost += live.denials_lost;
	return wdr_kern_slot_denials(s, add_denial, &c);
}

static void collect_traffic(struct wdr_job *j)
{
	int r = wdr_job_collect_slot(j->kslot, j->o.policy, &j->result);

	if (r < 0)
		wdr_warn("job=%s step=denials err=\"%s\"", j->spec.id, strerror(-r));
}

static void add_count(struct wdr_usage *u, const char *name, uint64_t total, uint64_t denied)
{
	struct wdr_syscall_count *c = &u->syscalls[u->n_syscalls++];

	(void)snprintf(c->name, sizeof(c->name), "%s", name);
	c->total = total;
	c->denied = denied;
	u->syscalls_total += total;
}

/* io_uring's operations bypass system calls, and are counted under names of their own. */
static void add_counts(struct wdr_usage *u, const struct wdr_counts *c)
{
	char name[sizeof(u->syscalls[0].name)];

	for (unsigned int nr = 0; nr < WDR_SYSCALLS_MAX; nr++) {
		const char *known = wdr_syscall_name(nr);

		if (!c->total[nr] && !c->denied[nr])
			continue;
		(void)snprintf(name, sizeof(name), "syscall_%u", nr);
		add_count(u, known ? known : name, c->total[nr], c->denied[nr]);
	}
	for (unsigned int op = 0; op < WDR_URING_MAX; op++) {
		const char *known = wdr_kern_uring_name(op);

		if (!c->uring[op])
			continue;
		(void)snprintf(name, sizeof(name), "io_uring:%.20s", known ? known : "other");
		add_count(u, name, c->uring[op], 0);
	}
	if (c->other)
		add_count(u, "other", c->other, 0);
}

static void collect_syscalls(struct wdr_job *j)
{
	struct wdr_usage *u = &j->result.usage;
	wdr_free_ struct wdr_counts *c = calloc(1, sizeof(*c));
	int r;

	r = c ? wdr_kern_slot_counts(j->kslot, c) : -ENOMEM;
	if (r == 0) {
		u->syscalls = calloc(WDR_SYSCALLS_MAX + WDR_URING_MAX + 1, sizeof(*u->syscalls));
		r = u->syscalls ? 0 : -ENOMEM;
	}
	if (r < 0) {
		wdr_warn("job=%s step=syscalls err=\"%s\"", j->spec.id, strerror(-r));
		return;
	}
	add_counts(u, c);
	u->syscalls_counted = true;
	u->syscalls_origin = WDR_ORIGIN_HOST;
}

void wdr_job_collect_kernel(struct wdr_job *j)
{
	if (!j->kslot)
		return;
	if (j->result.prot_on & WDR_PROT_BIT(WDR_PROT_EGRESS_SOCKET))
		collect_traffic(j);
	if (j->result.prot_on & ~j->o.backend->gives & WDR_PROT_BIT(WDR_PROT_SYSCALL_COUNT))
		collect_syscalls(j);
}

void wdr_job_cpu_finding(const struct wdr_policy *p, double quota, uint64_t used_ns,
			 enum wdr_finding_action action, struct wdr_result *r)
{
	double share = (double)used_ns / wdr_job_cpu_window_ns(p, quota);
	struct wdr_finding f = {
		.detector = "cpu",
		.action = action,
		.score = share < 1 ? share : 1,
		.threshold = p->detect.cpu_above,
		.n_evidence = 1,
		.evidence = { { .family = "cpu",
				.what = "share of the CPU quota within detect.cpu.for",
				.value = share,
				.threshold = p->detect.cpu_above } },
	};

	wdr_result_add_finding(r, &f);
}

void wdr_job_add_cpu_finding(struct wdr_job *j, uint64_t used_ns, enum wdr_finding_action action)
{
	const struct wdr_policy *p = j->o.policy;

	wdr_job_cpu_finding(p, p->limits.cpus, used_ns, action, &j->result);
}
