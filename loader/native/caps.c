/* SPDX-License-Identifier: Apache-2.0 */
#include "native/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_CAP 64

int wdr_caps_bound(uint64_t keep)
{
	for (unsigned int cap = 0; cap < MAX_CAP; cap++) {
		if (keep & (UINT64_C(1) << cap))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL) /* past the kernel's last capability (prctl(2)) */
			break;
		return -errno;
	}
	return 0;
}

int wdr_caps_set(uint64_t keep)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { 0 };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	for (int i = 0; i < 2; i++)
		d[i].permitted = d[i].effective = d[i].inheritable = (uint32_t)(keep >> (32 * i));
	if (syscall(SYS_capset, &h, d) < 0)
		return -errno;
	for (unsigned int cap = 0; cap < MAX_CAP; cap++) {
		if ((keep & (UINT64_C(1) << cap)) &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			return -errno;
	}
	return 0;
}

int wdr_caps_drop(uint64_t keep)
{
	int r = wdr_caps_bound(keep);

	return r < 0 ? r : wdr_caps_set(keep);
}
