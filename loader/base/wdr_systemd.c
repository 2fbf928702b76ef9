/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_systemd.h"

#include <dlfcn.h>
#include <errno.h>

int wdr_systemd_load(const struct wdr_symbol *table, size_t n, struct wdr_err *err)
{
	void *lib = dlopen("libsystemd.so.0", RTLD_LAZY | RTLD_LOCAL);

	if (!lib)
		return wdr_err_set(err, -ELIBACC, "load libsystemd: %s", dlerror());
	for (size_t i = 0; i < n; i++) {
		void *fn = dlsym(lib, table[i].name);

		if (!fn)
			return wdr_err_set(err, -ELIBACC, "libsystemd has no %s", table[i].name);
		*(void **)table[i].slot = fn;
	}
	return 0;
}
