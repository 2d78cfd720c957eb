// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests that do not come through a ring: of kernel users, and ibv_bind_mw() */
#include <linux/string.h>

#include "ah.h"
#include "mr.h"
#include "pane.h"
#include "req.h"
#include "resp.h"
#include "rq.h"
#include "wr.h"

/* ---- sending --------------------------------------------------------- */

/* Not every core has all of them in its enum ib_wr_opcode */
static int post_op(int opcode)
{
	switch (opcode) {
	case IB_WR_SEND:			return PANE_WR_SEND;
	case IB_WR_SEND_WITH_IMM:		return PANE_WR_SEND_IMM;
	case IB_WR_SEND_WITH_INV:		return PANE_WR_SEND_INV;
	case IB_WR_RDMA_WRITE:			return PANE_WR_WRITE;
	case IB_WR_RDMA_WRITE_WITH_IMM:		return PANE_WR_WRITE_IMM;
	case IB_WR_RDMA_READ:			return PANE_WR_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:		return PANE_WR_CMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:	return PANE_WR_FETCH_ADD;
	case IB_WR_ATOMIC_WRITE:		return PANE_WR_ATOMIC_WRITE;
	case IB_WR_LOCAL_INV:			return PANE_WR_LOCAL_INV;
	case IB_WR_REG_MR:			return PANE_WR_REG_MR;
	default:				return -EINVAL;
	}
}

static u16 post_flags(int send_flags)
{
	return (send_flags & IB_SEND_SIGNALED ? PANE_WR_SIGNALED : 0) |
	       (send_flags & IB_SEND_SOLICITED ? PANE_WR_SOLICITED : 0) |
	       (send_flags & IB_SEND_FENCE ? PANE_WR_FENCE : 0) |
	       (send_flags & IB_SEND_INLINE ? PANE_WR_INLINE : 0);
}

static void post_fill_op(const struct pane_qp *qp, struct pane_swqe *w,
			 const struct ib_send_wr *wr)
{
	if (pane_qp_is_datagram(qp)) {
		w->ud.ah = to_pane_ah(ud_wr(wr)->ah)->num;
		w->ud.qpn = ud_wr(wr)->remote_qpn;
		w->ud.qkey = ud_wr(wr)->remote_qkey;
		return;
	}
	switch (w->op) {
	case PANE_WR_WRITE:
	case PANE_WR_WRITE_IMM:
	case PANE_WR_READ:
	case PANE_WR_ATOMIC_WRITE:
		w->rdma.va = rdma_wr(wr)->remote_addr;
		w->rdma.rkey = rdma_wr(wr)->rkey;
		break;
	case PANE_WR_CMP_SWAP:
	case PANE_WR_FETCH_ADD:
		w->rdma.va = atomic_wr(wr)->remote_addr;
		w->rdma.rkey = atomic_wr(wr)->rkey;
		w->rdma.compare_add = atomic_wr(wr)->compare_add;
		w->rdma.swap = atomic_wr(wr)->swap;
		break;
	case PANE_WR_REG_MR:
		w->reg.mr = to_pane_mr(reg_wr(wr)->mr);
		w->reg.key = reg_wr(wr)->key;
		w->reg.access = reg_wr(wr)->access;
		break;
	}
}

/* Inline data of kernel users is at kernel addresses */
static int post_fill_inline(const struct pane_qp *qp, struct pane_swqe *w,
			    const struct ib_send_wr *wr)
{
	u8 *to = (u8 *)w->sge;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > qp->sq.max_inline - w->length)
			return -EINVAL;
		memcpy(to + w->length, (void *)(uintptr_t)sge->addr,
		       sge->length);
		w->length += sge->length;
	}
	return 0;
}

static int post_fill_sge(const struct pane_qp *qp, struct pane_swqe *w,
			 const struct ib_send_wr *wr)
{
	int i;

	if (wr->num_sge > qp->sq.max_sge)
		return -EINVAL;
	for (i = 0; i < wr->num_sge; i++) {
		w->sge[i].addr = wr->sg_list[i].addr;
		w->sge[i].length = wr->sg_list[i].length;
		w->sge[i].lkey = wr->sg_list[i].lkey;
	}
	w->num_sge = wr->num_sge;
	return 0;
}

static int post_fill(const struct pane_qp *qp, struct pane_swqe *w,
		     const struct ib_send_wr *wr)
{
	const struct pane_wr_info *info;
	int op = post_op(wr->opcode);
	int err;

	if (op < 0)
		return op;
	memset(w, 0, sizeof(*w));
	w->op = op;
	w->wr_id = wr->wr_id;
	w->flags = post_flags(wr->send_flags);
	info = pane_wr_info(w);
	if (!(info->qp_types & BIT(qp->type)))
		return -EINVAL;
	/* where a flag has no meaning kernel users may set it all the same */
	if (w->flags & PANE_WR_INLINE & ~info->flags)
		return -EINVAL;
	w->flags &= info->flags;
	w->ex = wr->opcode == IB_WR_SEND_WITH_INV ||
		wr->opcode == IB_WR_LOCAL_INV ?
		wr->ex.invalidate_rkey : (__force u32)wr->ex.imm_data;
	post_fill_op(qp, w, wr);
	if (info->class == PANE_WRC_LOCAL)
		return 0;
	err = w->flags & PANE_WR_INLINE ? post_fill_inline(qp, w, wr) :
					  post_fill_sge(qp, w, wr);
	if (err)
		return err;
	return pane_wr_check_length(qp, w) ? -EINVAL : 0;
}

