// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting lists of work requests: ibv_post_send(), ibv_post_recv().
 *
 * A request is checked as far as the manual page asks for an answer at once;
 * the kernel checks its own copy of it again, and more. The requests before a
 * bad one stay posted. The index is published and the doorbell rung once a
 * list.
 *
 * When the doorbell fails, the device or the QP is gone and the requests, which
 * stay in the ring, will never complete. The whole list is reported as not
 * posted then: that is what the caller has to deal with.
 */
#include <config.h>

#include <errno.h>

#include "wqe.h"

static uint64_t pane_sge_length(const struct ibv_send_wr *wr)
{
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return length;
}

static int pane_check_send_wr(const struct pane_qp *qp,
			      const struct pane_send_op *op,
			      const struct ibv_send_wr *wr)
{
	const struct pane_sq *sq = &qp->sq;

	if (!op || pane_check_send_flags(op, wr->send_flags))
		return EINVAL;
	if (op->form == PANE_FORM_BIND)
		return pane_check_bind(&qp->vqp.qp, wr->bind_mw.mw,
				       &wr->bind_mw.bind_info);
	if (op->form == PANE_FORM_INV)
		return 0;
	/* struct ibv_send_wr has no room for what a FLUSH is to say */
	if (op->form == PANE_FORM_FLUSH)
		return EINVAL;

	/* a negative number is a large one too */
	if ((unsigned int)wr->num_sge > sq->q.max_sge)
		return EINVAL;
	if ((wr->send_flags & IBV_SEND_INLINE) &&
	    pane_sge_length(wr) > sq->max_inline)
		return EINVAL;
	if (pane_is_ud_send(qp, op) && !wr->wr.ud.ah)
		return EINVAL;
	return 0;
}

static void pane_fill_data(struct pane_sq_wqe *wqe, uint32_t *inline_len,
			   const struct ibv_send_wr *wr)
{
	uint8_t *to = (uint8_t *)wqe->sge;

	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		wqe->num_sge = wr->num_sge;
		pane_copy_sges(wqe->sge, wr->sg_list, wr->num_sge);
		return;
	}

	wqe->flags |= PANE_WR_INLINE;
	for (int i = 0; i < wr->num_sge; i++)
		to = pane_copy_inline(to,
				      (void *)(uintptr_t)wr->sg_list[i].addr,
				      wr->sg_list[i].length);
	*inline_len = to - (uint8_t *)wqe->sge;
}

static void pane_fill_ud(struct pane_sq_wqe *wqe, const struct ibv_send_wr *wr)
{
	wqe->ud.ah = to_pane_ah(wr->wr.ud.ah)->number;
	wqe->ud.remote_qpn = wr->wr.ud.remote_qpn;
	wqe->ud.remote_qkey = wr->wr.ud.remote_qkey;
	pane_fill_data(wqe, &wqe->ud.inline_len, wr);
}

static void pane_fill_rdma(struct pane_sq_wqe *wqe,
			   const struct ibv_send_wr *wr, uint32_t srqn)
{
	wqe->rdma.remote_addr = wr->wr.rdma.remote_addr;
	wqe->rdma.rkey = wr->wr.rdma.rkey;
	wqe->rdma.srqn = srqn;
	pane_fill_data(wqe, &wqe->rdma.inline_len, wr);
}

static void pane_fill_connected_send(struct pane_sq_wqe *wqe,
				     const struct ibv_send_wr *wr,
				     uint32_t srqn)
{
	wqe->rdma.srqn = srqn;
	pane_fill_data(wqe, &wqe->rdma.inline_len, wr);
}

static void pane_fill_atomic(struct pane_sq_wqe *wqe,
			     const struct ibv_send_wr *wr, uint32_t srqn)
{
	wqe->atomic.remote_addr = wr->wr.atomic.remote_addr;
	wqe->atomic.rkey = wr->wr.atomic.rkey;
	wqe->atomic.srqn = srqn;
	wqe->atomic.compare_add = wr->wr.atomic.compare_add;
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
		wqe->atomic.swap = wr->wr.atomic.swap;
	wqe->num_sge = wr->num_sge;
	pane_copy_sges(wqe->sge, wr->sg_list, wr->num_sge);
}

/* A checked bind is as good as accepted: the window has its new key at once */
static void pane_fill_bind_wr(struct pane_sq_wqe *wqe,
			      const struct ibv_send_wr *wr)
{
	struct ibv_mw *mw = wr->bind_mw.mw;
	uint32_t rkey = pane_bind_rkey(mw, wr->bind_mw.rkey);

	pane_fill_bind(wqe, mw, rkey, &wr->bind_mw.bind_info);
	mw->rkey = rkey;
}

