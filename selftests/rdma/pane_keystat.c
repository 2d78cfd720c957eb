// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <math.h>
#include <stdlib.h>

#include "../kselftest.h"
#include "pane_keystat.h"
#include "pane_run.h"

/*
 * Limits are far out: a generator without fault exceeds one of them less than
 * once in a million runs.
 */
#define SIGMAS	7

static void check_balance(const char *what, unsigned int ones, unsigned int num)
{
	double off = fabs(ones - num / 2.0) / sqrt(num / 4.0);

	CHECK(off < SIGMAS, "%s: %u of %u", what, ones, num);
}

static void check_bytes(const char *what, const unsigned int count[256],
			unsigned int num)
{
	double expected = num / 256.0, chi2 = 0;

	for (unsigned int i = 0; i < 256; i++)
		chi2 += (count[i] - expected) * (count[i] - expected) /
			expected;
	CHECK(fabs(chi2 - 255) / sqrt(2 * 255) < SIGMAS, "%s: chi2 %f", what,
	      chi2);
}

/* Each bit of a key, and whether it changes from key to key */
static void stat_bits(const uint32_t *keys, unsigned int num)
{
	for (unsigned int bit = 0; bit < 32; bit++) {
		unsigned int ones = 0, flips = 0;

		for (unsigned int i = 1; i < num; i++) {
			ones += keys[i] >> bit & 1;
			flips += (keys[i] ^ keys[i - 1]) >> bit & 1;
		}
		check_balance("ones", ones, num - 1);
		check_balance("flips", flips, num - 1);
	}
}

