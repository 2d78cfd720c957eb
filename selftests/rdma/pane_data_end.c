// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests that have to wait or that fail: the receiver is not ready, or gone,
 * or the keys are wrong. What is expected is exact: on the networks these are
 * run on nothing is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_data.h"

#define LEN	3000

/**
 * struct talk - a connection, and memory at both ends
 * @p: the connection
 * @mem: memory at each end
 */
struct talk {
	struct pair p;
	struct region mem[2];
};

static void talk_open(struct talk *t, const struct qp_opts *qo)
{
	random_seed();
	pair_open(&t->p, qo);
	for (unsigned int i = 0; i < 2; i++)
		region_open(&t->mem[i], t->p.node[i].pd, 64 * 1024, 0,
			    IBV_ACCESS_LOCAL_WRITE | RIGHTS_ALL);
}

static void talk_close(struct talk *t)
{
	region_close(&t->mem[0]);
	region_close(&t->mem[1]);
	pair_close(&t->p);
}

static void talk_send_len(struct talk *t, enum ibv_wr_opcode opcode,
			  uint64_t id, unsigned int flags, uint32_t len)
{
	struct ibv_sge sge = sge_of(&t->mem[0], 0, len);
	struct ibv_send_wr wr = wr_to(opcode, &sge, &t->mem[1], 0);

	wr.wr_id = id;
	wr.send_flags = flags;
	CHECK_OK(end_post(&t->p.end[0], &wr));
}

static void talk_send(struct talk *t, enum ibv_wr_opcode opcode, uint64_t id,
		      unsigned int flags)
{
	talk_send_len(t, opcode, id, flags, LEN);
}

static void talk_recv(struct talk *t, uint64_t id, uint32_t len)
{
	struct ibv_sge sge = sge_of(&t->mem[1], 32768, len);

	CHECK_OK(end_post_recv(&t->p.end[1], &sge, 1, id));
}

static void talk_ended(struct talk *t, uint64_t id, enum ibv_wc_status status)
{
	PANE_AT(cq_expect(t->p.end[0].scq, id, status, NULL));
}

static void talk_arrived(struct talk *t, uint64_t id, enum ibv_wc_status status)
{
	PANE_AT(cq_expect(t->p.end[1].rcq, id, status, NULL));
}

static void cq_is_empty(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	CHECK_EQ(ibv_poll_cq(cq, 1, &wc), 0);
}

/* A counter, and by how much it has moved since */
struct meter {
	const struct node *node;
	const char *name;
	uint64_t start;
};

static struct meter meter_start(const struct node *node, const char *name)
{
	return (struct meter) {
		.node = node,
		.name = name,
		.start = counter_read(node, name),
	};
}

static uint64_t meter_moved(const struct meter *m)
{
	return counter_read(m->node, m->name) - m->start;
}

static void meter_wait(const struct meter *m, uint64_t least)
{
	struct spin spin = {};

	while (meter_moved(m) < least)
		spin_turn(&spin);
}

/* ---- the receiver is not ready --------------------------------------- */

static const enum ibv_wr_opcode send = IBV_WR_SEND;
static const enum ibv_wr_opcode write_imm = IBV_WR_RDMA_WRITE_WITH_IMM;

/* With patience for ever it is enough that requests are posted one day */
static void rnr_for_ever(const void *arg)
{
	const enum ibv_wr_opcode *opcode = arg;
	struct qp_opts qo = qp_opts_default();
	struct meter naks;
	struct talk t;

	talk_open(&t, &qo);
	naks = meter_start(&t.p.node[0], "rcvd_rnr_err");
	for (unsigned int i = 0; i < 5; i++)
		talk_send(&t, *opcode, i, IBV_SEND_SIGNALED);
	/* more often than any finite count would allow */
	meter_wait(&naks, 8);
	cq_is_empty(t.p.end[0].scq);
	for (unsigned int i = 0; i < 5; i++)
		talk_recv(&t, 10 + i, LEN);
	for (unsigned int i = 0; i < 5; i++) {
		talk_ended(&t, i, IBV_WC_SUCCESS);
		talk_arrived(&t, 10 + i, IBV_WC_SUCCESS);
	}
	cq_is_empty(t.p.end[0].scq);
	cq_is_empty(t.p.end[1].rcq);
	talk_close(&t);
}

