/* SPDX-License-Identifier: Apache-2.0 */
/* The pure side of the probe: what runsc's answers mean, and an answer of ours as JSON. */
#include <errno.h>
#include <string.h>

#include "probe.h"

#define FORMAT 2

const char *wdr_runsc_platform_name(enum wdr_runsc_platform p)
{
	static const char *const names[] = { "systrap", "kvm", "ptrace" };

	_Static_assert(sizeof(names) / sizeof(names[0]) == _WDR_RUNSC_PLATFORM_MAX, "a name each");
	return names[p];
}

/* The help text of flag @name in what `runsc flags` prints, or NULL. Ends at the next flag. */
static const char *find_flag(const char *text, const char *name, size_t *ret_len)
{
	size_t n = strlen(name);
	const char *next;

	for (const char *at = text; (at = strstr(at, "  -")); at += 3) {
		if ((at != text && at[-1] != '\n') || strncmp(at + 3, name, n) ||
		    !strchr(" \n\t", at[3 + n]))
			continue;
		next = strstr(at + 3, "\n  -");
		*ret_len = next ? (size_t)(next - at) : strlen(at);
		return at;
	}
	return NULL;
}

unsigned int wdr_runsc_features(const char *flags_text)
{
	static const struct {
		const char *flag, *word; /* word: in its help text, NULL: any */
		unsigned int feature;
	} rows[] = {
		{ "overlay2", NULL, WDR_RUNSC_OVERLAY2 },
		{ "overlay2", "dir=", WDR_RUNSC_OVERLAY2_DIR },
		{ "oci-seccomp", NULL, WDR_RUNSC_OCI_SECCOMP },
		{ "pod-init-config", NULL, WDR_RUNSC_TRACE },
	};
	unsigned int features = 0;
	const char *help;
	size_t len;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		help = find_flag(flags_text, rows[i].flag, &len);
		if (help &&
		    (!rows[i].word || memmem(help, len, rows[i].word, strlen(rows[i].word))))
			features |= rows[i].feature;
	}
	return features;
}

bool wdr_runsc_holds(const char *run_help)
{
	size_t len;

	return find_flag(run_help, "exec-fd", &len) && find_flag(run_help, "pass-fd", &len);
}

int wdr_runsc_version(const char *text, char *ret, size_t size)
{
	static const char head[] = "runsc version ";
	size_t n;

	if (strncmp(text, head, sizeof(head) - 1))
		return -EPROTO;
	text += sizeof(head) - 1;
	n = strcspn(text, "\r\n");
	if (n == 0 || n >= size)
		return -EPROTO;
	for (size_t i = 0; i < n; i++)
		if (text[i] < 0x21 || text[i] > 0x7e)
			return -EPROTO;
	memcpy(ret, text, n);
	ret[n] = '\0';
	return 0;
}

json_t *wdr_runsc_to_json(const struct wdr_runsc *r, const struct wdr_runsc_key *k, int64_t now_s)
{
	return json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:I, s:b, s:s, s:s}",
			 "format", FORMAT, "boot", k->boot, "path", k->path, "dev",
			 (json_int_t)k->dev, "ino", (json_int_t)k->ino, "size",
			 (json_int_t)k->size_bytes, "mtime_ns", (json_int_t)k->mtime_ns, "asked_s",
			 (json_int_t)now_s, "version", r->version, "features",
			 (json_int_t)r->features, "works", r->works, "platform",
			 wdr_runsc_platform_name(r->platform), "why", r->why);
}

static int copy(char *dst, size_t size, const char *src)
{
	size_t n = strlen(src);

	if (n >= size)
		return -EPROTO;
	memcpy(dst, src, n + 1);
	return 0;
}

static int find_platform(const char *name)
{
	for (int i = 0; i < _WDR_RUNSC_PLATFORM_MAX; i++)
		if (!strcmp(wdr_runsc_platform_name((enum wdr_runsc_platform)i), name))
			return i;
	return -EPROTO;
}

int wdr_runsc_from_json(json_t *o, const struct wdr_runsc_key *k, int64_t now_s,
			struct wdr_runsc *ret)
{
	json_int_t dev, ino, size, mtime, asked, features;
	const char *boot, *path, *version, *platform, *why;
	struct wdr_runsc r = { 0 };
	int format, works, p;

	if (json_unpack(o, "{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:I, s:b, s:s, s:s !}",
			"format", &format, "boot", &boot, "path", &path, "dev", &dev, "ino", &ino,
			"size", &size, "mtime_ns", &mtime, "asked_s", &asked, "version", &version,
			"features", &features, "works", &works, "platform", &platform, "why",
			&why) < 0)
		return -EPROTO;
	p = find_platform(platform);
	if (format != FORMAT || p < 0 || features < 0 ||
	    features & ~(json_int_t)_WDR_RUNSC_FEATURES)
		return -EPROTO;
	if (strcmp(boot, k->boot) || strcmp(path, k->path) || (uint64_t)dev != k->dev ||
	    (uint64_t)ino != k->ino || (uint64_t)size != k->size_bytes || mtime != k->mtime_ns)
		return -ESTALE;
	if (!works && (now_s < asked || now_s - asked > WDR_RUNSC_RETRY_S))
		return -ESTALE;
	if (copy(r.path, sizeof(r.path), path) < 0 ||
	    copy(r.version, sizeof(r.version), version) < 0 || copy(r.why, sizeof(r.why), why) < 0)
		return -EPROTO;
	r.features = (unsigned int)features;
	r.works = works;
	r.platform = (enum wdr_runsc_platform)p;
	*ret = r;
	return 0;
}
