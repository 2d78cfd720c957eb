// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/slab.h>

#include "odp.h"
#include "pane.h"
#include "psn.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "rq.h"
#include "rx.h"
#include "srq.h"
#include "tx.h"

/* Packets that may wait behind a READ */
#define RESP_PEND_MAX	256

/* ---- answers --------------------------------------------------------- */

static void resp_fill_aeth(struct pane_aeth *aeth, u8 syndrome, u32 msn)
{
	aeth->smsn = cpu_to_be32((u32)syndrome << PANE_AETH_SYNDROME_SHIFT |
				 (msn & PANE_AETH_MSN));
}

void pane_resp_fill_aeth(const struct pane_qp *qp, void *hdr, u8 syndrome)
{
	resp_fill_aeth(hdr, syndrome, qp->resp.msn);
}

/* @orig is for ATOMIC_ACK */
static void resp_send(struct pane_qp *qp, enum pane_wire_op op, u8 syndrome,
		      u32 psn, u64 orig)
{
	struct pane_bth_fields bth = {
		.dqpn = qp->attr.dest_qp_num,
		.psn = psn,
	};
	struct pane_frame f;

	/* without memory the peer asks again */
	if (!pane_tx_begin(qp, pane_qp_av(qp), qp->transport | op, 0, &bth,
			   &f))
		return;
	pane_resp_fill_aeth(qp, pane_tx_hdr(&f, PANE_HDR_AETH), syndrome);
	if (pane_op_has(f.op, PANE_HDR_ATOMIC_ACK)) {
		struct pane_atomic_ack_eth *eth =
			pane_tx_hdr(&f, PANE_HDR_ATOMIC_ACK);

		eth->orig = cpu_to_be64(orig);
	}
	pane_tx_headers_done(&f);
	pane_tx_end(qp, &f);
}

static void resp_send_aeth(struct pane_qp *qp, u8 syndrome, u32 psn)
{
	resp_send(qp, PANE_OP_ACK, syndrome, psn, 0);
}

/* Send the ACK that was asked for since the last one: it covers all */
void pane_resp_send_due_ack(struct pane_qp *qp)
{
	if (!qp->resp.ack_due)
		return;
	qp->resp.ack_due = false;
	if (!pane_qp_receives(qp))
		return;
	resp_send_aeth(qp, PANE_AETH_ACK_UNLIMITED,
		       pane_psn_add(qp->resp.epsn, -1));
}

/**
 * pane_resp_take_ack - leave the ACK that is due to the caller
 * @qp: the QP, entered
 * @ack: set to what it says
 *
 * Return: true if one is due and may be sent without the QP's lock, when the QP
 * was left: by pane_resp_send_ack()
 */
bool pane_resp_take_ack(struct pane_qp *qp, struct pane_ack *ack)
{
	struct pane_resp *r = &qp->resp;

	/* not before another answer that is to come first */
	if (!r->ack_due || !pane_qp_receives(qp) || r->reading.active ||
	    qp->tx_resp.busy || !skb_queue_empty(&qp->tx_resp.skbs))
		return false;
	r->ack_due = false;
	*ack = (struct pane_ack) {
		.dqpn = qp->attr.dest_qp_num,
		.psn = pane_psn_add(r->epsn, -1),
		.msn = r->msn,
		.ip_id = qp->tx_resp.ip_id++,
	};
	return true;
}

/**
 * pane_resp_send_ack - send an ACK while others have the QP
 * @qp: the QP
 * @ack: what pane_resp_take_ack() said
 *
 * He whom the request was for may be answering it already, on another
 * processor, and does not wait for this. If another answer goes out first, that
 * one has acknowledged what this does, and the peer takes no notice of it.
 *
 * Context: RCU read side; bottom halves disabled. The QP is not entered.
 */
