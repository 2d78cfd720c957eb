// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* One connection whose messages complete on many CQs, which only XRC has */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_data.h"

#define SRQS	6
#define WRS	16	/* of each SRQ at most, and messages in a list */
#define LEN	32

/**
 * struct fan - a sender and several SRQs of one domain
 * @node: its device, and that of the receiver
 * @from: the sender's end
 * @to: the receiver's end
 * @mem: memory at both ends
 * @srq: SRQs beside the one that @to has
 * @srqn: their numbers
 * @cq: CQs of theirs
 * @stop: no more arming
 */
struct fan {
	struct node node[2];
	struct endpoint from;
	struct endpoint to;
	struct region mem[2];
	struct ibv_srq *srq[SRQS];
	uint32_t srqn[SRQS];
	struct ibv_cq *cq[SRQS];
	bool stop;
};

static void fan_add(struct fan *f, unsigned int i)
{
	struct ibv_context *ctx = f->node[1].ctx;
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = WRS, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.pd = f->node[1].pd,
		.xrcd = f->to.xrcd,
	};

	f->cq[i] = ibv_create_cq(ctx, 2 * WRS, NULL, f->to.rcq->channel, 0);
	CHECK(f->cq[i], "%s", strerror(errno));
	init.cq = f->cq[i];
	f->srq[i] = ibv_create_srq_ex(ctx, &init);
	CHECK(f->srq[i], "%s", strerror(errno));
	CHECK_OK(ibv_get_srq_num(f->srq[i], &f->srqn[i]));
}

static void fan_open(struct fan *f)
{
	node_open_owner(&f->node[0]);
	node_open_peer(&f->node[1]);
	ep_open_type(&f->from, &f->node[0], f->node[0].pd, IBV_QPT_XRC_SEND);
	ep_open_type(&f->to, &f->node[1], f->node[1].pd, IBV_QPT_XRC_SEND);
	ep_connect(&f->from, &f->to);
	for (unsigned int i = 0; i < 2; i++)
		region_open(&f->mem[i], f->node[i].pd, 4096, 0,
			    IBV_ACCESS_LOCAL_WRITE);
	for (unsigned int i = 0; i < SRQS; i++)
		fan_add(f, i);
}

static void fan_recv(struct fan *f, unsigned int i)
{
	struct ibv_sge sge = sge_of(&f->mem[1], 0, LEN);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_OK(ibv_post_srq_recv(f->srq[i], &wr, &bad));
}

/* A list of messages, to one SRQ after the other, in one train */
static void fan_send(struct fan *f)
{
	struct ibv_sge sge = sge_of(&f->mem[0], 0, LEN);
	struct ibv_send_wr wr[WRS] = {}, *bad;

	for (unsigned int i = 0; i < WRS; i++) {
		fan_recv(f, i % SRQS);
		wr[i].opcode = IBV_WR_SEND;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].qp_type.xrc.remote_srqn = f->srqn[i % SRQS];
		wr[i].next = i + 1 < WRS ? &wr[i + 1] : NULL;
	}
	wr[WRS - 1].send_flags = IBV_SEND_SIGNALED;
	CHECK_OK(ibv_post_send(f->from.qp, wr, &bad));
}

/* Who asks for an event of each CQ, all the time */
static void *fan_arm(void *arg)
{
	struct fan *f = arg;

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		for (unsigned int i = 0; i < SRQS; i++)
			ibv_req_notify_cq(f->cq[i], 0);
		sched_yield();
	}
	return NULL;
}

/* Events that came have to be acknowledged before a CQ can go */
static void fan_ack(struct fan *f)
{
	struct ibv_comp_channel *channel = f->to.rcq->channel;
	struct ibv_cq *cq;
	void *context;

	CHECK(fcntl(channel->fd, F_SETFL, O_NONBLOCK) != -1, "%s",
	      strerror(errno));
	while (!ibv_get_cq_event(channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

static void fan_close(struct fan *f)
{
	for (unsigned int i = 0; i < SRQS; i++)
		CHECK_OK(ibv_destroy_srq(f->srq[i]));
	fan_ack(f);
	/* waits for handlers that were called, and must not wait for others */
	for (unsigned int i = 0; i < SRQS; i++)
		CHECK_OK(ibv_destroy_cq(f->cq[i]));
	ep_close(&f->from);
	ep_close(&f->to);
	for (unsigned int i = 0; i < 2; i++) {
		region_close(&f->mem[i]);
		node_close(&f->node[i]);
	}
}

/*
 * A train completes on more CQs than a QP keeps for when it is left, and each
 * of them wants an event, again and again.
 */
static void many_cqs(const void *arg)
{
	unsigned int got[SRQS] = {}, rounds = pane_rounds(1000);
	struct ibv_wc wc[2 * WRS];
	pthread_t thread;
	struct fan f = {};

	fan_open(&f);
	CHECK_OK(pthread_create(&thread, NULL, fan_arm, &f));
	for (unsigned int round = 0; round < rounds; round++) {
		fan_send(&f);
		cq_expect(f.from.scq, 0, IBV_WC_SUCCESS, NULL);
		for (unsigned int i = 0; i < SRQS; i++)
			got[i] += ibv_poll_cq(f.cq[i], 2 * WRS, wc);
		if (round % 64 == 0)
			fan_ack(&f);
	}
	__atomic_store_n(&f.stop, true, __ATOMIC_RELAXED);
	CHECK_OK(pthread_join(thread, NULL));
	for (unsigned int i = 0; i < SRQS; i++)
		CHECK_EQ(got[i], rounds * (WRS / SRQS + (i < WRS % SRQS)));
	fan_close(&f);
}

/* A number that no SRQ has */
static void unknown_srq(const void *arg)
{
	struct fan f = {};
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	uint64_t before;

	fan_open(&f);
	sge = sge_of(&f.mem[0], 0, LEN);
	before = counter_read(&f.node[1], "rx_no_srq");
	fan_recv(&f, 0);
	wr.opcode = IBV_WR_SEND;
	wr.qp_type.xrc.remote_srqn = f.srqn[0] ^ 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	CHECK_OK(ibv_post_send(f.from.qp, &wr, &bad));
	CHECK_WC(f.from.scq, 0, IBV_WC_REM_INV_REQ_ERR, NULL);
	CHECK_EQ(counter_read(&f.node[1], "rx_no_srq"), before + 1);
	fan_close(&f);
}

void list_xrc(void)
{
	pane_test(0, unknown_srq, NULL, "an SRQ that is not there");
	pane_test(V_PATHS, many_cqs, NULL, "completions on many CQs");
}
