// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ibv_wr_ interface of the send queue.
 *
 * A batch is put together in the ring behind the published producer index,
 * under the lock of the queue, so that abandoning it is setting the index back.
 * The first error is kept and turns the rest of the batch into nothing;
 * ibv_wr_complete() reports it and nothing of the batch is posted. Windows get
 * their new keys when the batch is accepted.
 *
 * All builders of a QP's type are there whether they were asked for or not: a
 * builder that does not fit the type fails the batch instead of the process.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "wqe.h"

static void pane_wr_fail(struct pane_sq *sq, int err)
{
	if (!sq->batch.err)
		sq->batch.err = err;
	sq->batch.wqe = NULL;
}

/* The request before is complete as it is, or the batch fails */
static void pane_wr_finish(struct pane_sq *sq)
{
	if (sq->batch.needs_addr)
		pane_wr_fail(sq, EINVAL);
	sq->batch.wqe = NULL;
	sq->batch.needs_addr = false;
}

static int pane_wr_check(struct pane_qp *qp, const struct pane_send_op *op)
{
	if (!op || pane_check_send_flags(op, qp->vqp.qp_ex.wr_flags))
		return EINVAL;
	return pane_queue_full(&qp->sq.q) ? ENOMEM : 0;
}

/* Begin a request; NULL when the batch has failed */
static struct pane_sq_wqe *pane_wr_begin(struct ibv_qp_ex *qp_ex,
					 enum ibv_wr_opcode opcode)
{
	struct pane_qp *qp = to_pane_qp_ex(qp_ex);
	const struct pane_send_op *op;
	struct pane_sq *sq = &qp->sq;
	struct pane_sq_wqe *wqe;
	int err;

	pane_wr_finish(sq);
	if (sq->batch.err)
		return NULL;

	op = pane_find_send_op(&qp->vqp.qp, opcode);
	err = pane_wr_check(qp, op);
	if (err) {
		pane_wr_fail(sq, err);
		return NULL;
	}

	wqe = pane_queue_slot(&sq->q);
	*wqe = (struct pane_sq_wqe) {
		.wr_id = qp_ex->wr_id,
		.opcode = op->opcode,
		.flags = pane_wqe_flags(sq, op, qp_ex->wr_flags),
	};
	sq->q.prod++;
	sq->batch.wqe = wqe;
	sq->batch.op = op;
	sq->batch.needs_addr = pane_is_ud_send(qp, op);
	return wqe;
}

static void pane_wr_send_ex(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode,
			    uint32_t ex)
{
	struct pane_sq_wqe *wqe = pane_wr_begin(qp_ex, opcode);

	if (wqe)
		wqe->ex = ex;
}

static void pane_wr_send(struct ibv_qp_ex *qp_ex)
{
	pane_wr_send_ex(qp_ex, IBV_WR_SEND, 0);
}

static void pane_wr_send_imm(struct ibv_qp_ex *qp_ex, __be32 imm_data)
{
	pane_wr_send_ex(qp_ex, IBV_WR_SEND_WITH_IMM,
			(__force uint32_t)imm_data);
}

static void pane_wr_send_inv(struct ibv_qp_ex *qp_ex, uint32_t invalidate_rkey)
{
	pane_wr_send_ex(qp_ex, IBV_WR_SEND_WITH_INV, invalidate_rkey);
}

static void pane_wr_local_inv(struct ibv_qp_ex *qp_ex, uint32_t invalidate_rkey)
{
	pane_wr_send_ex(qp_ex, IBV_WR_LOCAL_INV, invalidate_rkey);
}

static void pane_wr_rdma(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode,
			 uint32_t rkey, uint64_t remote_addr, uint32_t ex)
{
	struct pane_sq_wqe *wqe = pane_wr_begin(qp_ex, opcode);

	if (!wqe)
		return;

	wqe->ex = ex;
	wqe->rdma.remote_addr = remote_addr;
	wqe->rdma.rkey = rkey;
}

