/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's terminal while a job has a pty: every byte goes to the job, Ctrl-C too. */
#pragma once

#include "base/wdr_cleanup.h"

/* Make stdin raw. Restored by wdr_tty_restore(), which does nothing if this failed. */
void wdr_tty_raw(void);
void wdr_tty_restore(void);
/* Rows and columns of the terminal on stdin; 0 and 0 where there is none. */
void wdr_tty_size(unsigned short *ret_rows, unsigned short *ret_cols);
