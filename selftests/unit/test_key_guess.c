// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Can somebody who has seen keys guess the next one? Predictors learn from the
 * first half of a sequence of numbers and guess each number of the second half
 * from the one before it. That they are no fools is shown with sequences that
 * they must see through.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "keytab.h"
#include "shim/shim.h"
#include "unit.h"

#define BITS		PANE_PERM_BITS
#define SPACE		PANE_PERM_SIZE
#define MASK		(SPACE - 1)
#define NUM_KEYS	100000
/* so many that every number has come several times */
#define NUM_LONG	400000

/*
 * When objects come and go, a number is one of those that have rested long
 * enough: to be right about one in so many is no merit.
 */
#define NUM_RESTED	(PANE_KEYTAB_QUARANTINE / 4)

/**
 * struct sequence - numbers to guess
 * @x: the numbers
 * @n: how many
 * @choices: how many the next may be
 */
struct sequence {
	u32 *x;
	u32 n;
	u32 choices;
};

static u32 keys[NUM_LONG], more_keys[NUM_KEYS];
static u32 votes[SPACE];

static u32 half_of(const struct sequence *s)
{
	return s->n / 2;
}

/*
 * May so many guesses of the whole number be right by chance? Up to 6 standard
 * deviations above what is to be expected, and where that is nothing, three.
 */
static bool hits_beat_chance(u32 hits, const struct sequence *s)
{
	double expected = (s->n - half_of(s)) / (double)s->choices;
	double above = hits - expected - 3;

	return above > 0 && above * above > 36 * expected;
}

/* ---- relations of neighbours: x' = x + d, x' = x ^ d, x' = a * x + c --- */

static u32 relation_add(u32 a, u32 b)
{
	return (b - a) & MASK;
}

static u32 relation_xor(u32 a, u32 b)
{
	return a ^ b;
}

/* Does the commonest relation of the first half hold in the second too? */
static bool relation_holds(const struct sequence *s, u32 (*relation)(u32, u32))
{
	u32 i, best = 0, hits = 0;

	memset(votes, 0, sizeof(votes));
	for (i = 1; i < half_of(s); i++) {
		u32 r = relation(s->x[i - 1], s->x[i]);

		if (++votes[r] > votes[best])
			best = r;
	}
	for (i = half_of(s); i < s->n; i++)
		hits += relation(s->x[i - 1], s->x[i]) == best;
	return hits_beat_chance(hits, s);
}

static bool guess_add(const struct sequence *s)
{
	return relation_holds(s, relation_add);
}

static bool guess_xor(const struct sequence *s)
{
	return relation_holds(s, relation_xor);
}

/* 1 / odd modulo 2^24, by Newton: each step doubles the bits that are right */
static u32 inverse(u32 odd)
{
	u32 r = odd, i;

	for (i = 0; i < 4; i++)
		r *= 2 - odd * r;
	return r & MASK;
}

static u32 multiplier(const u32 *x)
{
	return ((x[2] - x[1]) * inverse(x[1] - x[0])) & MASK;
}

/* Which multiplier would explain three numbers, told by most triples */
static u32 best_multiplier(const struct sequence *s)
{
	u32 i, best = 0;

	memset(votes, 0, sizeof(votes));
	for (i = 0; i + 2 < half_of(s); i++) {
		u32 a;

		if (!((s->x[i + 1] - s->x[i]) & 1))
			continue;
		a = multiplier(s->x + i);
		if (++votes[a] > votes[best])
			best = a;
	}
	return best;
}

static u32 lcg_a;

static u32 relation_lcg(u32 a, u32 b)
{
	return (b - lcg_a * a) & MASK;
}

static bool guess_lcg(const struct sequence *s)
{
	lcg_a = best_multiplier(s);
	return relation_holds(s, relation_lcg);
}

/* ---- what came after this number the last time? ---------------------- */

static bool guess_successor(const struct sequence *s)
{
	u32 *next = votes;
	u32 i, hits = 0;

	memset(votes, 0xff, sizeof(votes));
	for (i = 1; i < half_of(s); i++)
		next[s->x[i - 1]] = s->x[i];
	for (i = half_of(s); i < s->n; i++)
		hits += next[s->x[i - 1]] == s->x[i];
	return hits_beat_chance(hits, s);
}

/* ---- single bits ------------------------------------------------------ */

/*
 * The most right guesses that one bit may get: 6 standard deviations above
 * half of them, one in 10^9 by chance.
 */
static bool bits_beat_chance(u32 right, u32 n)
{
	double above = right - n / 2.0;

	return above > 0 && above * above > 36 * (n / 4.0);
}

/* Features: 0, then the bits of the number before, of that before it, of i */
#define FEATURES (1 + 3 * BITS)
/* numbers of each half that are enough to see one bit in fifty */
#define MAJORITY_NUM 25000

