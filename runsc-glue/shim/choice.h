/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which policy a container gets, and what of its bundle Warder must know to enforce one. The bundle
 * is the engine's, its annotations are those of whoever may start containers there: they choose
 * among the policies that the machine's administrator has put up, by name, and nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/wdr_json.h"
#include "policy/policy.h"

#define WDR_SHIM_SETTINGS   "/etc/warder/runsc.json"
#define WDR_SHIM_ANNOTATION "dev.warder.policy"
#define WDR_SHIM_MAX_CONFIG (16 << 20) /* Kubernetes bundles with many volumes reach a few MiB */
#define WDR_SHIM_MAX_NAMES  256

/*
 * The settings file:
 *
 *   {"version": 1, "runsc": "/usr/bin/runsc", "default": "strict", "policies": ["python", "agent"],
 *    "report": "/var/log/warder/containers.jsonl"}
 *
 * `runsc`: the real one; else WARDER_RUNSC, else the first on PATH that is not us. `default`: the
 * policy of a container that names none; without it such a container runs as under runsc alone.
 * `policies`: what an annotation may name; without it any policy of the machine's. `report`: a file
 * that gets a line about each container at its end; see shim/report.h.
 */
struct wdr_shim_settings {
	char *runsc;	    /* or NULL */
	char *default_name; /* or NULL */
	char *report;	    /* or NULL */
	char **names;	    /* n_names of them */
	size_t n_names;
	bool any_name; /* `policies` is not there */
};

/* Read @text, called @file in messages. 0; -EINVAL with the place; -ENOMEM. */
int wdr_shim_settings_parse(const char *file, const char *text, size_t n,
			    struct wdr_shim_settings **ret, struct wdr_err *err) wdr_must_check;
/* Read WDR_SHIM_SETTINGS; a file that is not there says nothing. 0 or as parse, or -errno. */
int wdr_shim_settings_load(const char *file, struct wdr_shim_settings **ret,
			   struct wdr_err *err) wdr_must_check;
void wdr_shim_settings_freep(struct wdr_shim_settings **s);

/* What config.json says; every string is owned, NULL where it is not said. */
struct wdr_shim_bundle {
	char *policy;	/* the annotation */
	char *cgroup;	/* linux.cgroupsPath */
	char *netns;	/* path of the network namespace */
	bool has_netns; /* it has one of its own, by that path or a new one */
	bool has_hooks; /* programs that runsc starts before the container's, to set it up */
	double quota;	/* CPUs that linux.resources gives it, 0: no limit */
	bool joins;	/* a container inside a sandbox of another (CRI's container-type) */
	char *sandbox;	/* the id of that */
};

/* 0; -EINVAL for what is no config.json, saying why; -ENOMEM. Pure. */
int wdr_shim_bundle_parse(const char *text, size_t n, struct wdr_shim_bundle **ret,
			  struct wdr_err *err) wdr_must_check;
/* The config.json in folder @dir (NULL: the working directory). */
int wdr_shim_bundle_load(const char *dir, struct wdr_shim_bundle **ret,
			 struct wdr_err *err) wdr_must_check;
void wdr_shim_bundle_freep(struct wdr_shim_bundle **b);

/*
 * The name of the policy that holds for @b, NULL for none; it stays @b's or @s's. -EPERM if the
 * annotation names one that it may not, -EINVAL if it is no name.
 */
int wdr_shim_choose(const struct wdr_shim_settings *s, const struct wdr_shim_bundle *b,
		    const char **ret, struct wdr_err *err) wdr_must_check;

#define wdr_shim_settings_ wdr_cleanup(wdr_shim_settings_freep)
#define wdr_shim_bundle_   wdr_cleanup(wdr_shim_bundle_freep)
