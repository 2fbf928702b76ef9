/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wdr_pidfd.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int wdr_pidfd_kill(int pidfd)
{
	return syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0 ? -errno : 0;
}

void wdr_pidfd_end(int *pidfd)
{
	siginfo_t si;

	if (*pidfd < 0)
		return;
	(void)wdr_pidfd_kill(*pidfd);
	while (waitid(P_PIDFD, (id_t)*pidfd, &si, WEXITED) < 0 && errno == EINTR)
		;
	wdr_closep(pidfd);
}
