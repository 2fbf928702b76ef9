/* SPDX-License-Identifier: Apache-2.0 */
/* Between the table of commands and `warder help`. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cli/cli.h"

/* The command that the first words of @argv name, and how many they are; NULL: none. */
const struct wdr_command *wdr_cli_find(int argc, char **argv, int *ret_words);
/* Whether @word is the first of a command of two words: "policy". */
bool wdr_cli_is_group(const char *word);
/* Say that no command has this name, and which one may be meant. Returns the exit status. */
int wdr_cli_unknown(int argc, char **argv);
/* Usage and a line for every command, or for those of one group (NULL: all). */
void wdr_cli_overview(FILE *f, const char *group);
