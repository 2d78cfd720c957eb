// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/jiffies.h>

#include "ack.h"
#include "pane.h"
#include "psn.h"
#include "qp.h"
#include "req.h"
#include "ring.h"
#include "rnr.h"
#include "rx.h"
#include "wr.h"

/* Answers are coming: the patience with the peer is renewed */
static void ack_progress(struct pane_qp *qp, u32 una)
{
	struct pane_sq *sq = &qp->sq;

	sq->una = una;
	sq->progress = jiffies;
	sq->retries = qp->attr.retry_cnt;
	sq->rnr_retries = qp->attr.rnr_retry;
	sq->went_back = false;
}

/*
 * The oldest request that waits for an answer, completing what stands before
 * it; NULL if there is none
 */
static struct pane_swqe *ack_head(struct pane_qp *qp)
{
	struct pane_sq *sq = &qp->sq;
	struct pane_swqe *w;

	pane_req_retire(qp);
	if (!pane_qp_sends(qp) || sq->cons == sq->prod)
		return NULL;
	w = pane_swqe(sq, sq->cons);
	return w->state == PANE_SWQE_SENT ? w : NULL;
}

/* The oldest request failed: it completes with @status, the QP is in error */
void pane_ack_fail(struct pane_qp *qp, enum ib_wc_status status)
{
	struct pane_swqe *w = ack_head(qp);

	if (!w)
		return;
	pane_req_finish(qp, w, status);
	pane_qp_error(qp);
}

/*
 * All packets up to @psn have arrived.
 * Return: false if that shows that a response was lost, or ends the QP
 */
static bool ack_upto(struct pane_qp *qp, u32 psn)
{
	struct pane_sq *sq = &qp->sq;
	struct pane_swqe *w;

	while ((w = ack_head(qp))) {
		u32 end = pane_psn_add(w->first_psn, w->num_pkts);

		if (pane_psn_before(psn, sq->una))
			return true;
		if (pane_wr_reads(w)) {
			/* its answer is lost: an implied NAK */
			pane_qp_count(qp, implied_nak);
			pane_rexmit_go_back(qp, sq->una);
			return false;
		}
		if (pane_psn_before(psn, pane_psn_add(end, -1))) {
			ack_progress(qp, pane_psn_add(psn, 1));
			return true;
		}
		ack_progress(qp, end);
		pane_req_finish(qp, w, IB_WC_SUCCESS);
	}
	return pane_qp_sends(qp);
}

static enum ib_wc_status ack_nak_status(u8 syndrome)
{
	switch (syndrome) {
	case PANE_NAK_INV_REQ:
		return IB_WC_REM_INV_REQ_ERR;
	case PANE_NAK_REM_ACC:
		return IB_WC_REM_ACCESS_ERR;
	case PANE_NAK_REM_OP:
		return IB_WC_REM_OP_ERR;
	default:
		return IB_WC_BAD_RESP_ERR;
	}
}

/* The receiver has no buffer for the request at @psn */
static void ack_rnr(struct pane_qp *qp, u32 psn, u8 timer)
{
	struct pane_sq *sq = &qp->sq;

	pane_qp_count(qp, rcvd_rnr_err);
	pane_ring_slow(qp);
	if (sq->wait == PANE_SQ_WAIT_RNR)
		return;
	if (qp->attr.rnr_retry != 7) {
		if (!sq->rnr_retries) {
			pane_qp_count(qp, retry_rnr_exceeded_err);
			pane_ack_fail(qp, IB_WC_RNR_RETRY_EXC_ERR);
			return;
		}
		sq->rnr_retries--;
	}
	pane_rexmit_rewind(qp, psn);
	pane_rexmit_pause(qp, PANE_SQ_WAIT_RNR,
			  usecs_to_jiffies(pane_rnr_usecs(timer)));
}

/* A NAK: the request at @psn was not executed, what is before it was */
static void ack_nak(struct pane_qp *qp, u32 psn, u8 syndrome)
{
	if (!ack_upto(qp, pane_psn_add(psn, -1)))
		return;
	if ((syndrome & PANE_AETH_TYPE) == PANE_AETH_RNR_NAK) {
		ack_rnr(qp, psn, syndrome & PANE_AETH_VALUE);
	} else if (syndrome == PANE_NAK_PSN_SEQ) {
		pane_qp_count(qp, rcvd_seq_err);
		pane_rexmit_go_back(qp, psn);
	} else {
		pane_ack_fail(qp, ack_nak_status(syndrome));
	}
}

