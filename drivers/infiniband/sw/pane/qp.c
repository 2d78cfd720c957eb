// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Entering and leaving, and what is due then */
#include <linux/rcupdate.h>

#include "cq.h"
#include "pane.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "tx.h"

/*
 * Turns a QP may have, and times that a list of packets may be sent, before
 * what is left goes to the worker
 */
#define QP_TURNS	8
/* Of a queue; see pane_rexmit_delay() */
#define QP_MAX_REFUSALS	16

/**
 * pane_qp_find - the QP with a number
 * @qpn: any 24-bit number
 *
 * Context: RCU read side, which the QP lives at least as long as.
 * Return: the QP, or NULL
 */
struct pane_qp *pane_qp_find(u32 qpn)
{
	struct pane_num *num = pane_num_find(qpn, PANE_NUM_QP);

	return num ? container_of(num, struct pane_qp, num) : NULL;
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
 * once; they are sent by whoever sends already, in order. @lists of them he
 * sends, so that others who go on adding cannot keep him.
 */
static void qp_send_queue(struct pane_qp *qp, struct pane_txq *txq,
			  unsigned int *lists)
{
	struct sk_buff_head list;
	bool refused;
	u32 psn, sent;

	if (txq->busy)
		return;
	txq->busy = true;
	__skb_queue_head_init(&list);
	while (!skb_queue_empty(&txq->skbs)) {
		if (!*lists) {
			qp->more = true;
			break;
		}
		--*lists;
		if (txq->full) {
			txq->full = false;
			qp->more = true;
		}
		skb_queue_splice_init(&txq->skbs, &list);
		spin_unlock(&qp->lock);
		refused = pane_tx_flush(qp, &list, &psn, &sent);
		spin_lock(&qp->lock);
		if (!refused || sent)
			txq->refusals = 0;
		else if (txq->refusals < QP_MAX_REFUSALS)
			txq->refusals++;
		if (refused && txq == &qp->tx_req)
			pane_rexmit_refused(qp, psn);
		else if (refused)
			pane_resp_read_refused(qp, psn);
	}
	txq->busy = false;
}

static void qp_transmit(struct pane_qp *qp)
{
	unsigned int turns = QP_TURNS, lists = QP_TURNS;

	for (;;) {
		qp_send_queue(qp, &qp->tx_resp, &lists);
		qp_send_queue(qp, &qp->tx_req, &lists);
		if (!qp->more || !turns-- || !lists)
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
	struct pane_cq *notify[PANE_QP_NOTIFY];
	u32 i, num;

	qp_transmit(qp);

	/* pane_cq_post() keeps a queue that is to be notified */
	num = qp->num_notify;
	memcpy(notify, qp->notify, num * sizeof(*notify));
	qp->num_notify = 0;
	if ((qp->more || qp->events) && qp->state != PANE_QPS_DEAD)
		queue_work(pane_wq, &qp->work);
	spin_unlock(&qp->lock);

	for (i = 0; i < num; i++)
		pane_cq_notify(notify[i]);
	rcu_read_unlock();
	local_bh_enable();
}

/*
 * @cq's handler is to be called when we leave. Armed again before that: one
 * call will do for both.
 */
static void qp_notify(struct pane_qp *qp, struct pane_cq *cq)
{
	u32 i;

	for (i = 0; i < qp->num_notify; i++) {
		if (qp->notify[i] == cq) {
			atomic_dec(&cq->notifying);
			return;
		}
	}
	if (qp->num_notify < PANE_QP_NOTIFY)
		qp->notify[qp->num_notify++] = cq;
	else if (!queue_work(pane_wq, &cq->notify_work))
		/* the call that is due already will do for this one, too */
		atomic_dec(&cq->notifying);
}

/**
 * pane_qp_post_wc - add a completion to a queue
 * @qp: the QP, entered
 * @cq: the queue
 * @wc: the completion; what is the same for all of the QP is filled in
 * @solicited: raise an event for who waits for solicited ones only
 *
 * Return: enum pane_cq_result; after PANE_CQ_OVERRUN the QP must go to ERR
 */
enum pane_cq_result pane_qp_post_wc(struct pane_qp *qp, struct pane_cq *cq,
				    struct pane_wc *wc, bool solicited)
{
	enum pane_cq_result result;

	wc->cqe.qp_num = qp->qpn;
	wc->qp = qp->ibqp;
	result = pane_cq_post(cq, wc, solicited);
	if (result == PANE_CQ_NOTIFY)
		qp_notify(qp, cq);
	return result;
}

/* As pane_qp_post_wc(), with all that follows */
void pane_qp_complete(struct pane_qp *qp, struct pane_cq *cq,
		      struct pane_wc *wc, bool solicited)
{
	if (pane_qp_post_wc(qp, cq, wc, solicited) == PANE_CQ_OVERRUN)
		pane_qp_error(qp);
}

/* What was not polled of the QP's completions is gone */
void pane_qp_forget(struct pane_qp *qp)
{
	if (qp->send_cq)
		pane_cq_forget(qp->send_cq, qp->qpn);
	if (qp->recv_cq && qp->recv_cq != qp->send_cq)
		pane_cq_forget(qp->recv_cq, qp->qpn);
}

/**
 * pane_qp_pages_came - go on with what waits for pages
 * @qpn: of the QP, which may be gone
 * @refused: if they cannot be had: the first one, which somebody waited for
 *
 * Context: process.
 */
void pane_qp_pages_came(u32 qpn, const struct pane_odp_page *refused)
{
	struct pane_qp *qp;

	rcu_read_lock();
	qp = pane_qp_find(qpn);
	if (qp) {
		pane_qp_enter(qp);
		qp->refused = refused;
		if (qp->state != PANE_QPS_DEAD)
			pane_rexmit_pages_came(qp);
		qp->refused = NULL;
		pane_qp_leave(qp);
	}
	rcu_read_unlock();
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

/* The worker; destroy cancels this before the core's half goes */
void pane_qp_work(struct work_struct *work)
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
