// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: making, changing, asking about, destroying.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <ccan/minmax.h>

#include "wqe.h"

static const uint32_t pane_qp_comp_mask = IBV_QP_INIT_ATTR_PD |
					  IBV_QP_INIT_ATTR_XRCD |
					  IBV_QP_INIT_ATTR_CREATE_FLAGS |
					  IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

static bool pane_qp_type_supported(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return true;
	default:
		return false;
	}
}

static int pane_check_qp_attr(struct ibv_context *ibctx,
			      const struct ibv_qp_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, pane_qp_comp_mask) ||
	    !pane_qp_type_supported(attr->qp_type))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	    attr->create_flags)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    (attr->send_ops_flags & ~pane_send_ops_flags(ibctx, attr->qp_type)))
		return EOPNOTSUPP;
	return 0;
}

static struct pane_layout
pane_sq_layout(const struct pane_create_qp_resp *resp,
	       const struct ibv_qp_cap *cap)
{
	uint64_t sges = (uint64_t)cap->max_send_sge * sizeof(struct pane_sge);

	return (struct pane_layout) {
		.size = resp->ring_size,
		.offset = resp->sq_offset,
		.stride = resp->sq_stride,
		.count = resp->sq_count,
		.slot_size = sizeof(struct pane_sq_wqe) +
			     max_t(uint64_t, sges, resp->max_inline),
	};
}

static struct pane_layout
pane_rq_layout(const struct pane_create_qp_resp *resp,
	       const struct ibv_qp_cap *cap)
{
	uint64_t sges = (uint64_t)cap->max_recv_sge * sizeof(struct pane_sge);

	return (struct pane_layout) {
		.size = resp->ring_size,
		.offset = resp->rq_offset,
		.stride = resp->rq_stride,
		.count = resp->rq_count,
		.slot_size = sizeof(struct pane_rq_wqe) + sges,
	};
}

static void pane_set_ctl(struct pane_qp *qp)
{
	struct pane_qp_ctl *ctl = qp->ring;

	qp->sq.q.ctl_prod = &ctl->sq_prod;
	qp->sq.q.ctl_cons = &ctl->sq_cons;
	qp->sq.q.ctl_flags = &ctl->sq_flags;
	qp->rq.ctl_prod = &ctl->rq_prod;
	qp->rq.ctl_cons = &ctl->rq_cons;
	qp->rq.ctl_flags = &ctl->rq_flags;
}

/* A QP without queues, the target of XRC, has no mapping */
static int pane_map_qp(struct ibv_context *ibctx, struct pane_qp *qp,
		       const struct pane_create_qp_resp *resp,
		       const struct ibv_qp_init_attr_ex *attr)
{
	const struct pane_layout sq = pane_sq_layout(resp, &attr->cap);
	const struct pane_layout rq = pane_rq_layout(resp, &attr->cap);
	bool single_threaded = pane_pd_single_threaded(attr->pd);

	if (!pane_layout_valid(&sq) || !pane_layout_valid(&rq))
		return EPROTO;

	if (resp->ring_size) {
		qp->ring = pane_map_ring(ibctx, resp->ring_offset,
					 resp->ring_size,
					 PROT_READ | PROT_WRITE);
		if (!qp->ring)
			return errno;
		qp->ring_size = resp->ring_size;
		pane_set_ctl(qp);
	}

	pane_queue_init(&qp->sq.q, qp->ring, &sq, attr->cap.max_send_sge,
			single_threaded);
	pane_queue_init(&qp->rq, qp->ring, &rq, attr->cap.max_recv_sge,
			single_threaded);
	return 0;
}

/* What an IBV_SEND_ flag means can depend on the QP */
static void pane_init_sq_flags(struct pane_sq *sq,
			       const struct ibv_qp_init_attr_ex *attr)
{
	sq->flag_mask = ~0U;
	/* there are no READs and atomics that a fence would wait for */
	if (attr->qp_type == IBV_QPT_UC || attr->qp_type == IBV_QPT_UD)
		sq->flag_mask &= ~(unsigned int)IBV_SEND_FENCE;
	if (attr->sq_sig_all)
		sq->flag_always = IBV_SEND_SIGNALED;
}

