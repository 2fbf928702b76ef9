/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzzer's entry over the files of its corpus, one TAP test a file, without the fuzzer's
 * runtime: what was found once stays fixed wherever the tests run.
 *
 * The corpus of replay_NAME is tests/fuzz/corpus/NAME. An input that crashes ends the program;
 * its name is then the last one printed.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wdr_cleanup.h"

#define MAX_BYTES (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_input(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* The parser gets a block of exactly the file's size, so that a read past its end is seen. */
static int replay_file(const char *path)
{
	wdr_fclose_ FILE *f = fopen(path, "re");
	wdr_free_ uint8_t *whole = malloc(MAX_BYTES);
	wdr_free_ uint8_t *exact = NULL;
	size_t n;

	if (!f)
		return -errno;
	if (!whole)
		return -ENOMEM;
	n = fread(whole, 1, MAX_BYTES, f);
	if (ferror(f))
		return -EIO;
	if (n == MAX_BYTES)
		return -EFBIG;
	exact = malloc(n ? n : 1);
	if (!exact)
		return -ENOMEM;
	memcpy(exact, whole, n);
	(void)LLVMFuzzerTestOneInput(exact, n);
	return 0;
}

static int replay_dir(const char *dir, struct dirent **names, int n_names)
{
	char path[4096];
	int bad = 0;
	int r;

	(void)printf("1..%d\n", n_names + 1);
	(void)fflush(stdout);
	(void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	(void)printf("ok 1 - the empty input\n");
	for (int i = 0; i < n_names; i++) {
		(void)printf("# %s\n", names[i]->d_name);
		(void)fflush(stdout);
		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		r = replay_file(path);
		bad |= r < 0;
		(void)printf("%sok %d - %s %s\n", r < 0 ? "not " : "", i + 2, names[i]->d_name,
			     r < 0 ? strerror(-r) : "");
	}
	return bad;
}

int main(int argc, char **argv)
{
	const char *name = strstr(argv[0], "replay_");
	struct dirent **names = NULL;
	char dir[256];
	int n_names;
	int bad;

	if (argc != 1 || !name) {
		(void)fprintf(stderr, "no arguments; the name says the corpus: replay_NAME\n");
		return 2;
	}
	(void)snprintf(dir, sizeof(dir), "tests/fuzz/corpus/%s", name + strlen("replay_"));
	n_names = scandir(dir, &names, is_input, alphasort);
	if (n_names < 0) {
		(void)printf("1..1\nnot ok 1 - open %s: %s\n", dir, strerror(errno));
		return 1;
	}
	bad = replay_dir(dir, names, n_names);
	for (int i = 0; i < n_names; i++)
		free(names[i]);
	free(names);
	return bad;
}
