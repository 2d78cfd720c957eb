// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The range check, against 128-bit arithmetic in which nothing wraps */
#include <linux/kernel.h>

#include "range.h"
#include "unit.h"

static bool model(u64 start, u64 size, u64 addr, u64 len)
{
	unsigned __int128 end = start, inner_end = addr;

	end += size;
	inner_end += len;
	return addr >= start && inner_end <= end;
}

static void check(u64 start, u64 size, u64 addr, u64 len)
{
	bool inside = pane_range_contains(start, size, addr, len);

	if (!CHECK_EQ(inside, model(start, size, addr, len)))
		unit_note("start %#llx size %#llx addr %#llx len %#llx\n",
			  start, size, addr, len);
}

/*
 * All combinations of a space of 64 addresses. Shifted to the top of the word
 * it wraps where the real one does.
 */
static void check_small_space(unsigned int shift)
{
	u64 start, size, addr, len;

	for (start = 0; start < 64; start++)
		for (size = 0; size < 64; size++)
			for (addr = 0; addr < 64; addr++)
				for (len = 0; len < 64; len++)
					check(start << shift, size << shift,
					      addr << shift, len << shift);
}

static void test_small_low(void)
{
	check_small_space(0);
}

static void test_small_high(void)
{
	check_small_space(58);
}

/* 0, 2^31, 2^32, 2^63 and 2^64, with what is beside them */
static u64 edge_value(unsigned int n)
{
	static const u64 edges[] = { 0, 1ULL << 31, 1ULL << 32, 1ULL << 63 };

	return edges[n / 8] + (n % 8) - 4;
}

static void test_edges(void)
{
	unsigned int n;

	for (n = 0; n < 32 * 32 * 32 * 32; n++)
		check(edge_value(n % 32), edge_value(n / 32 % 32),
		      edge_value(n / 1024 % 32), edge_value(n / 32768));
}

/* Random numbers of random sizes, and such as are near each other */
static u64 random_value(struct unit_rng *rng, u64 near)
{
	u64 value = unit_random(rng) >> unit_below(rng, 64);

	switch (unit_below(rng, 4)) {
	case 0:
		return near + unit_below(rng, 5) - 2;
	case 1:
		return -value;
	default:
		return value;
	}
}

static void test_random(void)
{
	struct unit_rng rng = { unit_seed() };
	unsigned int i, inside = 0;

	for (i = 0; i < 2000000; i++) {
		u64 start = random_value(&rng, 0);
		u64 size = random_value(&rng, -start);
		u64 addr = random_value(&rng, start);
		u64 len = random_value(&rng, size - (addr - start));

		inside += model(start, size, addr, len);
		check(start, size, addr, len);
	}
	/* or it has tested one answer only */
	CHECK(inside > i / 20 && inside < i - i / 20);
}

static void test_named_cases(void)
{
	/* empty ranges: inside when their address is, the end included */
	CHECK(pane_range_contains(100, 10, 100, 0));
	CHECK(pane_range_contains(100, 10, 110, 0));
	CHECK(!pane_range_contains(100, 10, 111, 0));
	CHECK(!pane_range_contains(100, 10, 99, 0));
	CHECK(pane_range_contains(100, 0, 100, 0));
	CHECK(!pane_range_contains(100, 0, 100, 1));
	/* sums that would wrap to something small */
	CHECK(!pane_range_contains(0x1000, 0x1000, 0x1800, U64_MAX));
	CHECK(!pane_range_contains(0x1000, 0x1000, U64_MAX, 0x1002));
	CHECK(!pane_range_contains(0x1000, 0x1000, U64_MAX - 0xfff, 0x2000));
	/* the last byte of the address space */
	CHECK(pane_range_contains(U64_MAX, 1, U64_MAX, 1));
	CHECK(!pane_range_contains(U64_MAX, 1, U64_MAX, 2));
	CHECK(pane_range_contains(0, U64_MAX, 0, U64_MAX));
	CHECK(!pane_range_contains(0, U64_MAX, 1, U64_MAX));
}

static const struct unit_test tests[] = {
	{ "named cases", test_named_cases },
	{ "all of a small space, at the bottom", test_small_low },
	{ "all of a small space, up to where addresses wrap", test_small_high },
	{ "edges", test_edges },
	{ "random ranges", test_random },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
