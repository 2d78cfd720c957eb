// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Endpoints: queue pairs of each transport, and their connections */
#include <errno.h>
#include <fcntl.h>

#include "../kselftest.h"
#include "pane_util.h"

#define EP_RECV_WR	64
#define EP_SGE		4
#define EP_INLINE	64

#define SEND_OPS_UC	(IBV_QP_EX_WITH_RDMA_WRITE |			\
			 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |		\
			 IBV_QP_EX_WITH_SEND |				\
			 IBV_QP_EX_WITH_SEND_WITH_IMM |			\
			 IBV_QP_EX_WITH_LOCAL_INV |			\
			 IBV_QP_EX_WITH_BIND_MW)
#define SEND_OPS	(SEND_OPS_UC |					\
			 IBV_QP_EX_WITH_RDMA_READ |			\
			 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |		\
			 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |		\
			 IBV_QP_EX_WITH_SEND_WITH_INV)

/* ---- completion queues ----------------------------------------------- */

static struct ibv_cq *cq_open(struct node *n)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(n->ctx);
	struct ibv_cq *cq;

	CHECK(channel, "%s", strerror(errno));
	cq = ibv_create_cq(n->ctx, EP_SEND_WR + EP_RECV_WR, NULL, channel, 0);
	CHECK(cq, "%s", strerror(errno));
	return cq;
}

static void cq_close(struct ibv_cq *cq)
{
	struct ibv_comp_channel *channel = cq->channel;

	CHECK_OK(ibv_destroy_cq(cq));
	CHECK_OK(ibv_destroy_comp_channel(channel));
}

/* ---- queue pairs ----------------------------------------------------- */

/* A QP for an endpoint that has none, or whose QP was destroyed */
void ep_make_qp(struct endpoint *ep)
{
	struct ibv_qp_init_attr_ex init = {
		.cap = {
			.max_send_wr = EP_SEND_WR,
			.max_recv_wr = EP_RECV_WR,
			.max_send_sge = EP_SGE,
			.max_recv_sge = EP_SGE,
			.max_inline_data = EP_INLINE,
		},
		.qp_type = ep->type,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = ep->pd,
		.send_ops_flags = ep->type == IBV_QPT_UC ? SEND_OPS_UC :
							   SEND_OPS,
		.send_cq = ep->scq,
		.recv_cq = ep->rcq,
	};

	if (ep->type == IBV_QPT_XRC_SEND) {
		init.cap.max_recv_wr = 0;
		init.cap.max_recv_sge = 0;
		init.recv_cq = NULL;
	}
	ep->qp = ibv_create_qp_ex(ep->node->ctx, &init);
	CHECK(ep->qp, "%s", strerror(errno));
	ep->qpx = ibv_qp_to_qp_ex(ep->qp);
	CHECK(ep->qpx, "no ibv_wr_ functions");
}

struct ibv_xrcd *xrcd_open(struct ibv_context *ctx)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	return ibv_open_xrcd(ctx, &attr);
}

/* What of XRC receives */
static void ep_make_tgt(struct endpoint *ep)
{
	struct ibv_context *ctx = ep->node->ctx;
	struct ibv_srq_init_attr_ex srq_init = {
		.attr = { .max_wr = EP_RECV_WR, .max_sge = EP_SGE },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.pd = ep->pd,
		.cq = ep->rcq,
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	ep->xrcd = xrcd_open(ctx);
	CHECK(ep->xrcd, "%s", strerror(errno));
	srq_init.xrcd = ep->xrcd;
	ep->srq = ibv_create_srq_ex(ctx, &srq_init);
	CHECK(ep->srq, "%s", strerror(errno));
	init.xrcd = ep->xrcd;
	ep->tgt = ibv_create_qp_ex(ctx, &init);
	CHECK(ep->tgt, "%s", strerror(errno));
}

void ep_open_type(struct endpoint *ep, struct node *n, struct ibv_pd *pd,
		  enum ibv_qp_type type)
{
	*ep = (struct endpoint) {
		.node = n,
		.pd = pd,
		.type = type,
		.scq = cq_open(n),
		.rcq = cq_open(n),
		.access = RIGHTS_ALL,
		/* several packets for a message of moderate size */
		.mtu = IBV_MTU_1024,
		.timeout = 14,
		.retry_cnt = 7,
		.psn = (uintptr_t)ep >> 4,
	};
	ep_make_qp(ep);
	if (type == IBV_QPT_XRC_SEND)
		ep_make_tgt(ep);
}

void ep_open(struct endpoint *ep, struct node *n, struct ibv_pd *pd)
{
	ep_open_type(ep, n, pd, pane_cfg.qp_type);
}

void ep_close(struct endpoint *ep)
{
	CHECK_OK(ibv_destroy_qp(ep->qp));
	if (ep->tgt) {
		CHECK_OK(ibv_destroy_qp(ep->tgt));
		CHECK_OK(ibv_destroy_srq(ep->srq));
		CHECK_OK(ibv_close_xrcd(ep->xrcd));
	}
	cq_close(ep->scq);
	cq_close(ep->rcq);
}

/* ---- states ---------------------------------------------------------- */

static void qp_to_init(struct endpoint *ep, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ep->access,
	};

	CHECK_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			       IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

int qp_mask_rtr(const struct ibv_qp *qp)
{
	if (qp->qp_type != IBV_QPT_RC && qp->qp_type != IBV_QPT_XRC_RECV)
		return 0;
	return IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

int qp_mask_rts(const struct ibv_qp *qp)
{
	if (qp->qp_type == IBV_QPT_UC)
		return 0;
	if (qp->qp_type == IBV_QPT_XRC_RECV)
		return IBV_QP_TIMEOUT;
	return IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
	       IBV_QP_MAX_QP_RD_ATOMIC;
}

struct ibv_ah_attr ah_attr_to(const struct node *n, const union ibv_gid *dgid)
{
	return (struct ibv_ah_attr) {
		.is_global = 1,
		.port_num = 1,
		.grh = {
			.dgid = *dgid,
			.sgid_index = n->gid_index,
			.hop_limit = 64,
		},
	};
}

static void qp_to_rtr(struct endpoint *ep, struct ibv_qp *qp,
		      const struct endpoint *remote, uint32_t dqpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = ep->mtu,
		.dest_qp_num = dqpn,
		.rq_psn = remote->psn & 0xffffff,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 1,
		.ah_attr = ah_attr_to(ep->node, &remote->node->gid),
	};

	CHECK_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			       IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			       IBV_QP_RQ_PSN | qp_mask_rtr(qp)));
}

