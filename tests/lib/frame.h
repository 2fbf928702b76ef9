/* SPDX-License-Identifier: Apache-2.0 */
/* Ethernet frames made by hand, right or wrong, from one line of text. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct frame {
	uint8_t b[4096];
	size_t n;
};

/*
 * Make the frame that @text describes, layer by layer, with ";" between:
 *
 *   eth TYPE                      Ethernet header; ip4 and ip6 bring their own
 *   ip4 SRC DST PROTO [ID FIELD]  FIELD: flags and offset, as in the header: 0x2000 is more
 *   ip6 SRC DST NEXT [HOPS]
 *   opt HEX                       options, behind ip4
 *   ext NEXT LEN                  extension header of (LEN + 1) * 8 bytes, padded
 *   frag NEXT OFFSET MORE ID      fragment header; OFFSET in units of 8 bytes
 *   udp SPORT DPORT               and whatever has its ports there; also without an IP header
 *   tcp SPORT DPORT FLAGS
 *   icmp TYPE CODE ID
 *   hex BYTES, fill N             anything
 *   set AT HEX, cut N             at the end: bytes over those at AT; N bytes in all
 *
 * Numbers as strtoul(3) reads them. Lengths and IPv4's checksum are right until set or cut.
 * SRC and DST may be ME4 and ME6: 10.9.0.2 and fd09::2. Aborts on a mistake in @text.
 */
void frame_make(struct frame *f, const char *text);
