// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* How queue pairs come and go; what they do meanwhile is in qp.c */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "cq.h"
#include "opcode.h"
#include "pane.h"
#include "psn.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "ring.h"
#include "srq.h"
#include "umap.h"
#include "wire.h"
#include "wr.h"

/* Sizes that follow from what was asked for; the answer is in @cap */
struct qp_sizes {
	u32 sq_count;
	u32 sq_data;		/* bytes for elements or inline data */
	u32 sq_ring_stride;
	u32 rq_count;
	u32 rq_stride;
};

static bool qp_wants_recv_cq(const struct ib_qp_init_attr *init)
{
	return init->qp_type != IB_QPT_XRC_INI &&
	       init->qp_type != IB_QPT_XRC_TGT;
}

static int qp_check_type(const struct ib_qp_init_attr *init, bool user)
{
	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		return 0;
	case IB_QPT_XRC_INI:
		return init->srq ? -EINVAL : 0;
	case IB_QPT_XRC_TGT:
		return init->srq || !init->xrcd ? -EINVAL : 0;
	case IB_QPT_GSI:
		return user || init->port_num != PANE_PORT ? -EINVAL : 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int qp_check_init(const struct ib_qp_init_attr *init, bool user)
{
	const struct ib_qp_cap *cap = &init->cap;
	int err = qp_check_type(init, user);

	if (err)
		return err;
	if (init->create_flags)
		return -EOPNOTSUPP;
	if (init->srq && init->srq->srq_type != IB_SRQT_BASIC)
		return -EINVAL;
	if (init->qp_type != IB_QPT_XRC_TGT && !init->send_cq)
		return -EINVAL;
	if (qp_wants_recv_cq(init) && !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > PANE_MAX_QP_WR ||
	    cap->max_recv_wr > PANE_MAX_QP_WR ||
	    cap->max_send_sge > PANE_MAX_SGE ||
	    cap->max_recv_sge > PANE_MAX_SGE ||
	    cap->max_inline_data > PANE_MAX_INLINE)
		return -EINVAL;
	return 0;
}

static void qp_size_sq(struct ib_qp_cap *cap, struct qp_sizes *s)
{
	u32 sge = max(cap->max_send_sge, 1U);
	u32 bytes = max_t(u32, sge * sizeof(struct pane_sge),
			  cap->max_inline_data);

	s->sq_count = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	s->sq_ring_stride = ALIGN(sizeof(struct pane_sq_wqe) + bytes, 64);
	s->sq_data = s->sq_ring_stride - sizeof(struct pane_sq_wqe);
	cap->max_send_wr = s->sq_count;
	cap->max_send_sge = sge;
	cap->max_inline_data = min_t(u32, s->sq_data, PANE_MAX_INLINE);
}

static void qp_size_rq(struct ib_qp_cap *cap, struct qp_sizes *s)
{
	u32 sge = max(cap->max_recv_sge, 1U);

	s->rq_count = roundup_pow_of_two(max(cap->max_recv_wr, 1U));
	s->rq_stride = sizeof(struct pane_rq_wqe) +
		       sge * sizeof(struct pane_sge);
	cap->max_recv_wr = s->rq_count;
	cap->max_recv_sge = sge;
}

/* Queues that the QP does not have are empty */
static void qp_size(const struct pane_qp *qp, struct ib_qp_cap *cap,
		    struct qp_sizes *s)
{
	memset(s, 0, sizeof(*s));
	if (pane_qp_has_sq(qp)) {
		qp_size_sq(cap, s);
	} else {
		cap->max_send_wr = 0;
		cap->max_send_sge = 0;
		cap->max_inline_data = 0;
	}
	if (qp->recv_cq && !qp->srq) {
		qp_size_rq(cap, s);
	} else {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
	}
}

static int qp_init_sq(struct pane_qp *qp, const struct ib_qp_cap *cap,
		      const struct qp_sizes *s)
{
	struct pane_sq *sq = &qp->sq;

	if (!s->sq_count)
		return 0;
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
	if (!s->rq_count)
		return 0;
	qp->kring = kvcalloc(s->rq_count, s->rq_stride, GFP_KERNEL);
	if (!qp->kring)
		return -ENOMEM;
	qp->rq.ring = qp->kring;
	qp->rq.prod = &qp->krq_prod;
	qp->rq.cons = &qp->krq_cons;
	return 0;
}

static void qp_map_rings(struct pane_qp *qp,
			 const struct pane_create_qp_resp *resp)
{
	void *mem = qp->map->mem;

	qp->ctl = mem;
	qp->ctl->sq_flags = PANE_NEED_DOORBELL;
	if (resp->sq_count) {
		qp->sq.ring = mem + resp->sq_offset;
		qp->sq.ring_stride = resp->sq_stride;
	}
	if (resp->rq_count) {
		qp->rq.ring = mem + resp->rq_offset;
		qp->rq.prod = &qp->ctl->rq_prod;
		qp->rq.cons = &qp->ctl->rq_cons;
	}
}

static int qp_init_user_rings(struct pane_qp *qp, const struct ib_qp_cap *cap,
			      const struct qp_sizes *s, struct ib_udata *udata)
{
	struct pane_create_qp_resp resp = {};

	/* an XRC QP that receives has nothing to map */
	if (!s->sq_count && !s->rq_count)
		return ib_respond_udata(udata, resp);

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
	qp_map_rings(qp, &resp);
	resp.ring_offset = pane_umap_offset(qp->map);
	resp.ring_size = qp->map->size;
	return ib_respond_udata(udata, resp);
}

static void qp_init_rq(struct pane_qp *qp, const struct ib_qp_cap *cap,
		       const struct qp_sizes *s)
{
	qp->rq.stride = s->rq_stride;
	qp->rq.mask = s->rq_count ? s->rq_count - 1 : 0;
	qp->rq.max_sge = cap->max_recv_sge;
}

static u8 qp_transport(const struct pane_qp *qp)
{
	switch (qp->type) {
	case IB_QPT_RC:
		return PANE_TR_RC;
	case IB_QPT_UC:
		return PANE_TR_UC;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return PANE_TR_XRC;
	default:
		return PANE_TR_UD;
	}
}

static void qp_init(struct pane_qp *qp, struct ib_qp *ibqp,
		    const struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct pane_ucontext *uc = rdma_udata_to_drv_context(
		udata, struct pane_ucontext, ibuc);

	qp->dev = to_pane_dev(ibqp->device);
	qp->stats = qp->dev->stats;
	qp->ibqp = ibqp;
	qp->pd = ibqp->pd;
	qp->resp.pd = ibqp->pd;
	qp->type = init->qp_type;
	qp->transport = qp_transport(qp);
	if (pane_qp_has_sq(qp))
		qp->send_cq = to_pane_cq(init->send_cq);
	if (qp_wants_recv_cq(init))
		qp->recv_cq = to_pane_cq(init->recv_cq);
	if (init->srq)
		qp->srq = to_pane_srq(init->srq);
	qp->xrcd = init->xrcd;
	qp->user = udata;
	qp->ibuc = uc ? &uc->ibuc : NULL;
	qp->sq_sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->state = IB_QPS_RESET;
	qp->attr.port_num = PANE_PORT;
	/* until somebody sets it; and nobody shall know it before */
	qp->sq.psn = get_random_u32() & PANE_PSN_MASK;
	qp->resp.epsn = get_random_u32() & PANE_PSN_MASK;
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->lock);
	spin_lock_init(&qp->mw_lock);
	INIT_LIST_HEAD(&qp->mws);
	INIT_LIST_HEAD(&qp->ud_node);
	INIT_WORK(&qp->work, pane_qp_work);
	pane_ring_create(qp);
	timer_setup(&qp->rexmit_timer, pane_rexmit_timeout, 0);
	timer_setup(&qp->wait_timer, pane_rexmit_wait_over, 0);
	__skb_queue_head_init(&qp->tx_req.skbs);
	__skb_queue_head_init(&qp->tx_resp.skbs);
	/* apart, so that GRO does not take the two for one sequence */
	qp->tx_req.ip_id = get_random_u32();
	qp->tx_resp.ip_id = get_random_u32();
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

	qp_size(qp, cap, &s);
	qp->attr.cap = *cap;
	err = pane_resp_init(qp);
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
	err = pane_num_alloc(&qp->num, PANE_NUM_QP);
	if (err)
		return err;
	qp->qpn = qp->num.value;
	pane_num_publish(&qp->num);
	return 0;
}

