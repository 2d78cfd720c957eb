// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The order of binds and invalidates among other requests of a send queue, and
 * that each happens exactly once, whatever the network does to the packets
 * around it.
 */
#include <errno.h>
#include <stdio.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_util.h"

#define WIN_LEN		8000
#define OTHER_OFF	20000

#define ROUNDS		1000
#define ROUNDS_STORAGE	10000
#define ROUNDS_FENCE	300
#define ROUNDS_LOSSY	120

/**
 * struct talk - a duo that sends each other short messages
 * @d: owner and peer
 * @own_msg: owner's messages: those it gets, then the one it sends
 * @peer_msg: likewise
 * @recvs: receive requests that each keeps posted
 */
#define TALK_RECVS	8
#define TALK_LEN	32

struct talk {
	struct duo d;
	struct region own_msg;
	struct region peer_msg;
};

/* What the owner tells the peer */
struct message {
	uint32_t round;
	uint32_t rkey[2];
};

static void talk_post_recv(struct endpoint *ep, const struct region *msg,
			   unsigned int slot)
{
	CHECK_OK(ep_post_recv(ep, slot, msg->addr + slot * TALK_LEN, TALK_LEN,
			      msg->mr->lkey));
}

static void talk_listen(struct talk *t)
{
	for (unsigned int i = 0; i < TALK_RECVS; i++) {
		talk_post_recv(&t->d.o, &t->own_msg, i);
		talk_post_recv(&t->d.p, &t->peer_msg, i);
	}
}

static void talk_open(struct talk *t)
{
	const size_t len = (TALK_RECVS + 1) * TALK_LEN;

	duo_open(&t->d);
	region_open(&t->own_msg, t->d.own.pd, len, 0, IBV_ACCESS_LOCAL_WRITE);
	region_open(&t->peer_msg, t->d.peer.pd, len, 0,
		    IBV_ACCESS_LOCAL_WRITE);
	talk_listen(t);
}

static void talk_close(struct talk *t)
{
	duo_unlink(&t->d.o, &t->d.p);
	region_close(&t->own_msg);
	region_close(&t->peer_msg);
	region_close(&t->d.mem);
	region_close(&t->d.buf);
	node_close(&t->d.own);
	node_close(&t->d.peer);
}

/* The message that the peer gets next */
static struct message talk_hear(struct talk *t)
{
	struct message m;
	struct ibv_wc wc;

	cq_wait(t->d.p.rcq, &wc);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, sizeof(m));
	memcpy(&m, t->peer_msg.addr + wc.wr_id * TALK_LEN, sizeof(m));
	talk_post_recv(&t->d.p, &t->peer_msg, wc.wr_id);
	return m;
}

/* The peer's answer comes to the owner; @wc may be looked at */
static void talk_answered(struct talk *t, struct ibv_wc *wc)
{
	cq_wait(t->d.o.rcq, wc);
	CHECK_EQ(wc->status, IBV_WC_SUCCESS);
	talk_post_recv(&t->d.o, &t->own_msg, wc->wr_id);
}

static struct req talk_send(struct talk *t, const struct message *m)
{
	uint8_t *slot = t->own_msg.addr + TALK_RECVS * TALK_LEN;
	struct req req = {
		.opcode = IBV_WR_SEND,
		.flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
		.addr = slot,
		.len = sizeof(*m),
	};

	memcpy(slot, m, sizeof(*m));
	return req;
}

static struct req type2_bind(struct talk *t, struct ibv_mw *mw, uint32_t rkey,
			     size_t offset)
{
	return (struct req) {
		.opcode = IBV_WR_BIND_MW,
		.mw = mw,
		.rkey = rkey,
		.bind = bind_info(&t->d.mem, offset, WIN_LEN, RIGHTS_RW),
	};
}

static struct req answer(enum ibv_wr_opcode opcode, uint32_t rkey)
{
	return (struct req) { .opcode = opcode, .ex = rkey };
}

/* ---- BIND, and SEND of the key --------------------------------------- */

