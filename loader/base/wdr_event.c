/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of sd-event that we use, each passed on to libsystemd once that is loaded. They
 * have its names, so that everybody else writes plain sd-event code.
 */
#include "wdr_event.h"

#include "wdr_systemd.h"

static struct {
	int (*event_new)(sd_event **);
	sd_event *(*event_ref)(sd_event *);
	sd_event *(*event_unref)(sd_event *);
	int (*event_loop)(sd_event *);
	int (*event_exit)(sd_event *, int);
	int (*add_io)(sd_event *, sd_event_source **, int, uint32_t, sd_event_io_handler_t, void *);
	int (*add_time)(sd_event *, sd_event_source **, clockid_t, uint64_t, uint64_t,
			sd_event_time_handler_t, void *);
	int (*add_signal)(sd_event *, sd_event_source **, int, sd_event_signal_handler_t, void *);
	int (*add_defer)(sd_event *, sd_event_source **, sd_event_handler_t, void *);
	int (*set_enabled)(sd_event_source *, int);
	int (*set_time)(sd_event_source *, uint64_t);
	sd_event_source *(*disable_unref)(sd_event_source *);
} g_sd;

static const struct wdr_symbol symbols[] = {
	{ "sd_event_new", &g_sd.event_new },
	{ "sd_event_ref", &g_sd.event_ref },
	{ "sd_event_unref", &g_sd.event_unref },
	{ "sd_event_loop", &g_sd.event_loop },
	{ "sd_event_exit", &g_sd.event_exit },
	{ "sd_event_add_io", &g_sd.add_io },
	{ "sd_event_add_time", &g_sd.add_time },
	{ "sd_event_add_signal", &g_sd.add_signal },
	{ "sd_event_add_defer", &g_sd.add_defer },
	{ "sd_event_source_set_enabled", &g_sd.set_enabled },
	{ "sd_event_source_set_time", &g_sd.set_time },
	{ "sd_event_source_disable_unref", &g_sd.disable_unref },
};

int wdr_event_new(sd_event **ret, struct wdr_err *err)
{
	int r = 0;

	if (!g_sd.disable_unref)
		r = wdr_systemd_load(symbols, sizeof(symbols) / sizeof(symbols[0]), err);

	if (r == 0)
		r = g_sd.event_new(ret);
	return r < 0 ? wdr_err_wrap(err, r, "event loop") : 0;
}

sd_event *sd_event_ref(sd_event *e)
{
	return g_sd.event_ref(e);
}

sd_event *sd_event_unref(sd_event *e)
{
	return g_sd.event_unref(e);
}

int sd_event_loop(sd_event *e)
{
	return g_sd.event_loop(e);
}

int sd_event_exit(sd_event *e, int code)
{
	return g_sd.event_exit(e, code);
}

int sd_event_add_io(sd_event *e, sd_event_source **s, int fd, uint32_t events,
		    sd_event_io_handler_t fn, void *userdata)
{
	return g_sd.add_io(e, s, fd, events, fn, userdata);
}

int sd_event_add_time(sd_event *e, sd_event_source **s, clockid_t clock, uint64_t usec,
		      uint64_t accuracy, sd_event_time_handler_t fn, void *userdata)
{
	return g_sd.add_time(e, s, clock, usec, accuracy, fn, userdata);
}

int sd_event_add_signal(sd_event *e, sd_event_source **s, int sig, sd_event_signal_handler_t fn,
			void *userdata)
{
	return g_sd.add_signal(e, s, sig, fn, userdata);
}

int sd_event_add_defer(sd_event *e, sd_event_source **s, sd_event_handler_t fn, void *userdata)
{
	return g_sd.add_defer(e, s, fn, userdata);
}

int sd_event_source_set_enabled(sd_event_source *s, int enabled)
{
	return g_sd.set_enabled(s, enabled);
}

int sd_event_source_set_time(sd_event_source *s, uint64_t usec)
{
	return g_sd.set_time(s, usec);
}

sd_event_source *sd_event_source_disable_unref(sd_event_source *s)
{
	return g_sd.disable_unref(s);
}