static int pane_init_qp(struct ibv_context *ibctx, struct pane_qp *qp,
			struct ibv_qp_init_attr_ex *attr)
{
	struct pane_cmd_create_qp cmd = {};
	struct pane_cmd_create_qp_resp resp = {};
	int ret;

	ret = ibv_cmd_create_qp_ex(ibctx, &qp->vqp, attr, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		return ret;

	ret = pane_map_qp(ibctx, qp, &resp.drv_payload, attr);
	if (ret) {
		ibv_cmd_destroy_qp(&qp->vqp.qp);
		return ret;
	}

	qp->sq.max_inline = min_t(uint32_t, resp.max_inline,
				  attr->cap.max_inline_data);
	pane_init_sq_flags(&qp->sq, attr);
	return 0;
}

static struct pane_qp *pane_new_qp(struct ibv_context *ibctx,
				   struct ibv_qp_init_attr_ex *attr)
{
	struct pane_qp *qp;
	int ret;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;

	ret = pane_init_qp(ibctx, qp, attr);
	if (ret) {
		free(qp);
		errno = ret;
		return NULL;
	}
	return qp;
}

/* The members that both kinds of attributes have */
static struct ibv_qp_init_attr_ex
pane_basic_attr(const struct ibv_qp_init_attr *attr)
{
	return (struct ibv_qp_init_attr_ex) {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
	};
}

struct ibv_qp *pane_create_qp(struct ibv_pd *ibpd,
			      struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex own = pane_basic_attr(attr);
	struct pane_qp *qp;

	own.comp_mask = IBV_QP_INIT_ATTR_PD;
	own.pd = ibpd;
	if (!pane_qp_type_supported(attr->qp_type)) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	qp = pane_new_qp(ibpd->context, &own);
	if (!qp)
		return NULL;

	attr->cap = own.cap;
	return &qp->vqp.qp;
}

/*
 * The command gets attributes of our own: members that the caller's comp_mask
 * does not name may be beyond the end of an older program's struct.
 */
struct ibv_qp *pane_create_qp_ex(struct ibv_context *ibctx,
				 struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr_ex own;
	struct pane_qp *qp;
	int ret;

	ret = pane_check_qp_attr(ibctx, attr);
	if (ret) {
		errno = ret;
		return NULL;
	}

	own = pane_basic_attr((struct ibv_qp_init_attr *)attr);
	own.comp_mask = attr->comp_mask &
			(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD);
	if (own.comp_mask & IBV_QP_INIT_ATTR_PD)
		own.pd = attr->pd;
	if (own.comp_mask & IBV_QP_INIT_ATTR_XRCD)
		own.xrcd = attr->xrcd;

	qp = pane_new_qp(ibctx, &own);
	if (!qp)
		return NULL;

	attr->cap = own.cap;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		qp->vqp.comp_mask |= VERBS_QP_EX;
		pane_init_qp_ex(&qp->vqp.qp_ex);
	}
	return &qp->vqp.qp;
}

int pane_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		  struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd = {};

	return ibv_cmd_query_qp(ibqp, attr, attr_mask, init_attr, &cmd,
				sizeof(cmd));
}

int pane_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask)
{
	struct pane_qp *qp = to_pane_qp(ibqp);
	struct ibv_modify_qp cmd = {};
	int ret;

	ret = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
	if (ret)
		return ret;

	if ((attr_mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET) {
		pane_queue_reset(&qp->sq.q);
		pane_queue_reset(&qp->rq);
	}
	return 0;
}

/*
 * Completions of the QP that were not polled stay in the CQ. They carry all
 * that a reader wants, and nothing of the QP is looked up when they are read.
 */
int pane_destroy_qp(struct ibv_qp *ibqp)
{
	struct pane_qp *qp = to_pane_qp(ibqp);
	int ret;

	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;

	if (qp->ring)
		munmap(qp->ring, qp->ring_size);
	pane_lock_destroy(&qp->sq.q.lock);
	pane_lock_destroy(&qp->rq.lock);
	free(qp->sq.batch.rkeys);
	free(qp);
	return 0;
}
