/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/choice.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/wdr_field.h"
#include "base/wdr_id.h"
#include "base/wdr_io.h"
#include "base/wdr_text.h"

#define MAX_SETTINGS (1 << 20)

static int read_version(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	(void)f;
	(void)at;
	return json_integer_value(v) == 1 ? 0 : wdr_err_set(c->err, -EINVAL, "not known: want 1");
}

static int read_string(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	char **field = at;

	(void)c;
	(void)f;
	*field = strdup(json_string_value(v));
	return *field ? 0 : -ENOMEM;
}

static int check_name(const char *name, struct wdr_err *err)
{
	if (wdr_job_label_ok(name))
		return 0;
	return wdr_err_set(err, -EINVAL,
			   "no name of a policy: want [A-Za-z0-9][A-Za-z0-9._-]{0,62}");
}

static int read_name(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	int r = check_name(json_string_value(v), c->err);

	return r < 0 ? r : read_string(c, v, f, at);
}

static int read_path(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	if (json_string_value(v)[0] != '/')
		return wdr_err_set(c->err, -EINVAL, "not an absolute path");
	return read_string(c, v, f, at);
}

static int read_names(struct wdr_cursor *c, json_t *v, const struct wdr_field *f, void *at)
{
	struct wdr_shim_settings *s = at;
	size_t i, mark;
	json_t *e;
	int r;

	(void)f;
	if (json_array_size(v) > WDR_SHIM_MAX_NAMES)
		return wdr_err_set(c->err, -EINVAL, "too many: at most %d", WDR_SHIM_MAX_NAMES);
	s->any_name = false;
	s->names = calloc(json_array_size(v) + 1, sizeof(*s->names));
	if (!s->names)
		return -ENOMEM;
	json_array_foreach(v, i, e) {
		mark = wdr_cursor_enter_index(c, i);
		r = wdr_field_type(c, e, WDR_IS_STRING);
		if (r == 0)
			r = check_name(json_string_value(e), c->err);
		if (r < 0)
			return r;
		s->names[i] = strdup(json_string_value(e));
		if (!s->names[i])
			return -ENOMEM;
		s->n_names++;
		wdr_cursor_leave(c, mark);
	}
	return 0;
}

static const struct wdr_field settings_fields[] = {
	{ "version", WDR_IS_WHOLE, true, read_version, 0, NULL },
	{ "runsc", WDR_IS_STRING, false, read_path, offsetof(struct wdr_shim_settings, runsc),
	  NULL },
	{ "default", WDR_IS_STRING, false, read_name,
	  offsetof(struct wdr_shim_settings, default_name), NULL },
	{ "policies", WDR_IS_ARRAY, false, read_names, 0, NULL },
	{ "report", WDR_IS_STRING, false, read_path, offsetof(struct wdr_shim_settings, report),
	  NULL },
	WDR_FIELD_END,
};

void wdr_shim_settings_freep(struct wdr_shim_settings **sp)
{
	struct wdr_shim_settings *s = *sp;

	*sp = NULL;
	if (!s)
		return;
	for (size_t i = 0; i < s->n_names; i++)
		free(s->names[i]);
	free(s->names);
	free(s->runsc);
	free(s->default_name);
	free(s->report);
	free(s);
}

static int new_settings(struct wdr_shim_settings **ret)
{
	struct wdr_shim_settings *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->any_name = true;
	*ret = s;
	return 0;
}

int wdr_shim_settings_parse(const char *file, const char *text, size_t n,
			    struct wdr_shim_settings **ret, struct wdr_err *err)
{
	struct wdr_cursor c = { .file = file, .root = settings_fields, .err = err };
	wdr_shim_settings_ struct wdr_shim_settings *s = NULL;
	wdr_json_ json_t *o = NULL;
	char place[32];
	json_error_t e;
	int r = new_settings(&s);

	if (r < 0)
		return r;
	o = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
	if (!o) {
		(void)wdr_err_set(err, -EINVAL, "%s", e.text);
		(void)snprintf(place, sizeof(place), "%d:%d", e.line, e.column);
		if (err)
			wdr_place(err->where, sizeof(err->where), file, place);
		return -EINVAL;
	}
	r = wdr_field_read(&c, o, settings_fields, s);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(s);
	return 0;
}