static void pane_fill_wqe(struct pane_qp *qp, const struct pane_send_op *op,
			  struct pane_sq_wqe *wqe,
			  const struct ibv_send_wr *wr)
{
	uint32_t srqn = 0;

	if (pane_qp_is(qp, IBV_QPT_XRC_SEND))
		srqn = wr->qp_type.xrc.remote_srqn;

	*wqe = (struct pane_sq_wqe) {
		.wr_id = wr->wr_id,
		.opcode = op->opcode,
		.flags = pane_wqe_flags(&qp->sq, op, wr->send_flags),
		.ex = op->has_ex ? wr->invalidate_rkey : 0,
	};

	switch (op->form) {
	case PANE_FORM_SEND:
		if (pane_is_ud_send(qp, op))
			pane_fill_ud(wqe, wr);
		else
			pane_fill_connected_send(wqe, wr, srqn);
		break;
	case PANE_FORM_RDMA:
		pane_fill_rdma(wqe, wr, srqn);
		break;
	case PANE_FORM_ATOMIC:
		pane_fill_atomic(wqe, wr, srqn);
		break;
	case PANE_FORM_BIND:
		pane_fill_bind_wr(wqe, wr);
		break;
	}
}

static int pane_queue_send(struct pane_qp *qp, const struct ibv_send_wr *wr)
{
	const struct pane_send_op *op;
	struct pane_queue *q = &qp->sq.q;
	int ret;

	op = pane_find_send_op(&qp->vqp.qp, wr->opcode);
	ret = pane_check_send_wr(qp, op, wr);
	if (ret)
		return ret;
	if (pane_queue_full(q))
		return ENOMEM;

	pane_fill_wqe(qp, op, pane_queue_slot(q), wr);
	q->prod++;
	return 0;
}

/* Put requests into the ring; @wr becomes the first that did not go in */
static int pane_queue_send_list(struct pane_qp *qp, struct ibv_send_wr **wr)
{
	struct pane_queue *q = &qp->sq.q;
	int ret = 0;

	pane_lock(&q->lock);
	for (; *wr; *wr = (*wr)->next) {
		ret = pane_queue_send(qp, *wr);
		if (ret)
			break;
	}
	pane_queue_publish(q);
	pane_unlock(&q->lock);

	return ret;
}

int pane_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr)
{
	struct pane_qp *qp = to_pane_qp(ibqp);
	struct ibv_send_wr *end = wr;
	int db_ret = 0;
	int ret;

	ret = pane_check_sq(qp);
	if (!ret)
		ret = pane_queue_send_list(qp, &end);
	if (end != wr && pane_queue_needs_doorbell(&qp->sq.q))
		db_ret = pane_ring_doorbell(ibqp, PANE_DB_SEND);

	if (db_ret) {
		*bad_wr = wr;
		return db_ret;
	}
	if (ret)
		*bad_wr = end;
	return ret;
}

static int pane_queue_recv(struct pane_queue *q, const struct ibv_recv_wr *wr)
{
	struct pane_rq_wqe *wqe;

	if ((unsigned int)wr->num_sge > q->max_sge)
		return EINVAL;
	if (pane_queue_full(q))
		return ENOMEM;

	wqe = pane_queue_slot(q);
	*wqe = (struct pane_rq_wqe) {
		.wr_id = wr->wr_id,
		.num_sge = wr->num_sge,
	};
	pane_copy_sges(wqe->sge, wr->sg_list, wr->num_sge);
	q->prod++;
	return 0;
}

/* As pane_queue_send_list(); for shared receive queues, too */
int pane_queue_recv_list(struct pane_queue *q, struct ibv_recv_wr **wr)
{
	int ret = 0;

	pane_lock(&q->lock);
	for (; *wr; *wr = (*wr)->next) {
		ret = pane_queue_recv(q, *wr);
		if (ret)
			break;
	}
	pane_queue_publish(q);
	pane_unlock(&q->lock);

	return ret;
}

static int pane_check_rq(const struct pane_qp *qp)
{
	if (!qp->rq.count || qp->vqp.qp.state == IBV_QPS_RESET)
		return EINVAL;
	return 0;
}

int pane_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad_wr)
{
	struct pane_qp *qp = to_pane_qp(ibqp);
	struct ibv_recv_wr *end = wr;
	int db_ret = 0;
	int ret;

	ret = pane_check_rq(qp);
	if (!ret)
		ret = pane_queue_recv_list(&qp->rq, &end);
	if (end != wr && pane_queue_needs_doorbell(&qp->rq))
		db_ret = pane_ring_doorbell(ibqp, PANE_DB_RECV);

	if (db_ret) {
		*bad_wr = wr;
		return db_ret;
	}
	if (ret)
		*bad_wr = end;
	return ret;
}
