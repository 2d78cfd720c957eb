// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "cq.h"
#include "pane.h"
#include "psn.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "tx.h"
#include "umap.h"
#include "wr.h"

/* Turns a QP may have before what is left goes to the worker */
#define QP_TURNS	8

/* All QPs of all devices, so that a packet finds its QP without its device */
static struct pane_keytab pane_qps;

int pane_qp_table_init(void)
{
	return pane_keytab_init(&pane_qps, PANE_QPN_GSI + 1,
				PANE_QPN_MULTICAST - 1, PANE_PERM_SIZE / 8);
}

void pane_qp_table_exit(void)
{
	pane_keytab_destroy(&pane_qps);
}

/**
 * pane_qp_find - the QP with a number
 * @qpn: any 24-bit number
 *
 * Context: RCU read side, which the QP lives at least as long as.
 */
struct pane_qp *pane_qp_find(u32 qpn)
{
	struct pane_slot *slot;
	struct pane_qp *qp;
	u32 slotno;

	slot = pane_keytab_find(&pane_qps, qpn, &slotno);
	/* pairs with pane_slot_set() */
	qp = slot ? smp_load_acquire(&slot->owner) : NULL;
	return qp && qp->qpn == qpn ? qp : NULL;
}

/* ---- entering and leaving -------------------------------------------- */

void pane_qp_enter(struct pane_qp *qp)
{
	local_bh_disable();
	rcu_read_lock();
	spin_lock(&qp->lock);
}

/* One turn for what stopped only to give others one */
static void qp_go_on(struct pane_qp *qp)
{
	qp->more = false;
	pane_req_kick(qp);
	pane_resp_continue(qp);
}

/*
 * Send what is in one queue. The lock is not held over that, so packets may be
 * added meanwhile, by this CPU too if the stack loops a packet back to us at
 * once; they are sent by whoever sends already, in order.
 */
static void qp_send_queue(struct pane_qp *qp, struct pane_txq *txq)
{
	struct sk_buff_head list;
	bool refused;
	u32 psn;

	if (txq->busy)
		return;
	txq->busy = true;
	__skb_queue_head_init(&list);
	while (!skb_queue_empty(&txq->skbs)) {
		skb_queue_splice_init(&txq->skbs, &list);
		spin_unlock(&qp->lock);
		refused = pane_tx_flush(qp, &list, &psn);
		spin_lock(&qp->lock);
		/* of a response that is lost the peer will ask again */
		if (refused && txq == &qp->tx_req)
			pane_req_refused(qp, psn);
	}
	txq->busy = false;
}

static void qp_transmit(struct pane_qp *qp)
{
	unsigned int turns = QP_TURNS;

	for (;;) {
		qp_send_queue(qp, &qp->tx_resp);
		qp_send_queue(qp, &qp->tx_req);
		if (!qp->more || !turns--)
			break;
		qp_go_on(qp);
	}
}

/* Nothing of what waits is sent any more; qp->lock */
void pane_qp_purge_tx(struct pane_qp *qp)
{
	__skb_queue_purge(&qp->tx_req.skbs);
	__skb_queue_purge(&qp->tx_resp.skbs);
}

/**
 * pane_qp_leave - the opposite of pane_qp_enter()
 * @qp: the QP
 *
 * Sends packets and calls completion handlers.
 */
void pane_qp_leave(struct pane_qp *qp)
{
	struct pane_cq *send_cq = NULL, *recv_cq = NULL;

	qp_transmit(qp);

	/* pane_cq_post() keeps a queue that is to be notified */
	if (qp->notify_send)
		send_cq = qp->send_cq;
	if (qp->notify_recv)
		recv_cq = qp->recv_cq;
	qp->notify_send = false;
	qp->notify_recv = false;
	if ((qp->more || qp->events) && qp->state != PANE_QPS_DEAD)
		queue_work(pane_wq, &qp->work);
	spin_unlock(&qp->lock);

	if (send_cq)
		pane_cq_notify(send_cq);
	if (recv_cq)
		pane_cq_notify(recv_cq);
	rcu_read_unlock();
	local_bh_enable();
}

/**
 * pane_qp_complete - add a completion to one of a QP's queues
 * @qp: the QP, entered
 * @cq: its send_cq or recv_cq
 * @wc: the completion; what is the same for all of the QP is filled in
 * @solicited: raise an event for who waits for solicited ones only
 */
void pane_qp_complete(struct pane_qp *qp, struct pane_cq *cq,
		      struct pane_wc *wc, bool solicited)
{
	bool *notify = cq == qp->send_cq ? &qp->notify_send : &qp->notify_recv;

