// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The invariant CRC, against packets that others made and against a model */
#include <linux/kernel.h>
#include <linux/crc32.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "copy.h"
#include "crc_sliced.h"
#include "icrc.h"
#include "icrc_vectors.h"
#include "unit.h"
#include "wire.h"

#define MAX_PACKET	512
/* What a global route header says comes behind it: a BTH */
#define NEXT_IS_IBA	0x1b

enum encap { V4, V6, V1, KINDS };

/**
 * struct packet - from the IP or global route header to the ICRC, both included
 * @byte: the packet
 * @len: bytes of it
 * @next: vector to take next
 * @failures: when this one was taken
 */
struct packet {
	u8 byte[MAX_PACKET] __aligned(8);
	unsigned int len;
	unsigned int next;
	unsigned int failures;
};

static enum encap kind_of(const struct packet *p)
{
	if (p->byte[0] >> 4 == 4)
		return V4;
	return p->byte[6] == NEXT_IS_IBA ? V1 : V6;
}

static unsigned int ip_len(enum encap kind)
{
	return kind == V4 ? 20 : 40;
}

/* Where the BTH is */
static unsigned int bth_at(enum encap kind)
{
	return ip_len(kind) + (kind == V1 ? 0 : sizeof(struct udphdr));
}

static void parse(struct packet *p, const char *hex)
{
	unsigned int byte;

	p->len = 0;
	while (*hex) {
		if (*hex == '\n') {
			hex++;
			continue;
		}
		if (p->len == MAX_PACKET || sscanf(hex, "%2x", &byte) != 1)
			ksft_exit_fail_msg("bad vector\n");
		p->byte[p->len++] = byte;
		hex += 2;
	}
}

/* The value accumulated up to the BTH; the kind is as the caller says */
static u32 start(const struct packet *p, enum encap kind)
{
	const struct udphdr *uh = (const void *)(p->byte + ip_len(kind));
	const struct pane_bth *bth = (const void *)(p->byte + bth_at(kind));

	switch (kind) {
	case V1:
		return pane_icrc_start_v1((const void *)p->byte, bth);
	case V6:
		return pane_icrc_start_v6((const void *)p->byte, uh, bth);
	default:
		return pane_icrc_start_v4((const void *)p->byte, uh, bth);
	}
}

static __le32 icrc_of(const struct packet *p, enum encap kind)
{
	unsigned int done = bth_at(kind) + sizeof(struct pane_bth);
	u32 crc = start(p, kind);

	crc = pane_crc(crc, p->byte + done, p->len - done - PANE_ICRC_SIZE);
	return pane_icrc_final(crc);
}

static bool icrc_fits(const struct packet *p, enum encap kind)
{
	__le32 icrc = icrc_of(p, kind);

	return !memcmp(&icrc, p->byte + p->len - PANE_ICRC_SIZE, sizeof(icrc));
}

/* Begins with a zeroed packet, and goes through all vectors. */
static bool next_vector(struct packet *p)
{
	if (p->next && unit_failures > p->failures)
		unit_note("%s\n", icrc_vectors[p->next - 1].name);
	if (p->next == ARRAY_SIZE(icrc_vectors))
		return false;
	parse(p, icrc_vectors[p->next++].hex);
	p->failures = unit_failures;
	return true;
}

static void test_vectors(void)
{
	struct packet p = { 0 };

	while (next_vector(&p))
		CHECK(icrc_fits(&p, kind_of(&p)));
}

/* What a test of the vectors is worth: all kinds, every padding of v2 */
static void test_coverage(void)
{
	bool seen[KINDS][4] = { { false } };
	struct packet p = { 0 };
	unsigned int i;

	while (next_vector(&p)) {
		enum encap kind = kind_of(&p);

		seen[kind][p.byte[bth_at(kind) + 1] >> 4 & 3] = true;
	}
	for (i = 0; i < 8; i++)
		CHECK(seen[i / 4][i % 4]);
	CHECK(seen[V1][0] && seen[V1][3]);
}

/* The bits that may change on the way, by their place in the packet */
static u8 masked_bits(enum encap kind, unsigned int offset)
{
	static const u8 v4_mask[20] = { [1] = 0xff, [8] = 0xff,
					[10] = 0xff, [11] = 0xff };
	static const u8 v6_mask[40] = { [0] = 0x0f, [1] = 0xff, [2] = 0xff,
					[3] = 0xff, [7] = 0xff };
	unsigned int udp = ip_len(kind);

	if (offset < udp)
		return kind == V4 ? v4_mask[offset] : v6_mask[offset];
	/* UDP checksum */
	if (kind != V1 && (offset == udp + 6 || offset == udp + 7))
		return 0xff;
	/* FECN, BECN and reserved bits of the BTH */
	return offset == bth_at(kind) + 4 ? 0xff : 0;
}

static void check_each_bit(struct packet *p)
{
	enum encap kind = kind_of(p);
	unsigned int i;

	for (i = 0; i < (p->len - PANE_ICRC_SIZE) * 8; i++) {
		u8 bit = 1 << i % 8;
		bool masked = masked_bits(kind, i / 8) & bit;

		p->byte[i / 8] ^= bit;
		if (!CHECK_EQ(icrc_fits(p, kind), masked))
			unit_note("bit %#x of byte %u\n", bit, i / 8);
		p->byte[i / 8] ^= bit;
	}
}

static void test_each_bit(void)
{
	struct packet p = { 0 };

	while (next_vector(&p))
		check_each_bit(&p);
}

