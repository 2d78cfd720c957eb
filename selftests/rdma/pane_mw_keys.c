// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys that nobody can guess: all different, none back soon after it was
 * retired, and nothing in the earlier ones that tells the next.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_keystat.h"
#include "pane_util.h"

#define QUARANTINE	65536
/* So many are all different in any table, so that they count as independent */
#define NUM_FRESH	QUARANTINE
/* And with so many, numbers do come back */
#define NUM_KEYS	(2 * QUARANTINE + 120000)

/* ---- different ------------------------------------------------------- */

#define LIVE_WINDOWS	20000
#define LIVE_REGIONS	2000

static uint8_t *index_seen;

static bool index_is_seen(uint32_t key)
{
	uint32_t index = key >> 8;

	return index_seen[index / 8] & 1 << index % 8;
}

static void index_check_new(uint32_t key)
{
	uint32_t index = key >> 8;

	CHECK(index, "key %#x", key);
	CHECK(!index_is_seen(key), "key %#x twice", key);
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
	CHECK(known > num / 4, "only %u are back", known);
	/* far more than the one in thousands that chance makes */
	CHECK(same <= 10 + known / 100, "foretold %u of %u times", same, known);
	free(next);
}

/* ---- where the keys come from ---------------------------------------- */

/* Windows made and given back */
static void collect_allocs(uint32_t *keys)
{
	struct ibv_mw *mw;
	struct node n;

	node_open_owner(&n);
	for (unsigned int i = 0; i < NUM_KEYS; i++) {
		if (i % 50000 == 0)
			pane_more_time();
		mw = mw_open(n.pd, IBV_MW_TYPE_2);
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
		if (i % 50000 == 0)
			pane_more_time();
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
	{ .name = "new type 2 windows", .collect = collect_allocs },
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
	if (pane_kernel_checks())
		pane_skip("so many keys take too long on such a kernel");
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
	keystat_check(source_keys(arg), NUM_FRESH);
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
	}
	index_seen = calloc(INDEX_NUM, 1);
	CHECK(index_seen, "no memory");
	for (unsigned int i = 0; i < DEVICE_KEYS; i++)
		index_check_new(keys[0][i]);
	for (unsigned int i = 0; i < DEVICE_KEYS; i++)
		same += index_is_seen(keys[1][i]);
	/* 0.24 of them are expected */
	CHECK(same < 8, "%u of %u indices are the same", same, DEVICE_KEYS);
}

/* ---- numbers of QPs -------------------------------------------------- */

#define LIVE_QPS	1000
#define NUM_QPS		4096

static uint32_t qp_number(struct ibv_qp *qp)
{
	CHECK(qp->qp_num > 1 && qp->qp_num < INDEX_NUM, "%#x", qp->qp_num);
	/* with something in the place of a key's byte */
	return qp->qp_num << 8 | (random() & 0xff);
}

/* No number tells the next; some of the QPs live together, the others do not */
static void test_qp_numbers(const void *arg)
{
	static struct ibv_qp *live[LIVE_QPS];
	static uint32_t nums[NUM_QPS];
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct duo d;

	duo_open(&d);
	init.send_cq = d.o.scq;
	init.recv_cq = d.o.rcq;
	srandom(d.o.qp->qp_num);
	index_seen = calloc(INDEX_NUM, 1);
	CHECK(index_seen, "no memory");
	for (unsigned int i = 0; i < NUM_QPS; i++) {
		struct ibv_qp *qp = ibv_create_qp(d.own.pd, &init);

		CHECK(qp, "%s", strerror(errno));
		nums[i] = qp_number(qp);
		index_check_new(nums[i]);
		if (i < LIVE_QPS)
			live[i] = qp;
		else
			CHECK_OK(ibv_destroy_qp(qp));
	}
	keystat_check(nums, NUM_QPS);
	for (unsigned int i = 0; i < LIVE_QPS; i++)
		CHECK_OK(ibv_destroy_qp(live[i]));
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
			  "keys of %s: statistics, and predictors", src->name);
		pane_test(0, test_order, src,
			  "keys of %s: come back in another order", src->name);
	}
	pane_test(0, test_devices, NULL, "keys: different on each device");
	pane_test(0, test_qp_numbers, NULL,
		  "QP numbers: all different, statistics, and predictors");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
