/* SPDX-License-Identifier: Apache-2.0 */
/* What options and policy say together. */
#include <errno.h>

#include "policy_priv.h"

static void drop_rules(struct wdr_policy *p)
{
	while (p->net.n_rules)
		wdr_rule_done(&p->net.rules[--p->net.n_rules]);
}

/* Rules need a network. --allow brings one; --net none takes the policy's rules away with it. */
static int settle_mode(struct wdr_policy *p, struct wdr_err *err)
{
	if (p->net.mode != WDR_NET_NONE)
		return 0;
	if (p->over.net && p->over.n_rules)
		return wdr_err_at(err, -EINVAL, "--net",
				  "none leaves nothing to --allow and --deny: want egress or host");
	if (p->over.net) {
		drop_rules(p);
		return 0;
	}
	if (p->over.allow) {
		p->net.mode = WDR_NET_EGRESS;
		return 0;
	}
	if (p->over.n_rules)
		return wdr_err_at(err, -EINVAL, "--deny",
				  "the policy has no network: want --net egress or host with it");
	if (p->net.n_rules)
		return wdr_err_set(err, -EINVAL,
				   "rules without a network: want mode egress or host");
	return 0;
}

/* A deny rule whose list nobody read would deny nothing. */
static int check_lists(const struct wdr_policy *p, struct wdr_err *err)
{
	for (size_t i = 0; i < p->net.n_rules; i++)
		if (p->net.rules[i].list && !p->net.rules[i].to)
			return wdr_err_set(err, -EINVAL,
					   "rule %zu: its list \"%s\" has not been read", i,
					   p->net.rules[i].list);
	return 0;
}

int wdr_policy_finish(struct wdr_policy *p, struct wdr_err *err)
{
	int r = settle_mode(p, err);

	return r < 0 ? r : check_lists(p, err);
}
