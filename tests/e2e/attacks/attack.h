/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An attack is a row: a name and a function that makes the attempt and says what came of it. It
 * ends with 0 if it got through, 1 if it was refused, 2 if the attempt could not be made at all,
 * which is no refusal.
 */
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	GOT,
	REFUSED,
	BROKEN
};

struct attack {
	const char *name;
	int (*run)(char **args); /* what follows the name, NULL-terminated */
};

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

__attribute__((format(printf, 2, 3))) static inline int say(int verdict, const char *fmt, ...)
{
	static const char *const words[] = { "got through: ", "refused: ", "broken: " };
	va_list ap;

	(void)fputs(words[verdict], stdout);
	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	(void)putchar('\n');
	(void)fflush(stdout);
	return verdict;
}

/* @r as a system call returns it. */
static inline int verdict_of(long r, const char *what)
{
	return r < 0 ? say(REFUSED, "%s: %s", what, strerror(errno)) : say(GOT, "%s", what);
}

static inline long number(const char *text)
{
	return strtol(text, NULL, 0);
}

static inline int attack_main(const struct attack *attacks, size_t n, char **argv)
{
	for (size_t i = 0; argv[1] && i < n; i++)
		if (!strcmp(attacks[i].name, argv[1]))
			return attacks[i].run(argv + 2);
	return say(BROKEN, "no attack \"%s\" in %s", argv[1] ? argv[1] : "", argv[0]);
}
