// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A peer that guesses keys. On RC each guess costs it its connection; on UC,
 * where nothing is answered, guesses are limited.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "../kselftest.h"
#include "pane_util.h"

#define GUESSES		65536

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Not the right one: other bytes of the index that is known, then anything */
static uint32_t guess(const struct ibv_mw *mw, unsigned int i)
{
	uint32_t key = i < 255 ? mw->rkey ^ (i + 1) : (uint32_t)random() * 2;

	return key == mw->rkey ? ~key : key;
}

/* ---- RC -------------------------------------------------------------- */

/* It is told, its connection is gone, and the owner knows */
static void guess_round(struct duo *d, uint32_t rkey)
{
	CHECK_EQ(ep_write(&d->p, &d->buf, 8, region_at(&d->mem, 0), rkey),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ep_state(&d->o), IBV_QPS_ERR);
	event_wait(&d->own, IBV_EVENT_QP_ACCESS_ERR, d->o.qp);
	ep_reconnect(&d->o, &d->p);
}

static void test_rc(const void *arg)
{
	unsigned int rounds = pane_rounds_cheap(GUESSES);
	struct ibv_mw *mw;
	uint64_t keys;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_1);
	mw_bind(&d.o, mw, &d.mem, 0, DUO_LEN, RIGHTS_RW);
	srandom(mw->rkey);
	keys = counter_read(&d.own, "access_key");
	for (unsigned int i = 0; i < rounds; i++) {
		if (i % 4096 == 0)
			pane_more_time();
		guess_round(&d, guess(mw, i));
	}
	CHECK_EQ(counter_read(&d.own, "access_key"), keys + rounds);
	CHECK(has_pattern(d.mem.addr, d.mem.len, 0), "memory changed");
	duo_check_access(&d, &d.p, region_at(&d.mem, 0), mw->rkey, 0, 8);
	ksft_print_msg("%u guesses\n", rounds);
	mw_close(mw);
	duo_close(&d);
}

/* ---- UC -------------------------------------------------------------- */

/* Wrong keys that a QP looks at within a second */
#define UC_LIMIT	16
#define UC_TRIES	20
#define UC_BATCH	64
#define UC_GUESSES	(1024 * UC_BATCH)

static struct req uc_write(struct duo *d, uint32_t rkey)
{
	return req_remote(IBV_WR_RDMA_WRITE, &d->buf, 8,
			  region_at(&d->mem, 0), rkey);
}

/* Post a batch, and wait until all of it has been looked at */
static void uc_post(struct endpoint *p, struct req *reqs, unsigned int num)
{
	reqs[num - 1].flags = IBV_SEND_SIGNALED;
	CHECK_OK(ep_post(p, reqs, num));
	CHECK_WC(p->scq, 0, IBV_WC_SUCCESS, NULL);
	ep_arrived(p);
}

/* The right key is of use again before long; by polling for it */
static void uc_wait_open(struct duo *d, struct endpoint *p, uint32_t rkey)
{
	double end = now() + pane_deadline_ms() / 1000.0;

	while (ep_do(p, uc_write(d, rkey)) != IBV_WC_SUCCESS)
		CHECK(now() < end, "barred for good");
}

/*
 * By a connection of its own, so many wrong keys, then the right one. False if
 * that took so long that it says nothing.
 */
static bool uc_bar(struct duo *d, struct endpoint *p, uint32_t rkey)
{
	struct req reqs[UC_LIMIT + 2];
	uint64_t keys, barred;
	double begin;

	for (unsigned int i = 0; i < UC_LIMIT; i++)
		reqs[i] = uc_write(d, rkey ^ (i + 1));
	reqs[UC_LIMIT] = uc_write(d, rkey);
	reqs[UC_LIMIT + 1] = uc_write(d, rkey);
	keys = counter_read(&d->own, "access_key");
	barred = counter_read(&d->own, "access_barred");
	fill_pattern(d->mem.addr, d->mem.len, 0);
	fill_pattern(d->buf.addr, d->buf.len, 1);
	begin = now();
	uc_post(p, reqs, ARRAY_SIZE(reqs));
	if (now() - begin > 0.9)
		return false;
	CHECK_EQ(counter_read(&d->own, "access_key"), keys + UC_LIMIT);
	CHECK_EQ(counter_read(&d->own, "access_barred"), barred + 2);
	CHECK(has_pattern(d->mem.addr, d->mem.len, 0), "memory changed");
	return true;
}

