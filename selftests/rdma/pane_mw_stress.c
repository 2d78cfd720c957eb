// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Binds, invalidates, registrations and deallocations that meet each other. No
 * one request has a foreseeable answer; what is tested is that each has one of
 * those that the rules allow, that nobody gets at memory that was given back,
 * and that in the end all references are.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "../kselftest.h"
#include "pane_util.h"

#define ROUNDS		5000
#define NUM_WINDOWS	4	/* of each type */

/**
 * struct stress - what the threads share
 * @d: owner and peer
 * @mr: the region of @d.mem as it was last registered; its owner may have
 *      deregistered it meanwhile
 * @rkeys: of the windows as they were last bound or made
 * @rounds: of each thread
 */
struct stress {
	struct duo d;
	struct ibv_mr mr;
	pthread_mutex_t mr_lock;
	uint32_t rkeys[2 * NUM_WINDOWS];
	unsigned int rounds;
};

/**
 * struct worker - a thread with a connection of its own
 * @s: shared
 * @o: owner's end
 * @p: peer's end
 * @seed: of its random numbers
 * @good: requests that were accepted
 * @thread: it
 */
struct worker {
	struct stress *s;
	struct endpoint o, p;
	unsigned int seed;
	unsigned int good;
	pthread_t thread;
};

static struct ibv_mr mr_now(struct stress *s)
{
	struct ibv_mr mr;

	pthread_mutex_lock(&s->mr_lock);
	mr = s->mr;
	pthread_mutex_unlock(&s->mr_lock);
	return mr;
}

/* A window as anybody knows it who has seen its key; windows 0, 2 ... are of type 1 */
static struct ibv_mw mw_seen(struct worker *w, unsigned int i)
{
	return (struct ibv_mw) {
		.context = w->s->d.own.ctx,
		.pd = w->s->d.own.pd,
		.rkey = __atomic_load_n(&w->s->rkeys[i], __ATOMIC_RELAXED),
		.type = i & 1 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1,
	};
}

static void mw_tell(struct worker *w, unsigned int i, uint32_t rkey)
{
	__atomic_store_n(&w->s->rkeys[i], rkey, __ATOMIC_RELAXED);
}

/* Success, or refused and the connection is new */
static bool request_ended(struct worker *w)
{
	struct ibv_wc wc;

	cq_wait(w->o.scq, &wc);
	if (wc.status == IBV_WC_SUCCESS) {
		w->good++;
		return true;
	}
	CHECK_EQ(wc.status, IBV_WC_MW_BIND_ERR);
	ep_reconnect(&w->o, &w->p);
	return false;
}

/* With whatever key the window has, to whatever the region is at the moment */
static void work_bind(struct worker *w, unsigned int i)
{
	size_t off = rand_r(&w->seed) % (DUO_LEN / 2);
	struct ibv_mw mw = mw_seen(w, i);
	struct ibv_mr mr = mr_now(w->s);
	struct ibv_mw_bind_info info = bind_info(&w->s->d.mem, off,
						 DUO_LEN / 2, RIGHTS_RW);

	info.mr = &mr;
	CHECK_OK(mw_post_bind(&w->o, &mw, &info, IBV_SEND_SIGNALED, 1));
	if (request_ended(w))
		mw_tell(w, i, mw.rkey);
}

static void work_unbind(struct worker *w, unsigned int i)
{
	struct ibv_mw mw = mw_seen(w, i);
	struct ibv_mw_bind_info none = {};
	struct req req = {
		.opcode = IBV_WR_LOCAL_INV,
		.flags = IBV_SEND_SIGNALED,
		.ex = mw.rkey,
	};

	if (mw_is_type2(&mw))
		CHECK_OK(ep_post(&w->o, &req, 1));
	else
		CHECK_OK(mw_post_bind(&w->o, &mw, &none, IBV_SEND_SIGNALED, 1));
	if (request_ended(w))
		mw_tell(w, i, mw.rkey);
}

/* The QP goes with what is bound on it, and another takes its place */
static void work_reset(struct worker *w, unsigned int i)
{
	if (i & 1) {
		ep_reconnect(&w->o, &w->p);
		return;
	}
	CHECK_OK(ibv_destroy_qp(w->o.qp));
	ep_drain(&w->o);
	ep_make_qp(&w->o);
	ep_modify(&w->p, IBV_QPS_RESET);
	ep_drain(&w->p);
	ep_connect(&w->o, &w->p);
}

