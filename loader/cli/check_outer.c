/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of what is around a job: its network and the sandbox that may hold it. */
#include <unistd.h>

#include "cli/check.h"
#include "net/net.h"
#include "probe.h"

/* "no runsc on PATH: ...", with the place before it where there is one. */
static const char *say(const struct wdr_err *err, char buf[256])
{
	(void)snprintf(buf, 256, "%.90s%s%.150s", err->where, err->where[0] ? ": " : "", err->msg);
	return buf;
}

static void probe_net(struct wdr_check_report *rep)
{
	struct wdr_err err = { 0 };
	char text[256];

	if (wdr_net_probe(text, sizeof(text), &err) == 0) {
		wdr_check_fact(rep, "network", "%s", text);
		return;
	}
	wdr_check_fact(rep, "network", "none: %s", say(&err, text));
	wdr_check_bar(rep, WDR_PROT_EGRESS_PACKET, "no network for a job: %s", say(&err, text));
}

const struct wdr_probe wdr_net_probe_row = { "network", 0, WDR_PROT_BIT(WDR_PROT_EGRESS_PACKET),
					     probe_net };

static void probe_runsc(struct wdr_check_report *rep)
{
	struct wdr_err err = { 0 };
	struct wdr_runsc r;
	char text[256];

	if (geteuid() != 0) {
		wdr_check_fact(rep, "runsc", "not for an ordinary user");
		return;
	}
	if (wdr_runsc_ask(WDR_RUNSC_CACHE, &r, &err) < 0) {
		wdr_check_fact(rep, "runsc", "%s", say(&err, text));
		return;
	}
	wdr_check_fact(rep, "runsc", "%s on %s, %s", r.version, wdr_runsc_platform_name(r.platform),
		       r.path);
	wdr_check_fact(rep, "guest telemetry", "%s",
		       r.features & WDR_RUNSC_TRACE ? "yes" :
						      "no: this runsc has no trace sessions");
}

const struct wdr_probe wdr_runsc_probe_row = { "runsc", 0, 0, probe_runsc };