/* Barred it is, but others are not, and not for long */
static bool uc_limit_round(struct duo *d, const struct ibv_mw *mw)
{
	uint64_t va = region_at(&d->mem, 0);
	struct endpoint o, p;
	bool done;

	duo_link(d, &o, &p);
	done = uc_bar(d, &p, mw->rkey);
	if (done) {
		duo_check_access(d, &d->p, va, mw->rkey, 0, 8);
		CHECK_EQ(duo_probe(d, va, mw->rkey), IBV_WC_SUCCESS);
		uc_wait_open(d, &p, mw->rkey);
		CHECK_EQ(ep_state(&o), IBV_QPS_RTS);
	}
	duo_unlink(&o, &p);
	return done;
}

static void test_uc_limit(const void *arg)
{
	struct req reqs[UC_LIMIT];
	unsigned int i;
	struct ibv_mw *mw;
	uint64_t barred;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_1);
	mw_bind(&d.o, mw, &d.mem, 0, DUO_LEN, RIGHTS_RW);
	/* one less bars nothing */
	barred = counter_read(&d.own, "access_barred");
	for (i = 0; i < UC_LIMIT - 1; i++)
		reqs[i] = uc_write(&d, mw->rkey ^ (i + 1));
	reqs[i] = uc_write(&d, mw->rkey);
	fill_pattern(d.buf.addr, d.buf.len, 2);
	uc_post(&d.p, reqs, UC_LIMIT);
	CHECK(has_pattern(d.mem.addr, 8, 2), "not written");
	CHECK_EQ(counter_read(&d.own, "access_barred"), barred);

	for (i = 0; i < UC_TRIES && !uc_limit_round(&d, mw); i++)
		;
	if (i == UC_TRIES)
		pane_skip("too slow to guess that often within a second");
	mw_close(mw);
	duo_close(&d);
}

/* As many as can be: of those that are looked at there are few, all counted */
static void test_uc(const void *arg)
{
	unsigned int rounds = pane_rounds_cheap(UC_GUESSES / UC_BATCH);
	uint64_t keys, barred, looked;
	struct req reqs[UC_BATCH];
	struct ibv_mw *mw;
	double begin;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_1);
	mw_bind(&d.o, mw, &d.mem, 0, DUO_LEN, RIGHTS_RW);
	srandom(mw->rkey);
	keys = counter_read(&d.own, "access_key");
	barred = counter_read(&d.own, "access_barred");
	begin = now();
	for (unsigned int i = 0; i < rounds; i++) {
		for (unsigned int j = 0; j < UC_BATCH; j++)
			reqs[j] = uc_write(&d, guess(mw, i * UC_BATCH + j));
		uc_post(&d.p, reqs, UC_BATCH);
	}
	looked = counter_read(&d.own, "access_key") - keys;
	CHECK_EQ(looked + counter_read(&d.own, "access_barred") - barred,
		 rounds * UC_BATCH);
	/* one second may have begun before, and one may end later */
	CHECK(looked <= UC_LIMIT * (now() - begin + 2), "%u in %f s",
	      (unsigned int)looked, now() - begin);
	CHECK(has_pattern(d.mem.addr, d.mem.len, 0), "memory changed");
	ksft_print_msg("%u guesses, %u looked at\n", rounds * UC_BATCH,
		       (unsigned int)looked);
	mw_close(mw);
	duo_close(&d);
}

static void list(void)
{
	pane_test(V_RC, test_rc, NULL, "65,536 guesses open nothing");
	pane_test(V_UC, test_uc_limit, NULL, "wrong keys are limited");
	pane_test(V_UC, test_uc, NULL, "65,536 guesses open nothing");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