/* May something be posted to the send queue in this state, and does it fit? */
static int post_send_ready(const struct pane_qp *qp)
{
	const struct pane_sq *sq = &qp->sq;

	if (!pane_qp_sends(qp) && qp->state != IB_QPS_ERR &&
	    qp->state != IB_QPS_SQE)
		return -EINVAL;
	if (sq->prod - sq->cons > sq->mask)
		return -ENOMEM;
	return 0;
}

/*
 * Users may post with interrupts disabled, which is no state to send packets
 * in. The worker does then what is left to do.
 * Return: what post_leave() wants to know
 */
static bool post_enter(struct pane_qp *qp)
{
	if (irqs_disabled()) {
		spin_lock(&qp->lock);
		return false;
	}
	pane_qp_enter(qp);
	return true;
}

static void post_leave(struct pane_qp *qp, bool may_send)
{
	if (may_send) {
		pane_req_kick(qp);
		if (qp->state == IB_QPS_ERR)
			pane_resp_flush(qp);
		pane_qp_leave(qp);
		return;
	}
	if (qp->state != PANE_QPS_DEAD) {
		qp->more = true;
		queue_work(pane_wq, &qp->work);
	}
	spin_unlock(&qp->lock);
}

/**
 * pane_post_send - ib_post_send(); uverbs has no way to it
 * @ibqp: the QP
 * @wr: list of requests
 * @bad_wr: set to the first one not posted
 *
 * Context: any but hard interrupts; they may be disabled.
 * Return: 0; -EINVAL for a request the QP cannot execute, or its state;
 * -ENOMEM when the queue is full
 */
int pane_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr)
{
	struct pane_qp *qp = to_pane_qp(ibqp);
	bool may_send;
	int err = 0;

	*bad_wr = wr;
	if (qp->user || !pane_qp_has_sq(qp))
		return -EINVAL;

	may_send = post_enter(qp);
	for (; wr; wr = wr->next) {
		err = post_send_ready(qp);
		if (!err)
			err = post_fill(qp, pane_swqe(&qp->sq, qp->sq.prod),
					wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
		qp->sq.prod++;
	}
	post_leave(qp, may_send);
	return err;
}

/**
 * pane_post_bind_mw - post the bind of a type 1 window
 * @qp: the QP, entered
 * @req: the request
 * @b: what to bind, with a reserved key; given back by the caller on error
 *
 * Return: as documented at struct pane_bind_mw
 */
int pane_post_bind_mw(struct pane_qp *qp, const struct pane_bind_mw *req,
		      const struct pane_bind *b)
{
	struct pane_swqe *w;
	int err;

	if (!(pane_wr_table[PANE_WR_BIND_MW1].qp_types & BIT(qp->type)))
		return -EINVAL;
	/* what the ring holds comes first */
	if (pane_qp_sends(qp) || qp->state == IB_QPS_ERR)
		while (pane_wr_fetch(qp))
			;
	err = post_send_ready(qp);
	if (err)
		return err;
	w = pane_swqe(&qp->sq, qp->sq.prod++);
	memset(w, 0, sizeof(*w));
	w->op = PANE_WR_BIND_MW1;
	w->wr_id = req->wr_id;
	w->flags = req->flags & ~PANE_BIND_BY_HANDLE;
	w->bind = *b;
	if (req->flags & PANE_BIND_BY_HANDLE)
		pane_mw_issue_key(to_pane_uc(qp->ibuc), &w->bind);
	pane_req_kick(qp);
	return 0;
}

/* ---- receiving ------------------------------------------------------- */

/**
 * pane_post_recv - ib_post_recv(); user space has its ring
 * @ibqp: the QP
 * @wr: list of requests
 * @bad_wr: set to the first one not posted
 *
 * Context: any but hard interrupts; they may be disabled.
 * Return: 0; -EINVAL in RESET or for too many elements; -ENOMEM when the queue
 * is full
 */
int pane_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	struct pane_qp *qp = to_pane_qp(ibqp);
	bool may_send;
	int err = 0;

	*bad_wr = wr;
	if (qp->user)
		return -EINVAL;

	may_send = post_enter(qp);
	for (; wr; wr = wr->next) {
		err = !pane_qp_has_rq(qp) || qp->state == IB_QPS_RESET ||
		      qp->state == PANE_QPS_DEAD ?
		      -EINVAL :
		      pane_rq_post(&qp->rq, &qp->krq_prod, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	post_leave(qp, may_send);
	return err;
}
