/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

const char *wdr_runsc_platform_name(enum wdr_runsc_platform p)
{
	static const char *const names[] = { "systrap", "kvm", "ptrace" };

	_Static_assert(sizeof(names) / sizeof(names[0]) == _WDR_RUNSC_PLATFORM_MAX, "a name each");
	return names[p];
}