/* All masked bits at once, as a router and a congested switch might */
static void check_masked_together(struct packet *p)
{
	struct unit_rng rng = { unit_seed() };
	enum encap kind = kind_of(p);
	unsigned int i, round;

	for (round = 0; round < 32; round++) {
		for (i = 0; i < p->len - PANE_ICRC_SIZE; i++)
			p->byte[i] ^= unit_random(&rng) & masked_bits(kind, i);
		CHECK(icrc_fits(p, kind));
	}
}

static void test_masked_together(void)
{
	struct packet p = { 0 };

	while (next_vector(&p))
		check_masked_together(&p);
}

/* Packets come in fragments. */
static void check_pieces(struct packet *p)
{
	enum encap kind = kind_of(p);
	unsigned int done = bth_at(kind) + sizeof(struct pane_bth);
	unsigned int len = p->len - done - PANE_ICRC_SIZE, split;
	__le32 whole = icrc_of(p, kind);

	for (split = 0; split <= len; split++) {
		u32 crc = start(p, kind);

		crc = pane_crc(crc, p->byte + done, split);
		crc = pane_crc(crc, p->byte + done + split, len - split);
		CHECK_EQ(pane_icrc_final(crc), whole);
	}
}

static void test_pieces(void)
{
	struct packet p = { 0 };

	while (next_vector(&p))
		check_pieces(&p);
}

/* As the annex on RoCE says it: eight bytes of ones, masked packet, all in one */
static void model_icrc(const struct packet *p, enum encap kind, u8 icrc[4])
{
	u32 crc = ~0U;
	unsigned int i;
	u8 byte = 0xff;

	for (i = 0; i < 8; i++)
		crc = crc32_le(crc, &byte, 1);
	for (i = 0; i < p->len - PANE_ICRC_SIZE; i++) {
		byte = p->byte[i] | masked_bits(kind, i);
		crc = crc32_le(crc, &byte, 1);
	}
	for (i = 0; i < 4; i++)
		icrc[i] = ~crc >> 8 * i;
}

static void test_random_packets(void)
{
	struct unit_rng rng = { unit_seed() };
	struct packet p;
	u8 icrc[4];
	unsigned int i;

	for (i = 0; i < 6000; i++) {
		enum encap kind = i % KINDS;

		p.len = 64 + 4 * unit_below(&rng, (MAX_PACKET - 64) / 4);
		unit_fill(&rng, p.byte, p.len);
		model_icrc(&p, kind, icrc);
		memcpy(p.byte + p.len - 4, icrc, 4);
		CHECK(icrc_fits(&p, kind));
	}
}

#define MAX_COPY	2300

static void check_copy(struct unit_rng *rng, unsigned int len,
		       unsigned int shift)
{
	u8 from[MAX_COPY], to[MAX_COPY], old[MAX_COPY];
	u32 crc = unit_random(rng);
	unsigned int at = shift + 1;

	unit_fill(rng, from, sizeof(from));
	unit_fill(rng, old, sizeof(old));
	memcpy(to, old, sizeof(to));
	CHECK_EQ(pane_copy_crc(crc, to + at, from + shift, len),
		 crc32_le(crc, from + shift, len));
	CHECK(!memcmp(to + at, from + shift, len));
	CHECK_EQ(pane_crc(crc, from + shift, len),
		 crc32_le(crc, from + shift, len));

	memcpy(to, old, sizeof(to));
	pane_copy(to + at, from + shift, len);
	CHECK(!memcmp(to + at, from + shift, len));
	CHECK(!memcmp(to, old, at));
	CHECK(!memcmp(to + at + len, old + at + len, sizeof(to) - at - len));
}

/* Every length and alignment around what is taken at a time, once or twice */
static void test_copies(void)
{
	static const unsigned int from[] = { 0, 1000, 2040 };
	struct unit_rng rng = { unit_seed() };
	unsigned int i, len, shift;

	for (i = 0; i < ARRAY_SIZE(from); i++)
		for (len = from[i]; len <= from[i] + 100; len++)
			for (shift = 0; shift < 16; shift++)
				check_copy(&rng, len, shift);
}

/* From here on with our own code instead of the kernel's */
static void test_vectors_own(void)
{
	pane_copy_choose(true, true);
	test_vectors();
}

static void test_copies_mixed(void)
{
	pane_copy_choose(true, false);
	test_copies();
	pane_copy_choose(false, true);
	test_copies();
}

/* Whatever turns out to be faster here, it is right */
static void test_measured(void)
{
	pane_copy_init();
	test_vectors();
	test_copies();
}

static const struct unit_test tests[] = {
	{ "packets made by others", test_vectors },
	{ "they cover IPv4, IPv6, RoCE v1 and every padding", test_coverage },
	{ "each bit, masked or not", test_each_bit },
	{ "masked bits together", test_masked_together },
	{ "in pieces", test_pieces },
	{ "random packets", test_random_packets },
	{ "copies", test_copies },
	{ "packets made by others, with our own code", test_vectors_own },
	{ "in pieces, with our own code", test_pieces },
	{ "random packets, with our own code", test_random_packets },
	{ "copies, with our own code", test_copies },
	{ "copies, with one of them our own", test_copies_mixed },
	{ "whichever is faster", test_measured },
};

int main(void)
{
	pane_crc_sliced_init();
	return unit_main(tests, ARRAY_SIZE(tests));
}
