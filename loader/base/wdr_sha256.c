/* SPDX-License-Identifier: Apache-2.0 */
#include "wdr_sha256.h"

#include <string.h>

/* FIPS 180-4 section 4.2.2: the first 32 bits of the fractional parts of cube roots of primes. */
static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t ror(uint32_t x, unsigned int n)
{
	return x >> n | x << (32 - n);
}

static uint32_t load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* One round of section 6.2.2, with the eight words where the round before has left them. */
static inline void turn(uint32_t v[8], unsigned int i, uint32_t kw)
{
	uint32_t *a = &v[-i & 7], *d = &v[(3 - i) & 7], *e = &v[(4 - i) & 7], *h = &v[(7 - i) & 7];
	uint32_t b = v[(1 - i) & 7], c = v[(2 - i) & 7], f = v[(5 - i) & 7], g = v[(6 - i) & 7];
	uint32_t t1 = *h + (ror(*e, 6) ^ ror(*e, 11) ^ ror(*e, 25)) + ((*e & f) ^ (~*e & g)) + kw;
	uint32_t t2 = (ror(*a, 2) ^ ror(*a, 13) ^ ror(*a, 22)) + ((*a & b) ^ (*a & c) ^ (b & c));

	*d += t1;
	*h = t1 + t2;
}

static void take_block(struct wdr_sha256 *s, const uint8_t *block)
{
	uint32_t w[64], v[8];
	unsigned int i, j;

	for (i = 0; i < 16; i++)
		w[i] = load_be32(block + 4 * i);
	for (; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, s->h, sizeof(v));
	for (i = 0; i < 64; i += 8) {
		for (j = 0; j < 8; j++)
			turn(v, j, k[i + j] + w[i + j]);
	}
	for (i = 0; i < 8; i++)
		s->h[i] += v[i];
}

void wdr_sha256_start(struct wdr_sha256 *s)
{
	/* Section 5.3.3: the fractional parts of square roots. */
	static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(s->h, first, sizeof(s->h));
	s->n = 0;
}

void wdr_sha256_add(struct wdr_sha256 *s, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	size_t have = s->n % 64, part;

	if (!n)
		return; /* @bytes may be NULL then */
	s->n += n;
	if (have) {
		part = n < 64 - have ? n : 64 - have;
		memcpy(s->block + have, p, part);
		if (have + part < 64)
			return;
		take_block(s, s->block);
		p += part;
		n -= part;
	}
	for (; n >= 64; p += 64, n -= 64)
		take_block(s, p);
	if (n)
		memcpy(s->block, p, n);
}

void wdr_sha256_end(struct wdr_sha256 *s, uint8_t ret[WDR_SHA256_SIZE])
{
	static const uint8_t pad[64] = { 0x80 };
	uint64_t bits = s->n * 8;
	uint8_t len[8];
	unsigned int i;

	for (i = 0; i < 8; i++)
		len[i] = (uint8_t)(bits >> (56 - 8 * i));
	wdr_sha256_add(s, pad, 1 + (119 - s->n % 64) % 64);
	wdr_sha256_add(s, len, sizeof(len));
	for (i = 0; i < WDR_SHA256_SIZE; i++)
		ret[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}
