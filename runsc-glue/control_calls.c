/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that are made: their arguments and results, by gVisor's names (runsc/boot, 2022 on). */
#include <errno.h>
#include <string.h>

#include "control.h"

#define EXEC_FDS 3

static json_t *strings(char *const *v)
{
	wdr_json_ json_t *list = json_array();
	int failed = !list;

	for (; v && *v; v++)
		failed |= json_array_append_new(list, json_string(*v));
	return failed ? NULL : WDR_TAKE_PTR(list);
}

/* pkg/sentry/kernel/auth, TaskCapabilities: numbers, not names. */
static json_t *capabilities(uint64_t caps)
{
	json_int_t c = (json_int_t)caps;

	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "PermittedCaps", c, "InheritableCaps", c,
			 "EffectiveCaps", c, "BoundingCaps", c, "AmbientCaps", c);
}

int wdr_control_exec(struct wdr_control *c, const struct wdr_control_exec *e, int timeout_ms,
		     int32_t *ret_pid, struct wdr_err *err)
{
	wdr_json_ json_t *arg =
		json_pack("{s:o, s:o, s:s, s:I, s:I, s:[], s:b, s:o, s:b, s:[i, i, i], s:s}",
			  "argv", strings(e->argv), "envv", strings(e->envp), "wd", e->cwd, "KUID",
			  (json_int_t)e->uid, "KGID", (json_int_t)e->gid, "ExtraKGIDs",
			  "NoNewPrivileges", true, "Capabilities", capabilities(e->capabilities),
			  "StdioIsPty", e->tty, "GuestFDs", 0, 1, 2, "ContainerID", e->container);
	wdr_json_ json_t *result = NULL;
	json_int_t pid;
	int r;

	if (!arg) /* no memory, or an argument that is not UTF-8 */
		return wdr_err_set(err, -EILSEQ, "not UTF-8: the sandbox can't be told");
	r = wdr_control_call(c, "containerManager.ExecuteAsync", arg, e->stdio, EXEC_FDS,
			     timeout_ms, &result, err);
	if (r < 0)
		return r;
	pid = json_integer_value(result);
	if (!json_is_integer(result) || pid <= 0 || pid > INT32_MAX)
		return wdr_err_set(err, -EPROTO, "no pid in the sandbox's answer");
	*ret_pid = (int32_t)pid;
	return 0;
}

int wdr_control_wait(struct wdr_control *c, const char *container, int32_t pid)
{
	const char *method = pid ? "containerManager.WaitPID" : "containerManager.Wait";
	wdr_json_ json_t *arg = pid ? json_pack("{s:i, s:s}", "PID", pid, "CID", container) :
				      json_string(container);

	return arg ? wdr_control_send(c, method, arg, NULL, 0) : -ENOMEM;
}

int wdr_control_status(const json_t *result, int *ret_status)
{
	json_int_t n = json_integer_value(result);

	if (!json_is_integer(result) || n < 0 || n > 0xffff)
		return -EPROTO;
	*ret_status = (int)n;
	return 0;
}

int wdr_control_signal(struct wdr_control *c, const char *container, int32_t pid, int signo,
		       int timeout_ms, struct wdr_err *err)
{
	wdr_json_ json_t *arg = json_pack("{s:s, s:i, s:i, s:i}", "CID", container, "Signo", signo,
					  "PID", pid, "Mode", 0);
	wdr_json_ json_t *result = NULL;

	if (!arg)
		return -ENOMEM;
	return wdr_control_call(c, "containerManager.Signal", arg, NULL, 0, timeout_ms, &result,
				err);
}

static int take_task(json_t *o, struct wdr_control_task *t)
{
	json_t *pid = json_object_get(o, "pid"), *ppid = json_object_get(o, "ppid");
	json_t *uid = json_object_get(o, "uid");
	const char *cmd = json_string_value(json_object_get(o, "cmd"));
	json_int_t n = json_integer_value(pid), parent = json_integer_value(ppid);

	if (!json_is_integer(pid) || !json_is_integer(ppid) || !json_is_integer(uid) || !cmd ||
	    n <= 0 || n > INT32_MAX || parent < 0 || parent > INT32_MAX)
		return -EPROTO;
	*t = (struct wdr_control_task){ .pid = (int32_t)n,
					.ppid = (int32_t)parent,
					.uid = (uint32_t)json_integer_value(uid) };
	(void)snprintf(t->cmd, sizeof(t->cmd), "%s", cmd);
	return 0;
}

int wdr_control_tasks(struct wdr_control *c, const char *container, int timeout_ms,
		      struct wdr_control_task **ret, size_t *ret_n, struct wdr_err *err)
{
	wdr_json_ json_t *arg = json_string(container);
	wdr_free_ struct wdr_control_task *tasks = NULL;
	wdr_json_ json_t *result = NULL;
	size_t n;
	int r;

	if (!arg)
		return -ENOMEM;
	r = wdr_control_call(c, "containerManager.Processes", arg, NULL, 0, timeout_ms, &result,
			     err);
	if (r < 0)
		return r;
	n = json_array_size(result);
	if (!json_is_array(result) || n > WDR_CONTROL_MAX_TASKS)
		return wdr_err_set(err, -EPROTO, "no process list in the sandbox's answer");
	tasks = calloc(n + 1, sizeof(*tasks));
	if (!tasks)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (take_task(json_array_get(result, i), &tasks[i]) < 0)
			return wdr_err_set(err, -EPROTO, "no process list in the sandbox's answer");
	*ret = WDR_TAKE_PTR(tasks);
	*ret_n = n;
	return 0;
}

/* Until 2023 a sandbox had figures for itself only and took no id. */
static int call_event(struct wdr_control *c, const char *container, int timeout_ms, json_t **ret,
		      struct wdr_err *err)
{
	static const char method[] = "containerManager.Event";
	wdr_json_ json_t *id = json_string(container);
	wdr_json_ json_t *none = json_object();
	int r;

	if (!id || !none)
		return -ENOMEM;
	r = wdr_control_call(c, method, id, NULL, 0, timeout_ms, ret, NULL);
	if (r == -EREMOTEIO)
		r = wdr_control_call(c, method, none, NULL, 0, timeout_ms, ret, NULL);
	return r < 0 ? wdr_err_wrap(err, r, "ask the sandbox for its figures") : 0;
}

int wdr_control_stats(struct wdr_control *c, const char *container, int timeout_ms,
		      struct wdr_control_stats *ret, struct wdr_err *err)
{
	wdr_json_ json_t *result = NULL;
	json_t *data, *event, *usage, *pids;
	int r;

	r = call_event(c, container, timeout_ms, &result, err);
	if (r < 0)
		return r;
	event = json_object_get(result, "event");
	data = json_object_get(event ? event : result, "data");
	usage = json_object_get(json_object_get(json_object_get(data, "memory"), "usage"), "usage");
	pids = json_object_get(json_object_get(data, "pids"), "current");
	if (!json_is_object(data) || (usage && !json_is_integer(usage)) ||
	    (pids && !json_is_integer(pids)))
		return wdr_err_set(err, -EPROTO, "no figures in the sandbox's answer");
	/* A zero is left out (Go's omitempty). */
	*ret = (struct wdr_control_stats){ .memory_bytes = (uint64_t)json_integer_value(usage),
					   .pids = (uint64_t)json_integer_value(pids) };
	return 0;
}
