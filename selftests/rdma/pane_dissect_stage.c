// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A connection for one operation of pane_dissect, and its requests */
#include <errno.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_dissect.h"

/* ECN: a queue was congested */
#define TCLASS_CE	3

static bool is_connected(const struct ibv_qp *qp)
{
	return qp->qp_type != IBV_QPT_UD;
}

/* Does it send what is answered? */
static bool is_requester(const struct ibv_qp *qp)
{
	return qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND;
}

static bool is_responder(const struct ibv_qp *qp)
{
	return qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_RECV;
}

/* ---- queue pairs ----------------------------------------------------- */

static enum ibv_qp_type qp_type_of(enum transport tr)
{
	switch (tr) {
	case UC:
		return IBV_QPT_UC;
	case UD:
		return IBV_QPT_UD;
	case XRC:
		return IBV_QPT_XRC_SEND;
	default:
		return IBV_QPT_RC;
	}
}

static struct ibv_qp *make_qp(struct stage *t, unsigned int i)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = qp_type_of(t->op->tr),
		.cap = { .max_send_wr = 8, .max_send_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = t->p.node[i].pd,
		.send_cq = t->scq[i],
	};
	struct ibv_qp *qp;

	if (t->op->tr != XRC) {
		init.cap.max_recv_wr = 8;
		init.cap.max_recv_sge = 1;
		init.recv_cq = t->rcq[i];
	}
	/* the one operation that only the ibv_wr_ functions have */
	if (t->op->wr == IBV_WR_ATOMIC_WRITE) {
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_WRITE;
	}
	qp = ibv_create_qp_ex(t->p.node[i].ctx, &init);
	CHECK(qp, "%s", strerror(errno));
	return qp;
}

/* What of XRC receives */
static struct ibv_qp *make_target(struct stage *t)
{
	struct ibv_context *ctx = t->p.node[1].ctx;
	struct ibv_srq_init_attr_ex srq = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.pd = t->p.node[1].pd,
		.cq = t->rcq[1],
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};
	struct ibv_qp *qp;

	t->xrcd = xrcd_open(ctx);
	CHECK(t->xrcd, "%s", strerror(errno));
	srq.xrcd = t->xrcd;
	t->srq = ibv_create_srq_ex(ctx, &srq);
	CHECK(t->srq, "%s", strerror(errno));
	CHECK_OK(ibv_get_srq_num(t->srq, &t->srqn));
	init.xrcd = t->xrcd;
	qp = ibv_create_qp_ex(ctx, &init);
	CHECK(qp, "%s", strerror(errno));
	return qp;
}

static struct ibv_qp *make_raw(struct stage *t)
{
	struct node *n = &t->p.node[0];

	raw_open_type(&t->raw, n, n->pd, t->scq[0], t->rcq[0],
		      qp_type_of(t->op->tr));
	t->raw_name.qp_num = t->raw.qpn;
	return &t->raw_name;
}

static bool is_raw(const struct stage *t)
{
	return t->op->wr == WR_FLUSH;
}

static void make_qps(struct stage *t)
{
	t->qp[0] = is_raw(t) ? make_raw(t) : make_qp(t, 0);
	t->binder = make_qp(t, 1);
	t->qp[1] = t->op->tr == XRC ? make_target(t) : t->binder;
}

/* ---- states ---------------------------------------------------------- */

static void to_init(struct ibv_qp *qp, int more)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = RIGHTS_ALL | more,
		.qkey = QKEY,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (qp->qp_type == IBV_QPT_UC)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	mask |= is_connected(qp) ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY;
	CHECK_OK(ibv_modify_qp(qp, &attr, mask));
}

struct ibv_ah_attr stage_ah(const struct stage *t, unsigned int from)
{
	const struct node *node = t->p.node;

	return (struct ibv_ah_attr) {
		.is_global = 1,
		.port_num = 1,
		.grh = {
			.dgid = node[!from].gid,
			.sgid_index = node[from].gid_index,
			.hop_limit = 64,
			.traffic_class = !from && t->op->ce ? TCLASS_CE : 0,
		},
	};
}

static void to_rtr(struct stage *t, unsigned int i, struct ibv_qp *qp,
		   uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = t->qp[!i]->qp_num,
		.rq_psn = psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = RNR_TIMER,
		.ah_attr = stage_ah(t, i),
	};
	int mask = IBV_QP_STATE;

	if (is_connected(qp))
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
	if (is_responder(qp))
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	CHECK_OK(ibv_modify_qp(qp, &attr, mask));
}

/*
 * No request is sent twice: a busy machine is waited for long, and where
 * nothing comes back there is no second try.
 */
static void to_rts(struct ibv_qp *qp, uint32_t psn, uint8_t timeout)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = timeout,
		.max_rd_atomic = 4,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (is_requester(qp))
		mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	if (is_requester(qp) || is_responder(qp))
		mask |= IBV_QP_TIMEOUT;
	CHECK_OK(ibv_modify_qp(qp, &attr, mask));
}

static void connect_raw(struct stage *t, uint8_t timeout)
{
	const struct endpoint responder = {
		.node = &t->p.node[1],
		.qp = t->qp[1],
	};

	t->raw.sq_psn = PSN_A;
	t->raw.rq_psn = PSN_B;
	t->raw.timeout = timeout;
	raw_connect(&t->raw, &responder);
}

