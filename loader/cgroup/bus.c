/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of sd-bus that scope.c uses, each passed on to libsystemd once that is loaded. */
#include <stdarg.h>
#include <systemd/sd-bus.h>

#include "base/wdr_systemd.h"
#include "cgroup/cgroup_priv.h"

static struct {
	int (*new)(sd_bus **ret);
	int (*open_system)(sd_bus **ret);
	int (*open_user)(sd_bus **ret);
	int (*set_address)(sd_bus *bus, const char *address);
	int (*start)(sd_bus *bus);
	sd_bus *(*close_unref)(sd_bus *bus);
	int (*process)(sd_bus *bus, sd_bus_message **m);
	int (*wait)(sd_bus *bus, uint64_t usec);
	int (*call)(sd_bus *bus, sd_bus_message *m, uint64_t usec, sd_bus_error *e,
		    sd_bus_message **reply);
	int (*match_signal)(sd_bus *bus, sd_bus_slot **slot, const char *sender, const char *path,
			    const char *interface, const char *member, sd_bus_message_handler_t fn,
			    void *userdata);
	sd_bus_slot *(*slot_unref)(sd_bus_slot *slot);
	void (*error_free)(sd_bus_error *e);
	int (*message_new_method_call)(sd_bus *bus, sd_bus_message **m, const char *destination,
				       const char *path, const char *interface, const char *member);
	int (*message_open_container)(sd_bus_message *m, char type, const char *contents);
	int (*message_close_container)(sd_bus_message *m);
	sd_bus_message *(*message_unref)(sd_bus_message *m);
	int (*message_appendv)(sd_bus_message *m, const char *types, va_list ap);
	int (*message_readv)(sd_bus_message *m, const char *types, va_list ap);
	int (*call_methodv)(sd_bus *bus, const char *destination, const char *path,
			    const char *interface, const char *member, sd_bus_error *e,
			    sd_bus_message **reply, const char *types, va_list ap);
} g_bus;

static const struct wdr_symbol symbols[] = {
	{ "sd_bus_new", &g_bus.new },
	{ "sd_bus_open_system", &g_bus.open_system },
	{ "sd_bus_open_user", &g_bus.open_user },
	{ "sd_bus_set_address", &g_bus.set_address },
	{ "sd_bus_start", &g_bus.start },
	{ "sd_bus_close_unref", &g_bus.close_unref },
	{ "sd_bus_process", &g_bus.process },
	{ "sd_bus_wait", &g_bus.wait },
	{ "sd_bus_call", &g_bus.call },
	{ "sd_bus_match_signal", &g_bus.match_signal },
	{ "sd_bus_slot_unref", &g_bus.slot_unref },
	{ "sd_bus_error_free", &g_bus.error_free },
	{ "sd_bus_message_new_method_call", &g_bus.message_new_method_call },
	{ "sd_bus_message_open_container", &g_bus.message_open_container },
	{ "sd_bus_message_close_container", &g_bus.message_close_container },
	{ "sd_bus_message_unref", &g_bus.message_unref },
	{ "sd_bus_message_appendv", &g_bus.message_appendv },
	{ "sd_bus_message_readv", &g_bus.message_readv },
	{ "sd_bus_call_methodv", &g_bus.call_methodv },
};

int wdr_bus_load(struct wdr_err *err)
{
	if (g_bus.call_methodv)
		return 0;
	return wdr_systemd_load(symbols, sizeof(symbols) / sizeof(symbols[0]), err);
}

int sd_bus_new(sd_bus **ret)
{
	return g_bus.new(ret);
}

int sd_bus_open_system(sd_bus **ret)
{
	return g_bus.open_system(ret);
}

int sd_bus_open_user(sd_bus **ret)
{
	return g_bus.open_user(ret);
}

int sd_bus_set_address(sd_bus *bus, const char *address)
{
	return g_bus.set_address(bus, address);
}

int sd_bus_start(sd_bus *bus)
{
	return g_bus.start(bus);
}

sd_bus *sd_bus_close_unref(sd_bus *bus)
{
	return g_bus.close_unref(bus);
}

int sd_bus_process(sd_bus *bus, sd_bus_message **m)
{
	return g_bus.process(bus, m);
}

int sd_bus_wait(sd_bus *bus, uint64_t usec)
{
	return g_bus.wait(bus, usec);
}

int sd_bus_call(sd_bus *bus, sd_bus_message *m, uint64_t usec, sd_bus_error *e,
		sd_bus_message **reply)
{
	return g_bus.call(bus, m, usec, e, reply);
}

int sd_bus_match_signal(sd_bus *bus, sd_bus_slot **slot, const char *sender, const char *path,
			const char *interface, const char *member, sd_bus_message_handler_t fn,
			void *userdata)
{
	return g_bus.match_signal(bus, slot, sender, path, interface, member, fn, userdata);
}

sd_bus_slot *sd_bus_slot_unref(sd_bus_slot *slot)
{
	return g_bus.slot_unref(slot);
}

void sd_bus_error_free(sd_bus_error *e)
{
	g_bus.error_free(e);
}

int sd_bus_message_new_method_call(sd_bus *bus, sd_bus_message **m, const char *destination,
				   const char *path, const char *interface, const char *member)
{
	return g_bus.message_new_method_call(bus, m, destination, path, interface, member);
}

int sd_bus_message_open_container(sd_bus_message *m, char type, const char *contents)
{
	return g_bus.message_open_container(m, type, contents);
}

int sd_bus_message_close_container(sd_bus_message *m)
{
	return g_bus.message_close_container(m);
}

sd_bus_message *sd_bus_message_unref(sd_bus_message *m)
{
	return g_bus.message_unref(m);
}

int sd_bus_message_append(sd_bus_message *m, const char *types, ...)
{
	va_list ap;
	int r;

	va_start(ap, types);
	r = g_bus.message_appendv(m, types, ap);
	va_end(ap);
	return r;
}

int sd_bus_message_read(sd_bus_message *m, const char *types, ...)
{
	va_list ap;
	int r;

	va_start(ap, types);
	r = g_bus.message_readv(m, types, ap);
	va_end(ap);
	return r;
}

int sd_bus_call_method(sd_bus *bus, const char *destination, const char *path,
		       const char *interface, const char *member, sd_bus_error *e,
		       sd_bus_message **reply, const char *types, ...)
{
	va_list ap;
	int r;

	va_start(ap, types);
	r = g_bus.call_methodv(bus, destination, path, interface, member, e, reply, types, ap);
	va_end(ap);
	return r;
}
