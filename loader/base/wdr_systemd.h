/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsystemd, loaded when something of it is needed and not with the program: it and the six
 * libraries it brings cost a start half a millisecond, and most starts need little of it, or only
 * while another process has work to do. Who uses a part of it defines that part's functions under
 * their own names and passes them on.
 */
#pragma once

#include <stddef.h>

#include "wdr_err.h"

struct wdr_symbol {
	const char *name;
	void *slot; /* address of the function pointer that gets it */
};

/* Fill the slots of @table. -ELIBACC, naming what is missing: the library, or a function in it. */
int wdr_systemd_load(const struct wdr_symbol *table, size_t n, struct wdr_err *err) wdr_must_check;