	wc->cqe.qp_num = qp->qpn;
	wc->qp = qp->ibqp;
	switch (pane_cq_post(cq, wc, solicited)) {
	case PANE_CQ_NOTIFY:
		/* armed again before we left: one call will do for both */
		if (*notify)
			atomic_dec(&cq->notifying);
		*notify = true;
		break;
	case PANE_CQ_OVERRUN:
		pane_qp_error(qp);
		break;
	case PANE_CQ_POSTED:
		break;
	}
}

/* What was not polled of the QP's completions is gone */
void pane_qp_forget(struct pane_qp *qp)
{
	pane_cq_forget(qp->send_cq, qp->qpn);
	if (qp->recv_cq != qp->send_cq)
		pane_cq_forget(qp->recv_cq, qp->qpn);
}

/* An asynchronous event; handlers are called by the worker */
void pane_qp_raise(struct pane_qp *qp, enum ib_event_type event)
{
	__set_bit(event, &qp->events);
}

static void qp_dispatch(struct pane_qp *qp, unsigned long events)
{
	struct ib_event ev = {
		.device = &qp->dev->ibdev,
		.element.qp = qp->ibqp,
	};
	unsigned int bit;

	if (!qp->ibqp->event_handler)
		return;
	for_each_set_bit(bit, &events, BITS_PER_LONG) {
		ev.event = bit;
		qp->ibqp->event_handler(&ev, qp->ibqp->qp_context);
	}
}

/* destroy cancels this before the core's half goes */
static void qp_work(struct work_struct *work)
{
	struct pane_qp *qp = container_of(work, struct pane_qp, work);
	unsigned long events;

	pane_qp_enter(qp);
	events = qp->events;
	qp->events = 0;
	if (qp->more)
		qp_go_on(qp);
	pane_qp_leave(qp);

	if (events)
		qp_dispatch(qp, events);
}

/* ---- creation -------------------------------------------------------- */

/* Sizes that follow from what was asked for; the answer is in @cap */
struct qp_sizes {
	u32 sq_count;
	u32 sq_data;		/* bytes for elements or inline data */
	u32 sq_ring_stride;
	u32 rq_count;
	u32 rq_stride;
};

static int qp_check_init(const struct pane_dev *dev,
			 const struct ib_qp_init_attr *init, bool user)
{
	const struct ib_qp_cap *cap = &init->cap;

	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UD:
		break;
	case IB_QPT_GSI:
		if (user || init->port_num != PANE_PORT)
			return -EINVAL;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags)
		return -EOPNOTSUPP;
	if (init->srq || !init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > PANE_MAX_QP_WR ||
	    cap->max_recv_wr > PANE_MAX_QP_WR ||
	    cap->max_send_sge > PANE_MAX_SGE ||
	    cap->max_recv_sge > PANE_MAX_SGE ||
	    cap->max_inline_data > PANE_MAX_INLINE)
		return -EINVAL;
	return 0;
}

static void qp_size(struct ib_qp_cap *cap, struct qp_sizes *s)
{
	u32 send_sge = max(cap->max_send_sge, 1U);
	u32 recv_sge = max(cap->max_recv_sge, 1U);
	u32 sge_bytes = send_sge * sizeof(struct pane_sge);

	s->sq_count = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	s->rq_count = roundup_pow_of_two(max(cap->max_recv_wr, 1U));
	s->sq_data = ALIGN(max(sge_bytes, cap->max_inline_data),
			   sizeof(struct pane_sge));
	s->sq_ring_stride = ALIGN(sizeof(struct pane_sq_wqe) + s->sq_data, 64);
	s->sq_data = s->sq_ring_stride - sizeof(struct pane_sq_wqe);
	s->rq_stride = sizeof(struct pane_rq_wqe) +
		       recv_sge * sizeof(struct pane_sge);

	cap->max_send_wr = s->sq_count;
	cap->max_recv_wr = s->rq_count;
	cap->max_send_sge = send_sge;
	cap->max_recv_sge = recv_sge;
	cap->max_inline_data = min_t(u32, s->sq_data, PANE_MAX_INLINE);
}

static int qp_init_sq(struct pane_qp *qp, const struct ib_qp_cap *cap,
		      const struct qp_sizes *s)
{
	struct pane_sq *sq = &qp->sq;

	sq->stride = ALIGN(sizeof(struct pane_swqe) + s->sq_data, 8);
	sq->mask = s->sq_count - 1;
	sq->max_sge = cap->max_send_sge;
	sq->max_inline = cap->max_inline_data;
	sq->resp_psn = PANE_PSN_NONE;
	sq->wqes = kvcalloc(s->sq_count, sq->stride, GFP_KERNEL_ACCOUNT);
	return sq->wqes ? 0 : -ENOMEM;
}