static void qp_unpublish(struct pane_qp *qp)
{
	if (qp->type == IB_QPT_GSI)
		RCU_INIT_POINTER(qp->dev->gsi, NULL);
	else
		pane_num_unpublish(&qp->num);
}

/* Datagram QPs of users are in the list of their domain; see ah.c */
static void qp_list(struct pane_qp *qp)
{
	struct pane_pd *pd;

	if (!qp->user || !pane_qp_is_datagram(qp))
		return;
	pd = to_pane_pd(qp->pd);
	mutex_lock(&pd->ud_lock);
	list_add_tail(&qp->ud_node, &pd->ud_qps);
	mutex_unlock(&pd->ud_lock);
}

static void qp_unlist(struct pane_qp *qp)
{
	struct pane_pd *pd;

	if (list_empty(&qp->ud_node))
		return;
	pd = to_pane_pd(qp->pd);
	mutex_lock(&pd->ud_lock);
	list_del_init(&qp->ud_node);
	mutex_unlock(&pd->ud_lock);
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
	struct pane_av *av;
	struct pane_qp *qp;
	int err;

	err = qp_check_init(init, udata);
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
	av = pane_av_create(NULL, 0);
	if (IS_ERR(av)) {
		err = PTR_ERR(av);
		goto err_qp;
	}
	rcu_assign_pointer(qp->av, av);
	err = qp_build(qp, &init->cap, udata);
	if (err)
		goto err_free;
	err = qp_publish(qp);
	if (err)
		goto err_free;

	container_of(ibqp, struct pane_ibqp, ibqp)->qp = qp;
	ibqp->qp_num = qp->qpn;
	qp_list(qp);
	return 0;

err_free:
	qp_free_queues(qp);
	kfree(av);
err_qp:
	kfree(qp);
err_quota:
	atomic_dec(&dev->num_qp);
	return err;
}