void pane_resp_send_ack(struct pane_qp *qp, const struct pane_ack *ack)
{
	struct pane_bth_fields bth = { .dqpn = ack->dqpn, .psn = ack->psn };
	struct pane_txq txq = { .ip_id = ack->ip_id };
	struct pane_frame f;
	u32 psn, sent;

	__skb_queue_head_init(&txq.skbs);
	if (!pane_tx_begin_in(qp, &txq, pane_qp_av(qp),
			      qp->transport | PANE_OP_ACK, 0, &bth, &f))
		return;
	resp_fill_aeth(pane_tx_hdr(&f, PANE_HDR_AETH), PANE_AETH_ACK_UNLIMITED,
		       ack->msn);
	pane_tx_headers_done(&f);
	pane_tx_end(qp, &f);
	/* when it is refused the peer asks again */
	pane_tx_flush(qp, &txq.skbs, &psn, &sent);
}

/**
 * pane_resp_answer - tell what came of an atomic, ATOMIC WRITE or FLUSH
 * @qp: the QP
 * @res: what was kept of it; duplicates are answered from there, too
 */
void pane_resp_answer(struct pane_qp *qp, const struct pane_res *res)
{
	resp_send(qp, res->kind == PANE_KIND_ATOMIC ? PANE_OP_ATOMIC_ACK :
						      PANE_OP_READ_RESP_ONLY,
		  PANE_AETH_ACK_UNLIMITED, res->first_psn, res->orig);
}

/**
 * pane_resp_refuse - tell that a request is refused
 * @qp: the QP
 * @why: which NAK
 * @psn: of the packet that is refused
 */
void pane_resp_refuse(struct pane_qp *qp, enum pane_resp_result why, u32 psn)
{
	/* ACK what came before, or its requester takes this for its answer */
	pane_resp_send_due_ack(qp);
	switch (why) {
	case PANE_RESP_INV_REQ:
		pane_qp_count(qp, sent_inv_req);
		resp_send_aeth(qp, PANE_NAK_INV_REQ, psn);
		break;
	case PANE_RESP_REM_ACC:
	case PANE_RESP_REM_ACC_TOLD:
		pane_qp_count(qp, sent_rem_access);
		resp_send_aeth(qp, PANE_NAK_REM_ACC, psn);
		break;
	default:
		pane_qp_count(qp, sent_rem_op);
		resp_send_aeth(qp, PANE_NAK_REM_OP, psn);
		break;
	}
}

/* Refuse a request for good; likewise */
void pane_resp_fatal(struct pane_qp *qp, enum pane_resp_result why, u32 psn)
{
	pane_resp_refuse(qp, why, psn);
	if (why == PANE_RESP_INV_REQ)
		pane_qp_raise(qp, IB_EVENT_QP_REQ_ERR);
	else if (why == PANE_RESP_REM_ACC)
		pane_qp_raise(qp, IB_EVENT_QP_ACCESS_ERR);
	pane_qp_error(qp);
}

/* ---- is it the next request? ----------------------------------------- */

/* Something was lost. Said once, until the missing packet comes. */
static void resp_ahead(struct pane_qp *qp)
{
	pane_qp_count(qp, out_of_seq_request);
	if (qp->resp.nak_sent)
		return;
	qp->resp.nak_sent = true;
	qp->resp.ack_due = false;
	pane_qp_count(qp, sent_seq_err);
	resp_send_aeth(qp, PANE_NAK_PSN_SEQ, qp->resp.epsn);
}

/* What was executed before is answered with what came of it then */
static void resp_answer_again(struct pane_qp *qp, const struct pane_pkt *p)
{
	const struct pane_res *res;
	u32 i;

	for (i = 0; i < qp->resp.res_size; i++) {
		res = pane_resp_res(&qp->resp, i);
		if (res->kind != p->op->kind || res->first_psn != p->psn)
			continue;
		pane_resp_answer(qp, res);
		return;
	}
}

/* Executed before: whatever it was, it must not happen again */
static void resp_duplicate(struct pane_qp *qp, const struct pane_pkt *p)
{
	pane_qp_count(qp, duplicate_request);
	switch (p->op->kind) {
	case PANE_KIND_READ:
		pane_resp_read_again(qp, p);
		break;
	case PANE_KIND_ATOMIC:
	case PANE_KIND_ATOMIC_WRITE:
	case PANE_KIND_FLUSH:
		resp_answer_again(qp, p);
		break;
	default:
		/* C9-105: with the newest PSN, whether asked for or not */
		qp->resp.ack_due = true;
		break;
	}
}

