/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox made only to see whether one can be made: no limits, no cgroup, no network. */
#include <errno.h>
#include <poll.h>
#include <sys/wait.h>

#include "base/wdr_event.h"
#include "policy/policy.h"
#include "runsc.h"
#include "sandbox_priv.h"

static int64_t now_ms(void)
{
	return (int64_t)(wdr_now_ns() / 1000000);
}

static int await_end(struct wdr_backend_job *b, int timeout_ms, struct wdr_err *err)
{
	struct pollfd p = { .fd = wdr_runsc_ops.msg_fd(b), .events = POLLIN };
	int64_t deadline = now_ms() + timeout_ms, left;
	struct wdr_backend_msg m = { .event = WDR_BACKEND_NOTHING };
	int r;

	while (m.event != WDR_BACKEND_EXITED) {
		left = deadline - now_ms();
		r = left > 0 ? poll(&p, 1, (int)left) : 0;
		if (r == 0)
			return wdr_err_set(err, -ETIMEDOUT, "did not start within %d s",
					   timeout_ms / 1000);
		if (r < 0 && errno == EINTR)
			continue;
		r = r < 0 ? -errno : wdr_runsc_ops.receive(b, &m, err);
		wdr_closep(&m.fd);
		if (r < 0)
			return wdr_err_wrap(err, r, "sandbox lost");
		if (m.event == WDR_BACKEND_FAILED)
			return err && err->code ? err->code : -EREMOTEIO;
	}
	if (!WIFEXITED(m.status) || WEXITSTATUS(m.status) != 0)
		return wdr_err_set(err, -EREMOTEIO, "a program inside ended with status %#x",
				   (unsigned int)m.status);
	return 0;
}

int wdr_sandbox_try(const struct wdr_runsc *r, int timeout_ms, struct wdr_err *err)
{
	char program[] = "/bin/true", path[] = "PATH=/usr/bin:/bin";
	char *const argv[] = { program, NULL }, *const envp[] = { path, NULL };
	wdr_policy_ struct wdr_policy *p = NULL;
	struct wdr_spec s = {
		.id = "probe",
		.argv = argv,
		.envp = envp,
		.privileged = true,
		.stdio_fds = { -1, -1, -1 },
		.cgroup_fd = -1,
		.net_fd = -1,
	};
	struct wdr_backend_job *b = NULL;
	int e = wdr_policy_default(&p);

	s.policy = p;
	if (e == 0)
		e = wdr_sandbox_spawn(&s, r, &b, err);
	if (e == 0)
		e = wdr_runsc_ops.release(b, err);
	if (e == 0)
		e = await_end(b, timeout_ms, err);
	wdr_runsc_ops.freep(&b);
	return e;
}
