// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The stand-ins for kernel headers behave as the originals do, so that what the
 * other unit tests find is about the driver.
 */
#include <linux/crc32.h>
#include <linux/kernel.h>

#include "../kselftest.h"

struct pair {
	u32 first;
	u32 second;
};

static_assert(sizeof(u64) == 8);
BUILD_BUG_ON(sizeof(struct pair) != 8);

static void test_bits(void)
{
	ksft_test_result(BIT(31) == 0x80000000UL && BIT_ULL(63) == 1ULL << 63,
			 "BIT\n");
	ksft_test_result(GENMASK(23, 0) == 0xffffff && GENMASK(5, 4) == 0x30 &&
			 GENMASK_ULL(63, 0) == ~0ULL, "GENMASK\n");
}

static void test_rounding(void)
{
	ksft_test_result(ALIGN(5, 4) == 8 && ALIGN_DOWN(7, 4) == 4 &&
			 IS_ALIGNED(8, 4) && !IS_ALIGNED(9, 4),
			 "ALIGN\n");
	ksft_test_result(round_up(0U, 8) == 0 && round_up(9U, 8) == 16 &&
			 DIV_ROUND_UP(9, 4) == 3, "round_up\n");
}

static void test_byte_order(void)
{
	u8 wire[4];
	__be32 value = cpu_to_be32(0x01020304);

	memcpy(wire, &value, sizeof(wire));
	ksft_test_result(wire[0] == 1 && wire[3] == 4 &&
			 be32_to_cpu(value) == 0x01020304, "byte order\n");
}

static void test_helpers(void)
{
	struct pair pair = { .first = 1, .second = 2 };
	u32 *second = &pair.second;

	ksft_test_result(container_of(second, struct pair, second) == &pair,
			 "container_of\n");
	ksft_test_result(min(3, 4) == 3 && max_t(u8, 255, 1) == 255,
			 "min and max\n");
}

/* The check value of CRC-32 in every catalogue of CRCs. */
static void test_crc32(void)
{
	ksft_test_result(~crc32_le(~0U, "123456789", 9) == 0xcbf43926,
			 "crc32_le\n");
}

int main(void)
{
	ksft_print_header();
	ksft_set_plan(8);
	test_bits();
	test_rounding();
	test_byte_order();
	test_helpers();
	test_crc32();
	ksft_finished();
}