static int qp_init_kernel_rings(struct pane_qp *qp, const struct qp_sizes *s)
{
	qp->kring = kvcalloc(s->rq_count, s->rq_stride, GFP_KERNEL);
	if (!qp->kring)
		return -ENOMEM;
	qp->rq.ring = qp->kring;
	qp->rq.prod = &qp->krq_prod;
	qp->rq.cons = &qp->krq_cons;
	return 0;
}

static int qp_init_user_rings(struct pane_qp *qp, const struct ib_qp_cap *cap,
			      const struct qp_sizes *s, struct ib_udata *udata)
{
	struct pane_create_qp_resp resp = {};

	resp.sq_offset = sizeof(struct pane_qp_ctl);
	resp.sq_stride = s->sq_ring_stride;
	resp.sq_count = s->sq_count;
	resp.rq_offset = resp.sq_offset + s->sq_count * s->sq_ring_stride;
	resp.rq_stride = s->rq_stride;
	resp.rq_count = s->rq_count;
	resp.max_inline = cap->max_inline_data;

	qp->map = pane_umap_create(qp->ibuc, resp.rq_offset +
				   (size_t)s->rq_count * s->rq_stride, false);
	if (IS_ERR(qp->map))
		return PTR_ERR(qp->map);
	qp->ctl = qp->map->mem;
	qp->ctl->sq_flags = PANE_NEED_DOORBELL;
	qp->sq.ring = qp->map->mem + resp.sq_offset;
	qp->sq.ring_stride = s->sq_ring_stride;
	qp->rq.ring = qp->map->mem + resp.rq_offset;
	qp->rq.prod = &qp->ctl->rq_prod;
	qp->rq.cons = &qp->ctl->rq_cons;

	resp.ring_offset = pane_umap_offset(qp->map);
	resp.ring_size = qp->map->size;
	return ib_respond_udata(udata, resp);
}

static void qp_init_rq(struct pane_qp *qp, const struct ib_qp_cap *cap,
		       const struct qp_sizes *s)
{
	qp->rq.stride = s->rq_stride;
	qp->rq.mask = s->rq_count - 1;
	qp->rq.max_sge = cap->max_recv_sge;
}

static void qp_init(struct pane_qp *qp, struct ib_qp *ibqp,
		    const struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct pane_ucontext *uc = rdma_udata_to_drv_context(
		udata, struct pane_ucontext, ibuc);

	qp->dev = to_pane_dev(ibqp->device);
	qp->ibqp = ibqp;
	qp->pd = ibqp->pd;
	qp->send_cq = to_pane_cq(init->send_cq);
	qp->recv_cq = to_pane_cq(init->recv_cq);
	qp->type = init->qp_type;
	qp->transport = pane_qp_is_datagram(qp) ? PANE_TR_UD : PANE_TR_RC;
	qp->user = udata;
	qp->ibuc = uc ? &uc->ibuc : NULL;
	qp->sq_sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->state = IB_QPS_RESET;
	qp->attr.port_num = PANE_PORT;
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->lock);
	spin_lock_init(&qp->mw_lock);
	INIT_LIST_HEAD(&qp->mws);
	INIT_WORK(&qp->work, qp_work);
	timer_setup(&qp->rexmit_timer, pane_rexmit_timeout, 0);
	timer_setup(&qp->wait_timer, pane_rexmit_wait_over, 0);
	__skb_queue_head_init(&qp->tx_req.skbs);
	__skb_queue_head_init(&qp->tx_resp.skbs);
}

static void pane_txq_free(struct pane_txq *txq)
{
	__skb_queue_purge(&txq->skbs);
	if (txq->frag.page)
		put_page(txq->frag.page);
}

/* Frees what qp_build() made, as far as it came */
static void qp_free_queues(struct pane_qp *qp)
{
	pane_resp_free(qp);
	if (!IS_ERR_OR_NULL(qp->map))
		pane_umap_destroy(qp->map);
	pane_txq_free(&qp->tx_req);
	pane_txq_free(&qp->tx_resp);
	kvfree(qp->kring);
	kvfree(qp->sq.wqes);
}

static int qp_build(struct pane_qp *qp, struct ib_qp_cap *cap,
		    struct ib_udata *udata)
{
	struct qp_sizes s;
	int err;

	qp_size(cap, &s);
	qp->attr.cap = *cap;
	err = pane_resp_init(qp, cap->max_recv_sge);
	if (!err)
		err = qp_init_sq(qp, cap, &s);
	if (err)
		return err;
	qp_init_rq(qp, cap, &s);
	return udata ? qp_init_user_rings(qp, cap, &s, udata) :
		       qp_init_kernel_rings(qp, &s);
}