static u32 feature(const struct sequence *s, u32 i, u32 f)
{
	u32 word = f <= BITS ? s->x[i - 1] : f <= 2 * BITS ? s->x[i - 2] : i;

	return f ? word >> (f - 1) % BITS & 1 : 0;
}

/* Guess bit @bit as it mostly was when feature @f had the value it has now. */
static u32 majority_right(const struct sequence *s, u32 bit, u32 f)
{
	u32 ones[2] = { 0 }, seen[2] = { 0 }, right = 0, i;

	for (i = 2; i < MAJORITY_NUM; i++) {
		u32 v = feature(s, i, f);

		ones[v] += s->x[i] >> bit & 1;
		seen[v]++;
	}
	for (i = half_of(s); i < half_of(s) + MAJORITY_NUM; i++) {
		u32 v = feature(s, i, f);

		right += (ones[v] * 2 > seen[v]) == (s->x[i] >> bit & 1);
	}
	return right;
}

/* Is there a bit, and a feature that tells something about it? */
static bool guess_majority(const struct sequence *s)
{
	u32 bit, f, told = 0;

	for (bit = 0; bit < BITS; bit++)
		for (f = 0; f < FEATURES; f++)
			told += bits_beat_chance(majority_right(s, bit, f),
						 MAJORITY_NUM);
	return told;
}

/*
 * Bits as sums of bits of the number before and a constant: Gauss' elimination
 * over GF(2). A row holds the sum's members, and its results above them.
 */
#define UNKNOWNS (BITS + 1)

static u64 linear_row(const struct sequence *s, u32 i)
{
	return (u64)s->x[i] << UNKNOWNS | BIT(BITS) | s->x[i - 1];
}

/* rows[n] begins with unknown n, or is 0. Rows that contradict are dropped. */
static void linear_solve(const struct sequence *s, u64 rows[UNKNOWNS])
{
	u32 i, n;

	memset(rows, 0, UNKNOWNS * sizeof(*rows));
	for (i = 1; i < half_of(s); i++) {
		u64 row = linear_row(s, i);

		for (n = 0; n < UNKNOWNS; n++) {
			if (!(row >> n & 1))
				continue;
			if (!rows[n]) {
				rows[n] = row;
				break;
			}
			row ^= rows[n];
		}
	}
}

static u32 linear_guess(const u64 rows[UNKNOWNS], u32 before)
{
	u64 row = BIT(BITS) | before;
	u32 n;

	for (n = 0; n < UNKNOWNS; n++) {
		if (row >> n & 1)
			row ^= rows[n];
	}
	return row >> UNKNOWNS & MASK;
}

static bool guess_linear(const struct sequence *s)
{
	u64 rows[UNKNOWNS];
	u32 right[BITS] = { 0 }, told = 0, i, bit;

	linear_solve(s, rows);
	for (i = half_of(s); i < s->n; i++) {
		u32 wrong = linear_guess(rows, s->x[i - 1]) ^ s->x[i];

		for (bit = 0; bit < BITS; bit++)
			right[bit] += !(wrong >> bit & 1);
	}
	for (bit = 0; bit < BITS; bit++)
		told += bits_beat_chance(right[bit], s->n - half_of(s));
	return told;
}

static const struct predictor {
	const char *name;
	bool (*sees_through)(const struct sequence *s);
} predictors[] = {
	{ "difference", guess_add },
	{ "exclusive or", guess_xor },
	{ "linear congruence", guess_lcg },
	{ "successor", guess_successor },
	{ "majority of bits", guess_majority },
	{ "sums of bits", guess_linear },
};

enum { ADD, XOR, LCG, SUCCESSOR, MAJORITY, LINEAR };

/* ---- are the predictors any good? ------------------------------------- */

static u32 weak_counter(u32 before, u32 i)
{
	return before + 12345;
}

static u32 weak_xor(u32 before, u32 i)
{
	return before ^ 0x5a5a5a;
}

static u32 weak_lcg(u32 before, u32 i)
{
	return 1140671485 * before + 12820163;
}

static u32 weak_shift_register(u32 before, u32 i)
{
	return before << 1 | (__builtin_popcount(before & 0xe10000) & 1);
}

static struct unit_rng weak_rng;

static u32 good(u32 before, u32 i)
{
	return unit_random(&weak_rng);
}

/* repeats after 10,000 numbers */
static u32 weak_period(u32 before, u32 i)
{
	if (i % 10000 == 0)
		weak_rng.state = 77;
	return good(before, i);
}

static u32 weak_bit(u32 before, u32 i)
{
	u32 x = good(before, i);

	/* bit 5 is a little more often bit 9 of the one before */
	return unit_below(&weak_rng, 100) < 10 ?
	       (x & ~BIT(5)) | (before >> 9 & 1) << 5 : x;
}

