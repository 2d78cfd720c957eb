// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/kernel.h>

#include "rnr.h"
#include "unit.h"

/* Milliseconds as the InfiniBand specification prints them, by timer code */
static const char * const table[32] = {
	"655.36", "0.01", "0.02", "0.03", "0.04", "0.06", "0.08", "0.12",
	"0.16", "0.24", "0.32", "0.48", "0.64", "0.96", "1.28", "1.92",
	"2.56", "3.84", "5.12", "7.68", "10.24", "15.36", "20.48", "30.72",
	"40.96", "61.44", "81.92", "122.88", "163.84", "245.76", "327.68",
	"491.52",
};

/* All of them have two places behind the point: hundredths make 10 us. */
static u32 usecs_of(const char *msecs)
{
	char *point;
	u32 whole = strtoul(msecs, &point, 10);

	return whole * 1000 + strtoul(point + 1, NULL, 10) * 10;
}

static void test_table(void)
{
	unsigned int code;

	for (code = 0; code < 32; code++)
		CHECK_EQ(pane_rnr_usecs(code), usecs_of(table[code]));
}

/* Two steps double the time, from 0.02 ms on. */
static void test_progression(void)
{
	unsigned int code;

	for (code = 4; code < 32; code++)
		CHECK_EQ(pane_rnr_usecs(code), 2 * pane_rnr_usecs(code - 2));
	CHECK(pane_rnr_usecs(0) > pane_rnr_usecs(31));
}

/* The three bits above say what kind of syndrome it is. */
static void test_other_bits(void)
{
	unsigned int code;

	for (code = 32; code < 256; code++)
		CHECK_EQ(pane_rnr_usecs(code), pane_rnr_usecs(code % 32));
}

static const struct unit_test tests[] = {
	{ "the specification's table", test_table },
	{ "progression", test_progression },
	{ "bits above the code do not count", test_other_bits },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