/* Does the packet go on with the message that is coming in, or start one? */
static bool resp_sequence_ok(const struct pane_resp *r,
			     const struct pane_op_info *op)
{
	switch (r->phase) {
	case PANE_RESP_SEND:
		return op->kind == PANE_KIND_SEND &&
		       !(op->flags & PANE_OPF_FIRST);
	case PANE_RESP_WRITE:
		return op->kind == PANE_KIND_WRITE &&
		       !(op->flags & PANE_OPF_FIRST);
	default:
		return op->flags & PANE_OPF_FIRST;
	}
}

static void resp_rnr(struct pane_qp *qp, u32 psn)
{
	qp->resp.nak_sent = true;
	pane_resp_send_due_ack(qp);
	pane_qp_count(qp, send_rnr_err);
	resp_send_aeth(qp, PANE_AETH_RNR_NAK | qp->attr.min_rnr_timer, psn);
}

/* Is the request answered by more than an ACK? */
static bool resp_has_answer(const struct pane_op_info *op)
{
	return op->kind == PANE_KIND_READ || op->kind == PANE_KIND_ATOMIC ||
	       op->kind == PANE_KIND_ATOMIC_WRITE ||
	       op->kind == PANE_KIND_FLUSH;
}

/* The packet that is being handled waits until its pages came */
void pane_resp_absent(struct pane_qp *qp)
{
	qp->resp.absent = true;
	pane_rexmit_wait(qp, PANE_ODP_WAIT);
}

/* The expected packet */
static void resp_next(struct pane_qp *qp, const struct pane_pkt *p)
{
	struct pane_resp *r = &qp->resp;
	enum pane_resp_result result = PANE_RESP_INV_REQ;

	r->nak_sent = false;
	if (resp_sequence_ok(r, p->op) &&
	    pane_op_length_ok(p->op, p->len, pane_qp_mtu(qp)))
		result = pane_resp_exec(qp, p);

	if (likely(result == PANE_RESP_DONE)) {
		if (p->ack_req && !resp_has_answer(p->op))
			r->ack_due = true;
	} else if (result == PANE_RESP_RNR) {
		resp_rnr(qp, p->psn);
	} else if (result != PANE_RESP_WAIT) {
		pane_resp_fatal(qp, result, p->psn);
	}
}

static void resp_one(struct pane_qp *qp, const struct pane_pkt *p)
{
	s32 diff = pane_psn_diff(p->psn, qp->resp.epsn);

	if (diff == 0)
		resp_next(qp, p);
	else if (diff > 0)
		resp_ahead(qp);
	else
		resp_duplicate(qp, p);
}

/* ---- unreliable connections ------------------------------------------ */

/* The message that comes in has lost a packet, or is refused */
static void resp_uc_abandon(struct pane_qp *qp)
{
	struct pane_resp *r = &qp->resp;

	r->phase = PANE_RESP_IDLE;
	/* the receive request waits for the next message */
	if (r->have_rwqe)
		pane_resp_rewind_rwqe(qp);
}

/*
 * A gap loses a message, in silence; the next one starts anew. Nothing a peer
 * sends takes the QP down, our own receive requests can.
 */
static void resp_uc(struct pane_qp *qp, const struct pane_pkt *p)
{
	struct pane_resp *r = &qp->resp;
	enum pane_resp_result result = PANE_RESP_INV_REQ;

	if (p->psn != r->epsn) {
		pane_qp_count(qp, out_of_seq_request);
		resp_uc_abandon(qp);
	} else if (p->op->flags & PANE_OPF_FIRST) {
		resp_uc_abandon(qp);
	}
	r->epsn = p->psn;
	if (resp_sequence_ok(r, p->op) &&
	    pane_op_length_ok(p->op, p->len, pane_qp_mtu(qp)))
		result = pane_resp_exec(qp, p);
	if (result == PANE_RESP_DONE || result == PANE_RESP_WAIT)
		return;
	pane_qp_count(qp, rx_uc_dropped);
	resp_uc_abandon(qp);
	r->epsn = pane_psn_add(p->psn, 1);
	if (result == PANE_RESP_REM_OP)
		pane_qp_error(qp);
}