/* Unsignaled, and nobody waits for it */
static uint32_t bind_and_tell(struct talk *t, struct ibv_mw *mw,
			      unsigned int round)
{
	struct ibv_mw_bind bind = {
		.bind_info = bind_info(&t->d.mem, 0, WIN_LEN, RIGHTS_RW),
	};
	struct message m = { .round = round };
	struct req reqs[2];

	if (!mw_is_type2(mw)) {
		CHECK_OK(ibv_bind_mw(t->d.o.qp, mw, &bind));
		m.rkey[0] = mw->rkey;
		reqs[0] = talk_send(t, &m);
		CHECK_OK(ep_post(&t->d.o, reqs, 1));
		return mw->rkey;
	}
	m.rkey[0] = ibv_inc_rkey(mw->rkey);
	reqs[0] = type2_bind(t, mw, m.rkey[0], 0);
	reqs[1] = talk_send(t, &m);
	CHECK_OK(ep_post(&t->d.o, reqs, 2));
	return m.rkey[0];
}

static void test_bind_send(const void *arg)
{
	unsigned int rounds = pane_rounds(ROUNDS);
	struct ibv_mw *mw;
	struct message m;
	struct ibv_wc wc;
	struct talk t;
	uint32_t rkey;

	talk_open(&t);
	mw = mw_open(t.d.own.pd, pane_cfg.mw_type);
	for (unsigned int i = 0; i < rounds; i++) {
		rkey = bind_and_tell(&t, mw, i);
		m = talk_hear(&t);
		CHECK(m.round == i && m.rkey[0] == rkey, "round %u key %#x",
		      m.round, m.rkey[0]);
		memset(t.d.buf.addr, i, 100);
		CHECK_EQ(ep_write(&t.d.p, &t.d.buf, 100,
				  region_at(&t.d.mem, 0), rkey),
			 IBV_WC_SUCCESS);
		CHECK_EQ(t.d.mem.addr[99], (uint8_t)i);
		CHECK_WC(t.d.o.scq, 0, IBV_WC_SUCCESS, &wc);
		CHECK_EQ(wc.opcode, IBV_WC_SEND);
		if (mw_is_type2(mw))
			mw_unbind(&t.d.o, mw);
	}
	mw_close(mw);
	talk_close(&t);
}

/* BIND, LOCAL_INV, BIND ... in one post: each sees what the one before did */
static void test_chain(const void *arg)
{
	enum { PAIRS = 20 };
	struct req reqs[2 * PAIRS + 1];
	unsigned int rounds = pane_rounds(100);
	struct ibv_mw *mw;
	struct talk t;

	talk_open(&t);
	mw = mw_open(t.d.own.pd, IBV_MW_TYPE_2);
	for (unsigned int i = 0; i < rounds; i++) {
		uint32_t rkey = mw->rkey;

		for (unsigned int j = 0; j < PAIRS; j++) {
			/* the same key now and then */
			rkey = j % 3 ? ibv_inc_rkey(rkey) : rkey;
			reqs[2 * j] = type2_bind(&t, mw, rkey, j * 100);
			reqs[2 * j + 1] = answer(IBV_WR_LOCAL_INV, rkey);
		}
		reqs[2 * PAIRS] = type2_bind(&t, mw, rkey, OTHER_OFF);
		reqs[2 * PAIRS].flags = IBV_SEND_SIGNALED;
		CHECK_OK(ep_post(&t.d.o, reqs, 2 * PAIRS + 1));
		CHECK_WC(t.d.o.scq, 0, IBV_WC_SUCCESS, NULL);
		duo_check_access(&t.d, &t.d.p, region_at(&t.d.mem, OTHER_OFF),
				 rkey, OTHER_OFF, 100);
		mw_unbind(&t.d.o, mw);
	}
	mw_close(mw);
	talk_close(&t);
}

/* ---- what storage does ----------------------------------------------- */

/*
 * One command: two windows and a fenced SEND in one post. The peer READs out of
 * one, WRITEs into the other, and its answer invalidates the first.
 */
