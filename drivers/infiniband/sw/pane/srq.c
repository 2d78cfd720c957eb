// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "cq.h"
#include "pane.h"
#include "srq.h"
#include "umap.h"

/**
 * pane_srq_find - the SRQ with a number
 * @srqn: any 24-bit number
 *
 * Context: RCU read side, which the SRQ lives at least as long as.
 * Return: the SRQ, or NULL
 */
struct pane_srq *pane_srq_find(u32 srqn)
{
	struct pane_num *num = pane_num_find(srqn, PANE_NUM_SRQ);

	return num ? container_of(num, struct pane_srq, num) : NULL;
}

/* Fewer requests are left than the user wants: he is told, once */
static void srq_check_limit(struct pane_srq *srq)
{
	if (!srq->limit || pane_rq_avail(&srq->rq) >= srq->limit)
		return;
	srq->limit = 0;
	queue_work(pane_wq, &srq->limit_work);
}

/**
 * pane_srq_take - take the oldest request
 * @srq: the queue
 * @to: room for PANE_MAX_SGE elements
 *
 * Context: bottom halves disabled.
 * Return: enum pane_rq_result
 */
enum pane_rq_result pane_srq_take(struct pane_srq *srq, struct pane_rwqe *to)
{
	enum pane_rq_result result = PANE_RQ_EMPTY;

	spin_lock(&srq->lock);
	if (!srq->dead) {
		result = pane_rq_take(&srq->rq, to);
		srq_check_limit(srq);
	}
	spin_unlock(&srq->lock);
	return result;
}

/* destroy cancels this before the core's half goes */
static void srq_limit_work(struct work_struct *work)
{
	struct pane_srq *srq = container_of(work, struct pane_srq, limit_work);
	struct ib_event ev = {
		.device = &srq->dev->ibdev,
		.element.srq = srq->ibsrq,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (srq->ibsrq->event_handler)
		srq->ibsrq->event_handler(&ev, srq->ibsrq->srq_context);
}

/* ---- creation -------------------------------------------------------- */

static int srq_check_init(const struct ib_srq_init_attr *init)
{
	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > PANE_MAX_SRQ_WR ||
	    init->attr.max_sge > PANE_MAX_SGE)
		return -EINVAL;
	return 0;
}

static int srq_init_user_ring(struct pane_srq *srq, u32 count, u32 stride,
			      struct ib_udata *udata)
{
	struct pane_ucontext *uc = rdma_udata_to_drv_context(
		udata, struct pane_ucontext, ibuc);
	struct pane_create_srq_resp resp = {
		.srqn = srq->num.value,
		.rq_offset = sizeof(struct pane_srq_ctl),
		.rq_stride = stride,
		.rq_count = count,
	};
	struct pane_srq_ctl *ctl;

	srq->map = pane_umap_create(&uc->ibuc, resp.rq_offset +
				    (size_t)count * stride, false);
	if (IS_ERR(srq->map))
		return PTR_ERR(srq->map);
	ctl = srq->map->mem;
	srq->rq.ring = srq->map->mem + resp.rq_offset;
	srq->rq.prod = &ctl->prod;
	srq->rq.cons = &ctl->cons;
	resp.ring_offset = pane_umap_offset(srq->map);
	resp.ring_size = srq->map->size;
	return ib_respond_udata(udata, resp);
}

static int srq_init_kernel_ring(struct pane_srq *srq, u32 count, u32 stride)
{
	srq->kring = kvcalloc(count, stride, GFP_KERNEL);
	if (!srq->kring)
		return -ENOMEM;
	srq->rq.ring = srq->kring;
	srq->rq.prod = &srq->kprod;
	srq->rq.cons = &srq->kcons;
	return 0;
}

static int srq_init_ring(struct pane_srq *srq, struct ib_srq_attr *attr,
			 struct ib_udata *udata)
{
	u32 count = roundup_pow_of_two(attr->max_wr);

	attr->max_sge = max(attr->max_sge, 1U);
	attr->max_wr = count;
	srq->rq.max_sge = attr->max_sge;
	srq->rq.mask = count - 1;
	srq->rq.stride = sizeof(struct pane_rq_wqe) +
			 attr->max_sge * sizeof(struct pane_sge);
	return udata ? srq_init_user_ring(srq, count, srq->rq.stride, udata) :
		       srq_init_kernel_ring(srq, count, srq->rq.stride);
}

static void srq_free_ring(struct pane_srq *srq)
{
	if (!IS_ERR_OR_NULL(srq->map))
		pane_umap_destroy(srq->map);
	kvfree(srq->kring);
}

