// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows. Type 1 windows are bound by a call of their own, because the
 * kernel chooses the new key and the caller gets it before the call returns.
 * Type 2 windows are bound by a request in the send queue; what such a request
 * has in common in both posting interfaces is here too.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "pane.h"
#include "wqe.h"

/* The part of a key that the consumer chooses when it binds a type 2 window */
#define PANE_RKEY_TAG	0xffU

struct ibv_mw *pane_alloc_mw(struct ibv_pd *ibpd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp = {};
	struct ibv_alloc_mw cmd = {};
	struct ibv_mw *mw;
	int ret;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;

	ret = ibv_cmd_alloc_mw(ibpd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(mw);
		errno = ret;
		return NULL;
	}
	return mw;
}

int pane_dealloc_mw(struct ibv_mw *ibmw)
{
	int ret;

	ret = ibv_cmd_dealloc_mw(ibmw);
	if (!ret)
		free(ibmw);
	return ret;
}

/* QP, window and, when there is one, MR are of one protection domain */
static int pane_check_bind_pd(const struct ibv_qp *ibqp,
			      const struct ibv_mw *ibmw,
			      const struct ibv_mr *ibmr)
{
	if (!pane_same_pd(ibqp->pd, ibmw->pd))
		return EPERM;
	return !ibmr || pane_same_pd(ibmr->pd, ibmw->pd) ? 0 : EPERM;
}

/* A request to bind a type 2 window; its range and rights are the kernel's */
int pane_check_bind(const struct ibv_qp *ibqp, const struct ibv_mw *ibmw,
		    const struct ibv_mw_bind_info *info)
{
	if (!ibmw || ibmw->type != IBV_MW_TYPE_2 || !info->mr || !info->length)
		return EINVAL;
	return pane_check_bind_pd(ibqp, ibmw, info->mr);
}

/* The key a type 2 window has after a bind that was given @rkey */
uint32_t pane_bind_rkey(const struct ibv_mw *ibmw, uint32_t rkey)
{
	return (ibmw->rkey & ~PANE_RKEY_TAG) | (rkey & PANE_RKEY_TAG);
}

void pane_fill_bind(struct pane_sq_wqe *wqe, const struct ibv_mw *ibmw,
		    uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	wqe->bind.addr = info->addr;
	wqe->bind.length = info->length;
	wqe->bind.mw_rkey = ibmw->rkey;
	wqe->bind.rkey = rkey;
	wqe->bind.lkey = info->mr->lkey;
	wqe->bind.access = info->mw_access_flags;
}

/* A request to bind or, with length 0, unbind a type 1 window */
static int pane_check_bind_type1(const struct pane_qp *qp,
				 const struct pane_send_op *op,
				 const struct ibv_mw *ibmw,
				 const struct ibv_mw_bind *bind)
{
	const struct ibv_mw_bind_info *info = &bind->bind_info;
	int ret;

	ret = pane_check_sq(qp);
	if (ret)
		return ret;
	if (!op || ibmw->type != IBV_MW_TYPE_1)
		return EINVAL;
	if (!info->mr && (info->addr || info->length))
		return EINVAL;

	ret = pane_check_send_flags(op, bind->send_flags);
	if (ret)
		return ret;
	return pane_check_bind_pd(&qp->vqp.qp, ibmw, info->mr);
}

/*
 * The request takes an index of the send queue without using its slot. The lock
 * stays held over the call, so that no other thread puts a request there.
 */
static int pane_post_bind(struct pane_qp *qp, struct pane_bind_mw *req)
{
	struct pane_context *ctx = to_pane_context(qp->vqp.qp.context);
	struct pane_queue *q = &qp->sq.q;
	int ret = 0;

	pane_lock(&q->lock);
	if (pane_queue_full(q)) {
		ret = ENOMEM;
	} else if (ioctl(ctx->doorbell_fd, PANE_DB_BIND_MW, req)) {
		ret = errno;
	} else {
		q->prod++;
		pane_queue_publish(q);
	}
	pane_unlock(&q->lock);

	return ret;
}

int pane_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *ibmw,
		 struct ibv_mw_bind *bind)
{
	const struct pane_send_op *op = pane_find_send_op(ibqp, IBV_WR_BIND_MW);
	const struct ibv_mw_bind_info *info = &bind->bind_info;
	struct pane_qp *qp = to_pane_qp(ibqp);
	struct pane_bind_mw req;
	int ret;

	ret = pane_check_bind_type1(qp, op, ibmw, bind);
	if (ret)
		return ret;

	req = (struct pane_bind_mw) {
		.qp_num = ibqp->qp_num,
		.wr_id = bind->wr_id,
		.addr = info->addr,
		.length = info->length,
		.lkey = info->mr ? info->mr->lkey : 0,
		.rkey = ibmw->rkey,
		.access = info->mw_access_flags,
		.flags = pane_wqe_flags(&qp->sq, op, bind->send_flags) |
			 PANE_BIND_BY_HANDLE,
		.mw_handle = ibmw->handle,
	};
	ret = pane_post_bind(qp, &req);
	if (!ret)
		ibmw->rkey = req.rkey;
	return ret;
}
