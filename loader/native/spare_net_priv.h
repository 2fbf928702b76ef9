/* SPDX-License-Identifier: Apache-2.0 */
/* What a unit test sees of spare_net.c. */
#pragma once

#include <stdbool.h>

/*
 * Whether every count in @text is 0: a file dev, snmp, snmp6 or netstat of /proc/net. Numbers that
 * are settings and stand among them do not count.
 */
bool wdr_spare_net_is_zero(const char *text);