/* rnr_retry times after the first one; then the queue is flushed */
static void rnr_exceeded(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct meter naks, sent, exceeded;
	struct talk t;

	qo.rnr_retry = 3;
	talk_open(&t, &qo);
	naks = meter_start(&t.p.node[0], "rcvd_rnr_err");
	sent = meter_start(&t.p.node[1], "send_rnr_err");
	exceeded = meter_start(&t.p.node[0], "retry_rnr_exceeded_err");
	talk_send(&t, IBV_WR_SEND, 1, 0);
	talk_send(&t, IBV_WR_SEND, 2, IBV_SEND_SIGNALED);
	talk_ended(&t, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	talk_ended(&t, 2, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(end_state(&t.p.end[0]), IBV_QPS_ERR);
	/* the other end has nothing to complain of */
	CHECK_EQ(end_state(&t.p.end[1]), IBV_QPS_RTS);
	CHECK_EQ(meter_moved(&naks), 4);
	CHECK_EQ(meter_moved(&sent), 4);
	CHECK_EQ(meter_moved(&exceeded), 1);
	talk_close(&t);
}

/* Each success renews the patience. */
static void rnr_renewed(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct meter naks;
	struct talk t;

	qo.rnr_retry = 6;
	/* 20 ms, so that the receiver is in time */
	qo.min_rnr_timer = 22;
	talk_open(&t, &qo);
	naks = meter_start(&t.p.node[0], "rcvd_rnr_err");
	for (unsigned int i = 0; i < 12; i++) {
		talk_send(&t, IBV_WR_SEND, i, IBV_SEND_SIGNALED);
		meter_wait(&naks, i + 1);
		talk_recv(&t, i, LEN);
		talk_ended(&t, i, IBV_WC_SUCCESS);
		talk_arrived(&t, i, IBV_WC_SUCCESS);
	}
	CHECK(meter_moved(&naks) >= 12, "not even one each");
	talk_close(&t);
}

/* ---- the receiver is gone -------------------------------------------- */

/* Sent once and retry_cnt times again, then everything ends with an error */
static void retry_exceeded(const void *arg)
{
	struct meter timeouts, again, exceeded, lost;
	struct qp_opts qo = qp_opts_default();
	struct talk t;

	/* 33 ms each */
	qo.timeout = 13;
	qo.retry_cnt = 3;
	talk_open(&t, &qo);
	timeouts = meter_start(&t.p.node[0], "ack_timeouts");
	again = meter_start(&t.p.node[0], "retransmits");
	exceeded = meter_start(&t.p.node[0], "retry_exceeded_err");
	lost = meter_start(&t.p.node[1], "rx_no_qp");
	CHECK_OK(ibv_destroy_qp(t.p.end[1].qp));
	talk_send(&t, IBV_WR_RDMA_READ, 1, 0);
	talk_send(&t, IBV_WR_SEND, 2, IBV_SEND_SIGNALED);
	talk_ended(&t, 1, IBV_WC_RETRY_EXC_ERR);
	talk_ended(&t, 2, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(end_state(&t.p.end[0]), IBV_QPS_ERR);
	CHECK_EQ(meter_moved(&timeouts), 4);
	CHECK_EQ(meter_moved(&again), 3);
	CHECK_EQ(meter_moved(&exceeded), 1);
	CHECK(meter_moved(&lost) >= 4, "%llu",
	      (unsigned long long)meter_moved(&lost));
	end_open(&t.p.end[1], &t.p.node[1], &qo);
	talk_close(&t);
}

/* Without a timeout it waits until somebody ends it */
static void no_timeout(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct meter lost;
	struct talk t;

	qo.timeout = 0;
	talk_open(&t, &qo);
	lost = meter_start(&t.p.node[1], "rx_no_qp");
	CHECK_OK(ibv_destroy_qp(t.p.end[1].qp));
	talk_send(&t, IBV_WR_SEND, 1, IBV_SEND_SIGNALED);
	meter_wait(&lost, 3);
	cq_is_empty(t.p.end[0].scq);
	end_to(&t.p.end[0], IBV_QPS_ERR);
	talk_ended(&t, 1, IBV_WC_WR_FLUSH_ERR);
	end_open(&t.p.end[1], &t.p.node[1], &qo);
	talk_close(&t);
}

/* ---- states ---------------------------------------------------------- */

static bool is_draining(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_OK(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init));
	CHECK_EQ(attr.qp_state, IBV_QPS_SQD);
	return attr.sq_draining;
}

/* What was begun ends, what was not waits until the queue may go on */
static void drained(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD,
		.en_sqd_async_notify = 1,
	};
	struct meter naks;
	struct talk t;

	qo.min_rnr_timer = 20;
	talk_open(&t, &qo);
	naks = meter_start(&t.p.node[0], "rcvd_rnr_err");
	talk_send(&t, IBV_WR_SEND, 1, IBV_SEND_SIGNALED);
	meter_wait(&naks, 1);
	CHECK_OK(ibv_modify_qp(t.p.end[0].qp, &attr, IBV_QP_STATE |
			       IBV_QP_EN_SQD_ASYNC_NOTIFY));
	talk_send(&t, IBV_WR_SEND, 2, IBV_SEND_SIGNALED);
	meter_wait(&naks, 2);
	CHECK(is_draining(&t.p.end[0]), "with a request under way");
	talk_recv(&t, 1, LEN);
	talk_recv(&t, 2, LEN);
	talk_ended(&t, 1, IBV_WC_SUCCESS);
	event_wait(&t.p.node[0], IBV_EVENT_SQ_DRAINED, t.p.end[0].qp);
	CHECK(!is_draining(&t.p.end[0]), "after the event");
	talk_arrived(&t, 1, IBV_WC_SUCCESS);
	cq_is_empty(t.p.end[0].scq);
	cq_is_empty(t.p.end[1].rcq);
	end_to(&t.p.end[0], IBV_QPS_RTS);
	talk_ended(&t, 2, IBV_WC_SUCCESS);
	talk_arrived(&t, 2, IBV_WC_SUCCESS);
	talk_close(&t);
}

/* All that is in both queues, in order, and all that is posted afterwards */
static void flushed(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct talk t;

	talk_open(&t, &qo);
	for (unsigned int i = 0; i < 20; i++)
		talk_send(&t, IBV_WR_SEND, i, 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_sge sge = sge_of(&t.mem[0], 0, 9);

		CHECK_OK(end_post_recv(&t.p.end[0], &sge, 1, 50 + i));
	}
	end_to(&t.p.end[0], IBV_QPS_ERR);
	talk_send(&t, IBV_WR_RDMA_READ, 20, 0);
	for (unsigned int i = 0; i <= 20; i++)
		talk_ended(&t, i, IBV_WC_WR_FLUSH_ERR);
	for (unsigned int i = 0; i < 2; i++)
		CHECK_WC(t.p.end[0].rcq, 50 + i, IBV_WC_WR_FLUSH_ERR, NULL);
	cq_is_empty(t.p.end[0].scq);
	cq_is_empty(t.p.end[0].rcq);
	talk_close(&t);
}

/*
 * What waited for its turn when the error came told user space that nobody need
 * ring; what is posted afterwards has to be flushed all the same.
 */
static void flushed_later(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct meter lost;
	struct talk t;

	qo.rd_atomic = 4;
	talk_open(&t, &qo);
	lost = meter_start(&t.p.node[1], "rx_no_qp");
	CHECK_OK(ibv_destroy_qp(t.p.end[1].qp));
	for (unsigned int i = 0; i < 20; i++)
		talk_send(&t, IBV_WR_RDMA_READ, i, IBV_SEND_SIGNALED);
	meter_wait(&lost, 4);
	end_to(&t.p.end[0], IBV_QPS_ERR);
	for (unsigned int i = 0; i < 20; i++)
		talk_ended(&t, i, IBV_WC_WR_FLUSH_ERR);
	talk_send(&t, IBV_WR_SEND, 20, IBV_SEND_SIGNALED);
	talk_ended(&t, 20, IBV_WC_WR_FLUSH_ERR);
	end_open(&t.p.end[1], &t.p.node[1], &qo);
	talk_close(&t);
}

/* A QP that was in error works again, with other PSNs */
static void used_again(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct talk t;

	talk_open(&t, &qo);
	for (unsigned int i = 0; i < 5; i++) {
		talk_recv(&t, i, LEN);
		talk_send(&t, IBV_WR_SEND, i, IBV_SEND_SIGNALED);
		talk_ended(&t, i, IBV_WC_SUCCESS);
		talk_arrived(&t, i, IBV_WC_SUCCESS);
		end_to(&t.p.end[0], i & 1 ? IBV_QPS_RESET : IBV_QPS_ERR);
		end_to(&t.p.end[0], IBV_QPS_RESET);
		end_to(&t.p.end[1], IBV_QPS_RESET);
		qo.psn[0] = random_u32();
		qo.psn[1] = random_u32();
		ends_connect(&t.p.end[0], &t.p.end[1], &qo);
	}
	talk_close(&t);
}

/* ---- what the ends refuse -------------------------------------------- */

/* A wrong place on this side: nothing goes out */
static void local_key(const void *arg)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct qp_opts qo = qp_opts_default();
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct talk t;

	for (unsigned int i = 0; i < 2 * ARRAY_SIZE(ops); i++) {
		talk_open(&t, &qo);
		sge = sge_of(&t.mem[0], 0, 8);
		if (i & 1)
			sge.lkey ^= 1;
		else
			sge.addr += t.mem[0].len - 7;
		talk_recv(&t, 1, LEN);
		wr = wr_to(ops[i / 2], &sge, &t.mem[1], 0);
		CHECK_EQ(end_do(&t.p.end[0], wr), IBV_WC_LOC_PROT_ERR);
		CHECK_EQ(end_state(&t.p.end[0]), IBV_QPS_ERR);
		cq_is_empty(t.p.end[1].rcq);
		talk_close(&t);
	}
}