/* Give the QP its number; from then on packets find it */
static int qp_publish(struct pane_qp *qp)
{
	int err;

	if (qp->type == IB_QPT_GSI) {
		qp->qpn = PANE_QPN_GSI;
		if (rcu_access_pointer(qp->dev->gsi))
			return -EBUSY;
		rcu_assign_pointer(qp->dev->gsi, qp);
		return 0;
	}
	err = pane_keytab_alloc(&pane_qps, &qp->slotno);
	if (err)
		return err;
	qp->qpn = pane_keytab_index(&pane_qps, qp->slotno);
	pane_slot_set(&pane_qps, qp->slotno, PANE_SLOT_QP, qp);
	return 0;
}

static void qp_unpublish(struct pane_qp *qp)
{
	struct pane_slot *slot;

	if (qp->type == IB_QPT_GSI) {
		RCU_INIT_POINTER(qp->dev->gsi, NULL);
		return;
	}
	slot = pane_keytab_at(&pane_qps, qp->slotno);
	spin_lock_bh(pane_slot_lock(&pane_qps, qp->slotno));
	pane_slot_clear(slot);
	spin_unlock_bh(pane_slot_lock(&pane_qps, qp->slotno));
	pane_keytab_free(&pane_qps, qp->slotno);
}

static int qp_check_udata(struct ib_udata *udata)
{
	struct pane_create_qp_req req;
	int err;

	if (!udata)
		return 0;
	err = ib_copy_validate_udata_in_cm(udata, req, reserved, 0);
	if (err)
		return err;
	return req.reserved ? -EINVAL : 0;
}

/**
 * pane_create_qp - ibv_create_qp(), ib_create_qp()
 * @ibqp: the core's half
 * @init: what is asked for; the sizes are raised to what it became
 * @udata: of the call, NULL for kernel users
 *
 * Return: 0; -EOPNOTSUPP for types and flags that are not known here; -EINVAL
 * for sizes over the device's; -ENOMEM; -EFAULT
 */
int pane_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		   struct ib_udata *udata)
{
	struct pane_dev *dev = to_pane_dev(ibqp->device);
	struct pane_qp *qp;
	int err;

	err = qp_check_init(dev, init, udata);
	if (!err)
		err = qp_check_udata(udata);
	if (err)
		return err;
	if (!pane_quota_take(&dev->num_qp, PANE_MAX_QP))
		return -ENOMEM;

	qp = kzalloc(sizeof(*qp), GFP_KERNEL_ACCOUNT);
	if (!qp) {
		err = -ENOMEM;
		goto err_quota;
	}
	qp_init(qp, ibqp, init, udata);
	err = qp_build(qp, &init->cap, udata);
	if (err)
		goto err_free;
	err = qp_publish(qp);
	if (err)
		goto err_free;

	container_of(ibqp, struct pane_ibqp, ibqp)->qp = qp;
	ibqp->qp_num = qp->qpn;
	return 0;

err_free:
	qp_free_queues(qp);
	kfree(qp);
err_quota:
	atomic_dec(&dev->num_qp);
	return err;
}

/* ---- destruction ----------------------------------------------------- */

static void qp_free_rcu(struct rcu_head *rcu)
{
	struct pane_qp *qp = container_of(rcu, struct pane_qp, rcu);

	/* a packet on its way out may have looked up a route until now */
	pane_av_release(&qp->av);
	kfree(qp);
}

/* Requests that were never executed give back what they reserved */
static void qp_discard_sends(struct pane_qp *qp)
{
	struct pane_sq *sq = &qp->sq;

	for (; sq->cons != sq->prod; sq->cons++)
		pane_wr_discard(qp, pane_swqe(sq, sq->cons));
}

/**
 * pane_destroy_qp - ibv_destroy_qp()
 * @ibqp: the core's half
 * @udata: none
 *
 * At once, whatever is going on. On return nothing touches the core's half or
 * the queues, and the windows bound here are free.
 */
int pane_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct pane_qp *qp = to_pane_qp(ibqp);
	struct pane_dev *dev = qp->dev;

	qp_unpublish(qp);
	pane_qp_enter(qp);
	qp->state = PANE_QPS_DEAD;
	qp->more = false;
	pane_qp_purge_tx(qp);
	pane_qp_leave(qp);

	timer_shutdown_sync(&qp->rexmit_timer);
	timer_shutdown_sync(&qp->wait_timer);
	cancel_work_sync(&qp->work);
	pane_mw_unbind_qp(qp);
	pane_qp_forget(qp);
	qp_discard_sends(qp);
	qp_free_queues(qp);
	mutex_destroy(&qp->mutex);
	call_rcu(&qp->rcu, qp_free_rcu);
	atomic_dec(&dev->num_qp);
	return 0;
}
