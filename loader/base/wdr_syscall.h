/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls by name and by number, for the architecture this was built for. The numbers are the
 * kernel's ABI (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h) up to
 * Linux 7.0, whatever the headers of the build machine know.
 */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/wdr_err.h"

#define WDR_SYSCALL_MAX	     512 /* every number that has a name is below */
#define WDR_SYSCALL_NAME_MAX 31

/* NULL for a number without a name; else a string that lives as long as the process. */
const char *wdr_syscall_name(unsigned int nr);

/* The number of the call named by the @len bytes at @name; -ENOENT if this architecture has none. */
int wdr_syscall_find(const char *name, size_t len);

/* The same for a word of the user's: -EINVAL, with the nearest name there is. */
int wdr_syscall_require(const char *name, struct wdr_err *err) wdr_must_check;

static inline int wdr_syscall_number(const char *name)
{
	return wdr_syscall_find(name, strlen(name));
}
