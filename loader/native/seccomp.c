/* SPDX-License-Identifier: Apache-2.0 */
/* From the profile's data and the policy's two lists to one verdict a number. */
#include "native/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "native/seccomp_priv.h"

static const char *const profile_names[] = {
	[WDR_SECCOMP_DEFAULT] = "default",
	[WDR_SECCOMP_STRICT] = "strict",
};

_Static_assert(sizeof(profile_names) / sizeof(profile_names[0]) == _WDR_SECCOMP_PROFILE_MAX,
	       "a name per profile");

static int find_profile(const char *name, struct wdr_err *err)
{
	for (int i = 0; i < _WDR_SECCOMP_PROFILE_MAX; i++)
		if (!strcmp(profile_names[i], name))
			return i;
	return wdr_err_set(err, -EINVAL, "no system call profile \"%.40s\": want default or strict",
			   name);
}

/* Step through @names, words followed by a space: the next one's number, or -ENOENT, as *ret_nr. */
static const char *next_name(const char *names, int *ret_nr)
{
	size_t len = strcspn(names, " ");

	if (!len)
		return NULL;
	*ret_nr = wdr_syscall_find(names, len);
	return names + len + 1;
}

static void apply_groups(struct wdr_seccomp_entry *table, int profile)
{
	for (size_t i = 0; i < wdr_seccomp_n_groups; i++) {
		const struct wdr_seccomp_group *g = &wdr_seccomp_groups[i];
		int nr;

		for (const char *p = g->names; (p = next_name(p, &nr));)
			if (nr >= 0)
				table[nr].verdict = g->verdict[profile];
	}
}

/* Where a group allows a call, a rule about its arguments narrows that. */
static void apply_arg_rules(struct wdr_seccomp_entry *table, int profile, uint64_t capabilities)
{
	for (size_t i = 0; i < wdr_seccomp_n_arg_rules; i++) {
		const struct wdr_seccomp_arg_rule *r = &wdr_seccomp_arg_rules[i];
		bool has_cap = r->capability & capabilities;
		int nr;

		for (const char *p = r->names; (p = next_name(p, &nr));)
			if (nr >= 0 && table[nr].verdict == WDR_SECCOMP_ALLOW)
				table[nr].check =
					has_cap ? &r->with_cap[profile] : &r->check[profile];
	}
}

static int apply_list(struct wdr_seccomp_entry *table, const char *list, char *const *names,
		      size_t n, enum wdr_seccomp_verdict verdict, struct wdr_err *err)
{
	for (size_t i = 0; i < n; i++) {
		int nr = wdr_syscall_require(names[i], err);

		if (nr < 0)
			return wdr_err_wrap(err, nr, "syscalls.%s", list);
		table[nr] = (struct wdr_seccomp_entry){ .verdict = (uint8_t)verdict };
	}
	return 0;
}

int wdr_seccomp_build(const struct wdr_seccomp_spec *spec, struct wdr_seccomp_filter *ret,
		      struct wdr_err *err)
{
	struct wdr_seccomp_entry table[WDR_SYSCALL_MAX] = { 0 };
	int profile = find_profile(spec->profile, err);
	int r;

	if (profile < 0)
		return profile;
	apply_groups(table, profile);
	apply_arg_rules(table, profile, spec->capabilities);
	r = apply_list(table, "allow", spec->allow, spec->n_allow, WDR_SECCOMP_ALLOW, err);
	if (r < 0)
		return r;
	r = apply_list(table, "deny", spec->deny, spec->n_deny, WDR_SECCOMP_REFUSE, err);
	if (r < 0)
		return r;
	r = wdr_seccomp_compile(table, spec->kill, ret);
	if (r < 0)
		return wdr_err_wrap(err, r, "compile the system call filter");
	return 0;
}

int wdr_seccomp_only(const char *names, struct wdr_seccomp_filter *ret)
{
	struct wdr_seccomp_entry table[WDR_SYSCALL_MAX];
	int nr;

	for (size_t i = 0; i < WDR_SYSCALL_MAX; i++)
		table[i] = (struct wdr_seccomp_entry){ .verdict = WDR_SECCOMP_REFUSE };
	for (const char *p = names; (p = next_name(p, &nr));)
		if (nr >= 0)
			table[nr].verdict = WDR_SECCOMP_ALLOW;
	return wdr_seccomp_compile(table, true, ret);
}

void wdr_seccomp_filter_free(struct wdr_seccomp_filter *f)
{
	free(f->insns);
	*f = (struct wdr_seccomp_filter){ 0 };
}

int wdr_seccomp_install(const struct wdr_seccomp_filter *f)
{
	const struct sock_fprog prog = { .len = f->n_insns, .filter = f->insns };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0 ? -errno : 0;
}