/*
 * The first request of a list leaves it to the second to ask for an ACK, and
 * the second cannot be sent. Without a timeout nothing else would help.
 */
static void local_key_next(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct ibv_send_wr wr[3];
	struct ibv_sge sge[3];
	struct talk t;

	qo.timeout = 0;
	for (unsigned int good = 1; good <= 2; good++) {
		talk_open(&t, &qo);
		for (unsigned int i = 0; i <= good; i++) {
			sge[i] = sge_of(&t.mem[0], 0, LEN);
			wr[i] = wr_to(IBV_WR_RDMA_WRITE, &sge[i], &t.mem[1], 0);
			wr[i].wr_id = i;
			wr[i].send_flags = IBV_SEND_SIGNALED;
			wr[i].next = i < good ? &wr[i + 1] : NULL;
		}
		sge[good].lkey ^= 1;
		CHECK_OK(end_post(&t.p.end[0], wr));
		for (unsigned int i = 0; i < good; i++)
			talk_ended(&t, i, IBV_WC_SUCCESS);
		talk_ended(&t, good, IBV_WC_LOC_PROT_ERR);
		talk_close(&t);
	}
}

/* Memory that may only be read takes neither READ data nor messages */
static void local_right(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct region only;
	struct ibv_sge sge;
	struct talk t;

	talk_open(&t, &qo);
	region_open(&only, t.p.node[0].pd, LEN, 0, 0);
	sge = sge_of(&only, 0, 100);
	CHECK_EQ(end_do(&t.p.end[0],
			wr_to(IBV_WR_RDMA_READ, &sge, &t.mem[1], 0)),
		 IBV_WC_LOC_PROT_ERR);
	CHECK(has_pattern(only.addr, LEN, 0), "written all the same");
	region_close(&only);
	talk_close(&t);
}