static u8 ack_syndrome(const struct pane_pkt *p)
{
	const struct pane_aeth *aeth = pane_pkt_hdr(p, PANE_HDR_AETH);

	return be32_to_cpu(aeth->smsn) >> PANE_AETH_SYNDROME_SHIFT;
}

/*
 * The request, of one of @classes, that a response belongs to.
 * Return: NULL if it is not the one expected
 */
static struct pane_swqe *ack_match(struct pane_qp *qp, const struct pane_pkt *p,
				   u32 classes)
{
	struct pane_swqe *w;

	if (!ack_upto(qp, pane_psn_add(p->psn, -1)))
		return NULL;
	w = ack_head(qp);
	if (!w || !(BIT(pane_wr_info(w)->class) & classes) ||
	    p->psn != qp->sq.una) {
		pane_qp_count(qp, unexpected_response);
		return NULL;
	}
	return w;
}

/* Put the data of a READ response where it belongs */
static enum pane_mem ack_place(struct pane_qp *qp, struct pane_swqe *w,
			       const struct pane_pkt *p, u32 off)
{
	struct pane_sq *sq = &qp->sq;

	if (sq->resp_psn != p->psn) {
		pane_swqe_sgl(&sq->resp_sgl, qp, w);
		pane_sgl_seek(&sq->resp_sgl, off);
	}
	sq->resp_psn = pane_psn_add(p->psn, 1);
	return pane_sgl_scatter(qp, &sq->resp_sgl, p->skb, p->off, p->len);
}

/**
 * pane_ack_no_place - the oldest request has no place for its answer
 * @qp: the QP, entered; goes to the error state
 */
void pane_ack_no_place(struct pane_qp *qp)
{
	struct pane_swqe *w = ack_head(qp);

	if (!w)
		return;
	pane_qp_count(qp, local_prot_err);
	w->vendor_err = PANE_VERR_LKEY;
	pane_ack_fail(qp, IB_WC_LOC_PROT_ERR);
}

/* Was the answer's data put where it belongs? */
static bool ack_placed(struct pane_qp *qp, u32 psn, enum pane_mem result)
{
	if (unlikely(result == PANE_MEM_ABSENT)) {
		qp->sq.resp_psn = PANE_PSN_NONE;
		pane_rexmit_absent(qp, psn);
	} else if (result) {
		pane_ack_no_place(qp);
	}
	return !result;
}

/* What answers FLUSH and ATOMIC WRITE: that they are done */
static void ack_done(struct pane_qp *qp, struct pane_swqe *w,
		     const struct pane_pkt *p)
{
	if (p->len || (p->op->flags & PANE_OPF_ONLY) != PANE_OPF_ONLY) {
		pane_ack_fail(qp, IB_WC_BAD_RESP_ERR);
		return;
	}
	ack_progress(qp, pane_psn_add(p->psn, 1));
	pane_req_finish(qp, w, IB_WC_SUCCESS);
}

/*
 * Is the response what has to be at packet @pkt of the READ: of that length,
 * and the last one only at the end? Where a READ is several requests (req.h)
 * each has a last response.
 */
static bool ack_read_fits(const struct pane_qp *qp, const struct pane_swqe *w,
			  const struct pane_pkt *p, u32 pkt)
{
	bool ends = p->op->flags & PANE_OPF_LAST;

	if (p->len != min(w->length - (pkt << qp->mtu_shift), pane_qp_mtu(qp)))
		return false;
	if (pkt == w->num_pkts - 1)
		return ends;
	return !ends || w->num_pkts > PANE_REQ_READ_MAX;
}

