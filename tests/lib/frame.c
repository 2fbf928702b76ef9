/* SPDX-License-Identifier: Apache-2.0 */
#include "frame.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 8

struct making {
	struct frame *f;
	size_t ip; /* offset of the last IP header */
	int family;
	int ended;
	char *word[MAX_WORDS]; /* of the layer at hand; [0] is its name */
	unsigned int n_words;
};

static void fail(const struct making *m, const char *what)
{
	(void)fprintf(stderr, "frame: %s: %s\n", m->word[0], what);
	abort();
}

static void put(struct making *m, const void *bytes, size_t n)
{
	struct frame *f = m->f;

	if (f->n + n > sizeof(f->b))
		fail(m, "too long");
	if (bytes)
		memcpy(f->b + f->n, bytes, n);
	else
		memset(f->b + f->n, 0, n);
	f->n += n;
}

static void put8(struct making *m, unsigned long v)
{
	const uint8_t b = (uint8_t)v;

	put(m, &b, 1);
}

static void put16(struct making *m, unsigned long v)
{
	put8(m, v >> 8);
	put8(m, v);
}

static void put32(struct making *m, unsigned long v)
{
	put16(m, v >> 16);
	put16(m, v);
}

static unsigned long number(const struct making *m, unsigned int i)
{
	char *end = NULL;
	unsigned long v;

	if (i >= m->n_words)
		return 0;
	v = strtoul(m->word[i], &end, 0);
	if (!end || *end)
		fail(m, "not a number");
	return v;
}

static void put_addr(struct making *m, unsigned int i)
{
	const char *text = i < m->n_words ? m->word[i] : "";
	uint8_t a[16];

	if (!strcmp(text, "ME4"))
		text = "10.9.0.2";
	if (!strcmp(text, "ME6"))
		text = "fd09::2";
	if (inet_pton(m->family, text, a) != 1)
		fail(m, "not an address");
	put(m, a, m->family == AF_INET ? 4 : 16);
}

static size_t read_hex(const struct making *m, unsigned int i, uint8_t *out, size_t size)
{
	const char *text = i < m->n_words ? m->word[i] : "";
	unsigned int byte;
	size_t n = 0;

	for (; *text && n < size; text += 2) {
		if (sscanf(text, "%2x", &byte) != 1)
			fail(m, "not hexadecimal");
		out[n++] = (uint8_t)byte;
	}
	return n;
}

static void make_eth(struct making *m)
{
	static const uint8_t mac[12] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2 };

	put(m, mac, sizeof(mac));
	put16(m, number(m, 1));
}

static void begin_ip(struct making *m, int family)
{
	static const uint8_t mac[12] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2 };

	if (!m->f->n) {
		put(m, mac, sizeof(mac));
		put16(m, family == AF_INET ? 0x800 : 0x86dd);
	}
	m->ip = m->f->n;
	m->family = family;
}

static void make_ip4(struct making *m)
{
	begin_ip(m, AF_INET);
	put16(m, 0x4500);
	put16(m, 0);
	put16(m, number(m, 4));
	put16(m, number(m, 5));
	put8(m, 64);
	put8(m, number(m, 3));
	put16(m, 0);
	put_addr(m, 1);
	put_addr(m, 2);
}

static void make_ip6(struct making *m)
{
	begin_ip(m, AF_INET6);
	put32(m, 0x60000000);
	put16(m, 0);
	put8(m, number(m, 3));
	put8(m, m->n_words > 4 ? number(m, 4) : 64);
	put_addr(m, 1);
	put_addr(m, 2);
}

static void make_opt(struct making *m)
{
	uint8_t bytes[40];
	size_t n = read_hex(m, 1, bytes, sizeof(bytes));

	put(m, bytes, n);
	m->f->b[m->ip] = (uint8_t)(m->f->b[m->ip] + n / 4);
}

static void make_ext(struct making *m)
{
	unsigned long len = number(m, 2);

	put8(m, number(m, 1));
	put8(m, len);
	put8(m, 1); /* PadN */
	put8(m, 4 + 8 * len);
	put(m, NULL, 4 + 8 * len);
}

static void make_frag(struct making *m)
{
	put16(m, number(m, 1) << 8);
	put16(m, number(m, 2) << 3 | number(m, 3));
	put32(m, number(m, 4));
}

static void make_udp(struct making *m)
{
	put16(m, number(m, 1));
	put16(m, number(m, 2));
	put32(m, 8 << 16);
}

static void make_tcp(struct making *m)
{
	put16(m, number(m, 1));
	put16(m, number(m, 2));
	put32(m, 1000);
	put32(m, 0);
	put8(m, 5 << 4);
	put8(m, number(m, 3));
	put16(m, 0xffff);
	put32(m, 0);
}

static void make_icmp(struct making *m)
{
	put8(m, number(m, 1));
	put8(m, number(m, 2));
	put16(m, 0);
	put16(m, number(m, 3));
	put16(m, 1);
}

static void make_hex(struct making *m)
{
	uint8_t bytes[512];

	put(m, bytes, read_hex(m, 1, bytes, sizeof(bytes)));
}

static void make_fill(struct making *m)
{
	put(m, NULL, number(m, 1));
}

/* The lengths and the checksum of the IP header, as far as the frame goes now. */
static void end_frame(struct making *m)
{
	uint8_t *ip = m->f->b + m->ip;
	size_t len = m->f->n - m->ip, i;
	uint32_t sum = 0;

	if (m->ended || !m->ip)
		return;
	m->ended = 1;
	if (m->family == AF_INET6) {
		ip[4] = (uint8_t)((len - 40) >> 8);
		ip[5] = (uint8_t)(len - 40);
		return;
	}
	ip[2] = (uint8_t)(len >> 8);
	ip[3] = (uint8_t)len;
	for (i = 0; i < 4u * (ip[0] & 15); i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

static void make_set(struct making *m)
{
	uint8_t bytes[64];
	size_t n = read_hex(m, 2, bytes, sizeof(bytes));

	end_frame(m);
	memcpy(m->f->b + number(m, 1), bytes, n);
}

static void make_cut(struct making *m)
{
	end_frame(m);
	m->f->n = number(m, 1);
}

static const struct {
	const char *name;
	void (*make)(struct making *m);
} layers[] = {
	{ "eth", make_eth },   { "ip4", make_ip4 },   { "ip6", make_ip6 },   { "opt", make_opt },
	{ "ext", make_ext },   { "frag", make_frag }, { "udp", make_udp },   { "tcp", make_tcp },
	{ "icmp", make_icmp }, { "hex", make_hex },   { "fill", make_fill }, { "set", make_set },
	{ "cut", make_cut },
};

static void make_layer(struct making *m, char *text)
{
	char *save = NULL, *word;
	unsigned int i;

	m->n_words = 0;
	for (word = strtok_r(text, " ", &save); word && m->n_words < MAX_WORDS;
	     word = strtok_r(NULL, " ", &save))
		m->word[m->n_words++] = word;
	if (!m->n_words)
		return;
	for (i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		if (!strcmp(layers[i].name, m->word[0])) {
			layers[i].make(m);
			return;
		}
	}
	fail(m, "unknown layer");
}

void frame_make(struct frame *f, const char *text)
{
	struct making m = { .f = f };
	char copy[1024], *save = NULL, *layer;

	f->n = 0;
	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (layer = strtok_r(copy, ";", &save); layer; layer = strtok_r(NULL, ";", &save))
		make_layer(&m, layer);
	end_frame(&m);
}