int wdr_shim_settings_load(const char *file, struct wdr_shim_settings **ret, struct wdr_err *err)
{
	wdr_free_ char *text = NULL;
	size_t n = 0;
	int r = wdr_read_file(AT_FDCWD, file, MAX_SETTINGS, &text, &n);

	if (r == -ENOENT)
		return new_settings(ret);
	if (r < 0)
		return wdr_err_wrap(err, r, "%s", file);
	return wdr_shim_settings_parse(file, text, n, ret, err);
}

void wdr_shim_bundle_freep(struct wdr_shim_bundle **bp)
{
	struct wdr_shim_bundle *b = *bp;

	*bp = NULL;
	if (!b)
		return;
	free(b->policy);
	free(b->cgroup);
	free(b->netns);
	free(b->sandbox);
	free(b);
}

/* A string without a NUL inside; another type is an error of the bundle's that runsc will name. */
static int take_string(json_t *v, char **ret, struct wdr_err *err)
{
	if (!json_is_string(v))
		return 0;
	if (strlen(json_string_value(v)) != json_string_length(v))
		return wdr_err_set(err, -EINVAL, "config.json: a NUL in a string");
	*ret = strdup(json_string_value(v));
	return *ret ? 0 : -ENOMEM;
}

/*
 * runsc reads the same text with Go's encoding/json, which takes "Linux" and "linu\u017f" for a field
 * "linux", and of two the later, or both: what only one of us understands is refused. Keys of
 * annotations are data, and stay as they are. @names ends with NULL.
 */
static int check_keys(json_t *o, const char *const *names, struct wdr_err *err)
{
	const char *key;
	char safe[48];
	json_t *v;

	json_object_foreach(o, key, v) {
		bool good = true;

		for (const char *c = key; *c; c++)
			good = good && !(*c & 0x80);
		for (size_t i = 0; good && names[i]; i++)
			good = strcasecmp(key, names[i]) != 0 || !strcmp(key, names[i]);
		if (!good)
			return wdr_err_set(err, -EINVAL, "config.json: a key spelt \"%s\"",
					   wdr_text_escape(key, strlen(key), safe, sizeof(safe)));
	}
	return 0;
}

static int check_spelling(json_t *o, struct wdr_err *err)
{
	static const char *const top[] = { "annotations", "linux", "hooks", NULL };
	static const char *const lin[] = { "namespaces", "cgroupsPath", "resources", NULL };
	static const char *const resources[] = { "cpu", NULL };
	static const char *const cpu[] = { "quota", "period", NULL };
	static const char *const ns[] = { "type", "path", NULL };
	static const char *const hooks[] = { "prestart", "createRuntime", NULL };
	json_t *part = json_object_get(o, "linux"), *res = json_object_get(part, "resources"), *e;
	int r = check_keys(o, top, err);
	size_t i;

	if (r == 0)
		r = check_keys(part, lin, err);
	if (r == 0)
		r = check_keys(res, resources, err);
	if (r == 0)
		r = check_keys(json_object_get(res, "cpu"), cpu, err);
	if (r == 0)
		r = check_keys(json_object_get(o, "hooks"), hooks, err);
	json_array_foreach(json_object_get(part, "namespaces"), i, e) {
		if (r == 0)
			r = check_keys(e, ns, err);
	}
	return r;
}

static int take_netns(json_t *linux_part, struct wdr_shim_bundle *b, struct wdr_err *err)
{
	json_t *list = json_object_get(linux_part, "namespaces"), *e;
	size_t i;
	int r = 0;

	json_array_foreach(list, i, e) {
		const char *type = json_string_value(json_object_get(e, "type"));

		if (!type || strcmp(type, "network") != 0)
			continue;
		if (b->has_netns)
			return wdr_err_set(err, -EINVAL, "config.json: two network namespaces");
		b->has_netns = true;
		if (r == 0)
			r = take_string(json_object_get(e, "path"), &b->netns, err);
	}
	return r;
}

/*
 * containerd and CRI-O: a pod's first container is the sandbox and the others join it
 * (containerd internal/cri/annotations, "container-type"). gVisor goes by the first of the two that is
 * there (SpecContainerType, SandboxID in specutils/cri.go), whatever the other says.
 */