/* ---- destruction ----------------------------------------------------- */

static void qp_free_rcu(struct rcu_head *rcu)
{
	struct pane_qp *qp = container_of(rcu, struct pane_qp, rcu);

	pane_av_release(rcu_dereference_protected(qp->av, true));
	kfree(rcu_access_pointer(qp->av));
	kfree(qp);
}

/* Requests that were never executed give back what they reserved */
static void qp_discard_sends(struct pane_qp *qp)
{
	struct pane_sq *sq = &qp->sq;

	for (; sq->cons != sq->prod; sq->cons++)
		pane_wr_discard(qp, pane_swqe(sq, sq->cons));
}

/*
 * Is it the device that goes, and the QP with it? A program that polls learns
 * that from its completions: all that it waits for is flushed.
 */
static bool qp_is_taken_away(const struct pane_qp *qp)
{
	return qp->user && READ_ONCE(qp->dev->leaving);
}

/*
 * What was posted is sent, where no answer would tell the user that it was. Who
 * works on another processor is waited for: nothing is to overtake what he sends.
 */
static void qp_send_last(struct pane_qp *qp)
{
	if (!qp->user || pane_qp_is_reliable(qp) || qp_is_taken_away(qp))
		return;
	pane_ring_stop(qp);
	cancel_work_sync(&qp->work);
	pane_ring_finish(qp);
}

/* From here on nobody works on the QP; false if that may not be */
static bool qp_kill(struct pane_qp *qp)
{
	bool busy;

	pane_qp_enter(qp);
	spin_lock(&qp->mw_lock);
	busy = READ_ONCE(qp->dev->mw2) == 'A' && !list_empty(&qp->mws);
	spin_unlock(&qp->mw_lock);
	if (!busy) {
		if (qp_is_taken_away(qp) && qp->state != IB_QPS_RESET)
			pane_qp_error(qp);
		WRITE_ONCE(qp->state, PANE_QPS_DEAD);
		qp->more = false;
		qp->resp.reading.active = false;
		pane_qp_purge_tx(qp);
	}
	pane_qp_leave(qp);
	return !busy;
}

/**
 * pane_destroy_qp - ibv_destroy_qp()
 * @ibqp: the core's half
 * @udata: none
 *
 * Datagrams, and what goes through UC, were sent if they were posted. On return
 * nothing touches the core's half or the queues, and the windows bound here are
 * free.
 *
 * Return: 0, at once, whatever is going on; -EBUSY while type 2A windows are
 * bound here
 */
int pane_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct pane_qp *qp = to_pane_qp(ibqp);
	struct pane_dev *dev = qp->dev;

	qp_send_last(qp);
	if (!qp_kill(qp))
		return -EBUSY;
	qp_unpublish(qp);
	qp_unlist(qp);
	timer_shutdown_sync(&qp->rexmit_timer);
	timer_shutdown_sync(&qp->wait_timer);
	pane_ring_stop(qp);
	cancel_work_sync(&qp->work);
	pane_mw_unbind_qp(qp);
	if (!qp_is_taken_away(qp))
		pane_qp_forget(qp);
	qp_discard_sends(qp);
	qp_free_queues(qp);
	mutex_destroy(&qp->mutex);
	call_rcu(&qp->rcu, qp_free_rcu);
	atomic_dec(&dev->num_qp);
	return 0;
}
