/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a job writes, names and is called: the result object is one line of JSON that holds it,
 * and the line for stderr is printable. The first byte chooses what the others are used for.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/wdr_io.h"
#include "base/wdr_json.h"
#include "base/wdr_text.h"
#include "base/wdr_utf8.h"
#include "model/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int make_file(const void *bytes, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || wdr_write_all(fd, bytes, n) < 0)
		abort();
	return fd;
}

static bool is_utf8(const void *bytes, size_t n)
{
	struct wdr_utf8 u = { 0 };

	return wdr_utf8_feed(&u, bytes, n) && !u.want;
}

static json_t *write_and_parse(const struct wdr_result *r)
{
	wdr_close_ int fd = make_file("", 0);
	json_error_t e;
	json_t *o;

	if (wdr_result_write(r, fd, NULL) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	o = json_loadfd(fd, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &e);
	if (!o)
		abort();
	return o;
}

/* What came out is what went in, or the base64 of it, or its beginning if it was truncated. */
static void check_capture(const struct wdr_result *r, const uint8_t *data, size_t size)
{
	wdr_json_ json_t *o = write_and_parse(r);
	const char *encoding = json_string_value(json_object_get(o, "stdout_encoding"));
	json_t *text = json_object_get(o, "stdout");
	size_t n = json_string_length(text);

	if (!strcmp(encoding, "base64")) {
		assert(!is_utf8(data, size));
		assert(n == (size + 2) / 3 * 4);
		return;
	}
	assert(n == size || (r->out.truncated && n < size && size - n < 4));
	assert(!memcmp(json_string_value(text), data, n));
	assert(n == size || !is_utf8(data, size));
}

static void check_words(struct wdr_result *r, const uint8_t *data, size_t size)
{
	wdr_free_ char *word = malloc(size + 1);
	char *argv[] = { word, NULL };
	char line[WDR_RESULT_LINE_MAX];
	struct wdr_denial d = { .rule = -1, .count = 1 };

	if (!word)
		abort();
	memcpy(word, data, size);
	word[size] = '\0';
	r->command_ref = argv;
	(void)wdr_text_copy(d.to, sizeof(d.to), word);
	(void)wdr_text_copy(d.rule_name, sizeof(d.rule_name), word);
	wdr_result_add_denial(r, &d);
	/* Not cut between characters: what a careless caller does. */
	(void)snprintf(r->exit.what, sizeof(r->exit.what), "%s", word);
	json_decref(write_and_parse(r));
	for (int reason = 0; reason < _WDR_EXIT_MAX; reason++) {
		size_t n;

		r->exit.reason = (enum wdr_exit_reason)reason;
		if (reason == WDR_EXIT_SYSCALL || reason == WDR_EXIT_OUTPUT_LIMIT ||
		    reason == WDR_EXIT_KILLED)
			continue; /* named by us, not by the job */
		n = wdr_result_line(r, line);
		assert(n == strlen(line) && n < sizeof(line) && is_utf8(line, n));
		for (size_t i = 0; i < n; i++)
			assert((unsigned char)line[i] >= 0x20 && line[i] != 0x7f);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *const command[] = { (char *)"true", NULL };
	wdr_result_ struct wdr_result r = WDR_RESULT_INIT;
	uint8_t choice = size ? data[0] : 0;

	if (size) {
		data++;
		size--;
	}
	(void)strcpy(r.job, "j-1");
	r.backend = "native";
	r.command_ref = command;
	r.out.fd = make_file(data, size);
	r.out.kept_bytes = r.out.bytes = size;
	r.out.truncated = choice & 1;
	check_capture(&r, data, size);
	if (choice & 2)
		check_words(&r, data, size);
	return 0;
}
