// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The permutation behind keys and QP numbers */
#include <linux/kernel.h>

#include "keyperm.h"
#include "unit.h"

static struct pane_keyperm perm, other;
static u8 hits[PANE_PERM_SIZE];

static void fill(struct pane_keyperm *p, u64 number)
{
	struct unit_rng rng = { unit_seed() + number * 0x1234567 };

	unit_fill(&rng, p, sizeof(*p));
}

/* Each of the 2^24 numbers is met once, and leads back to its slot. */
static void test_bijective(void)
{
	u32 slot, index;

	fill(&perm, 0);
	memset(hits, 0, sizeof(hits));
	for (slot = 0; slot < PANE_PERM_SIZE; slot++) {
		index = pane_keyperm_index(&perm, slot);
		if (!CHECK(index < PANE_PERM_SIZE))
			return;
		hits[index]++;
		CHECK_EQ(pane_keyperm_slot(&perm, index), slot);
	}
	for (index = 0; index < PANE_PERM_SIZE; index++) {
		CHECK_EQ(hits[index], 1);
		slot = pane_keyperm_slot(&perm, index);
		CHECK_EQ(pane_keyperm_index(&perm, slot), index);
	}
}

/* Also with tables that a broken source of random numbers would give */
static void test_degenerate_keys(void)
{
	static const int bytes[] = { 0x00, 0xff, 0x55 };
	u32 i, slot;

	for (i = 0; i < ARRAY_SIZE(bytes); i++) {
		memset(&perm, bytes[i], sizeof(perm));
		for (slot = 0; slot < PANE_PERM_SIZE; slot += 37) {
			u32 index = pane_keyperm_index(&perm, slot);

			CHECK(index < PANE_PERM_SIZE);
			CHECK_EQ(pane_keyperm_slot(&perm, index), slot);
		}
	}
}

/* Two random permutations agree in one place of 2^24 on average. */
static void test_keys_differ(void)
{
	u32 slot, equal = 0;

	fill(&perm, 1);
	fill(&other, 2);
	for (slot = 0; slot < PANE_PERM_SIZE; slot += 3)
		equal += pane_keyperm_index(&perm, slot) ==
			 pane_keyperm_index(&other, slot);
	CHECK(equal < 15);
}

/* Every entry of the tables counts, in each of the rounds. */
static void test_whole_key_counts(void)
{
	u32 round, entry, slot, changed;

	fill(&perm, 3);
	for (round = 0; round < PANE_PERM_ROUNDS; round++) {
		for (entry = 0; entry < PANE_PERM_HALF; entry += 819) {
			other = perm;
			other.round[round][entry] ^= 1;
			changed = 0;
			for (slot = 0; slot < 1 << 18 && !changed; slot++)
				changed += pane_keyperm_index(&perm, slot) !=
					   pane_keyperm_index(&other, slot);
			CHECK(changed);
		}
	}
}

static void test_high_bits_ignored(void)
{
	struct unit_rng rng = { unit_seed() };
	u16 *entry = &other.round[0][0];
	u32 i, slot;

	fill(&perm, 4);
	other = perm;
	for (i = 0; i < sizeof(other) / sizeof(*entry); i++)
		entry[i] ^= unit_random(&rng) & ~PANE_PERM_HALF_MASK;
	CHECK(memcmp(&other, &perm, sizeof(perm)));
	for (slot = 0; slot < PANE_PERM_SIZE; slot += 7) {
		u32 index = pane_keyperm_index(&perm, slot);

		CHECK_EQ(pane_keyperm_index(&other, slot), index);
		CHECK_EQ(pane_keyperm_slot(&other, index), slot);
	}
}

/*
 * How often the commonest of 2^24 values comes in 2^21 throws: about 5 times,
 * and 20 times not once in 10^20 tries. A relation between neighbours would
 * make one value come thousands of times.
 */
#define SAMPLES		(1 << 21)
#define MAX_COMMON	20

static u32 commonest(u32 distance, bool xor)
{
	u32 slot, max = 0;

	memset(hits, 0, sizeof(hits));
	for (slot = 0; slot < SAMPLES; slot++) {
		u32 a = pane_keyperm_index(&perm, slot);
		u32 b = pane_keyperm_index(&perm, slot + distance);
		u32 relation = xor ? a ^ b : (b - a) % PANE_PERM_SIZE;

		if (hits[relation] < 255)
			hits[relation]++;
		max = max(max, hits[relation]);
	}
	return max;
}

/* Slots that follow each other, and those that share a half */
static void test_neighbours(void)
{
	static const u32 distances[] = { 1, 2, PANE_PERM_HALF };
	u32 i;

	fill(&perm, 5);
	for (i = 0; i < ARRAY_SIZE(distances); i++) {
		CHECK(commonest(distances[i], false) <= MAX_COMMON);
		CHECK(commonest(distances[i], true) <= MAX_COMMON);
	}
}

/* Bits of the number that turn when one bit of the slot does: all, half of
 * the time. A table of 2^12 entries leaves a deviation of up to some percent.
 */
static void check_avalanche(u32 bit)
{
	u32 turned[PANE_PERM_BITS] = { 0 };
	u32 slot, out, n = 0;

	for (slot = 0; slot < PANE_PERM_SIZE; slot += 97, n++) {
		u32 diff = pane_keyperm_index(&perm, slot) ^
			   pane_keyperm_index(&perm, slot ^ BIT(bit));

		for (out = 0; out < PANE_PERM_BITS; out++)
			turned[out] += diff >> out & 1;
	}
	for (out = 0; out < PANE_PERM_BITS; out++) {
		if (!CHECK(turned[out] > n * 0.45 && turned[out] < n * 0.55))
			unit_note("bit %u turns bit %u: %u of %u\n", bit,
				  out, turned[out], n);
	}
}

static void test_avalanche(void)
{
	u32 bit;

	fill(&perm, 6);
	for (bit = 0; bit < PANE_PERM_BITS; bit += 5)
		check_avalanche(bit);
	check_avalanche(PANE_PERM_BITS - 1);
}

static const struct unit_test tests[] = {
	{ "bijective over all slots, both ways", test_bijective },
	{ "reversible whatever the key", test_degenerate_keys },
	{ "different keys, different permutations", test_keys_differ },
	{ "all of the key counts", test_whole_key_counts },
	{ "bits above the half are ignored", test_high_bits_ignored },
	{ "no relation between neighbours", test_neighbours },
	{ "avalanche", test_avalanche },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