static u32 weak_parity(u32 before, u32 i)
{
	return (good(before, i) & ~1) |
	       (__builtin_popcount(before & 0x123456) & 1);
}

static const struct {
	u32 (*next)(u32 before, u32 i);
	unsigned int predictor;
} weak[] = {
	{ weak_counter, ADD },
	{ weak_xor, XOR },
	{ weak_lcg, LCG },
	{ weak_period, SUCCESSOR },
	{ weak_bit, MAJORITY },
	{ weak_shift_register, MAJORITY },
	{ weak_shift_register, LINEAR },
	{ weak_parity, LINEAR },
};

static struct sequence make_sequence(u32 (*next)(u32 before, u32 i))
{
	struct sequence s = { keys, NUM_KEYS, SPACE };
	u32 i, before = 0x123457;

	weak_rng.state = unit_seed();
	for (i = 0; i < s.n; i++) {
		before = next(before, i) & MASK;
		s.x[i] = before;
	}
	return s;
}

static void test_predictors(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(weak); i++) {
		const struct predictor *p = &predictors[weak[i].predictor];
		struct sequence s = make_sequence(weak[i].next);

		if (!CHECK(p->sees_through(&s)))
			unit_note("%s\n", p->name);
	}
}

static void check_all(const struct sequence *s)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(predictors); i++) {
		if (!CHECK(!predictors[i].sees_through(s)))
			unit_note("by: %s\n", predictors[i].name);
	}
}

static void test_predictors_doubt(void)
{
	struct sequence s = make_sequence(good);

	check_all(&s);
}

/* ---- keys ------------------------------------------------------------- */

static struct pane_keytab tab, other;

static void init(struct pane_keytab *t, u64 seed)
{
	shim_random_seed(unit_seed() + seed);
	if (pane_keytab_init(t, 1, PANE_PERM_SIZE - 1, NUM_LONG))
		ksft_exit_fail_msg("no memory\n");
}

static u32 new_slot(struct pane_keytab *t)
{
	u32 slotno = 0;

	CHECK(!pane_keytab_alloc(t, &slotno));
	return slotno;
}

static void free_keys(struct pane_keytab *t, u32 *index, u32 n)
{
	u32 i, slotno;

	for (i = 0; i < n; i++) {
		if (CHECK(pane_keytab_find(t, index[i], &slotno)))
			pane_keytab_free(t, slotno);
	}
}

static void fresh_keys(struct pane_keytab *t, u32 *index, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		index[i] = pane_keytab_index(t, new_slot(t));
}

/* Regions that are registered one after the other, and stay */
static void test_fresh(void)
{
	struct sequence s = { keys, NUM_KEYS, SPACE };

	init(&tab, 1);
	fresh_keys(&tab, keys, s.n);
	check_all(&s);
	free_keys(&tab, keys, s.n);
	pane_keytab_destroy(&tab);
}

/* A window that is bound again and again: the new key comes, the old goes. */
static void rebind(u32 n)
{
	struct sequence s = { keys, n, NUM_RESTED };
	u32 i, old, slotno;

	init(&tab, 2);
	old = new_slot(&tab);
	for (i = 0; i < n; i++) {
		slotno = new_slot(&tab);
		keys[i] = pane_keytab_index(&tab, slotno);
		pane_keytab_free(&tab, old);
		old = slotno;
	}
	check_all(&s);
	pane_keytab_free(&tab, old);
	pane_keytab_destroy(&tab);
}

static void test_rebinding(void)
{
	rebind(NUM_KEYS);
}

static void test_rebinding_long(void)
{
	rebind(NUM_LONG);
}

/* Keys of one device say nothing about those of another, or of the next load. */
static void test_tables(void)
{
	struct sequence s = { keys, NUM_KEYS, SPACE };
	u32 i;

	init(&tab, 3);
	init(&other, 4);
	fresh_keys(&tab, more_keys, NUM_KEYS / 2);
	fresh_keys(&other, more_keys + NUM_KEYS / 2, NUM_KEYS / 2);
	for (i = 0; i < NUM_KEYS / 2; i++) {
		keys[2 * i] = more_keys[i];
		keys[2 * i + 1] = more_keys[NUM_KEYS / 2 + i];
	}
	check_all(&s);
	free_keys(&tab, more_keys, NUM_KEYS / 2);
	free_keys(&other, more_keys + NUM_KEYS / 2, NUM_KEYS / 2);
	pane_keytab_destroy(&tab);
	pane_keytab_destroy(&other);
}

static const struct unit_test tests[] = {
	{ "predictors see through weak sequences", test_predictors },
	{ "predictors do not see what is not there", test_predictors_doubt },
	{ "keys of 100,000 objects", test_fresh },
	{ "100,000 keys of one window", test_rebinding },
	{ "no key follows from the one before it, in the long run",
	  test_rebinding_long },
	{ "keys of two devices", test_tables },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