/* The message is longer than its place: both sides are told, nothing written */
static void recv_too_short(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct talk t;

	talk_open(&t, &qo);
	talk_recv(&t, 1, LEN - 1);
	talk_send(&t, IBV_WR_SEND, 2, 0);
	talk_arrived(&t, 1, IBV_WC_LOC_LEN_ERR);
	talk_ended(&t, 2, IBV_WC_REM_INV_REQ_ERR);
	CHECK_EQ(end_state(&t.p.end[0]), IBV_QPS_ERR);
	CHECK_EQ(end_state(&t.p.end[1]), IBV_QPS_ERR);
	talk_close(&t);
}

static void recv_key(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct ibv_sge sge;
	struct talk t;

	talk_open(&t, &qo);
	sge = sge_of(&t.mem[1], 0, LEN);
	sge.lkey += 256;
	CHECK_OK(end_post_recv(&t.p.end[1], &sge, 1, 1));
	talk_send(&t, IBV_WR_SEND, 2, 0);
	talk_arrived(&t, 1, IBV_WC_LOC_PROT_ERR);
	talk_ended(&t, 2, IBV_WC_REM_OP_ERR);
	talk_close(&t);
}

/* ---- completion queues ----------------------------------------------- */

/* Write @num times, and have an event of each completion; poll none of them */
static void complete_unpolled(struct talk *t, struct end *e, unsigned int num)
{
	struct ibv_sge sge = sge_of(&t->mem[0], 0, LEN);
	struct ibv_send_wr wr = wr_to(IBV_WR_RDMA_WRITE, &sge, &t->mem[1], 0);
	struct ibv_cq *cq;
	void *context;

	wr.send_flags = IBV_SEND_SIGNALED;
	for (unsigned int i = 0; i < num; i++) {
		CHECK_OK(ibv_req_notify_cq(e->scq, 0));
		CHECK_OK(end_post(e, &wr));
		CHECK(!ibv_get_cq_event(e->scq->channel, &cq, &context), "%s",
		      strerror(errno));
		ibv_ack_cq_events(cq, 1);
	}
}

