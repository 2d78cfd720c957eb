// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues, shared receive queues, queue pairs and their states */
#include <errno.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_faults.h"

/* ---- completion queues ----------------------------------------------- */

static int call_channel(void *ctx)
{
	struct stage *st = ctx;

	return MAKE(st->chan, ibv_create_comp_channel(st->d.own.ctx));
}

static void undo_channel(void *ctx, bool done)
{
	if (done)
		CHECK_OK(ibv_destroy_comp_channel(STAGE(ctx)->chan));
}

static int call_cq(void *ctx)
{
	struct stage *st = ctx;

	return MAKE(st->new_cq, ibv_create_cq(st->d.own.ctx, 500, NULL,
					      st->d.o.scq->channel, 0));
}

static void undo_cq(void *ctx, bool done)
{
	if (done)
		CHECK_OK(ibv_destroy_cq(STAGE(ctx)->new_cq));
}

static int call_cq_ex(void *ctx)
{
	struct stage *st = ctx;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 100,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};

	return MAKE(st->new_cq,
		    (struct ibv_cq *)ibv_create_cq_ex(st->d.own.ctx, &attr));
}

static int call_resize_cq(void *ctx)
{
	return ibv_resize_cq(STAGE(ctx)->new_cq, 5000);
}

static void undo_resize_cq(void *ctx, bool done)
{
	CHECK(STAGE(ctx)->new_cq->cqe >= (done ? 5000 : 500), "%d entries",
	      STAGE(ctx)->new_cq->cqe);
	undo_cq(ctx, true);
}

static int call_destroy_cq(void *ctx)
{
	return ibv_destroy_cq(STAGE(ctx)->new_cq);
}

/* ---- shared receive queues ------------------------------------------- */

static int call_srq(void *ctx)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = 200, .max_sge = 4 },
	};
	struct stage *st = ctx;

	return MAKE(st->new_srq, ibv_create_srq(st->d.own.pd, &attr));
}

static int call_srq_xrc(void *ctx)
{
	struct stage *st = ctx;
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 200, .max_sge = 4 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.pd = st->d.own.pd,
		.cq = st->cq,
		.xrcd = st->xrcd,
	};

	return MAKE(st->new_srq, ibv_create_srq_ex(st->d.own.ctx, &attr));
}

static void undo_srq(void *ctx, bool done)
{
	if (done)
		CHECK_OK(ibv_destroy_srq(STAGE(ctx)->new_srq));
}

static int prepare_srq(void *ctx)
{
	struct ibv_recv_wr wr = {}, *bad;
	struct stage *st = ctx;

	CHECK_OK(call_srq(ctx));
	/* more than the limit that is set, which else is reached at once */
	for (unsigned int i = 0; i < 10; i++)
		CHECK_OK(ibv_post_srq_recv(st->new_srq, &wr, &bad));
	return 0;
}

static int call_srq_limit(void *ctx)
{
	struct ibv_srq_attr attr = { .srq_limit = 7 };

	return ibv_modify_srq(STAGE(ctx)->new_srq, &attr, IBV_SRQ_LIMIT);
}

static int call_srq_resize(void *ctx)
{
	struct ibv_srq_attr attr = { .max_wr = 3000 };

	return ibv_modify_srq(STAGE(ctx)->new_srq, &attr, IBV_SRQ_MAX_WR);
}

/*
 * What waits in it is there in either size. When it was the mapping that failed,
 * of a ring that the kernel has already gone over to, nothing more can be posted.
 */
static void undo_srq_resize(void *ctx, bool done)
{
	struct ibv_recv_wr wr = {}, *bad;
	struct stage *st = ctx;
	struct ibv_srq_attr attr;

	CHECK_OK(ibv_query_srq(st->new_srq, &attr));
	if (done)
		CHECK(attr.max_wr >= 3000, "%u requests", attr.max_wr);
	for (unsigned int i = 0; done && i < 2990; i++)
		CHECK_OK(ibv_post_srq_recv(st->new_srq, &wr, &bad));
	undo_srq(ctx, true);
}

static void undo_srq_limit(void *ctx, bool done)
{
	struct ibv_srq_attr attr;

	CHECK_OK(ibv_query_srq(STAGE(ctx)->new_srq, &attr));
	CHECK_EQ(attr.srq_limit, done ? 7 : 0);
	undo_srq(ctx, true);
}

static int call_destroy_srq(void *ctx)
{
	return ibv_destroy_srq(STAGE(ctx)->new_srq);
}

/* ---- queue pairs ----------------------------------------------------- */

static int make_qp(struct stage *st, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = st->cq,
		.recv_cq = st->cq,
		.cap = {
			.max_send_wr = STEP_WR,
			.max_recv_wr = STEP_WR,
			.max_send_sge = 4,
			.max_recv_sge = 4,
			.max_inline_data = 64,
		},
		.qp_type = type,
	};

	return MAKE(st->qp, ibv_create_qp(st->d.own.pd, &attr));
}

static int call_rc(void *ctx)
{
	return make_qp(ctx, IBV_QPT_RC);
}

static int call_uc(void *ctx)
{
	return make_qp(ctx, IBV_QPT_UC);
}