static void pane_wr_rdma_read(struct ibv_qp_ex *qp_ex, uint32_t rkey,
			      uint64_t remote_addr)
{
	pane_wr_rdma(qp_ex, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void pane_wr_rdma_write(struct ibv_qp_ex *qp_ex, uint32_t rkey,
			       uint64_t remote_addr)
{
	pane_wr_rdma(qp_ex, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void pane_wr_rdma_write_imm(struct ibv_qp_ex *qp_ex, uint32_t rkey,
				   uint64_t remote_addr, __be32 imm_data)
{
	pane_wr_rdma(qp_ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr,
		     (__force uint32_t)imm_data);
}

/* Where @length bytes of inline data of the current request go */
static uint8_t *pane_wr_inline_start(struct pane_qp *qp, uint32_t length)
{
	struct pane_sq_wqe *wqe = qp->sq.batch.wqe;

	wqe->flags |= PANE_WR_INLINE;
	if (pane_qp_is(qp, IBV_QPT_UD))
		wqe->ud.inline_len = length;
	else
		wqe->rdma.inline_len = length;
	return (uint8_t *)wqe->sge;
}

/* The word is taken now, so it is inline whatever room the user asked for */
static void pane_wr_atomic_write(struct ibv_qp_ex *qp_ex, uint32_t rkey,
				 uint64_t remote_addr, const void *atomic_wr)
{
	struct pane_qp *qp = to_pane_qp_ex(qp_ex);

	pane_wr_rdma(qp_ex, IBV_WR_ATOMIC_WRITE, rkey, remote_addr, 0);
	if (qp->sq.batch.wqe)
		pane_copy_inline(pane_wr_inline_start(qp, sizeof(uint64_t)),
				 atomic_wr, sizeof(uint64_t));
}

#ifdef HAVE_IBV_WR_FLUSH
static void pane_wr_flush(struct ibv_qp_ex *qp_ex, uint32_t rkey,
			  uint64_t remote_addr, size_t len, uint8_t type,
			  uint8_t level)
{
	struct pane_sq_wqe *wqe = pane_wr_begin(qp_ex, IBV_WR_FLUSH);

	if (!wqe)
		return;
	if (len > UINT32_MAX) {
		pane_wr_fail(&to_pane_qp_ex(qp_ex)->sq, EINVAL);
		return;
	}

	wqe->flush.remote_addr = remote_addr;
	wqe->flush.rkey = rkey;
	wqe->flush.length = len;
	wqe->flush.type = type;
	wqe->flush.level = level;
}
#endif

static void pane_wr_atomic(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode,
			   uint32_t rkey, uint64_t remote_addr,
			   uint64_t compare_add, uint64_t swap)
{
	struct pane_sq_wqe *wqe = pane_wr_begin(qp_ex, opcode);

	if (!wqe)
		return;

	wqe->atomic.remote_addr = remote_addr;
	wqe->atomic.rkey = rkey;
	wqe->atomic.compare_add = compare_add;
	wqe->atomic.swap = swap;
}

static void pane_wr_atomic_cmp_swp(struct ibv_qp_ex *qp_ex, uint32_t rkey,
				   uint64_t remote_addr, uint64_t compare,
				   uint64_t swap)
{
	pane_wr_atomic(qp_ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr,
		       compare, swap);
}

static void pane_wr_atomic_fetch_add(struct ibv_qp_ex *qp_ex, uint32_t rkey,
				     uint64_t remote_addr, uint64_t add)
{
	pane_wr_atomic(qp_ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr,
		       add, 0);
}

/* Room for one key more; it grows to what the largest batch needs */
static struct pane_new_rkey *pane_next_rkey(struct pane_batch *batch)
{
	struct pane_new_rkey *rkeys;
	uint32_t max;

	if (batch->num_rkeys == batch->max_rkeys) {
		max = batch->max_rkeys ? batch->max_rkeys * 2 : 8;
		rkeys = realloc(batch->rkeys, max * sizeof(*rkeys));
		if (!rkeys)
			return NULL;
		batch->rkeys = rkeys;
		batch->max_rkeys = max;
	}
	return &batch->rkeys[batch->num_rkeys++];
}

static void pane_wr_bind_mw(struct ibv_qp_ex *qp_ex, struct ibv_mw *ibmw,
			    uint32_t rkey,
			    const struct ibv_mw_bind_info *info)
{
	struct pane_sq *sq = &to_pane_qp_ex(qp_ex)->sq;
	struct pane_new_rkey *new_rkey;
	struct pane_sq_wqe *wqe;
	int err;

	wqe = pane_wr_begin(qp_ex, IBV_WR_BIND_MW);
	if (!wqe)
		return;

	err = pane_check_bind(&qp_ex->qp_base, ibmw, info);
	if (err) {
		pane_wr_fail(sq, err);
		return;
	}

	new_rkey = pane_next_rkey(&sq->batch);
	if (!new_rkey) {
		pane_wr_fail(sq, ENOMEM);
		return;
	}

	new_rkey->mw = ibmw;
	new_rkey->rkey = pane_bind_rkey(ibmw, rkey);
	pane_fill_bind(wqe, ibmw, new_rkey->rkey, info);
}

static void pane_wr_set_ud_addr(struct ibv_qp_ex *qp_ex, struct ibv_ah *ibah,
				uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct pane_qp *qp = to_pane_qp_ex(qp_ex);
	struct pane_batch *batch = &qp->sq.batch;

	if (!batch->wqe || !ibah || !pane_is_ud_send(qp, batch->op)) {
		pane_wr_fail(&qp->sq, EINVAL);
		return;
	}

	batch->wqe->ud.ah = to_pane_ah(ibah)->number;
	batch->wqe->ud.remote_qpn = remote_qpn;
	batch->wqe->ud.remote_qkey = remote_qkey;
	batch->needs_addr = false;
}

static void pane_wr_set_xrc_srqn(struct ibv_qp_ex *qp_ex, uint32_t remote_srqn)
{
	struct pane_qp *qp = to_pane_qp_ex(qp_ex);
	struct pane_batch *batch = &qp->sq.batch;

	if (!batch->wqe || !pane_qp_is(qp, IBV_QPT_XRC_SEND)) {
		pane_wr_fail(&qp->sq, EINVAL);
		return;
	}

	switch (batch->op->form) {
	case PANE_FORM_ATOMIC:
		batch->wqe->atomic.srqn = remote_srqn;
		break;
	case PANE_FORM_FLUSH:
		batch->wqe->flush.srqn = remote_srqn;
		break;
	case PANE_FORM_SEND:
	case PANE_FORM_RDMA:
		batch->wqe->rdma.srqn = remote_srqn;
		break;
	default:
		pane_wr_fail(&qp->sq, EINVAL);
	}
}

static bool pane_wr_has_data(const struct pane_batch *batch)
{
	return batch->wqe && batch->op->form != PANE_FORM_BIND &&
	       batch->op->form != PANE_FORM_FLUSH &&
	       batch->op->form != PANE_FORM_INV;
}

static void pane_wr_set_sge_list(struct ibv_qp_ex *qp_ex, size_t num_sge,
				 const struct ibv_sge *sg_list)
{
	struct pane_sq *sq = &to_pane_qp_ex(qp_ex)->sq;

	if (!pane_wr_has_data(&sq->batch) || num_sge > sq->q.max_sge) {
		pane_wr_fail(sq, EINVAL);
		return;
	}

	sq->batch.wqe->num_sge = num_sge;
	pane_copy_sges(sq->batch.wqe->sge, sg_list, num_sge);
}

static void pane_wr_set_sge(struct ibv_qp_ex *qp_ex, uint32_t lkey,
			    uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};

	pane_wr_set_sge_list(qp_ex, 1, &sge);
}

/* Bytes of all buffers; SIZE_MAX when they do not fit */
static size_t pane_inline_length(const struct pane_sq *sq, size_t num_buf,
				 const struct ibv_data_buf *bufs)
{
	size_t length = 0;

	for (size_t i = 0; i < num_buf; i++) {
		if (bufs[i].length > sq->max_inline - length)
			return SIZE_MAX;
		length += bufs[i].length;
	}
	return length;
}

static void pane_wr_set_inline_data_list(struct ibv_qp_ex *qp_ex,
					 size_t num_buf,
					 const struct ibv_data_buf *bufs)
{
	struct pane_qp *qp = to_pane_qp_ex(qp_ex);
	struct pane_sq *sq = &qp->sq;
	size_t length = pane_inline_length(sq, num_buf, bufs);
	uint8_t *to;

	if (!pane_wr_has_data(&sq->batch) || length == SIZE_MAX ||
	    !(sq->batch.op->flags & IBV_SEND_INLINE)) {
		pane_wr_fail(sq, EINVAL);
		return;
	}

	to = pane_wr_inline_start(qp, length);
	for (size_t i = 0; i < num_buf; i++)
		to = pane_copy_inline(to, bufs[i].addr, bufs[i].length);
}

static void pane_wr_set_inline_data(struct ibv_qp_ex *qp_ex, void *addr,
				    size_t length)
{
	const struct ibv_data_buf buf = {
		.addr = addr,
		.length = length,
	};

	pane_wr_set_inline_data_list(qp_ex, 1, &buf);
}

static void pane_wr_start(struct ibv_qp_ex *qp_ex)
{
	struct pane_qp *qp = to_pane_qp_ex(qp_ex);
	struct pane_batch *batch = &qp->sq.batch;

	pane_lock(&qp->sq.q.lock);
	batch->first = qp->sq.q.prod;
	batch->err = pane_check_sq(qp);
	batch->wqe = NULL;
	batch->needs_addr = false;
	batch->num_rkeys = 0;
}

static void pane_hand_out_rkeys(struct pane_batch *batch)
{
	for (uint32_t i = 0; i < batch->num_rkeys; i++)
		batch->rkeys[i].mw->rkey = batch->rkeys[i].rkey;
}

/*
 * A doorbell that fails is reported like an error in the batch, although its
 * requests stay in the ring: the device is gone, and none will complete.
 */
static int pane_wr_complete(struct ibv_qp_ex *qp_ex)
{
	struct pane_qp *qp = to_pane_qp_ex(qp_ex);
	struct pane_sq *sq = &qp->sq;
	bool posted;
	int err;

	pane_wr_finish(sq);
	err = sq->batch.err;
	if (err) {
		sq->q.prod = sq->batch.first;
	} else {
		pane_hand_out_rkeys(&sq->batch);
		pane_queue_publish(&sq->q);
	}
	posted = sq->q.prod != sq->batch.first;
	pane_unlock(&sq->q.lock);

	if (posted && pane_queue_needs_doorbell(&sq->q))
		err = pane_ring_doorbell(&qp->vqp.qp, PANE_DB_SEND);
	return err;
}

static void pane_wr_abort(struct ibv_qp_ex *qp_ex)
{
	struct pane_sq *sq = &to_pane_qp_ex(qp_ex)->sq;

	sq->q.prod = sq->batch.first;
	pane_unlock(&sq->q.lock);
}

void pane_init_qp_ex(struct ibv_qp_ex *qp_ex)
{
	qp_ex->wr_atomic_cmp_swp = pane_wr_atomic_cmp_swp;
	qp_ex->wr_atomic_fetch_add = pane_wr_atomic_fetch_add;
	qp_ex->wr_atomic_write = pane_wr_atomic_write;
	qp_ex->wr_bind_mw = pane_wr_bind_mw;
#ifdef HAVE_IBV_WR_FLUSH
	qp_ex->wr_flush = pane_wr_flush;
#endif
	qp_ex->wr_local_inv = pane_wr_local_inv;
	qp_ex->wr_rdma_read = pane_wr_rdma_read;
	qp_ex->wr_rdma_write = pane_wr_rdma_write;
	qp_ex->wr_rdma_write_imm = pane_wr_rdma_write_imm;
	qp_ex->wr_send = pane_wr_send;
	qp_ex->wr_send_imm = pane_wr_send_imm;
	qp_ex->wr_send_inv = pane_wr_send_inv;

	qp_ex->wr_set_ud_addr = pane_wr_set_ud_addr;
	qp_ex->wr_set_xrc_srqn = pane_wr_set_xrc_srqn;
	qp_ex->wr_set_inline_data = pane_wr_set_inline_data;
	qp_ex->wr_set_inline_data_list = pane_wr_set_inline_data_list;
	qp_ex->wr_set_sge = pane_wr_set_sge;
	qp_ex->wr_set_sge_list = pane_wr_set_sge_list;

	qp_ex->wr_start = pane_wr_start;
	qp_ex->wr_complete = pane_wr_complete;
	qp_ex->wr_abort = pane_wr_abort;
}
