/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_test.h"

#include "base/wdr_sha256.h"

static void hex(struct wdr_sha256 *s, char ret[65])
{
	uint8_t sum[WDR_SHA256_SIZE];
	size_t i;

	wdr_sha256_end(s, sum);
	for (i = 0; i < sizeof(sum); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", sum[i]);
}

/* FIPS 180-4's own examples, and the million of NIST's. */
static const struct {
	const char *text;
	unsigned int times;
	const char *sum;
} cases[] = {
	{ "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	{ "aaaaaaaaaa", 100000,
	  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
};

static void gives_the_sums_of_the_standard(void **state)
{
	struct wdr_sha256 s;
	char got[65];
	unsigned int i, k;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wdr_sha256_start(&s);
		for (k = 0; k < cases[i].times; k++)
			wdr_sha256_add(&s, cases[i].text, strlen(cases[i].text));
		wdr_sha256_add(&s, NULL, 0);
		hex(&s, got);
		assert_string_equal(got, cases[i].sum);
	}
}

static void does_not_care_how_the_bytes_are_cut(void **state)
{
	char text[200], whole[65], pieces[65];
	struct wdr_sha256 s;
	size_t n, at;

	(void)state;
	for (n = 0; n < sizeof(text); n++)
		text[n] = (char)(n * 7);
	for (n = 0; n <= sizeof(text); n++) {
		wdr_sha256_start(&s);
		wdr_sha256_add(&s, text, n);
		hex(&s, whole);
		wdr_sha256_start(&s);
		for (at = 0; at < n; at++)
			wdr_sha256_add(&s, text + at, 1);
		hex(&s, pieces);
		assert_string_equal(whole, pieces);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_the_sums_of_the_standard),
		cmocka_unit_test(does_not_care_how_the_bytes_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