/* ---- all QPs --------------------------------------------------------- */

/*
 * An XRC packet names the SRQ, and with it the protection domain, that it is
 * for. False if it must not.
 */
static bool resp_find_srq(struct pane_qp *qp, const struct pane_pkt *p)
{
	const struct pane_xrceth *eth = pane_pkt_hdr(p, PANE_HDR_XRCETH);
	struct pane_resp *r = &qp->resp;
	u32 srqn = be32_to_cpu(eth->srqn) & PANE_BTH_QPN;

	/* the packets of a message name one SRQ */
	if (r->phase != PANE_RESP_IDLE && srqn != r->srqn)
		return false;
	r->srq = pane_srq_find(srqn);
	if (!r->srq || r->srq->xrcd != qp->xrcd)
		return false;
	r->srqn = srqn;
	r->pd = r->srq->pd;
	return true;
}

static void resp_dispatch(struct pane_qp *qp, const struct pane_pkt *p)
{
	if (pane_qp_is_datagram(qp)) {
		pane_resp_datagram(qp, p);
		return;
	}
	if (!pane_qp_is_reliable(qp)) {
		resp_uc(qp, p);
		return;
	}
	if (qp->type == IB_QPT_XRC_TGT && p->psn == qp->resp.epsn &&
	    !resp_find_srq(qp, p)) {
		pane_qp_count(qp, rx_no_srq);
		pane_resp_fatal(qp, PANE_RESP_INV_REQ, p->psn);
		return;
	}
	resp_one(qp, p);
}

/* First packet in RTR: the connection is up, whatever else was lost */
static void resp_established(struct pane_qp *qp)
{
	if (qp->state == IB_QPS_RTR && !qp->established &&
	    !pane_qp_is_datagram(qp)) {
		qp->established = true;
		pane_qp_raise(qp, IB_EVENT_COMM_EST);
	}
}

/*
 * Keep a packet until the READ before it is answered, or its pages or those of
 * one before it came. A train is kept as often as it has packets that wait; the
 * copies share its data.
 */
static void resp_keep(struct pane_qp *qp, const struct pane_pkt *p)
{
	struct pane_resp *r = &qp->resp;
	struct sk_buff *skb;

	skb = skb_queue_len(&r->pend) < RESP_PEND_MAX ?
	      skb_clone(p->skb, GFP_ATOMIC) : NULL;
	if (!skb) {
		pane_qp_count(qp, rx_backlog);
		/* nothing else is there that waits */
		if (skb_queue_empty(&r->pend))
			r->absent = false;
		return;
	}
	pane_pkt_save(p, skb);
	__skb_queue_tail(&r->pend, skb);
}

/*
 * Is it a READ that was answered, or begun to be, asked for again? Nobody waits
 * for what was still to come of the answer that is being sent.
 */
static bool resp_overtakes(const struct pane_qp *qp, const struct pane_pkt *p)
{
	const struct pane_resp *r = &qp->resp;

	return r->reading.active && p->op->kind == PANE_KIND_READ &&
	       pane_psn_before(p->psn, r->reading.psn);
}

/**
 * pane_resp_packet - handle a request, or a datagram
 * @qp: the QP, entered
 * @p: the packet
 */
void pane_resp_packet(struct pane_qp *qp, const struct pane_pkt *p)
{
	struct pane_resp *r = &qp->resp;

	if (!pane_qp_receives(qp)) {
		pane_qp_count(qp, rx_qp_state);
		return;
	}
	resp_established(qp);
	if (unlikely(resp_overtakes(qp, p))) {
		resp_duplicate(qp, p);
		return;
	}
	if (!r->reading.active && skb_queue_empty(&r->pend)) {
		resp_dispatch(qp, p);
		if (likely(!r->absent))
			return;
	}
	resp_keep(qp, p);
}

