/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tty.h"

#include <stdbool.h>
#include <sys/ioctl.h>
#include <termios.h>

/* One process has one terminal, and it must be restored from wherever the process ends. */
static struct termios g_saved;
static bool g_raw;

void wdr_tty_raw(void)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &g_saved) < 0)
		return;
	raw = g_saved;
	cfmakeraw(&raw);
	g_raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

void wdr_tty_restore(void)
{
	/* Not TCSADRAIN: a terminal stopped by Ctrl-S, or whose other end does not read, never drains. */
	if (g_raw)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &g_saved);
	g_raw = false;
}

void wdr_tty_size(unsigned short *ret_rows, unsigned short *ret_cols)
{
	struct winsize w = { 0 };

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &w) < 0)
		w.ws_row = w.ws_col = 0;
	*ret_rows = w.ws_row;
	*ret_cols = w.ws_col;
}