/* As end_open(), with a CQ for what is sent */
static void end_open_on(struct end *e, const struct end *like,
			struct ibv_cq *scq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = scq,
		.recv_cq = like->rcq,
		.qp_type = IBV_QPT_RC,
		.cap = { 4, 4, 1, 1, 0 },
	};

	*e = *like;
	e->scq = scq;
	e->qpx = NULL;
	e->qp = ibv_create_qp(like->node->pd, &init);
	CHECK(e->qp, "%s", strerror(errno));
}

/*
 * Completions of a QP that is gone take no room: a CQ is full of them, nobody
 * finds any, and the next QP can use it as if it were new.
 */
static void cq_of_the_gone(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct ibv_cq_init_attr_ex attr = { .cqe = 4 };
	struct ibv_poll_cq_attr poll_attr = {};
	struct end end, peer;
	struct ibv_cq_ex *cq;
	struct talk t;

	talk_open(&t, &qo);
	attr.channel = t.p.end[0].scq->channel;
	cq = ibv_create_cq_ex(t.p.node[0].ctx, &attr);
	CHECK(cq, "%s", strerror(errno));
	for (unsigned int round = 0; round < 3; round++) {
		end_open_on(&end, &t.p.end[0], ibv_cq_ex_to_cq(cq));
		end_open(&peer, &t.p.node[1], &qo);
		ends_connect(&end, &peer, &qo);
		complete_unpolled(&t, &end, 4);
		CHECK_OK(ibv_start_poll(cq, &poll_attr));
		CHECK_EQ(cq->status, IBV_WC_SUCCESS);
		ibv_end_poll(cq);
		CHECK_OK(ibv_destroy_qp(end.qp));
		CHECK_EQ(ibv_start_poll(cq, &poll_attr), ENOENT);
		end_close(&peer);
	}
	CHECK_OK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	talk_close(&t);
}

/* One that nobody polls: an event, and its QPs are in error; the other works */
static void cq_overrun(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct ibv_async_event event;
	struct meter lost;
	struct talk t;

	qo.cqe = 4;
	qo.send_wr = 32;
	talk_open(&t, &qo);
	lost = meter_start(&t.p.node[0], "cq_overrun");
	for (unsigned int i = 0; i < 20; i++)
		talk_send(&t, IBV_WR_RDMA_WRITE, i, IBV_SEND_SIGNALED);
	do {
		CHECK(!ibv_get_async_event(t.p.node[0].ctx, &event), "no event");
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_CQ_ERR);
	CHECK(event.element.cq == t.p.end[0].scq, "another CQ's");
	meter_wait(&lost, 1);
	CHECK_EQ(end_state(&t.p.end[0]), IBV_QPS_ERR);
	CHECK_EQ(end_state(&t.p.end[1]), IBV_QPS_RTS);
	/* what fitted is there */
	for (unsigned int i = 0; i < 4; i++)
		talk_ended(&t, i, IBV_WC_SUCCESS);
	talk_close(&t);
}