/* Memory that is registered no more is not to be written: see main's check */
static void work_access(struct worker *w, unsigned int i)
{
	uint64_t va = region_at(&w->s->d.mem, DUO_LEN / 2 - 8);
	struct ibv_mw mw = mw_seen(w, i);

	if (ep_write(&w->p, &w->s->d.buf, 8, va, mw.rkey) == IBV_WC_SUCCESS)
		w->good++;
	else
		ep_reconnect(&w->o, &w->p);
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;

	for (unsigned int n = 0; n < w->s->rounds; n++) {
		unsigned int i = rand_r(&w->seed) % (2 * NUM_WINDOWS);

		switch (rand_r(&w->seed) % 8) {
		case 0 ... 3:
			work_bind(w, i);
			break;
		case 4 ... 5:
			work_unbind(w, i);
			break;
		case 6:
			work_access(w, i);
			break;
		case 7:
			work_reset(w, i);
			break;
		}
	}
	return NULL;
}

/* ---- meanwhile ------------------------------------------------------- */

/*
 * Deregister the region; EBUSY is as good an answer. When it is gone nobody
 * writes there.
 */
static bool region_cycle(struct stress *s)
{
	static uint8_t shadow[DUO_LEN];
	struct ibv_mr *mr = s->d.mem.mr;
	int ret = ibv_dereg_mr(mr);

	if (ret) {
		CHECK_EQ(ret, EBUSY);
		return false;
	}
	memcpy(shadow, s->d.mem.addr, DUO_LEN);
	/* others may post binds to it now, by the key that it had */
	sched_yield();
	CHECK(!memcmp(shadow, s->d.mem.addr, DUO_LEN),
	      "written after dereg_mr");
	mr = ibv_reg_mr(s->d.own.pd, s->d.mem.addr, DUO_LEN, MR_BINDABLE);
	CHECK(mr, "%s", strerror(errno));
	pthread_mutex_lock(&s->mr_lock);
	s->d.mem.mr = mr;
	s->mr = *mr;
	pthread_mutex_unlock(&s->mr_lock);
	return true;
}

/* A window goes, bound or not, and another takes its place */
static void window_cycle(struct stress *s, struct ibv_mw **mw, unsigned int i)
{
	enum ibv_mw_type type = mw[i]->type;

	mw_close(mw[i]);
	mw[i] = mw_open(s->d.own.pd, type);
	__atomic_store_n(&s->rkeys[i], mw[i]->rkey, __ATOMIC_RELAXED);
}

static void stress_open(struct stress *s, struct ibv_mw **mw)
{
	duo_open(&s->d);
	CHECK_OK(pthread_mutex_init(&s->mr_lock, NULL));
	s->mr = *s->d.mem.mr;
	s->rounds = pane_rounds(ROUNDS);
	for (unsigned int i = 0; i < 2 * NUM_WINDOWS; i++) {
		mw[i] = mw_open(s->d.own.pd, i & 1 ? IBV_MW_TYPE_2 :
						     IBV_MW_TYPE_1);
		s->rkeys[i] = mw[i]->rkey;
	}
}

static void stress_close(struct stress *s, struct ibv_mw **mw)
{
	for (unsigned int i = 0; i < 2 * NUM_WINDOWS; i++)
		mw_close(mw[i]);
	duo_close(&s->d);
}

static void test_stress(const void *arg)
{
	struct ibv_mw *mw[2 * NUM_WINDOWS];
	unsigned int gone = 0, good = 0;
	struct worker w[3] = {};
	static struct stress s;

	stress_open(&s, mw);
	for (unsigned int i = 0; i < ARRAY_SIZE(w); i++) {
		w[i].s = &s;
		w[i].seed = i;
		duo_link(&s.d, &w[i].o, &w[i].p);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(w); i++)
		CHECK_OK(pthread_create(&w[i].thread, NULL, worker_run, &w[i]));
	for (unsigned int i = 0; i < s.rounds; i++) {
		if (i % 1000 == 0)
			pane_more_time();
		gone += region_cycle(&s);
		if (i % 4 == 0)
			window_cycle(&s, mw, i / 4 % (2 * NUM_WINDOWS));
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(w); i++) {
		CHECK_OK(pthread_join(w[i].thread, NULL));
		duo_unlink(&w[i].o, &w[i].p);
		good += w[i].good;
	}
	ksft_print_msg("%zu rounds, %u requests accepted, region deregistered %u times\n",
		       s.rounds * ARRAY_SIZE(w), good, gone);
	stress_close(&s, mw);
}

static void list(void)
{
	pane_test(V_PATHS, test_stress, NULL,
		  "bind, invalidate, dereg_mr, dealloc_mw, QPs reset and destroyed, at once");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
