// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys that nobody can guess: all different, none back soon after it was
 * retired, and nothing in the earlier ones that tells the next.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_util.h"

#define INDEX_BITS	24
#define INDEX_NUM	(1U << INDEX_BITS)
#define QUARANTINE	65536
/* More than rest, so that numbers do come back */
#define NUM_KEYS	80000

/* ---- different ------------------------------------------------------- */

#define LIVE_WINDOWS	20000
#define LIVE_REGIONS	2000

static uint8_t *index_seen;

static void index_check_new(uint32_t key)
{
	uint32_t index = key >> 8;

	CHECK(index, "key %#x", key);
	CHECK(!(index_seen[index / 8] & 1 << index % 8), "key %#x twice", key);
	index_seen[index / 8] |= 1 << index % 8;
}

/* MRs and windows of both types, of one table */
static void test_distinct(const void *arg)
{
	unsigned int num_mw = pane_rounds(LIVE_WINDOWS);
	unsigned int num_mr = pane_rounds(LIVE_REGIONS);
	struct ibv_mw **mw = calloc(num_mw, sizeof(*mw));
	struct ibv_mr **mr = calloc(num_mr, sizeof(*mr));
	static uint8_t mem[4096];
	struct node n;

	index_seen = calloc(INDEX_NUM, 1);
	CHECK(mw && mr && index_seen, "no memory");
	node_open_owner(&n);
	for (unsigned int i = 0; i < num_mw; i++) {
		mw[i] = mw_open(n.pd, i & 1 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
		index_check_new(mw[i]->rkey);
		if (i % 10 || i / 10 >= num_mr)
			continue;
		mr[i / 10] = ibv_reg_mr(n.pd, mem, sizeof(mem), 0);
		CHECK(mr[i / 10], "%s", strerror(errno));
		index_check_new(mr[i / 10]->lkey);
	}
	for (unsigned int i = 0; i < num_mw; i++)
		mw_close(mw[i]);
	for (unsigned int i = 0; i < num_mr; i++)
		if (mr[i])
			CHECK_OK(ibv_dereg_mr(mr[i]));
	node_close(&n);
}

/* ---- quarantine ------------------------------------------------------ */

/* No index is back before so many others were handed out */
static void check_quarantine(const uint32_t *keys, unsigned int num)
{
	/* when an index was handed out last, plus one; and retired just after */
	uint32_t *last = calloc(INDEX_NUM, sizeof(*last));

	CHECK(last, "no memory");
	for (unsigned int i = 0; i < num; i++) {
		uint32_t *at = &last[keys[i] >> 8];

		CHECK(!*at || i - *at >= QUARANTINE,
		      "index of %#x is back after %u others", keys[i],
		      i - *at);
		*at = i + 1;
	}
	free(last);
}

/* ---- statistics ------------------------------------------------------ */

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

/*
 * A predictor: each bit of a key as a sum modulo 2 of bits of the key before
 * and of the count. It is learnt on the first half, exactly, from as many keys
 * as it has unknowns; on the second half it must not beat chance. It finds
 * whatever is built of shifts and exclusive ors.
 */
#define PREDICTOR_BITS	(32 + 14 + 1)

struct equation {
	uint64_t in;
	uint32_t out;
};

static struct equation predictor_sample(const uint32_t *keys, unsigned int i)
{
	return (struct equation) {
		.in = (uint64_t)keys[i - 1] << 15 | (i & 0x3fff) << 1 | 1,
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
	unsigned int right[32] = {}, tried = 0;

	for (unsigned int i = 1; i < num; i++) {
		struct equation eq = predictor_sample(keys, i);

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

/* Indices that are back do not follow each other as they did before */
static void check_order(const uint32_t *keys, unsigned int num)
{
	uint32_t *next = calloc(INDEX_NUM, sizeof(*next));
	unsigned int known = 0, same = 0;

	CHECK(next, "no memory");
	for (unsigned int i = 1; i < num; i++) {
		uint32_t *guess = &next[keys[i - 1] >> 8];

		known += *guess != 0;
		same += *guess == keys[i] >> 8;
		*guess = keys[i] >> 8;
	}
	/* far more than the one in thousands that chance makes */
	CHECK(same <= 10 + known / 100, "foretold %u of %u times", same, known);
	free(next);
}

static void check_statistics(const uint32_t *keys, unsigned int num)
{
	stat_bits(keys, num);
	stat_bytes(keys, num);
	stat_steps(keys, num);
	stat_predictor(keys, num);
}

/* ---- where the keys come from ---------------------------------------- */

/* Windows made and given back; the types by turns */
static void collect_allocs(uint32_t *keys)
{
	struct ibv_mw *mw;
	struct node n;

	node_open_owner(&n);
	for (unsigned int i = 0; i < NUM_KEYS; i++) {
		mw = mw_open(n.pd, i & 1 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
		keys[i] = mw->rkey;
		mw_close(mw);
	}
	node_close(&n);
}

/* A rebind of a type 1 window retires the key it had */
static void collect_rebinds(uint32_t *keys)
{
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_1);
	for (unsigned int i = 0; i < NUM_KEYS; i++) {
		mw_bind(&d.o, mw, &d.mem, 0, DUO_LEN, 0);
		keys[i] = mw->rkey;
	}
	mw_close(mw);
	duo_close(&d);
}

/**
 * struct source - a way to get keys, and the keys
 * @name: of it
 * @collect: gets NUM_KEYS of them
 * @keys: shared by the tests' processes; the first that needs them collects
 * @collected: they are there
 */
struct source {
	const char *name;
	void (*collect)(uint32_t *keys);
	uint32_t *keys;
	bool *collected;
};

static struct source sources[] = {
	{ .name = "new windows", .collect = collect_allocs },
	{ .name = "rebinds", .collect = collect_rebinds },
};

static void source_share(struct source *src)
{
	const size_t len = NUM_KEYS * sizeof(*src->keys);
	void *mem = mmap(NULL, len + sizeof(bool), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(mem != MAP_FAILED, "%s", strerror(errno));
	src->keys = mem;
	src->collected = (bool *)((char *)mem + len);
}

static const uint32_t *source_keys(const struct source *src)
{
	if (!*src->collected)
		src->collect(src->keys);
	*src->collected = true;
	return src->keys;
}

static void test_quarantine(const void *arg)
{
	check_quarantine(source_keys(arg), NUM_KEYS);
}

static void test_statistics(const void *arg)
{
	/* as many as are all different, so that they count as independent */
	check_statistics(source_keys(arg), QUARANTINE);
}

static void test_order(const void *arg)
{
	check_order(source_keys(arg), NUM_KEYS);
}

/* ---- devices and guesses --------------------------------------------- */

#define DEVICE_KEYS	2000

/* What one device hands out says nothing about another's */
static void test_devices(const void *arg)
{
	static uint32_t keys[2][DEVICE_KEYS];
	unsigned int same = 0;
	struct ibv_mw *mw;
	struct node n;

	for (unsigned int dev = 0; dev < 2; dev++) {
		node_open_device(&n, pane_devices[dev]);
		for (unsigned int i = 0; i < DEVICE_KEYS; i++) {
			mw = mw_open(n.pd, IBV_MW_TYPE_1);
			keys[dev][i] = mw->rkey;
			mw_close(mw);
		}
		node_close(&n);
		qsort(keys[dev], DEVICE_KEYS, sizeof(uint32_t), compare_u32);
	}
	for (unsigned int i = 0, j = 0; i < DEVICE_KEYS && j < DEVICE_KEYS;) {
		same += keys[0][i] >> 8 == keys[1][j] >> 8;
		if (keys[0][i] < keys[1][j])
			i++;
		else
			j++;
	}
	/* 0.24 of them are expected */
	CHECK(same < 8, "%u of %u indices are the same", same, DEVICE_KEYS);
}

#define GUESSES	1000

/* Each costs the peer its connection, is counted, and opens nothing */
static void test_guesses(const void *arg)
{
	unsigned int rounds = pane_rounds(GUESSES);
	uint64_t keys;
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_1);
	mw_bind(&d.o, mw, &d.mem, 0, DUO_LEN, RIGHTS_RW);
	srandom(mw->rkey);
	keys = counter_read(&d.own, "access_key");
	for (unsigned int i = 0; i < rounds; i++) {
		/* the byte of a known index, or anything */
		uint32_t guess = i < 256 ? mw->rkey ^ (i ?: 1) : random() * 2;

		CHECK_EQ(ep_write(&d.p, &d.buf, 8, region_at(&d.mem, 0),
				  guess), IBV_WC_REM_ACCESS_ERR);
		ep_reconnect(&d.o, &d.p);
	}
	CHECK_EQ(counter_read(&d.own, "access_key"), keys + rounds);
	CHECK(has_pattern(d.mem.addr, d.mem.len, 0), "memory changed");
	mw_close(mw);
	duo_close(&d);
}

static void list(void)
{
	pane_test(0, test_distinct, NULL, "keys: all different");
	for (unsigned int i = 0; i < ARRAY_SIZE(sources); i++) {
		struct source *src = &sources[i];

		source_share(src);
		pane_test(0, test_quarantine, src, "keys of %s: quarantine",
			  src->name);
		pane_test(0, test_statistics, src,
			  "keys of %s: statistics, and a predictor", src->name);
		pane_test(0, test_order, src,
			  "keys of %s: come back in another order", src->name);
	}
	pane_test(0, test_devices, NULL, "keys: different on each device");
	pane_test(0, test_guesses, NULL, "keys: guesses open nothing");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