static void srq_init(struct pane_srq *srq, struct ib_srq *ibsrq,
		     const struct ib_srq_init_attr *init)
{
	srq->dev = to_pane_dev(ibsrq->device);
	srq->ibsrq = ibsrq;
	srq->pd = ibsrq->pd;
	spin_lock_init(&srq->lock);
	INIT_WORK(&srq->limit_work, srq_limit_work);
	if (init->srq_type == IB_SRQT_XRC) {
		srq->xrcd = init->ext.xrc.xrcd;
		srq->cq = to_pane_cq(init->ext.cq);
	}
}

/**
 * pane_create_srq - ibv_create_srq(), ibv_create_srq_ex(), ib_create_srq()
 * @ibsrq: the core's half
 * @init: what is asked for; the sizes are raised to what it became
 * @udata: of the call, NULL for kernel users
 *
 * Return: 0; -EOPNOTSUPP for types that are not known here; -EINVAL for sizes
 * over the device's; -ENOMEM; -EFAULT
 */
int pane_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata)
{
	struct pane_dev *dev = to_pane_dev(ibsrq->device);
	struct pane_srq *srq;
	int err;

	err = srq_check_init(init);
	if (!err)
		err = ib_is_udata_in_empty(udata);
	if (err)
		return err;
	if (!pane_quota_take(&dev->num_srq, PANE_MAX_SRQ))
		return -ENOMEM;

	srq = kzalloc(sizeof(*srq), GFP_KERNEL_ACCOUNT);
	if (!srq) {
		err = -ENOMEM;
		goto err_quota;
	}
	srq_init(srq, ibsrq, init);
	err = pane_num_alloc(&srq->num, PANE_NUM_SRQ);
	if (err)
		goto err_free;
	err = srq_init_ring(srq, &init->attr, udata);
	if (err)
		goto err_num;

	container_of(ibsrq, struct pane_ibsrq, ibsrq)->srq = srq;
	if (init->srq_type == IB_SRQT_XRC)
		ibsrq->ext.xrc.srq_num = srq->num.value;
	pane_num_publish(&srq->num);
	return 0;

err_num:
	srq_free_ring(srq);
	pane_num_free(&srq->num);
err_free:
	kfree(srq);
err_quota:
	atomic_dec(&dev->num_srq);
	return err;
}

/**
 * pane_modify_srq - ibv_modify_srq(), ib_modify_srq()
 * @ibsrq: the queue
 * @attr: new values
 * @mask: IB_SRQ_LIMIT; of kernel users IB_SRQ_MAX_WR, too
 * @udata: none
 *
 * Return: 0; -EINVAL for a limit over the size; else that of
 * pane_srq_resize_kernel(); -EOPNOTSUPP for another size of a user's queue,
 * which PANE_METHOD_SRQ_RESIZE gives
 */
int pane_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct pane_srq *srq = to_pane_srq(ibsrq);
	int err = 0;

	if (mask & IB_SRQ_MAX_WR) {
		if (srq->map)
			return -EOPNOTSUPP;
		if ((mask & IB_SRQ_LIMIT) && attr->srq_limit > attr->max_wr)
			return -EINVAL;
		err = pane_srq_resize_kernel(srq, attr->max_wr);
	}
	if (err || !(mask & IB_SRQ_LIMIT))
		return err;

	spin_lock_bh(&srq->lock);
	if (attr->srq_limit <= srq->rq.mask + 1)
		srq->limit = attr->srq_limit;
	else
		err = -EINVAL;
	srq_check_limit(srq);
	spin_unlock_bh(&srq->lock);
	return err;
}

int pane_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct pane_srq *srq = to_pane_srq(ibsrq);

	spin_lock_bh(&srq->lock);
	attr->max_wr = srq->rq.mask + 1;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = srq->limit;
	spin_unlock_bh(&srq->lock);
	return 0;
}

/* The core has seen to it that no QP of this SRQ's own is left */
int pane_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct pane_srq *srq = to_pane_srq(ibsrq);
	struct pane_dev *dev = srq->dev;

	pane_num_unpublish(&srq->num);
	spin_lock_bh(&srq->lock);
	srq->dead = true;
	spin_unlock_bh(&srq->lock);
	cancel_work_sync(&srq->limit_work);
	srq_free_ring(srq);
	kfree_rcu(srq, rcu);
	atomic_dec(&dev->num_srq);
	return 0;
}

/**
 * pane_post_srq_recv - ib_post_srq_recv(); user space has its ring
 * @ibsrq: the queue
 * @wr: list of requests
 * @bad_wr: set to the first one not posted
 *
 * Context: any but hard interrupts; they may be disabled.
 * Return: 0; -EINVAL for too many elements; -ENOMEM when the queue is full
 */
int pane_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr)
{
	struct pane_srq *srq = to_pane_srq(ibsrq);
	unsigned long flags;
	int err = 0;

	*bad_wr = wr;
	if (srq->map)
		return -EINVAL;

	spin_lock_irqsave(&srq->lock, flags);
	for (; wr; wr = wr->next) {
		err = pane_rq_post(&srq->rq, &srq->kprod, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	return err;
}