static void qp_to_rts(struct endpoint *ep, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = ep->psn & 0xffffff,
		.timeout = ep->timeout,
		.retry_cnt = ep->retry_cnt,
		.rnr_retry = 7,
		.max_rd_atomic = 16,
	};

	CHECK_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			       qp_mask_rts(qp)));
}

static void ep_to_init(struct endpoint *ep)
{
	qp_to_init(ep, ep->qp);
	if (ep->tgt)
		qp_to_init(ep, ep->tgt);
}

static void ep_to_rtr(struct endpoint *ep, struct endpoint *remote)
{
	qp_to_rtr(ep, ep->qp, remote, ep_recv_qp(remote)->qp_num);
	if (!ep->tgt)
		return;
	qp_to_rtr(ep, ep->tgt, remote, remote->qp->qp_num);
	CHECK_OK(ibv_get_srq_num(remote->srq, &ep->remote_srqn));
}

static void ep_to_rts(struct endpoint *ep)
{
	qp_to_rts(ep, ep->qp);
	if (ep->tgt)
		qp_to_rts(ep, ep->tgt);
}

/* One end only, from RESET to RTS; the other end may be another's */
void ep_connect_one(struct endpoint *ep, struct endpoint *remote)
{
	ep_to_init(ep);
	ep_to_rtr(ep, remote);
	ep_to_rts(ep);
}

/* Both are in RESET, then both in RTS */
void ep_connect(struct endpoint *a, struct endpoint *b)
{
	a->psn += 0x1000;
	b->psn += 0x1000;
	a->remote = b;
	b->remote = a;
	ep_to_init(a);
	ep_to_init(b);
	ep_to_rtr(a, b);
	ep_to_rtr(b, a);
	ep_to_rts(a);
	ep_to_rts(b);
}

/* Whatever state they are in, and with nothing left of what they did */
void ep_reconnect(struct endpoint *a, struct endpoint *b)
{
	ep_modify(a, IBV_QPS_RESET);
	ep_modify(b, IBV_QPS_RESET);
	ep_drain(a);
	ep_drain(b);
	ep_connect(a, b);
}

/* What XRC has for receiving knows no SQD */
void ep_modify(struct endpoint *ep, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	CHECK_OK(ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE));
	if (ep->tgt && (state == IBV_QPS_RESET || state == IBV_QPS_ERR))
		CHECK_OK(ibv_modify_qp(ep->tgt, &attr, IBV_QP_STATE));
}

static struct ibv_qp_attr qp_query(struct ibv_qp *qp, int mask)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_OK(ibv_query_qp(qp, &attr, mask, &init));
	return attr;
}

enum ibv_qp_state ep_state(struct endpoint *ep)
{
	return qp_query(ep->qp, IBV_QP_STATE).qp_state;
}

enum ibv_qp_state ep_recv_state(struct endpoint *ep)
{
	return qp_query(ep_recv_qp(ep), IBV_QP_STATE).qp_state;
}

/* The receiver expects what comes behind all that was sent */
void ep_arrived(struct endpoint *ep)
{
	uint32_t psn = qp_query(ep->qp, IBV_QP_SQ_PSN).sq_psn;
	struct spin spin = {};

	while (qp_query(ep_recv_qp(ep->remote), IBV_QP_RQ_PSN).rq_psn != psn)
		spin_turn(&spin);
}

/* Throw away what stands in the completion queues */
void ep_drain(struct endpoint *ep)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(ep->scq, 1, &wc) > 0)
		;
	while (ibv_poll_cq(ep->rcq, 1, &wc) > 0)
		;
}