static void storage_round(struct talk *t, struct ibv_mw *mw[2],
			  unsigned int round)
{
	struct message m = {
		.round = round,
		.rkey = {
			ibv_inc_rkey(mw[0]->rkey), ibv_inc_rkey(mw[1]->rkey),
		},
	};
	struct req reqs[3];
	struct ibv_wc wc;

	memset(t->d.mem.addr, round, 64);
	reqs[0] = type2_bind(t, mw[0], m.rkey[0], 0);
	reqs[1] = type2_bind(t, mw[1], m.rkey[1], OTHER_OFF);
	reqs[2] = talk_send(t, &m);
	reqs[2].flags |= IBV_SEND_FENCE;
	CHECK_OK(ep_post(&t->d.o, reqs, 3));

	m = talk_hear(t);
	CHECK_EQ(ep_read(&t->d.p, &t->d.buf, 64, region_at(&t->d.mem, 0),
			 m.rkey[0]), IBV_WC_SUCCESS);
	CHECK_EQ(t->d.buf.addr[63], (uint8_t)round);
	CHECK_EQ(ep_write(&t->d.p, &t->d.buf, 64,
			  region_at(&t->d.mem, OTHER_OFF), m.rkey[1]),
		 IBV_WC_SUCCESS);
	CHECK_EQ(ep_do(&t->d.p, answer(IBV_WR_SEND_WITH_INV, m.rkey[0])),
		 IBV_WC_SUCCESS);

	CHECK_WC(t->d.o.scq, 0, IBV_WC_SUCCESS, NULL);
	talk_answered(t, &wc);
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_INV);
	CHECK_EQ(wc.invalidated_rkey, m.rkey[0]);
	mw_unbind(&t->d.o, mw[1]);
	CHECK_EQ(t->d.mem.addr[OTHER_OFF + 63], (uint8_t)round);
}

static void test_storage(const void *arg)
{
	unsigned int rounds = pane_rounds_cheap(ROUNDS_STORAGE);
	struct ibv_mw *mw[2];
	uint64_t bound, invalidated;
	struct talk t;

	talk_open(&t);
	mw[0] = mw_open(t.d.own.pd, IBV_MW_TYPE_2);
	mw[1] = mw_open(t.d.own.pd, IBV_MW_TYPE_2);
	bound = counter_read(&t.d.own, "mw_bound");
	invalidated = counter_read(&t.d.own, "mw_invalidated");
	for (unsigned int i = 0; i < rounds; i++)
		storage_round(&t, mw, i);
	CHECK_EQ(counter_read(&t.d.own, "mw_bound"), bound + 2 * rounds);
	CHECK_EQ(counter_read(&t.d.own, "mw_invalidated"),
		 invalidated + 2 * rounds);
	mw_close(mw[0]);
	mw_close(mw[1]);
	talk_close(&t);
}

/* ---- FENCE ----------------------------------------------------------- */

/*
 * The owner READs from the peer into what a fenced bind opens: who learns the
 * key finds all of the data there
 */
