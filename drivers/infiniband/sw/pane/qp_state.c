// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/jiffies.h>
#include <linux/log2.h>

#include "pane.h"
#include "psn.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "trace.h"
#include "wire.h"
#include "wr.h"

/*
 * No response comes faster than the peer's and our own software allows; less
 * than this is taken for this.
 */
#define QP_MIN_TIMEOUT	max(HZ / 50, 2)

/* ---- changes that come from inside ----------------------------------- */

static void qp_set_state(struct pane_qp *qp, u8 state)
{
	trace_pane_qp_state(qp, qp->state, state);
	/* some look without the lock */
	WRITE_ONCE(qp->state, state);
}

/**
 * pane_qp_error - move a QP to the error state
 * @qp: the QP, entered
 *
 * Everything in its queues is flushed. Windows bound on it stay bound, but
 * nobody can reach them through it.
 */
void pane_qp_error(struct pane_qp *qp)
{
	if (qp->state == IB_QPS_ERR || qp->state == PANE_QPS_DEAD)
		return;
	qp_set_state(qp, IB_QPS_ERR);
	pane_req_flush(qp);
	pane_resp_flush(qp);
	if (qp->srq)
		pane_qp_raise(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/* ---- attributes ------------------------------------------------------ */

static int attr_check_path(const struct pane_dev *dev,
			   const struct ib_qp_attr *a, int mask)
{
	if ((mask & IB_QP_PORT) && a->port_num != PANE_PORT)
		return -EINVAL;
	if ((mask & IB_QP_PKEY_INDEX) && a->pkey_index)
		return -EINVAL;
	if (mask & (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE))
		return -EINVAL;
	if ((mask & IB_QP_PATH_MTU) &&
	    (a->path_mtu < IB_MTU_256 || a->path_mtu > READ_ONCE(dev->mtu)))
		return -EINVAL;
	if ((mask & IB_QP_DEST_QPN) && a->dest_qp_num > PANE_BTH_QPN)
		return -EINVAL;
	return 0;
}

static int attr_check_retries(const struct ib_qp_attr *a, int mask)
{
	if (((mask & IB_QP_TIMEOUT) && a->timeout > 31) ||
	    ((mask & IB_QP_RETRY_CNT) && a->retry_cnt > 7) ||
	    ((mask & IB_QP_RNR_RETRY) && a->rnr_retry > 7) ||
	    ((mask & IB_QP_MIN_RNR_TIMER) && a->min_rnr_timer > 31) ||
	    ((mask & IB_QP_MAX_QP_RD_ATOMIC) &&
	     a->max_rd_atomic > PANE_MAX_RD_ATOMIC) ||
	    ((mask & IB_QP_MAX_DEST_RD_ATOMIC) &&
	     a->max_dest_rd_atomic > PANE_MAX_RD_ATOMIC))
		return -EINVAL;
	return 0;
}

static unsigned long attr_timeout(u8 timeout)
{
	if (!timeout)
		return 0;
	return max_t(unsigned long, nsecs_to_jiffies64(4096ULL << timeout),
		     QP_MIN_TIMEOUT);
}

/* Take over what @mask says; qp->lock */
static void attr_apply(struct pane_qp *qp, const struct ib_qp_attr *a, int mask)
{
	struct ib_qp_attr *q = &qp->attr;

	if (mask & IB_QP_ACCESS_FLAGS)
		q->qp_access_flags = a->qp_access_flags;
	if (mask & IB_QP_QKEY)
		WRITE_ONCE(q->qkey, a->qkey);	/* see rx_qkey_ok() */
	if (mask & IB_QP_PATH_MTU)
		q->path_mtu = a->path_mtu;
	if (mask & IB_QP_DEST_QPN)
		q->dest_qp_num = a->dest_qp_num;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		q->max_rd_atomic = a->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		q->max_dest_rd_atomic = a->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		q->min_rnr_timer = a->min_rnr_timer;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		q->en_sqd_async_notify = a->en_sqd_async_notify;
	if (mask & IB_QP_TIMEOUT) {
		q->timeout = a->timeout;
		qp->ack_timeout = attr_timeout(a->timeout);
	}
	if (mask & IB_QP_RETRY_CNT) {
		q->retry_cnt = a->retry_cnt;
		qp->sq.retries = a->retry_cnt;
	}
	if (mask & IB_QP_RNR_RETRY) {
		q->rnr_retry = a->rnr_retry;
		qp->sq.rnr_retries = a->rnr_retry;
	}
	if (mask & IB_QP_SQ_PSN) {
		q->sq_psn = a->sq_psn & PANE_PSN_MASK;
		qp->sq.psn = q->sq_psn;
		qp->sq.una = q->sq_psn;
		qp->sq.sent = q->sq_psn;
	}
	if (mask & IB_QP_RQ_PSN) {
		q->rq_psn = a->rq_psn & PANE_PSN_MASK;
		qp->resp.epsn = q->rq_psn;
	}
}

/* Datagrams have no path MTU of their own */
static void attr_apply_mtu(struct pane_qp *qp)
{
	enum ib_mtu mtu = pane_qp_is_datagram(qp) ? READ_ONCE(qp->dev->mtu) :
						    qp->attr.path_mtu;

	if (mtu)
		qp->mtu_shift = ilog2(ib_mtu_enum_to_int(mtu));
}

/* @av is ours then; who is sending goes on with the old one */
static void attr_apply_av(struct pane_qp *qp, struct pane_av *av,
			  const struct rdma_ah_attr *ah_attr)
{
	pane_av_free(rcu_replace_pointer(qp->av, av,
					 lockdep_is_held(&qp->lock)));
	qp->attr.ah_attr = *ah_attr;
	/* the core holds what this points to on its own account */
	qp->attr.ah_attr.grh.sgid_attr = NULL;
}

/* ---- transitions ----------------------------------------------------- */

static void qp_enter_reset(struct pane_qp *qp)
{
	struct pane_sq *sq = &qp->sq;

	for (; sq->cons != sq->prod; sq->cons++)
		pane_wr_discard(qp, pane_swqe(sq, sq->cons));
	sq->cur = sq->prod;
	sq->cur_pkt = 0;
	sq->rd_out = 0;
	sq->owed = 0;
	sq->since_ack = 0;
	sq->wait = PANE_SQ_RUN;
	sq->went_back = false;
	sq->resp_psn = PANE_PSN_NONE;
	pane_resp_reset(qp);
	pane_qp_purge_tx(qp);
	qp->more = false;
	qp->established = false;
	if (qp->ctl) {
		/* what the rings held is forgotten: user space does the same */
		WRITE_ONCE(qp->ctl->sq_cons, sq->cons);
		WRITE_ONCE(qp->ctl->rq_cons, qp->rq.taken);
		WRITE_ONCE(qp->ctl->sq_flags, PANE_NEED_DOORBELL);
		WRITE_ONCE(qp->ctl->rq_flags, 0);
	} else {
		qp->krq_prod = qp->rq.taken;
	}
}

static void qp_enter_rts(struct pane_qp *qp)
{
	pane_req_kick(qp);
}

static void qp_enter_sqd(struct pane_qp *qp)
{
	qp->attr.sq_draining = 1;
	pane_req_kick(qp);
}

/* What is done on arriving in a state; qp->lock. ERR is pane_qp_error()'s. */
static void (*const qp_on_entry[])(struct pane_qp *qp) = {
	[IB_QPS_RESET]	= qp_enter_reset,
	[IB_QPS_INIT]	= NULL,
	[IB_QPS_RTR]	= NULL,
	[IB_QPS_RTS]	= qp_enter_rts,
	[IB_QPS_SQD]	= qp_enter_sqd,
};

static void qp_go_to(struct pane_qp *qp, enum ib_qp_state next)
{
	if (next == IB_QPS_ERR) {
		pane_qp_error(qp);
		return;
	}
	if (qp->state != next)
		qp_set_state(qp, next);
	if (qp_on_entry[next])
		qp_on_entry[next](qp);
}

/* Nothing may be going on any more when a QP in RESET is used again */
static void qp_quiesce(struct pane_qp *qp)
{
	timer_delete_sync(&qp->rexmit_timer);
	timer_delete_sync(&qp->wait_timer);
	pane_mw_unbind_qp(qp);
	pane_qp_forget(qp);
}

/* Everything that can fail; qp->mutex */
static int qp_prepare(struct pane_qp *qp, struct ib_qp_attr *attr, int mask,
		      struct pane_av **av)
{
	u32 dqpn = mask & IB_QP_DEST_QPN ? attr->dest_qp_num :
					   qp->attr.dest_qp_num;
	int err;

	err = attr_check_path(qp->dev, attr, mask);
	if (!err)
		err = attr_check_retries(attr, mask);
	if (err)
		return err;
	if (mask & IB_QP_AV) {
		*av = pane_av_create(&attr->ah_attr, rdma_get_udp_sport(
			rdma_ah_read_grh(&attr->ah_attr)->flow_label,
			qp->qpn, dqpn));
		if (IS_ERR(*av))
			return PTR_ERR(*av);
	}
	/* the last, for it takes effect at once */
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		err = pane_resp_set_depth(qp, attr->max_dest_rd_atomic);
	if (err)
		pane_av_free(*av);
	return err;
}

static bool qp_transition_ok(struct pane_qp *qp, const struct ib_qp_attr *attr,
			     int mask)
{
	enum ib_qp_state cur = READ_ONCE(qp->state);
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : cur;

	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != cur)
		return false;
	return ib_modify_qp_is_ok(cur, next, qp->type, mask);
}

/**
 * pane_modify_qp - ibv_modify_qp(), ib_modify_qp()
 * @ibqp: the QP
 * @attr: new values
 * @mask: which of them
 * @udata: none
 *
 * Return: 0; -EINVAL for a transition or a value that is not legal;
 * -EOPNOTSUPP for attributes beyond the standard ones; -ENOMEM
 */
int pane_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct pane_qp *qp = to_pane_qp(ibqp);
	struct pane_av *av = NULL;
	int err;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;

	mutex_lock(&qp->mutex);
	if (!qp_transition_ok(qp, attr, mask)) {
		err = -EINVAL;
		goto out;
	}
	err = qp_prepare(qp, attr, mask, &av);
	if (err)
		goto out;

	pane_qp_enter(qp);
	/* it may have gone to ERR by itself meanwhile */
	if (!qp_transition_ok(qp, attr, mask)) {
		err = -EINVAL;
		pane_av_free(av);
	} else {
		if (mask & IB_QP_AV)
			attr_apply_av(qp, av, &attr->ah_attr);
		attr_apply(qp, attr, mask);
		attr_apply_mtu(qp);
		if (mask & IB_QP_STATE)
			qp_go_to(qp, attr->qp_state);
	}
	pane_qp_leave(qp);
	if (!err && (mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RESET)
		qp_quiesce(qp);
out:
	mutex_unlock(&qp->mutex);
	return err;
}

/* ibv_query_qp(), ib_query_qp() */
int pane_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct pane_qp *qp = to_pane_qp(ibqp);

	mutex_lock(&qp->mutex);
	pane_qp_enter(qp);
	*attr = qp->attr;
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	attr->sq_psn = qp->sq.psn;
	attr->rq_psn = qp->resp.epsn;
	pane_qp_leave(qp);
	mutex_unlock(&qp->mutex);

	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = attr->cap;
	init->sq_sig_type = qp->sq_sig_all ? IB_SIGNAL_ALL_WR :
					     IB_SIGNAL_REQ_WR;
	init->qp_type = ibqp->qp_type;
	return 0;
}
