/* SPDX-License-Identifier: Apache-2.0 */
/* A name for bytes that nobody forges: of a cache file, of what a text was before. Else wdr_sha256.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WDR_HASH_START UINT64_C(0xcbf29ce484222325)

/* @h, WDR_HASH_START or what came before, with @n more bytes (FNV-1a, draft-eastlake-fnv). */
static inline uint64_t wdr_hash_add(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}