/* Go on with a READ's answer and with what waits behind it, or for pages */
void pane_resp_continue(struct pane_qp *qp)
{
	struct pane_resp *r = &qp->resp;
	struct pane_pkt p;
	struct sk_buff *skb;

	if (qp->state == IB_QPS_ERR) {
		pane_resp_flush(qp);
		return;
	}
	if (!pane_qp_receives(qp))
		return;
	pane_resp_read_run(qp);
	while (!r->reading.active && !r->absent && pane_qp_receives(qp) &&
	       (skb = __skb_dequeue(&r->pend))) {
		if (pane_pkt_restore(&p, skb))
			resp_dispatch(qp, &p);
		if (unlikely(r->absent))
			__skb_queue_head(&r->pend, skb);
		else
			consume_skb(skb);
	}
	pane_resp_send_due_ack(qp);
}

/* ---- life ------------------------------------------------------------ */

/* Elements that a receive request of this QP can have */
static u32 resp_max_sge(const struct pane_qp *qp)
{
	if (qp->type == IB_QPT_XRC_TGT)
		return PANE_MAX_SGE;
	return qp->srq ? qp->srq->rq.max_sge : qp->attr.cap.max_recv_sge;
}

/* Memory for the receive request of the message that comes in */
int pane_resp_init(struct pane_qp *qp)
{
	struct pane_resp *r = &qp->resp;

	skb_queue_head_init(&r->pend);
	r->rwqe = kzalloc(struct_size(r->rwqe, sge, resp_max_sge(qp)),
			  GFP_KERNEL_ACCOUNT);
	return r->rwqe ? 0 : -ENOMEM;
}

/* READs and atomics the peer may have outstanding; before the first one */
int pane_resp_set_depth(struct pane_qp *qp, u32 depth)
{
	struct pane_res *res = NULL, *old;

	if (depth) {
		res = kcalloc(depth, sizeof(*res), GFP_KERNEL_ACCOUNT);
		if (!res)
			return -ENOMEM;
	}
	spin_lock_bh(&qp->lock);
	old = qp->resp.res;
	qp->resp.res = res;
	qp->resp.res_size = depth;
	qp->resp.res_next = 0;
	spin_unlock_bh(&qp->lock);
	kfree(old);
	return 0;
}

/* Nothing is coming in; qp->lock, or nobody else has the QP */
void pane_resp_reset(struct pane_qp *qp)
{
	struct pane_resp *r = &qp->resp;

	r->phase = PANE_RESP_IDLE;
	r->nak_sent = false;
	r->have_rwqe = false;
	r->ack_due = false;
	r->absent = false;
	r->reading.active = false;
	r->msn = 0;
	__skb_queue_purge(&r->pend);
}

void pane_resp_free(struct pane_qp *qp)
{
	__skb_queue_purge(&qp->resp.pend);
	kfree(qp->resp.res);
	kfree(qp->resp.rwqe);
}

/*
 * Flush the receive queue, what is in the ring too. A user who posts all the
 * time is served in portions.
 */
void pane_resp_flush(struct pane_qp *qp)
{
	struct pane_resp *r = &qp->resp;
	u32 budget = 2 * (qp->rq.mask + 1);

	if (qp->ctl)
		WRITE_ONCE(qp->ctl->rq_flags, PANE_NEED_DOORBELL);
	/* pairs with the barrier of the poster */
	smp_mb();
	__skb_queue_purge(&r->pend);
	r->absent = false;
	r->reading.active = false;
	r->rcvd = 0;
	while (r->have_rwqe ||
	       (pane_qp_has_rq(qp) &&
		pane_rq_take(&qp->rq, r->rwqe) != PANE_RQ_EMPTY)) {
		pane_resp_complete(qp, IB_WC_WR_FLUSH_ERR, NULL);
		if (!--budget) {
			qp->more = true;
			break;
		}
	}
}