/* A right that only those QPs are asked for which need it */
static int more_rights(const struct stage *t)
{
	return t->op->wr == WR_FLUSH ? ACCESS_FLUSH_GLOBAL : 0;
}

static void connect_qps(struct stage *t, uint32_t expected_psn, uint8_t timeout)
{
	struct ibv_qp *qps[] = { t->qp[0], t->qp[1], t->binder };
	/* XRC: the binder sends nothing, and so needs nobody who receives */
	unsigned int num = t->binder == t->qp[1] ? 2 : 3;
	unsigned int first = is_raw(t) ? 1 : 0;

	for (unsigned int i = first; i < num; i++)
		to_init(qps[i], more_rights(t));
	for (unsigned int i = first; i < num; i++)
		to_rtr(t, !!i, qps[i], i ? expected_psn : PSN_B);
	for (unsigned int i = first; i < num; i++)
		to_rts(qps[i], i ? PSN_B : PSN_A, timeout);
	if (is_raw(t))
		connect_raw(t, timeout);
}

void stage_open(struct stage *t, const struct op *op, uint32_t expected_psn,
		uint8_t timeout)
{
	*t = (struct stage) { .op = op };
	pair_nodes_open(&t->p);
	for (unsigned int i = 0; i < 2; i++) {
		struct node *n = &t->p.node[i];

		t->scq[i] = ibv_create_cq(n->ctx, 16, NULL, NULL, 0);
		t->rcq[i] = ibv_create_cq(n->ctx, 16, NULL, NULL, 0);
		CHECK(t->scq[i] && t->rcq[i], "%s", strerror(errno));
		region_open(&t->mem[i], n->pd, MEM_LEN, 0,
			    MR_BINDABLE | RIGHTS_ALL | more_rights(t));
		fill_pattern(t->mem[i].addr, MEM_LEN, i);
	}
	make_qps(t);
	connect_qps(t, expected_psn, timeout);
}

void stage_close(struct stage *t)
{
	if (is_raw(t))
		raw_close(&t->raw);
	else
		CHECK_OK(ibv_destroy_qp(t->qp[0]));
	CHECK_OK(ibv_destroy_qp(t->qp[1]));
	if (t->xrcd) {
		CHECK_OK(ibv_destroy_qp(t->binder));
		CHECK_OK(ibv_destroy_srq(t->srq));
		CHECK_OK(ibv_close_xrcd(t->xrcd));
	}
	for (unsigned int i = 0; i < 2; i++) {
		CHECK_OK(ibv_destroy_cq(t->scq[i]));
		CHECK_OK(ibv_destroy_cq(t->rcq[i]));
		region_close(&t->mem[i]);
	}
	pair_nodes_close(&t->p);
}

/* ---- requests -------------------------------------------------------- */

void receive(struct stage *t, uint32_t len)
{
	struct ibv_sge sge = sge_of(&t->mem[1], 0, len);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (t->srq)
		CHECK_OK(ibv_post_srq_recv(t->srq, &wr, &bad));
	else
		CHECK_OK(ibv_post_recv(t->qp[1], &wr, &bad));
}

static void wait_for(struct stage *t, unsigned int i, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	cq_spin(t->scq[i], &wc);
	CHECK_EQ(wc.status, status);
}

void request(struct stage *t, unsigned int i, struct ibv_send_wr wr,
	     enum ibv_wc_status status)
{
	struct ibv_send_wr *bad;

	wr.send_flags |= IBV_SEND_SIGNALED;
	if (t->srq && !i)
		wr.qp_type.xrc.remote_srqn = t->srqn;
	CHECK_OK(ibv_post_send(i ? t->binder : t->qp[0], &wr, &bad));
	wait_for(t, i, status);
}

void request_atomic_write(struct stage *t)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(t->qp[0]);

	CHECK(qpx, "no ibv_wr_ functions");
	ibv_wr_start(qpx);
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(qpx, t->mem[1].mr->rkey, region_at(&t->mem[1], 8),
			    t->mem[0].addr);
	if (t->srq)
		ibv_wr_set_xrc_srqn(qpx, t->srqn);
	CHECK_OK(ibv_wr_complete(qpx));
	wait_for(t, 0, IBV_WC_SUCCESS);
}

void request_flush(struct stage *t, uint32_t rkey, enum ibv_wc_status status)
{
	struct pane_sq_wqe *w = raw_slot(&t->raw, 0);

	memset(w, 0, t->raw.ring.sq_stride);
	w->opcode = PANE_WR_FLUSH;
	w->flags = PANE_WR_SIGNALED;
	w->flush.remote_addr = region_at(&t->mem[1], 8);
	w->flush.rkey = rkey;
	w->flush.srqn = t->srqn;
	w->flush.length = t->op->len;
	w->flush.type = PANE_FLUSH_GLOBAL;
	w->flush.level = t->op->len ? PANE_FLUSH_RANGE : PANE_FLUSH_MR;
	CHECK_OK(raw_push(&t->raw, 1));
	wait_for(t, 0, status);
}

/* A window of the responder's over all of its memory */
struct ibv_mw *bound_window(struct stage *t)
{
	struct ibv_mw *mw = mw_open(t->p.node[1].pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind_info(&t->mem[1], 0, MEM_LEN,
					       RIGHTS_RW),
		},
	};

	request(t, 1, wr, IBV_WC_SUCCESS);
	return mw;
}
