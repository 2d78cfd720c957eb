// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Packet sequence numbers, against plain integers */
#include <linux/kernel.h>

#include "psn.h"
#include "unit.h"

#define SPACE	(1 << 24)
#define HALF	(1 << 23)
#define MAX_LEN	(1ULL << 31)

static const u32 bases[] = {
	0, 1, 2, HALF - 1, HALF, HALF + 1, SPACE - 2, SPACE - 1, 0x123456,
};

static void test_add(void)
{
	CHECK_EQ(pane_psn_add(0, 0), 0);
	CHECK_EQ(pane_psn_add(5, 7), 12);
	CHECK_EQ(pane_psn_add(SPACE - 1, 0), SPACE - 1);
	CHECK_EQ(pane_psn_add(SPACE - 1, 1), 0);
	CHECK_EQ(pane_psn_add(SPACE - 3, 10), 7);
	CHECK_EQ(pane_psn_add(SPACE - 1, SPACE - 1), SPACE - 2);
	/* as one goes back */
	CHECK_EQ(pane_psn_add(0, -1), SPACE - 1);
	CHECK_EQ(pane_psn_add(10, -11), SPACE - 1);
	/* a READ of 2^31 bytes in packets of 256 */
	CHECK_EQ(pane_psn_add(SPACE - HALF, HALF), 0);
}

static void test_none(void)
{
	CHECK(PANE_PSN_NONE > PANE_PSN_MASK);
	CHECK_EQ(PANE_PSN_MASK, SPACE - 1);
	CHECK_EQ(PANE_PSN_HALF, HALF);
}

/* Every distance, from where wrapping matters */
static void test_diff(void)
{
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		for (n = 0; n < SPACE; n++) {
			u32 a = (bases[i] + n) % SPACE;
			s32 expected = n < HALF ? (s32)n : (s32)n - SPACE;

			CHECK_EQ(pane_psn_diff(a, bases[i]), expected);
			CHECK_EQ(pane_psn_before(a, bases[i]), n >= HALF);
		}
	}
}

/* Of two different numbers one is before the other, except half a space apart */
static void test_order(void)
{
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		u32 a = bases[i];

		CHECK(!pane_psn_before(a, a));
		for (n = 1; n < HALF; n++) {
			u32 b = pane_psn_add(a, n);

			CHECK(pane_psn_before(a, b) && !pane_psn_before(b, a));
		}
		CHECK_EQ(pane_psn_diff(a, pane_psn_add(a, HALF)), -HALF);
		CHECK_EQ(pane_psn_diff(pane_psn_add(a, HALF), a), -HALF);
	}
}

static void check_count(u64 length, u32 shift)
{
	u64 mtu = 1ULL << shift;
	u64 expected = length ? (length + mtu - 1) / mtu : 1;

	CHECK_EQ(pane_psn_count(length, shift), expected);
}

/* The count changes at multiples of the MTU only: look at each from all sides */
static void test_count(void)
{
	u64 length;
	u32 shift;

	for (shift = 8; shift <= 12; shift++) {
		check_count(0, shift);
		for (length = 1ULL << shift; length <= MAX_LEN;
		     length += 1ULL << shift) {
			check_count(length - 1, shift);
			check_count(length, shift);
			check_count(length + 1, shift);
		}
		CHECK(pane_psn_count(MAX_LEN, shift) <= PANE_PSN_HALF);
	}
}

static void test_count_small(void)
{
	u32 shift, length;

	for (shift = 8; shift <= 12; shift++) {
		for (length = 0; length < 1 << 16; length++)
			check_count(length, shift);
	}
}

static const struct unit_test tests[] = {
	{ "addition wraps", test_add },
	{ "no PSN is none of them", test_none },
	{ "differences of all distances", test_diff },
	{ "order within half the space", test_order },
	{ "packets of lengths up to 2^31, every MTU", test_count },
	{ "packets of short messages, every MTU", test_count_small },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
