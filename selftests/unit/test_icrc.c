// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The invariant CRC, against packets that others made and against a model */
#include <linux/kernel.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "icrc.h"
#include "icrc_vectors.h"
#include "unit.h"
#include "wire.h"

#define MAX_PACKET	512

/**
 * struct packet - from the IP header to the ICRC, both included
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

static bool is_v6(const struct packet *p)
{
	return p->byte[0] >> 4 == 6;
}

static unsigned int ip_len(const struct packet *p)
{
	return is_v6(p) ? 40 : 20;
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

/* The value accumulated up to the BTH; the family as the caller says */
static u32 start(const struct packet *p, bool v6)
{
	unsigned int udp = v6 ? 40 : 20;
	const struct udphdr *uh = (const void *)(p->byte + udp);
	const struct pane_bth *bth = (const void *)(uh + 1);

	if (v6)
		return pane_icrc_start_v6((const void *)p->byte, uh, bth);
	return pane_icrc_start_v4((const void *)p->byte, uh, bth);
}

static __le32 icrc_of(const struct packet *p, bool v6)
{
	unsigned int done = (v6 ? 40 : 20) + sizeof(struct udphdr) +
			    sizeof(struct pane_bth);
	u32 crc = start(p, v6);

	crc = pane_icrc_add(crc, p->byte + done,
			    p->len - done - PANE_ICRC_SIZE);
	return pane_icrc_final(crc);
}

static bool icrc_fits(const struct packet *p, bool v6)
{
	__le32 icrc = icrc_of(p, v6);

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
		CHECK(icrc_fits(&p, is_v6(&p)));
}

/* What a test of the vectors is worth: both families, every padding */
static void test_coverage(void)
{
	bool seen[2][4] = { { false } };
	struct packet p = { 0 };
	unsigned int i;

	while (next_vector(&p))
		seen[is_v6(&p)][p.byte[ip_len(&p) + 9] >> 4 & 3] = true;
	for (i = 0; i < 8; i++)
		CHECK(seen[i / 4][i % 4]);
}

/* The bits that may change on the way, by their place in the packet */
static u8 masked_bits(bool v6, unsigned int offset)
{
	static const u8 v4_mask[20] = { [1] = 0xff, [8] = 0xff,
					[10] = 0xff, [11] = 0xff };
	static const u8 v6_mask[40] = { [0] = 0x0f, [1] = 0xff, [2] = 0xff,
					[3] = 0xff, [7] = 0xff };
	unsigned int udp = v6 ? 40 : 20;

	if (offset < udp)
		return v6 ? v6_mask[offset] : v4_mask[offset];
	/* UDP checksum; FECN, BECN and reserved bits of the BTH */
	if (offset == udp + 6 || offset == udp + 7 || offset == udp + 12)
		return 0xff;
	return 0;
}

static void check_each_bit(struct packet *p)
{
	bool v6 = is_v6(p);
	unsigned int i;

	for (i = 0; i < (p->len - PANE_ICRC_SIZE) * 8; i++) {
		u8 bit = 1 << i % 8;
		bool masked = masked_bits(v6, i / 8) & bit;

		p->byte[i / 8] ^= bit;
		if (!CHECK_EQ(icrc_fits(p, v6), masked))
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
	bool v6 = is_v6(p);
	unsigned int i, round;

	for (round = 0; round < 32; round++) {
		for (i = 0; i < p->len - PANE_ICRC_SIZE; i++)
			p->byte[i] ^= unit_random(&rng) & masked_bits(v6, i);
		CHECK(icrc_fits(p, v6));
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
	unsigned int done = ip_len(p) + sizeof(struct udphdr) +
			    sizeof(struct pane_bth);
	unsigned int len = p->len - done - PANE_ICRC_SIZE, split;
	__le32 whole = icrc_of(p, is_v6(p));

	for (split = 0; split <= len; split++) {
		u32 crc = start(p, is_v6(p));

		crc = pane_icrc_add(crc, p->byte + done, split);
		crc = pane_icrc_add(crc, p->byte + done + split, len - split);
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
static void model_icrc(const struct packet *p, bool v6, u8 icrc[4])
{
	u32 crc = ~0U;
	unsigned int i;
	u8 byte = 0xff;

	for (i = 0; i < 8; i++)
		crc = crc32_le(crc, &byte, 1);
	for (i = 0; i < p->len - PANE_ICRC_SIZE; i++) {
		byte = p->byte[i] | masked_bits(v6, i);
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

	for (i = 0; i < 4000; i++) {
		bool v6 = i % 2;

		p.len = 64 + 4 * unit_below(&rng, (MAX_PACKET - 64) / 4);
		unit_fill(&rng, p.byte, p.len);
		model_icrc(&p, v6, icrc);
		memcpy(p.byte + p.len - 4, icrc, 4);
		CHECK(icrc_fits(&p, v6));
	}
}

static const struct unit_test tests[] = {
	{ "packets made by others", test_vectors },
	{ "they cover IPv4, IPv6 and every padding", test_coverage },
	{ "each bit, masked or not", test_each_bit },
	{ "masked bits together", test_masked_together },
	{ "in pieces", test_pieces },
	{ "random packets", test_random_packets },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
