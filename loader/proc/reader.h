/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * WDR_FEED_ROLE: read the seccheck sink at WDR_ROLE_FDS, tell the supervisor at WDR_ROLE_SOCK as
 * feed.h has it, until that one is gone. Returns what to exit with.
 */
int wdr_proc_reader(void);
