/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/wdr_hash.h"
#include "base/wdr_lines.h"
#include "base/wdr_text.h"

#define VERSION	  1
#define MAX_TRIES 16 /* others may rotate the file while we open it */

void wdr_shim_report_mark(const struct wdr_policy *p, char mark[WDR_SHIM_MARK_MAX])
{
	uint64_t h = WDR_HASH_START;

	for (size_t i = 0; i < p->net.n_rules; i++) {
		const char *name = p->net.rules[i].name;

		h = wdr_hash_add(h, name ? name : "", name ? strlen(name) + 1 : 1);
	}
	h = wdr_hash_add(h, &p->limits.cpu_ns, sizeof(p->limits.cpu_ns));
	h = wdr_hash_add(h, &p->detect.cpu_for_ns, sizeof(p->detect.cpu_for_ns));
	h = wdr_hash_add(h, &p->detect.cpu_above, sizeof(p->detect.cpu_above));
	(void)snprintf(mark, WDR_SHIM_MARK_MAX, "%016llx", (unsigned long long)h);
}

/*
 * A file of ours: a pipe or a device could hold an engine up, and loses lines. It is not waited for
 * even to find out. -EINVAL for what is no regular file.
 */
static int open_file(const char *file)
{
	wdr_close_ int fd =
		open(file,
		     O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
		     0600);
	struct stat st;

	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno; /* a pipe without a reader, a socket */
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? WDR_TAKE_FD(fd) : -EINVAL;
}

int wdr_shim_report_check(const char *file, struct wdr_err *err)
{
	wdr_close_ int fd = open_file(file);

	if (fd == -EINVAL)
		return wdr_err_set(err, fd, "report %s is no regular file", file);
	return fd < 0 ? wdr_err_wrap(err, fd, "report %s", file) : 0;
}

static json_t *verdict(const struct wdr_result *facts)
{
	char text[WDR_RESULT_LINE_MAX];

	if (facts->exit.reason == WDR_EXIT_EXITED)
		return json_null();
	wdr_result_explain(facts, text, sizeof(text));
	return json_pack("{s:s, s:s}", "reason", wdr_exit_reason_name(facts->exit.reason),
			 "explanation", text);
}

static json_t *instant(const struct timespec *t)
{
	char text[WDR_TEXT_INSTANT_MAX];

	return json_string(wdr_text_instant(*t, text));
}

json_t *wdr_shim_report_line(const struct wdr_shim_record *r, const char *how, bool again,
			     bool same, const struct wdr_result *facts, const struct timespec *made,
			     const struct timespec *now)
{
	wdr_json_ json_t *o =
		json_pack("{s:i, s:o, s:s, s:s, s:s, s:b, s:o, s:s, s:b, s:o}", "version", VERSION,
			  "time", instant(now), "container", r->id, "root", r->root, "policy",
			  r->policy, "policy_changed", (int)!same, "created", instant(made), "end",
			  how, "again", (int)again, "verdict", verdict(facts));
	wdr_json_ json_t *tail = wdr_result_tail(facts);

	if (!o || !tail)
		return NULL;
	/*
	 * Of the layers that hold a container, most are the sandbox' own and its engine's; and nobody
	 * is there to hear of events.
	 */
	(void)json_object_del(tail, "protections");
	(void)json_object_del(tail, "events_lost");
	if (json_object_update(o, tail) < 0)
		return NULL;
	return WDR_TAKE_PTR(o);
}

/* The file with room in it, locked: nobody renames it before it is closed. */
static int open_locked(const char *file, off_t max_bytes)
{
	char old[PATH_MAX];
	struct stat at, st;

	if (snprintf(old, sizeof(old), "%s.1", file) >= (int)sizeof(old))
		return -ENAMETOOLONG;
	for (int i = 0; i < MAX_TRIES; i++) {
		wdr_close_ int fd = open_file(file);
		int r = fd < 0 ? fd : wdr_shim_lock(fd);

		if (r < 0 && r != -EBUSY)
			return r;
		if (fstat(fd, &st) < 0)
			return -errno;
		if (r == -EBUSY)
			return WDR_TAKE_FD(fd); /* who holds it was stopped, and renames nothing */
		if (stat(file, &at) < 0 || at.st_ino != st.st_ino || at.st_dev != st.st_dev)
			continue; /* it has become FILE.1 */
		if (st.st_size < max_bytes)
			return WDR_TAKE_FD(fd);
		if (rename(file, old) < 0)
			return -errno;
	}
	return -EBUSY;
}

int wdr_shim_report_write(const char *file, json_t *line, off_t max_bytes)
{
	wdr_free_ char *json = json_dumps(line, JSON_COMPACT);
	wdr_free_ char *text = NULL;
	wdr_close_ int fd = -1;
	struct wdr_lines lines;
	int n, r;

	n = json ? asprintf(&text, "%s\n", json) : -1;
	if (n < 0)
		return -ENOMEM;
	fd = open_locked(file, max_bytes);
	if (fd < 0)
		return fd;
	wdr_lines_init(&lines, fd);
	wdr_lines_put(&lines, WDR_TAKE_PTR(text), (size_t)n, UINT64_MAX);
	r = lines.rest ? -EAGAIN : lines.error;
	wdr_lines_done(&lines);
	return r;
}