static int take_pod(json_t *annotations, struct wdr_shim_bundle *b, struct wdr_err *err)
{
	json_t *type = json_object_get(annotations, "io.kubernetes.cri.container-type");
	json_t *id = json_object_get(annotations, "io.kubernetes.cri.sandbox-id");

	if (!type)
		type = json_object_get(annotations, "io.kubernetes.cri-o.ContainerType");
	if (!id)
		id = json_object_get(annotations, "io.kubernetes.cri-o.SandboxID");
	b->joins = json_is_string(type) && !strcmp(json_string_value(type), "container");
	return b->joins ? take_string(id, &b->sandbox, err) : 0;
}

/* A quota of -1 or 0 is none (runtime-spec config-linux.md, cpu), nor is one without a period. */
static double read_quota(json_t *linux_part)
{
	json_t *cpu = json_object_get(json_object_get(linux_part, "resources"), "cpu");
	double quota = json_number_value(json_object_get(cpu, "quota"));
	double period = json_number_value(json_object_get(cpu, "period"));

	return quota > 0 && period > 0 ? quota / period : 0;
}

static bool sets_up_by_hooks(json_t *hooks)
{
	return json_array_size(json_object_get(hooks, "prestart")) > 0 ||
	       json_array_size(json_object_get(hooks, "createRuntime")) > 0;
}

int wdr_shim_bundle_parse(const char *text, size_t n, struct wdr_shim_bundle **ret,
			  struct wdr_err *err)
{
	wdr_shim_bundle_ struct wdr_shim_bundle *b = calloc(1, sizeof(*b));
	wdr_json_ json_t *o = NULL;
	json_t *annotations, *named, *part;
	json_error_t e;
	int r;

	if (!b)
		return -ENOMEM;
	o = json_loadb(text, n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &e);
	if (!json_is_object(o))
		return wdr_err_set(err, -EINVAL, "config.json: %s", o ? "no object" : e.text);
	r = check_spelling(o, err);
	if (r < 0)
		return r;
	annotations = json_object_get(o, "annotations");
	part = json_object_get(o, "linux");
	named = json_object_get(annotations, WDR_SHIM_ANNOTATION);
	if (named && !json_is_string(named))
		return wdr_err_set(err, -EINVAL, "config.json: annotation %s is no string",
				   WDR_SHIM_ANNOTATION);
	r = take_string(named, &b->policy, err);
	if (r == 0)
		r = take_string(json_object_get(part, "cgroupsPath"), &b->cgroup, err);
	if (r == 0)
		r = take_netns(part, b, err);
	if (r == 0)
		r = take_pod(annotations, b, err);
	if (r < 0)
		return r;
	b->quota = read_quota(part);
	b->has_hooks = sets_up_by_hooks(json_object_get(o, "hooks"));
	*ret = WDR_TAKE_PTR(b);
	return 0;
}

int wdr_shim_bundle_load(const char *dir, struct wdr_shim_bundle **ret, struct wdr_err *err)
{
	wdr_free_ char *text = NULL;
	wdr_free_ char *path = NULL;
	struct stat st;
	size_t n = 0;
	int r;

	if (asprintf(&path, "%s/config.json", dir ? dir : ".") < 0)
		return -ENOMEM;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* a fifo would be waited for */
		return wdr_err_set(err, -EINVAL, "%s is no file", path);
	r = wdr_read_file(AT_FDCWD, path, WDR_SHIM_MAX_CONFIG, &text, &n);
	if (r < 0)
		return wdr_err_wrap(err, r, "%s", path);
	return wdr_shim_bundle_parse(text, n, ret, err);
}

int wdr_shim_choose(const struct wdr_shim_settings *s, const struct wdr_shim_bundle *b,
		    const char **ret, struct wdr_err *err)
{
	int r;

	if (!b->policy) {
		*ret = s->default_name;
		return 0;
	}
	r = check_name(b->policy, err);
	if (r < 0)
		return wdr_err_wrap(err, r, "annotation %s", WDR_SHIM_ANNOTATION);
	*ret = b->policy;
	if (s->any_name)
		return 0;
	for (size_t i = 0; i < s->n_names; i++)
		if (!strcmp(s->names[i], b->policy))
			return 0;
	return wdr_err_set(err, -EPERM, "annotation %s: policy \"%s\" is not among those of %s",
			   WDR_SHIM_ANNOTATION, b->policy, WDR_SHIM_SETTINGS);
}