static void test_fence(const void *arg)
{
	unsigned int rounds = pane_rounds(ROUNDS_FENCE);
	struct region source;
	struct message m = {};
	struct ibv_mw *mw;
	struct req reqs[3];
	struct talk t;

	talk_open(&t);
	region_open(&source, t.d.peer.pd, WIN_LEN, 0,
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	mw = mw_open(t.d.own.pd, IBV_MW_TYPE_2);
	for (unsigned int i = 0; i < rounds; i++) {
		fill_pattern(source.addr, WIN_LEN, i);
		m.rkey[0] = ibv_inc_rkey(mw->rkey);
		reqs[0] = req_remote(IBV_WR_RDMA_READ, &t.d.mem, WIN_LEN,
				     region_at(&source, 0), source.mr->rkey);
		reqs[1] = type2_bind(&t, mw, m.rkey[0], 0);
		reqs[1].flags = IBV_SEND_FENCE;
		reqs[2] = talk_send(&t, &m);
		CHECK_OK(ep_post(&t.d.o, reqs, 3));
		m = talk_hear(&t);
		CHECK_EQ(ep_read(&t.d.p, &t.d.buf, WIN_LEN,
				 region_at(&t.d.mem, 0), m.rkey[0]),
			 IBV_WC_SUCCESS);
		CHECK(has_pattern(t.d.buf.addr, WIN_LEN, i), "round %u", i);
		CHECK_WC(t.d.o.scq, 0, IBV_WC_SUCCESS, NULL);
		mw_unbind(&t.d.o, mw);
	}
	mw_close(mw);
	region_close(&source);
	talk_close(&t);
}

/*
 * A QP connected to itself: it READs through the window that the next request
 * invalidates
 */
static void test_fence_inv(const void *arg)
{
	unsigned int rounds = pane_rounds(ROUNDS_FENCE);
	struct region back;
	struct req reqs[2];
	struct endpoint ep;
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	ep_open(&ep, &d.own, d.own.pd);
	ep_connect_one(&ep, &ep);
	region_open(&back, d.own.pd, DUO_LEN, 0, IBV_ACCESS_LOCAL_WRITE);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	for (unsigned int i = 0; i < rounds; i++) {
		mw_bind(&ep, mw, &d.mem, 0, DUO_LEN, RIGHTS_RW);
		fill_pattern(d.mem.addr, DUO_LEN, i);
		reqs[0] = req_remote(IBV_WR_RDMA_READ, &back, DUO_LEN,
				     region_at(&d.mem, 0), mw->rkey);
		reqs[0].id = 1;
		reqs[0].flags = IBV_SEND_SIGNALED;
		reqs[1] = answer(IBV_WR_LOCAL_INV, mw->rkey);
		reqs[1].id = 2;
		reqs[1].flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
		CHECK_OK(ep_post(&ep, reqs, 2));
		CHECK_WC(ep.scq, 1, IBV_WC_SUCCESS, NULL);
		CHECK_WC(ep.scq, 2, IBV_WC_SUCCESS, NULL);
		CHECK(has_pattern(back.addr, DUO_LEN, i), "round %u", i);
	}
	mw_close(mw);
	region_close(&back);
	ep_close(&ep);
	duo_close(&d);
}

/* ---- a network that loses, doubles and reorders ---------------------- */

#define NETEM	"netem delay 300us 300us duplicate 15%"
#define LOSSY	NETEM " loss 10%"

/*
 * One direction loses at a time: with both, and seven retries, some packet
 * would be given up once in a while
 */
struct lossy_row {
	const char *name;
	const char *script;
};

#define SCRIPT(owner, peer)						\
	"set -e; exec 2>/dev/null;"					\
	"ip netns exec $1l tc qdisc add dev $1l root " owner ";"	\
	"ip netns exec $1r tc qdisc add dev $1r root " peer

static const struct lossy_row lossy_rows[] = {
	{ "the owner", SCRIPT(LOSSY, NETEM) },
	{ "the peer", SCRIPT(NETEM, LOSSY) },
};

/*
 * Bind and invalidate by turns, always with the same key. A duplicate of the
 * SEND_WITH_INV that comes after the next bind must leave that alone; were a
 * bind or LOCAL_INV repeated with what is sent again, it would be refused.
 */
static void lossy_round(struct talk *t, struct ibv_mw *mw, uint32_t rkey,
			unsigned int round)
{
	struct message m = { .round = round, .rkey = { rkey } };
	struct req reqs[4];
	struct ibv_wc wc;

	/* once for nothing, so that LOCAL_INV has its share */
	reqs[0] = type2_bind(t, mw, rkey, OTHER_OFF);
	reqs[1] = answer(IBV_WR_LOCAL_INV, rkey);
	reqs[2] = type2_bind(t, mw, rkey, 0);
	reqs[3] = talk_send(t, &m);
	CHECK_OK(ep_post(&t->d.o, reqs, 4));
	m = talk_hear(t);
	CHECK_EQ(m.round, round);
	fill_pattern(t->d.buf.addr, WIN_LEN, round);
	CHECK_EQ(ep_write(&t->d.p, &t->d.buf, WIN_LEN, region_at(&t->d.mem, 0),
			  rkey), IBV_WC_SUCCESS);
	CHECK(has_pattern(t->d.mem.addr, WIN_LEN, round), "round %u", round);
	/* not waited for: the next bind is quicker than a lost ACK */
	reqs[0] = answer(IBV_WR_SEND_WITH_INV, rkey);
	CHECK_OK(ep_post(&t->d.p, reqs, 1));
	CHECK_WC(t->d.o.scq, 0, IBV_WC_SUCCESS, NULL);
	talk_answered(t, &wc);
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_INV);
	CHECK_EQ(wc.invalidated_rkey, rkey);
}

