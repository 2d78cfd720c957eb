// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A million windows' lives beside peers that read, write and add through other
 * windows on the same QPs, in the same region: bound, rebound, invalidated,
 * deallocated, with regions deregistered and QPs reset and destroyed. The peers
 * notice nothing, and everything is done exactly once.
 */
#include <errno.h>

#include "../kselftest.h"
#include "pane_stream.h"
#include "pane_util.h"

#define ROUNDS		1000000
#define NUM_PEERS	3
#define PART_LEN	(16 * 1024)
/* Lives that are posted together: a bind and an invalidate each */
#define BATCH		32
/* Windows that they are of */
#define NUM_WINDOWS	8

/* What the peers do; the last part of the memory is not theirs */
static const enum ibv_wr_opcode opcodes[NUM_PEERS] = {
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
};

/**
 * struct storm - the owner and its peers
 * @own: owner's device
 * @mem: memory: a part for each peer, and one for all the other windows
 * @o: owner's ends
 * @s: the peers
 * @steady: their windows
 * @scratch: endpoint connected to itself, whose QP comes and goes
 * @mw1: type 1 windows that come and go
 * @mw2: type 2 windows that come and go
 * @rounds: lives so far
 * @binds: binds so far
 * @invalidates: invalidates so far
 */
struct storm {
	struct node own;
	struct region mem;
	struct endpoint o[NUM_PEERS];
	struct stream s[NUM_PEERS];
	struct ibv_mw *steady[NUM_PEERS];
	struct endpoint scratch;
	struct ibv_mw *mw1[NUM_WINDOWS];
	struct ibv_mw *mw2[NUM_WINDOWS];
	unsigned int rounds;
	uint64_t binds;
	uint64_t invalidates;
};

static struct ibv_mw_bind_info storm_info(struct storm *st, unsigned int i)
{
	return bind_info(&st->mem, NUM_PEERS * PART_LEN + i % 64, PART_LEN / 2,
			 RIGHTS_ALL);
}

/* ---- lives ----------------------------------------------------------- */

/* In the send queue of a QP that a stream comes to */
static void live_type2(struct storm *st, struct endpoint *ep)
{
	struct req reqs[2 * BATCH];

	for (unsigned int i = 0; i < BATCH; i++) {
		struct ibv_mw *mw = st->mw2[i % NUM_WINDOWS];
		uint32_t rkey = ibv_inc_rkey(mw->rkey + i / NUM_WINDOWS);

		rkey = (mw->rkey & ~0xffU) | (rkey & 0xff);
		reqs[2 * i] = (struct req) {
			.opcode = IBV_WR_BIND_MW,
			.mw = mw,
			.rkey = rkey,
			.bind = storm_info(st, i),
		};
		reqs[2 * i + 1] = (struct req) {
			.opcode = IBV_WR_LOCAL_INV,
			.ex = rkey,
		};
	}
	reqs[2 * BATCH - 1].flags = IBV_SEND_SIGNALED;
	CHECK_OK(ep_post(ep, reqs, 2 * BATCH));
	CHECK_WC(ep->scq, 0, IBV_WC_SUCCESS, NULL);
	st->rounds += BATCH;
	st->binds += BATCH;
	st->invalidates += BATCH;
}

/* Rebinds of windows that are bound all the time, but for one now and then */
static void live_type1(struct storm *st, struct endpoint *ep)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		struct ibv_mw_bind bind = {
			.bind_info = storm_info(st, i),
			.send_flags = i == BATCH - 1 ? IBV_SEND_SIGNALED : 0,
		};

		if (i % 8 == 0)
			bind.bind_info.length = 0;
		CHECK_OK(ibv_bind_mw(ep->qp, st->mw1[i % NUM_WINDOWS], &bind));
	}
	CHECK_WC(ep->scq, 0, IBV_WC_SUCCESS, NULL);
	st->rounds += BATCH;
	st->binds += BATCH;
}

/* A window of either type, deallocated while it is bound */
static void live_dealloc(struct storm *st, struct endpoint *ep, unsigned int i)
{
	enum ibv_mw_type type = i & 1 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1;
	struct ibv_mw_bind_info info = storm_info(st, i);
	struct ibv_mw *mw = mw_open(st->own.pd, type);

	CHECK_EQ(mw_try_bind(ep, mw, &info), IBV_WC_SUCCESS);
	mw_close(mw);
	st->rounds++;
	st->binds++;
}

/* A region of its own, which goes when its window is gone */
static void live_dereg(struct storm *st, struct endpoint *ep)
{
	struct region r;
	struct ibv_mw *mw;

	region_open_at(&r, st->own.pd, st->mem.addr + NUM_PEERS * PART_LEN,
		       PART_LEN, MR_BINDABLE);
	mw = mw_open(st->own.pd, IBV_MW_TYPE_2);
	mw_bind(ep, mw, &r, 0, PART_LEN, RIGHTS_ALL);
	CHECK_EQ(ibv_dereg_mr(r.mr), EBUSY);
	mw_unbind(ep, mw);
	region_close(&r);
	mw_close(mw);
	st->rounds++;
	st->binds++;
	st->invalidates++;
}