/* The next data of a READ */
static void ack_read_data(struct pane_qp *qp, struct pane_swqe *w,
			  const struct pane_pkt *p)
{
	u32 pkt, off;

	pkt = pane_psn_diff(p->psn, w->first_psn);
	off = pkt << qp->mtu_shift;
	if (!ack_read_fits(qp, w, p, pkt)) {
		pane_ack_fail(qp, IB_WC_BAD_RESP_ERR);
		return;
	}
	if (!ack_placed(qp, p->psn, ack_place(qp, w, p, off)))
		return;
	ack_progress(qp, pane_psn_add(p->psn, 1));
	if (pkt == w->num_pkts - 1) {
		qp->sq.resp_psn = PANE_PSN_NONE;
		pane_req_finish(qp, w, IB_WC_SUCCESS);
	}
}

static void ack_read_resp(struct pane_qp *qp, const struct pane_pkt *p)
{
	struct pane_swqe *w = ack_match(qp, p, BIT(PANE_WRC_READ) |
					       BIT(PANE_WRC_FLUSH) |
					       BIT(PANE_WRC_ATOMIC_WRITE));

	if (!w)
		return;
	if (pane_wr_info(w)->class == PANE_WRC_READ)
		ack_read_data(qp, w, p);
	else
		ack_done(qp, w, p);
}

static void ack_atomic(struct pane_qp *qp, const struct pane_pkt *p)
{
	const struct pane_atomic_ack_eth *eth =
		pane_pkt_hdr(p, PANE_HDR_ATOMIC_ACK);
	struct pane_swqe *w = ack_match(qp, p, BIT(PANE_WRC_ATOMIC));
	u64 orig = be64_to_cpu(eth->orig);
	struct pane_sgl sgl;

	if (!w)
		return;
	pane_swqe_sgl(&sgl, qp, w);
	if (!ack_placed(qp, p->psn,
			pane_sgl_put(qp, &sgl, &orig, sizeof(orig))))
		return;
	ack_progress(qp, pane_psn_add(p->psn, 1));
	pane_req_finish(qp, w, IB_WC_SUCCESS);
}

static void ack_dispatch(struct pane_qp *qp, const struct pane_pkt *p)
{
	u8 syndrome = PANE_AETH_ACK;

	if (pane_op_has(p->op, PANE_HDR_AETH))
		syndrome = ack_syndrome(p);
	if ((syndrome & PANE_AETH_TYPE) != PANE_AETH_ACK) {
		/* data, and a refusal: there is no such answer */
		if (p->op->kind != PANE_KIND_ACK)
			pane_ack_fail(qp, IB_WC_BAD_RESP_ERR);
		else
			ack_nak(qp, p->psn, syndrome);
	} else if (p->op->kind == PANE_KIND_ACK) {
		ack_upto(qp, p->psn);
	} else if (p->op->kind == PANE_KIND_READ_RESP) {
		ack_read_resp(qp, p);
	} else {
		ack_atomic(qp, p);
	}
}

/*
 * A response that brings us on or not: after a loss what was asked for again is
 * behind the rest of the answer before, and where a queue is long that takes its
 * time. As long as it comes the peer is alive. No more than we have asked for
 * counts, so that this ends.
 */
static void ack_alive(struct pane_sq *sq)
{
	if (!sq->owed)
		return;
	sq->owed--;
	sq->progress = jiffies;
}

/**
 * pane_ack_packet - handle a response
 * @qp: the QP, entered
 * @p: the packet
 *
 * A response to nothing outstanding is a late duplicate, and ignored.
 */
void pane_ack_packet(struct pane_qp *qp, const struct pane_pkt *p)
{
	struct pane_sq *sq = &qp->sq;

	if (!pane_qp_sends(qp)) {
		pane_qp_count(qp, rx_qp_state);
		return;
	}
	if (p->op->kind != PANE_KIND_ACK)
		ack_alive(sq);
	if (pane_psn_before(p->psn, sq->una) ||
	    !pane_psn_before(p->psn, sq->sent)) {
		pane_qp_count(qp, unexpected_response);
		return;
	}

	ack_dispatch(qp, p);

	/* answers can overtake what is being sent a second time */
	if (pane_qp_sends(qp) &&
	    pane_psn_before(pane_req_next_psn(qp), sq->una))
		pane_rexmit_rewind(qp, sq->una);
	pane_req_kick(qp);
}