static void lossy_rounds(struct talk *t, unsigned int rounds)
{
	uint64_t bound = counter_read(&t->d.own, "mw_bound");
	uint64_t invalidated = counter_read(&t->d.own, "mw_invalidated");
	uint64_t bind_refused = counter_read(&t->d.own, "bind_refused");
	uint64_t inv_refused = counter_read(&t->d.own, "inv_refused");
	struct ibv_mw *mw = mw_open(t->d.own.pd, IBV_MW_TYPE_2);

	for (unsigned int i = 0; i < rounds; i++)
		lossy_round(t, mw, mw->rkey, i);
	CHECK_EQ(counter_read(&t->d.own, "mw_bound"), bound + 2 * rounds);
	CHECK_EQ(counter_read(&t->d.own, "mw_invalidated"),
		 invalidated + 2 * rounds);
	CHECK_EQ(counter_read(&t->d.own, "bind_refused"), bind_refused);
	CHECK_EQ(counter_read(&t->d.own, "inv_refused"), inv_refused);
	mw_close(mw);
}

static void test_lossy(const void *arg)
{
	const struct lossy_row *row = arg;
	unsigned int rounds = pane_is_slow() ? ROUNDS_LOSSY / 3 : ROUNDS_LOSSY;
	uint64_t duplicates, retransmits;
	struct talk t;

	pane_fabric_second(pane_devices);
	talk_open(&t);
	t.d.o.timeout = 1;
	t.d.p.timeout = 1;
	ep_reconnect(&t.d.o, &t.d.p);
	talk_listen(&t);
	duplicates = counter_read(&t.d.own, "duplicate_request");
	retransmits = counter_read(&t.d.own, "retransmits") +
		      counter_read(&t.d.peer, "retransmits");
	if (pane_shell(row->script, pane_second_tag))
		pane_skip("no netem");
	lossy_rounds(&t, rounds);
	/* or it was no test */
	CHECK(counter_read(&t.d.own, "duplicate_request") > duplicates,
	      "nothing came twice");
	CHECK(counter_read(&t.d.own, "retransmits") +
	      counter_read(&t.d.peer, "retransmits") > retransmits,
	      "nothing was lost");
	talk_close(&t);
}

static void list(void)
{
	pane_test(V_TYPES | V_APIS | V_PATHS | V_QPS, test_bind_send, NULL,
		  "order: BIND, then SEND of the key");
	pane_test(V_APIS | V_QPS, test_chain, NULL,
		  "order: chain of BIND and LOCAL_INV in one post");
	pane_test(V_RC | V_XRC, test_storage, NULL,
		  "order: BIND, BIND, fenced SEND; READ, WRITE, SEND_WITH_INV");
	pane_test(V_PATHS | V_RC | V_XRC, test_fence, NULL,
		  "FENCE: BIND waits for the READ before it");
	pane_test(V_RC | V_XRC, test_fence_inv, NULL,
		  "FENCE: LOCAL_INV waits for the READ before it");
	for (unsigned int i = 0; i < ARRAY_SIZE(lossy_rows); i++)
		pane_test(V_RC | V_XRC, test_lossy, &lossy_rows[i],
			  "exactly once: 10 %% of what %s sends is lost; duplicates, reordering",
			  lossy_rows[i].name);
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