static bool channel_has_event(struct ibv_cq *cq)
{
	struct pollfd pfd = { .fd = cq->channel->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void channel_take(struct ibv_cq *cq)
{
	struct ibv_cq *got;
	void *context;

	CHECK_OK(ibv_get_cq_event(cq->channel, &got, &context));
	CHECK(got == cq, "another CQ's");
	ibv_ack_cq_events(got, 1);
}

/* Armed for solicited messages only, others do not wake */
static void solicited(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct ibv_cq *cq;
	struct talk t;

	talk_open(&t, &qo);
	cq = t.p.end[1].rcq;
	for (unsigned int i = 0; i < 4; i++)
		talk_recv(&t, i, LEN);
	CHECK_OK(ibv_req_notify_cq(cq, 1));
	talk_send(&t, IBV_WR_SEND, 0, IBV_SEND_SIGNALED);
	talk_ended(&t, 0, IBV_WC_SUCCESS);
	CHECK(!channel_has_event(cq), "an event nobody asked for");
	talk_send(&t, IBV_WR_SEND, 1,
		  IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	talk_ended(&t, 1, IBV_WC_SUCCESS);
	channel_take(cq);
	/* once, until it is armed again; then by any */
	talk_send(&t, IBV_WR_SEND, 2,
		  IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	talk_ended(&t, 2, IBV_WC_SUCCESS);
	CHECK(!channel_has_event(cq), "a second event");
	CHECK_OK(ibv_req_notify_cq(cq, 0));
	talk_send(&t, IBV_WR_SEND, 3, IBV_SEND_SIGNALED);
	talk_ended(&t, 3, IBV_WC_SUCCESS);
	channel_take(cq);
	talk_close(&t);
}

/* An error wakes whoever waits for solicited ones */
static void error_wakes(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct talk t;

	talk_open(&t, &qo);
	talk_recv(&t, 1, LEN);
	CHECK_OK(ibv_req_notify_cq(t.p.end[1].rcq, 1));
	end_to(&t.p.end[1], IBV_QPS_ERR);
	channel_take(t.p.end[1].rcq);
	talk_arrived(&t, 1, IBV_WC_WR_FLUSH_ERR);
	talk_close(&t);
}

/*
 * Without answers, what was posted is sent all the same when the QP goes.
 * Messages of one packet arrive even if another processor's overtake them.
 */
static void sender_goes(const void *arg)
{
	const unsigned int num = 16;
	struct qp_opts qo = qp_opts_default();

	qo.type = IBV_QPT_UC;
	for (unsigned int i = 0; i < (pane_is_slow() ? 10 : 50); i++) {
		struct talk t;

		talk_open(&t, &qo);
		for (unsigned int j = 0; j < num; j++)
			talk_recv(&t, j, LEN);
		for (unsigned int j = 0; j < num; j++)
			talk_send_len(&t, IBV_WR_SEND, j, 0, 100);
		CHECK_OK(ibv_destroy_qp(t.p.end[0].qp));
		t.p.end[0].qp = NULL;
		for (unsigned int j = 0; j < num; j++)
			talk_arrived(&t, j, IBV_WC_SUCCESS);
		talk_close(&t);
	}
}

/* ---- the list -------------------------------------------------------- */

void list_endings(void)
{
	pane_test(V_PATHS, rnr_for_ever, &send,
		  "receiver not ready, retried for ever, SEND");
	pane_test(0, rnr_for_ever, &write_imm,
		  "receiver not ready, retried for ever, WRITE");
	pane_test(V_PATHS, rnr_exceeded, NULL,
		  "receiver not ready, retries exceeded");
	pane_test(0, rnr_renewed, NULL, "receiver not ready, patience renewed");
	pane_test(V_PATHS, retry_exceeded, NULL, "no answer, retries exceeded");
	pane_test(0, no_timeout, NULL, "no answer, no timeout");
	pane_test(0, drained, NULL, "send queue drained");
	pane_test(V_APIS, flushed, NULL, "queues flushed");
	pane_test(0, flushed_later, NULL, "a request posted after the error");
	pane_test(0, used_again, NULL, "a QP used again");
	pane_test(0, local_key, NULL, "wrong local key or range");
	pane_test(0, local_key_next, NULL, "wrong local key in the next one");
	pane_test(0, local_right, NULL, "no local right");
	pane_test(0, recv_too_short, NULL, "receive request too short");
	pane_test(0, recv_key, NULL, "receive request with a wrong key");
	pane_test(0, sender_goes, NULL, "posted to UC, then the QP is destroyed");
	pane_test(0, cq_of_the_gone, NULL, "a CQ with completions of the gone");
	pane_test(V_PATHS, cq_overrun, NULL, "a CQ overrun");
	pane_test(V_PATHS, solicited, NULL, "solicited events");
	pane_test(0, error_wakes, NULL, "an error is solicited");
}