/* Each byte of a key, and the lowest mixed with those above and before it */
static void stat_bytes(const uint32_t *keys, unsigned int num)
{
	for (unsigned int shift = 0; shift < 32; shift += 8) {
		unsigned int plain[256] = {}, mixed[256] = {}, step[256] = {};

		for (unsigned int i = 1; i < num; i++) {
			plain[keys[i] >> shift & 0xff]++;
			step[(keys[i] - keys[i - 1]) >> shift & 0xff]++;
			mixed[(keys[i] ^ keys[i] >> (shift ?: 16)) & 0xff]++;
		}
		check_bytes("bytes", plain, num - 1);
		check_bytes("steps", step, num - 1);
		check_bytes("mixed bytes", mixed, num - 1);
	}
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* How often the most frequent value is there; the values get sorted */
static unsigned int most_frequent(uint32_t *values, unsigned int num)
{
	unsigned int run = 1, most = 1;

	qsort(values, num, sizeof(*values), compare_u32);
	for (unsigned int i = 1; i < num; i++) {
		run = values[i] == values[i - 1] ? run + 1 : 1;
		most = run > most ? run : most;
	}
	return most;
}

/* No step between indices is more frequent than chance makes it */
static void stat_steps(const uint32_t *keys, unsigned int num)
{
	uint32_t *diff = calloc(num, sizeof(*diff));
	unsigned int near = 0, same = 0;

	CHECK(diff, "no memory");
	for (unsigned int i = 1; i < num; i++) {
		int32_t step = (keys[i] >> 8) - (keys[i - 1] >> 8);

		near += abs(step) <= 16;
		diff[i] = step & (INDEX_NUM - 1);
		same += diff[i] == diff[i - 1];
	}
	/* expected: less than one of each */
	CHECK(near < 10, "%u indices close to the one before", near);
	CHECK(same < 10, "%u steps like the one before", same);
	CHECK(most_frequent(diff + 1, num - 1) < 9, "a step is frequent");
	for (unsigned int i = 1; i < num; i++)
		diff[i] = keys[i] >> 8 ^ keys[i - 1] >> 8;
	CHECK(most_frequent(diff + 1, num - 1) < 9, "a mask is frequent");
	free(diff);
}

/* ---- predictors ------------------------------------------------------ */

/*
 * Each is learnt on the first half of the keys, and must not beat chance on the
 * second.
 */

/*
 * A linear one: each bit of a key as a sum modulo 2 of bits of the key before
 * and of the count. It is learnt exactly, from as many keys as it has unknowns,
 * and finds whatever is built of shifts and exclusive ors.
 */
#define PREDICTOR_BITS	(32 + 14 + 1)

struct equation {
	uint64_t in;
	uint32_t out;
};

/* @count_mask: bits of the count, of which each combination is learnt */
static struct equation predictor_sample(const uint32_t *keys, unsigned int i,
					unsigned int count_mask)
{
	return (struct equation) {
		.in = (uint64_t)keys[i - 1] << 15 | (i & count_mask) << 1 | 1,
		.out = keys[i],
	};
}

/* Take out of @eq what is solved already; false if nothing is left */
static bool predictor_reduce(const struct equation *solved, struct equation *eq)
{
	for (int bit = PREDICTOR_BITS - 1; bit >= 0; bit--) {
		if (!(eq->in >> bit & 1))
			continue;
		if (!solved[bit].in)
			return true;
		eq->in ^= solved[bit].in;
		eq->out ^= solved[bit].out;
	}
	return false;
}

static void stat_predictor(const uint32_t *keys, unsigned int num)
{
	struct equation solved[PREDICTOR_BITS] = {};
	unsigned int count_mask = (num / 4 - 1) & 0x3fff;
	unsigned int right[32] = {}, tried = 0;

	for (unsigned int i = 1; i < num; i++) {
		struct equation eq = predictor_sample(keys, i, count_mask);

		if (predictor_reduce(solved, &eq)) {
			if (i < num / 2)
				solved[63 - __builtin_clzll(eq.in)] = eq;
			continue;
		}
		/* what is left of the output is the error of the guess */
		if (i < num / 2)
			continue;
		tried++;
		for (unsigned int bit = 0; bit < 32; bit++)
			right[bit] += !(eq.out >> bit & 1);
	}
	CHECK(tried > num / 4, "only %u guesses", tried);
	for (unsigned int bit = 0; bit < 32; bit++)
		check_balance("guesses", right[bit], tried);
}

/*
 * A table: the byte that has followed a byte most often. @shift and @from say
 * which byte of a key is guessed, and from which byte of the one before.
 */
static void stat_table(const uint32_t *keys, unsigned int num,
		       unsigned int shift, unsigned int from)
{
	static unsigned int count[256][256];
	uint8_t guess[256] = {};
	unsigned int right = 0;
	double off;

	memset(count, 0, sizeof(count));
	for (unsigned int i = 1; i < num / 2; i++) {
		uint8_t before = keys[i - 1] >> from, is = keys[i] >> shift;

		if (++count[before][is] > count[before][guess[before]])
			guess[before] = is;
	}
	for (unsigned int i = num / 2; i < num; i++)
		right += guess[keys[i - 1] >> from & 0xff] ==
			 (keys[i] >> shift & 0xff);
	off = (right - num / 512.0) / sqrt(num / 512.0);
	CHECK(off < SIGMAS, "byte at %u from that at %u: %u of %u", shift, from,
	      right, num - num / 2);
}

static void stat_tables(const uint32_t *keys, unsigned int num)
{
	for (unsigned int shift = 0; shift < 32; shift += 8)
		for (unsigned int from = 0; from < 32; from += 8)
			stat_table(keys, num, shift, from);
}

/* Modulo 2^32; by Newton's method */
static uint32_t inverse(uint32_t odd)
{
	uint32_t x = odd;

	for (unsigned int i = 0; i < 5; i++)
		x *= 2 - odd * x;
	return x;
}

/*
 * A linear congruence: the multiplier from three keys in a row, tried on those
 * after. @shift: of the numbers that it would make.
 */
static void stat_congruence(const uint32_t *keys, unsigned int num,
			    unsigned int shift)
{
	const uint32_t mask = 0xffffffff >> shift;
	unsigned int right = 0, tried = 0;

	for (unsigned int i = 0; i + 3 < num; i++) {
		uint32_t d1 = (keys[i + 1] >> shift) - (keys[i] >> shift);
		uint32_t d2 = (keys[i + 2] >> shift) - (keys[i + 1] >> shift);
		uint32_t d3 = (keys[i + 3] >> shift) - (keys[i + 2] >> shift);

		if (!(d1 & 1))
			continue;
		tried++;
		right += ((d2 * inverse(d1) * d2 - d3) & mask) == 0;
	}
	/* expected: less than one */
	CHECK(tried > num / 4 && right < 10, "%u of %u guesses", right, tried);
}

void keystat_check(const uint32_t *keys, unsigned int num)
{
	stat_bits(keys, num);
	stat_bytes(keys, num);
	stat_steps(keys, num);
	stat_predictor(keys, num);
	stat_tables(keys, num);
	stat_congruence(keys, num, 0);
	stat_congruence(keys, num, 32 - INDEX_BITS);
}