static int call_ud(void *ctx)
{
	return make_qp(ctx, IBV_QPT_UD);
}

static int call_xrc_send(void *ctx)
{
	struct stage *st = ctx;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = st->cq,
		.cap = { .max_send_wr = STEP_WR, .max_send_sge = 4 },
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = st->d.own.pd,
	};

	return MAKE(st->qp, ibv_create_qp_ex(st->d.own.ctx, &attr));
}

static void undo_qp(void *ctx, bool done)
{
	if (done)
		CHECK_OK(ibv_destroy_qp(STAGE(ctx)->qp));
}

/* ---- states ---------------------------------------------------------- */

int qp_step(struct stage *st, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.qp_access_flags = RIGHTS_ALL,
		.qkey = 0x1234,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 1,
		.ah_attr = ah_attr_to(&st->d.own, &st->d.peer.gid),
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 8,
	};
	bool ud = qp->qp_type == IBV_QPT_UD;
	int mask = IBV_QP_STATE;

	switch (state) {
	case IBV_QPS_INIT:
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
		break;
	case IBV_QPS_RTR:
		if (!ud)
			mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN |
				IBV_QP_DEST_QPN | qp_mask_rtr(qp);
		break;
	case IBV_QPS_RTS:
		mask |= IBV_QP_SQ_PSN | (ud ? 0 : qp_mask_rts(qp));
		break;
	default:
		break;
	}
	return ibv_modify_qp(qp, &attr, mask);
}

/* The path of states of a QP; a test makes one step of it, or the last */
static const enum ibv_qp_state path[] = {
	IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD,
};

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_OK(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

static int prepare_state(struct stage *st, enum ibv_qp_state state)
{
	CHECK_OK(call_rc(st));
	for (unsigned int i = 1; path[i - 1] != state; i++)
		CHECK_OK(qp_step(st, st->qp, path[i]));
	return 0;
}

static void undo_state(struct stage *st, enum ibv_qp_state state)
{
	CHECK_EQ(state_of(st->qp), state);
	undo_qp(st, true);
}

#define STATE_CALL(name, from, to)					\
static int prepare_##name(void *ctx)					\
{									\
	return prepare_state(ctx, from);				\
}									\
									\
static int call_##name(void *ctx)					\
{									\
	return qp_step(ctx, STAGE(ctx)->qp, to);			\
}									\
									\
static void undo_##name(void *ctx, bool done)				\
{									\
	undo_state(ctx, done ? to : from);				\
}

STATE_CALL(init, IBV_QPS_RESET, IBV_QPS_INIT)
STATE_CALL(rtr, IBV_QPS_INIT, IBV_QPS_RTR)
STATE_CALL(rts, IBV_QPS_RTR, IBV_QPS_RTS)
STATE_CALL(sqd, IBV_QPS_RTS, IBV_QPS_SQD)
STATE_CALL(err, IBV_QPS_RTS, IBV_QPS_ERR)
STATE_CALL(reset, IBV_QPS_RTS, IBV_QPS_RESET)

static int call_destroy_qp(void *ctx)
{
	return ibv_destroy_qp(STAGE(ctx)->qp);
}

static const struct fault_call calls[] = {
	{ "create_comp_channel", NULL, call_channel, undo_channel },
	{ "create_cq", NULL, call_cq, undo_cq },
	{ "create_cq_ex", NULL, call_cq_ex, undo_cq },
	{ "resize_cq", call_cq, call_resize_cq, undo_resize_cq },
	{ "destroy_cq", call_cq, call_destroy_cq, undo_cq, .removes = true },
	{ "create_srq", NULL, call_srq, undo_srq },
	{ "create_srq_ex, XRC", NULL, call_srq_xrc, undo_srq },
	{ "modify_srq, limit", prepare_srq, call_srq_limit, undo_srq_limit },
	{ "modify_srq, size", prepare_srq, call_srq_resize, undo_srq_resize },
	{ "destroy_srq", prepare_srq, call_destroy_srq, undo_srq,
	  .removes = true },
	{ "create_qp, RC", NULL, call_rc, undo_qp },
	{ "create_qp, UC", NULL, call_uc, undo_qp },
	{ "create_qp, UD", NULL, call_ud, undo_qp },
	{ "create_qp, XRC_SEND", NULL, call_xrc_send, undo_qp },
	/*
	 * XRC_RECV is missing: the core keeps a reference to the domain when it
	 * cannot put the QP into the domain's table, and then warns of it.
	 */
	{ "modify_qp, INIT", prepare_init, call_init, undo_init },
	{ "modify_qp, RTR", prepare_rtr, call_rtr, undo_rtr },
	{ "modify_qp, RTS", prepare_rts, call_rts, undo_rts },
	{ "modify_qp, SQD", prepare_sqd, call_sqd, undo_sqd },
	{ "modify_qp, ERR", prepare_err, call_err, undo_err },
	{ "modify_qp, RESET", prepare_reset, call_reset, undo_reset },
	{ "destroy_qp", prepare_err, call_destroy_qp, undo_qp,
	  .removes = true },
};

const struct faults_list faults_queues = { calls, ARRAY_SIZE(calls) };
