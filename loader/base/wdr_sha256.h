/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (FIPS 180-4) for what is hashed on the way to a job's start: libcrypto would cost that
 * start more than all of the hashing. What needs speed or signatures uses libcrypto.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WDR_SHA256_SIZE 32

struct wdr_sha256 {
	uint32_t h[8];
	uint64_t n; /* bytes so far */
	uint8_t block[64];
};

void wdr_sha256_start(struct wdr_sha256 *s);
void wdr_sha256_add(struct wdr_sha256 *s, const void *bytes, size_t n);
/* The hash of all that was added; @s is then as good as new only after wdr_sha256_start(). */
void wdr_sha256_end(struct wdr_sha256 *s, uint8_t ret[WDR_SHA256_SIZE]);
