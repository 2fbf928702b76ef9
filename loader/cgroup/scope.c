/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where systemd is PID 1, every cgroup is its own but for what it delegates. So we ask it for a
 * transient scope with Delegate=yes around this process, over the private socket that root needs no
 * dbus-daemon for, else over the user's bus. The scope ends when the last process in it does.
 */
#include "cgroup_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <systemd/sd-bus.h>

#define MANAGER	   "org.freedesktop.systemd1"
#define OBJECT	   "/org/freedesktop/systemd1"
#define INTERFACE  "org.freedesktop.systemd1.Manager"
#define WAIT_US	   5000000 /* for each answer: systemd is busy at boot, not for longer */
#define PATH_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._"

#define bus_	 wdr_cleanup(sd_bus_close_unrefp)
#define message_ wdr_cleanup(sd_bus_message_unrefp)
#define slot_	 wdr_cleanup(sd_bus_slot_unrefp)

/* What we wait for: the job that starts our scope. */
struct start {
	char job[128];	 /* object path, from the reply */
	char result[32]; /* "done", "failed"...; empty until it ended */
};

static int on_job_removed(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct start *s = userdata;
	const char *job, *unit, *result;
	uint32_t id;

	(void)error;
	if (sd_bus_message_read(m, "uoss", &id, &job, &unit, &result) < 0)
		return 0;
	if (!strcmp(job, s->job))
		(void)snprintf(s->result, sizeof(s->result), "%s", result);
	return 0;
}

static int open_private(const char *runtime_dir, sd_bus **ret)
{
	bus_ sd_bus *bus = NULL;
	char address[256];
	int n, r;

	/* An address wants other characters escaped; such a directory goes by the bus instead. */
	if (runtime_dir[strspn(runtime_dir, PATH_CHARS)])
		return -EINVAL;
	n = snprintf(address, sizeof(address), "unix:path=%s/systemd/private", runtime_dir);
	if (n < 0 || (size_t)n >= sizeof(address))
		return -ENAMETOOLONG;
	r = sd_bus_new(&bus);
	if (r < 0)
		return r;
	r = sd_bus_set_address(bus, address);
	if (r < 0)
		return r;
	r = sd_bus_start(bus);
	if (r < 0)
		return r;
	*ret = WDR_TAKE_PTR(bus);
	return 0;
}

/* Direct to the manager if it lets us, else through the bus that it is on. */
static int open_manager(sd_bus **ret, bool *ret_direct)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	char fallback[64];

	(void)snprintf(fallback, sizeof(fallback), "/run/user/%u", (unsigned int)geteuid());
	if (!geteuid())
		dir = "/run";
	else if (!dir || !*dir)
		dir = fallback;
	*ret_direct = !open_private(dir, ret);
	if (*ret_direct)
		return 0;
	return geteuid() ? sd_bus_open_user(ret) : sd_bus_open_system(ret);
}

static int append_properties(sd_bus_message *m)
{
	int r;

	r = sd_bus_message_open_container(m, 'a', "(sv)");
	if (r < 0)
		return r;
	r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s",
				  "Jobs of one Warder", "Slice", "s", WDR_CGROUP_SLICE, "Delegate",
				  "b", 1, "TasksMax", "t", UINT64_MAX, "CollectMode", "s",
				  "inactive-or-failed", "PIDs", "au", 1, (uint32_t)getpid());
	if (r < 0)
		return r;
	r = sd_bus_message_close_container(m);
	if (r < 0)
		return r;
	return sd_bus_message_append(m, "a(sa(sv))", 0);
}

static int call_start(sd_bus *bus, const char *unit, struct start *s, struct wdr_err *err)
{
	message_ sd_bus_message *m = NULL, *reply = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	const char *job;
	int r;

	r = sd_bus_message_new_method_call(bus, &m, MANAGER, OBJECT, INTERFACE,
					   "StartTransientUnit");
	if (r < 0)
		return r;
	r = sd_bus_message_append(m, "ss", unit, "fail");
	if (r < 0)
		return r;
	r = append_properties(m);
	if (r < 0)
		return r;
	r = sd_bus_call(bus, m, WAIT_US, &error, &reply);
	if (r < 0)
		(void)wdr_err_set(err, r, "ask systemd for a scope: %s",
				  error.message ? error.message : strerror(-r));
	sd_bus_error_free(&error);
	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "o", &job);
	if (r < 0)
		return r;
	(void)snprintf(s->job, sizeof(s->job), "%s", job);
	return 0;
}

static int wait_for_job(sd_bus *bus, struct start *s, struct wdr_err *err)
{
	uint64_t now, deadline_us = wdr_cgroup_now_ns() / 1000 + WAIT_US;
	int r;

	while (!*s->result) {
		r = sd_bus_process(bus, NULL);
		if (r < 0)
			return wdr_err_set(err, r, "lost systemd: %s", strerror(-r));
		if (r > 0)
			continue;
		now = wdr_cgroup_now_ns() / 1000;
		if (now >= deadline_us)
			return wdr_err_set(err, -ETIMEDOUT,
					   "systemd did not start a scope within %d s",
					   WAIT_US / 1000000);
		r = sd_bus_wait(bus, deadline_us - now);
		if (r < 0 && r != -EINTR)
			return wdr_err_set(err, r, "lost systemd: %s", strerror(-r));
	}
	if (strcmp(s->result, "done"))
		return wdr_err_set(err, -EIO, "systemd could not start a scope: %s", s->result);
	return 0;
}

/* A direct connection gets all signals; on a bus the manager sends them to who has asked. */
static int subscribe(sd_bus *bus, bool direct, struct start *s, sd_bus_slot **ret)
{
	int r;

	r = sd_bus_match_signal(bus, ret, NULL, OBJECT, INTERFACE, "JobRemoved", on_job_removed, s);
	if (r < 0 || direct)
		return r;
	return sd_bus_call_method(bus, MANAGER, OBJECT, INTERFACE, "Subscribe", NULL, NULL, NULL);
}

int wdr_cgroup_scope_enter(struct wdr_err *err)
{
	bus_ sd_bus *bus = NULL;
	slot_ sd_bus_slot *slot = NULL;
	struct start s = { 0 };
	uint32_t nonce;
	char unit[64];
	bool direct;
	int r;

	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return -EIO;
	(void)snprintf(unit, sizeof(unit), "warder-%d-%08x.scope", (int)getpid(), nonce);
	r = wdr_bus_load(err);
	if (r < 0)
		return r;
	r = open_manager(&bus, &direct);
	if (r < 0 && geteuid())
		return wdr_err_set(err, r, "no systemd of user %u to ask for a scope: %s",
				   (unsigned int)geteuid(), strerror(-r));
	if (r < 0)
		return wdr_err_set(err, r, "reach systemd: %s", strerror(-r));
	r = subscribe(bus, direct, &s, &slot);
	if (r < 0)
		return wdr_err_set(err, r, "listen to systemd: %s", strerror(-r));
	r = call_start(bus, unit, &s, err);
	if (r < 0)
		return r;
	return wait_for_job(bus, &s, err);
}