/* By the end of the QP it is bound on */
static void live_qp(struct storm *st, unsigned int i)
{
	struct endpoint *ep = &st->scratch;
	struct ibv_mw *mw = st->mw2[0];
	struct ibv_mw_bind_info info = storm_info(st, i);

	CHECK_EQ(mw_try_bind(ep, mw, &info), IBV_WC_SUCCESS);
	if (i & 1) {
		ep_modify(ep, IBV_QPS_RESET);
	} else {
		CHECK_OK(ibv_destroy_qp(ep->qp));
		ep_make_qp(ep);
	}
	ep_connect_one(ep, ep);
	st->rounds++;
	st->binds++;
}

static void storm_turn(struct storm *st, unsigned int turn)
{
	struct endpoint *ep = &st->o[turn % NUM_PEERS];

	live_type2(st, ep);
	live_type1(st, ep);
	if (turn % 8 == 0)
		live_dealloc(st, ep, turn / 8);
	if (turn % 16 == 0)
		live_dereg(st, ep);
	if (turn % 16 == 8)
		live_qp(st, turn / 16);
}

/* ---- the peers ------------------------------------------------------- */

static void peer_start(struct storm *st, unsigned int i)
{
	struct stream_order order = {
		.opcode = opcodes[i],
		.va = region_at(&st->mem, i * PART_LEN),
		.len = PART_LEN,
		.seed = i,
	};

	stream_open(&st->s[i]);
	memset(st->s[i].sh->buf, 0x55, STREAM_BUF);
	ep_open(&st->o[i], &st->own, st->own.pd);
	stream_connect(&st->s[i], &st->o[i]);
	st->steady[i] = mw_open(st->own.pd, i & 1 ? IBV_MW_TYPE_1 :
						    IBV_MW_TYPE_2);
	mw_bind(&st->o[i], st->steady[i], &st->mem, i * PART_LEN, PART_LEN,
		RIGHTS_ALL);
	order.rkey = st->steady[i]->rkey;
	stream_start(&st->s[i], &order);
	stream_flowing(&st->s[i], 1);
}

/* It went on until now; returns what it did */
static unsigned int peer_stop(struct storm *st, unsigned int i)
{
	unsigned int ended;

	stream_abort(&st->s[i]);
	CHECK_EQ(stream_join(&st->s[i]), IBV_WC_WR_FLUSH_ERR);
	ended = st->s[i].sh->ended;
	stream_close(&st->s[i]);
	mw_close(st->steady[i]);
	ep_close(&st->o[i]);
	return ended;
}

static void peers_live(struct storm *st)
{
	for (unsigned int i = 0; i < NUM_PEERS; i++)
		CHECK_EQ(st->s[i].sh->status, IBV_WC_SUCCESS);
}

/* ---- the storm ------------------------------------------------------- */

static void storm_open(struct storm *st)
{
	node_open_owner(&st->own);
	region_open(&st->mem, st->own.pd, (NUM_PEERS + 1) * PART_LEN, 0,
		    MR_BINDABLE);
	ep_open(&st->scratch, &st->own, st->own.pd);
	ep_connect_one(&st->scratch, &st->scratch);
	for (unsigned int i = 0; i < NUM_WINDOWS; i++) {
		st->mw1[i] = mw_open(st->own.pd, IBV_MW_TYPE_1);
		st->mw2[i] = mw_open(st->own.pd, IBV_MW_TYPE_2);
	}
}

static void storm_close(struct storm *st)
{
	for (unsigned int i = 0; i < NUM_WINDOWS; i++) {
		mw_close(st->mw1[i]);
		mw_close(st->mw2[i]);
	}
	ep_close(&st->scratch);
	region_close(&st->mem);
	node_close(&st->own);
}

static const char * const refusals[] = {
	"access_key", "access_pd", "access_qp", "access_rights",
	"access_range", "access_dead", "bind_refused", "inv_refused",
};

static uint64_t refusals_count(const struct storm *st)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(refusals); i++)
		sum += counter_read(&st->own, refusals[i]);
	return sum;
}

static void test_storm(const void *arg)
{
	unsigned int rounds = pane_rounds_cheap(ROUNDS), ended = 0;
	uint64_t bound, invalidated, refused;
	static struct storm st;
	uint8_t *part;

	storm_open(&st);
	part = st.mem.addr + NUM_PEERS * PART_LEN;
	fill_pattern(part, PART_LEN, 9);
	for (unsigned int i = 0; i < NUM_PEERS; i++)
		peer_start(&st, i);
	bound = counter_read(&st.own, "mw_bound");
	invalidated = counter_read(&st.own, "mw_invalidated");
	refused = refusals_count(&st);
	for (unsigned int turn = 0; st.rounds < rounds; turn++) {
		if (turn % 64 == 0) {
			pane_more_time();
			peers_live(&st);
		}
		storm_turn(&st, turn);
	}
	CHECK_EQ(counter_read(&st.own, "mw_bound"), bound + st.binds);
	CHECK_EQ(counter_read(&st.own, "mw_invalidated"),
		 invalidated + st.invalidates);
	CHECK_EQ(refusals_count(&st), refused);
	CHECK(has_pattern(part, PART_LEN, 9), "somebody's bytes were written");
	for (unsigned int i = 0; i < NUM_PEERS; i++)
		ended += peer_stop(&st, i);
	ksft_print_msg("%u rounds beside %u remote accesses\n", st.rounds,
		       ended);
	storm_close(&st);
}

static void list(void)
{
	pane_test(V_PATHS, test_storm, NULL,
		  "a million lives of windows beside the streams of others");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
