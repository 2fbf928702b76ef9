/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_own.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

int wdr_own_addresses(struct wdr_prefix **ret, size_t *ret_n)
{
	wdr_free_ struct wdr_prefix *own = NULL;
	struct ifaddrs *list = NULL;
	size_t n = 0;

	if (getifaddrs(&list) < 0)
		return -errno;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next)
		n++;
	own = calloc(n + 1, sizeof(*own));
	n = 0;
	for (const struct ifaddrs *i = list; own && i; i = i->ifa_next) {
		if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET) {
			const struct sockaddr_in *in = (const void *)i->ifa_addr;

			own[n] = (struct wdr_prefix){ .family = AF_INET, .len = 32 };
			memcpy(own[n++].addr, &in->sin_addr, 4);
		} else if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET6) {
			const struct sockaddr_in6 *in6 = (const void *)i->ifa_addr;

			own[n] = (struct wdr_prefix){ .family = AF_INET6, .len = 128 };
			memcpy(own[n++].addr, &in6->sin6_addr, 16);
		}
	}
	freeifaddrs(list);
	if (!own)
		return -ENOMEM;
	*ret = WDR_TAKE_PTR(own);
	*ret_n = n;
	return 0;
}
