/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who drops what jobs send: asked only after a probe was lost, so a rule set that says "drop" but
 * lets jobs through is none of our business.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/wdr_io.h"
#include "base/wdr_json.h"
#include "net_priv.h"

#define LEGACY_MAX 4096

struct suspect {
	const char *family, *table, *chain; /* of the JSON document */
	bool policy_drop;
};

static bool sees(const char *chain_family, int family)
{
	return !strcmp(chain_family, "inet") ||
	       !strcmp(chain_family, family == AF_INET ? "ip" : "ip6");
}

/* A chain at hook forward that @family passes; one whose policy is drop is the likelier. */
static void weigh(json_t *chain, int family, struct suspect *s)
{
	const char *fam = json_string_value(json_object_get(chain, "family"));
	const char *table = json_string_value(json_object_get(chain, "table"));
	const char *name = json_string_value(json_object_get(chain, "name"));
	const char *hook = json_string_value(json_object_get(chain, "hook"));
	const char *policy = json_string_value(json_object_get(chain, "policy"));
	bool drop = policy && !strcmp(policy, "drop");

	if (!fam || !table || !name || !hook || strcmp(hook, "forward") || !sees(fam, family))
		return;
	if (!strcmp(fam, "inet") && !strcmp(table, WDR_NET_TABLE))
		return;
	if (s->chain && (s->policy_drop || !drop))
		return;
	*s = (struct suspect){ fam, table, name, drop };
}

/* iptables-legacy keeps its chains where nftables does not see them. */
static bool has_legacy(int family)
{
	const char *path =
		family == AF_INET ? "/proc/net/ip_tables_names" : "/proc/net/ip6_tables_names";
	wdr_free_ char *names = NULL;

	return wdr_read_file(AT_FDCWD, path, LEGACY_MAX, &names, NULL) == 0 &&
	       strstr(names, "filter") != NULL;
}

static int accuse(int family, const struct suspect *s, struct wdr_err *err)
{
	const char *v = family == AF_INET ? "IPv4" : "IPv6";

	if (s->chain)
		return wdr_err_set(
			err, -EHOSTUNREACH,
			"the host's firewall drops %s that jobs send: table %s %.32s, chain "
			"%.32s%s: accept there iifname \"wdr*\", and established to "
			"oifname \"wdr*\"",
			v, s->family, s->table, s->chain, s->policy_drop ? " (policy drop)" : "");
	if (has_legacy(family))
		return wdr_err_set(
			err, -EHOSTUNREACH,
			"the host's firewall drops %s that jobs send: iptables-legacy, "
			"chain FORWARD: accept there -i wdr+, and established to -o wdr+",
			v);
	return wdr_err_set(
		err, -EHOSTUNREACH,
		"%s that jobs send is not forwarded by the host, and no forward chain of "
		"nftables or iptables is there to blame: look for XDP, tc or ip rule",
		v);
}

int wdr_net_firewall_name(int family, struct wdr_err *err)
{
	wdr_free_ char *text = NULL;
	wdr_json_ json_t *doc = NULL;
	struct suspect s = { 0 };
	json_t *item;
	size_t i;
	int r = wdr_net_nft_list("list chains", &text, err);

	if (r < 0)
		return wdr_err_wrap(err, r, "look who drops forwarded packets");
	doc = json_loads(text, 0, NULL);
	json_array_foreach(json_object_get(doc, "nftables"), i, item) {
		json_t *chain = json_object_get(item, "chain");

		if (chain)
			weigh(chain, family, &s);
	}
	return accuse(family, &s, err);
}
