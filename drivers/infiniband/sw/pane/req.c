// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "ah.h"
#include "cq.h"
#include "odp.h"
#include "pane.h"
#include "psn.h"
#include "qp.h"
#include "req.h"
#include "tx.h"
#include "wr.h"

/* Packets and local operations at a time, then others get a turn */
#define REQ_BUDGET	64
/* Turns at a time, as long as somebody posts */
#define REQ_TURNS	8
/* Packets that may wait until they are sent */
#define REQ_TX_MAX	64
/* An ACK is asked for at least so often, to keep the window moving */
#define REQ_ACK_EVERY	32

/* ---- completion ------------------------------------------------------ */

static void req_complete(struct pane_qp *qp, const struct pane_swqe *w,
			 enum ib_wc_status status)
{
	struct pane_wc wc;

	pane_wc_init(&wc, w->wr_id, status, pane_wr_info(w)->wc_opcode);
	if (status)
		wc.cqe.vendor_err = w->vendor_err;
	if (pane_wr_info(w)->class == PANE_WRC_READ ||
	    pane_wr_info(w)->class == PANE_WRC_ATOMIC)
		wc.cqe.byte_len = w->length;
	pane_qp_complete(qp, qp->send_cq, &wc, status);
}

/* Has user space to ring for its next request? */
void pane_req_doorbell(struct pane_qp *qp, bool needed)
{
	if (qp->ctl)
		WRITE_ONCE(qp->ctl->sq_flags, needed ? PANE_NEED_DOORBELL : 0);
}

/* User space may use the slots of what has ended again */
static void req_tell_cons(struct pane_qp *qp)
{
	if (!qp->ctl)
		return;
	/* we are done with what is in them */
	smp_store_release(&qp->ctl->sq_cons, qp->sq.cons);
}

/*
 * Take the oldest request off the queue and tell of it if that is wanted. Its
 * slot is used again only by a later fetch, so @w is good until then.
 */
void pane_req_finish(struct pane_qp *qp, struct pane_swqe *w,
		     enum ib_wc_status status)
{
	struct pane_sq *sq = &qp->sq;

	if (w->in_flight)
		sq->rd_out--;
	if (status)
		pane_wr_discard(qp, w);
	/* a request can end before it was begun, when all are flushed */
	if (sq->cur == sq->cons) {
		sq->cur++;
		sq->cur_pkt = 0;
	}
	sq->cons++;
	req_tell_cons(qp);
	if (!status && pane_wr_info(w)->class == PANE_WRC_SEND)
		pane_qp_count(qp, rdma_sends);
	if (status || qp->sq_sig_all || (w->flags & PANE_WR_SIGNALED))
		req_complete(qp, w, status);
}

/* In SQD: has all that was begun ended? */
static void req_check_drained(struct pane_qp *qp)
{
	const struct pane_sq *sq = &qp->sq;

	if (qp->state != IB_QPS_SQD || !qp->attr.sq_draining)
		return;
	if (sq->cons != sq->prod &&
	    pane_swqe(sq, sq->cons)->state != PANE_SWQE_POSTED)
		return;
	qp->attr.sq_draining = 0;
	if (qp->attr.en_sqd_async_notify)
		pane_qp_raise(qp, IB_EVENT_SQ_DRAINED);
}

/*
 * Complete what stands first and waits for nothing more: local operations,
 * datagrams, failures. Requests on the wire complete by their answers.
 */
void pane_req_retire(struct pane_qp *qp)
{
	struct pane_sq *sq = &qp->sq;

	while (sq->cons != sq->prod) {
		struct pane_swqe *w = pane_swqe(sq, sq->cons);

		if (w->state == PANE_SWQE_FAILED) {
			pane_req_finish(qp, w, w->status);
			pane_qp_error(qp);
			return;
		}
		if (w->state != PANE_SWQE_DONE)
			break;
		pane_req_finish(qp, w, IB_WC_SUCCESS);
	}
	req_check_drained(qp);
}

/*
 * Flush the send queue, and what is in the ring. A user who posts all the time
 * is served in portions.
 */
void pane_req_flush(struct pane_qp *qp)
{
	struct pane_sq *sq = &qp->sq;
	u32 budget = 2 * (sq->mask + 1);

	if (!pane_qp_has_sq(qp))
		return;
	/* no answer will bring us back any more */
	pane_req_doorbell(qp, true);
	/* the flag first, then the look */
	smp_mb();
	pane_wr_fetch(qp);
	do {
		while (sq->cons != sq->prod) {
			struct pane_swqe *w = pane_swqe(sq, sq->cons);

			pane_req_finish(qp, w, w->state == PANE_SWQE_FAILED ?
					w->status : IB_WC_WR_FLUSH_ERR);
			budget--;
		}
		if ((s32)budget <= 0) {
			qp->more = true;
			break;
		}
	} while (pane_wr_fetch(qp));
}

/* ---- packets --------------------------------------------------------- */

/* PSN of the packet that would be sent next */
u32 pane_req_next_psn(const struct pane_qp *qp)
{
	const struct pane_sq *sq = &qp->sq;
	const struct pane_swqe *w;

	if (sq->cur == sq->prod)
		return sq->psn;
	w = pane_swqe(sq, sq->cur);
	if (w->state != PANE_SWQE_SENT)
		return sq->psn;
	return pane_psn_add(w->first_psn, sq->cur_pkt);
}

static void req_fail(struct pane_swqe *w, enum ib_wc_status status,
		     enum pane_vendor_err verr)
{
	w->state = PANE_SWQE_FAILED;
	w->status = status;
	w->vendor_err = verr;
}

static u8 req_opcode(const struct pane_swqe *w, u32 pkt)
{
	const struct pane_wr_info *info = pane_wr_info(w);

	/* the rest of a READ is asked for as a READ */
	if (w->num_pkts == 1 || pane_wr_reads(w))
		return info->only;
	if (pkt == 0)
		return info->first;
	if (pkt == w->num_pkts - 1)
		return info->last;
	/* SEND_MIDDLE and WRITE_MIDDLE follow their FIRST */
	return info->first + 1;
}

/*
 * Will the next request follow at once, and can it carry a question? If it does
 * not in the end, req_ask_again() makes up for it.
 */
static bool req_more_follows(const struct pane_sq *sq)
{
	const struct pane_swqe *next;

	if (sq->cur + 1 == sq->prod)
		return false;
	next = pane_swqe(sq, sq->cur + 1);
	return next->state <= PANE_SWQE_SENT && !pane_wr_is_local(next) &&
	       !pane_wr_reads(next) && !(next->flags & PANE_WR_FENCE);
}

/*
 * Ask for an ACK when nothing follows that could carry the question later, and
 * now and then. The answer covers all before it.
 */
static bool req_wants_ack(const struct pane_qp *qp, u32 psn, bool last)
{
	const struct pane_sq *sq = &qp->sq;

	if (pane_psn_diff(psn, sq->una) >= PANE_REQ_WINDOW - 1)
		return true;
	if (!last)
		return sq->since_ack >= PANE_REQ_WINDOW / 4;
	return sq->since_ack >= REQ_ACK_EVERY || !req_more_follows(sq);
}

static void req_fill_reth(struct pane_frame *f, u64 va, u32 rkey, u32 length)
{
	struct pane_reth *reth = pane_tx_hdr(f, PANE_HDR_RETH);

	reth->va = cpu_to_be64(va);
	reth->rkey = cpu_to_be32(rkey);
	reth->length = cpu_to_be32(length);
}

static void req_fill_atomic(struct pane_frame *f, const struct pane_swqe *w)
{
	struct pane_atomic_eth *eth = pane_tx_hdr(f, PANE_HDR_ATOMIC);
	bool swap = w->op == PANE_WR_CMP_SWAP;

	eth->va = cpu_to_be64(w->rdma.va);
	eth->rkey = cpu_to_be32(w->rdma.rkey);
	eth->swap_add = cpu_to_be64(swap ? w->rdma.swap : w->rdma.compare_add);
	eth->compare = cpu_to_be64(swap ? w->rdma.compare_add : 0);
}

/*
 * Packets that the next packet stands for: many if it is a READ request. What
 * was asked for before is asked for again by itself: who has answered it knows
 * nothing of what is behind.
 */
static u32 req_span(const struct pane_qp *qp, const struct pane_swqe *w)
{
	const struct pane_sq *sq = &qp->sq;
	s32 again;
	u32 span;

	if (pane_wr_info(w)->class != PANE_WRC_READ)
		return 1;
	span = min_t(u32, w->num_pkts - sq->cur_pkt, PANE_REQ_READ_MAX);
	again = pane_psn_diff(sq->sent, pane_psn_add(w->first_psn, sq->cur_pkt));
	return again > 0 ? min_t(u32, span, again) : span;
}

/*
 * Bytes that the RETH of packet @pkt tells of: the whole message, or as much of
 * a READ as this request asks for.
 */
static u32 req_reth_length(const struct pane_qp *qp, const struct pane_swqe *w,
			   u32 pkt)
{
	u32 left = w->length - (pkt << qp->mtu_shift);

	if (pane_wr_info(w)->class != PANE_WRC_READ)
		return left;
	return min_t(u64, left, (u64)req_span(qp, w) << qp->mtu_shift);
}

/* Headers behind the BTH of packet @pkt */
static void req_fill_headers(struct pane_qp *qp, struct pane_frame *f,
			     const struct pane_swqe *w, u32 pkt)
{
	u32 off = pkt << qp->mtu_shift;

	if (pane_op_has(f->op, PANE_HDR_XRCETH)) {
		struct pane_xrceth *eth = pane_tx_hdr(f, PANE_HDR_XRCETH);

		eth->srqn = cpu_to_be32(w->rdma.srqn);
	}
	if (pane_op_has(f->op, PANE_HDR_FETH)) {
		struct pane_feth *feth = pane_tx_hdr(f, PANE_HDR_FETH);

		feth->type_sel = cpu_to_be32(w->rdma.feth);
	}
	if (pane_op_has(f->op, PANE_HDR_RETH))
		req_fill_reth(f, w->rdma.va + off, w->rdma.rkey,
			      req_reth_length(qp, w, pkt));
	if (pane_op_has(f->op, PANE_HDR_ATOMIC))
		req_fill_atomic(f, w);
	if (pane_op_has(f->op, PANE_HDR_IMM)) {
		struct pane_immdt *imm = pane_tx_hdr(f, PANE_HDR_IMM);

		imm->imm = (__force __be32)w->ex;
	}
	if (pane_op_has(f->op, PANE_HDR_IETH)) {
		struct pane_ieth *ieth = pane_tx_hdr(f, PANE_HDR_IETH);

		ieth->rkey = cpu_to_be32(w->ex);
	}
	if (pane_op_has(f->op, PANE_HDR_DETH)) {
		struct pane_deth *deth = pane_tx_hdr(f, PANE_HDR_DETH);

		deth->qkey = cpu_to_be32(w->ud.qkey & PANE_QKEY_CONTROLLED ?
					 qp->attr.qkey : w->ud.qkey);
		deth->sqpn = cpu_to_be32(qp->qpn);
	}
}

/* Copy the payload */
static enum pane_mem req_fill_payload(struct pane_qp *qp, struct pane_frame *f,
				      struct pane_swqe *w, u32 off)
{
	if (!f->len)
		return PANE_MEM_OK;
	if (w->flags & PANE_WR_INLINE) {
		memcpy(f->payload, (u8 *)w->sge + off, f->len);
		return PANE_MEM_OK;
	}
	return pane_sgl_gather(qp, &qp->sq.sgl, f->payload, f->len,
			       pane_tx_copy_crc(f));
}

static u32 req_payload_len(const struct pane_qp *qp, const struct pane_swqe *w,
			   u32 pkt)
{
	if (pane_wr_reads(w) &&
	    pane_wr_info(w)->class != PANE_WRC_ATOMIC_WRITE)
		return 0;
	return min(w->length - (pkt << qp->mtu_shift), pane_qp_mtu(qp));
}

/*
 * Build packet cur_pkt of request @w to @av and queue it.
 * Return: 0; -ENOMEM; -EFAULT for a wrong local key; -EAGAIN for pages that
 * have to be waited for
 */
static int req_build(struct pane_qp *qp, struct pane_swqe *w,
		     const struct pane_av *av, struct pane_bth_fields *bth)
{
	u32 pkt = qp->sq.cur_pkt;
	enum pane_mem result;
	struct pane_frame f;

	if (!pane_tx_begin(qp, av, qp->transport | req_opcode(w, pkt),
			   req_payload_len(qp, w, pkt), bth, &f))
		return -ENOMEM;
	req_fill_headers(qp, &f, w, pkt);
	pane_tx_headers_done(&f);
	result = req_fill_payload(qp, &f, w, pkt << qp->mtu_shift);
	if (unlikely(result)) {
		pane_tx_abort(&f);
		if (result == PANE_MEM_ABSENT)
			return -EAGAIN;
		pane_qp_count(qp, local_prot_err);
		return -EFAULT;
	}
	pane_tx_end(qp, &f);
	return 0;
}

/*
 * Without acknowledgments a request is done when its last packet is sent, and
 * nothing is waited for.
 */
static void req_sent_unreliable(struct pane_qp *qp, struct pane_swqe *w)
{
	struct pane_sq *sq = &qp->sq;

	sq->una = sq->sent;
	if (sq->cur_pkt == w->num_pkts)
		w->state = PANE_SWQE_DONE;
}

static int req_send_connected(struct pane_qp *qp, struct pane_swqe *w)
{
	struct pane_sq *sq = &qp->sq;
	u32 span = req_span(qp, w);
	bool last = sq->cur_pkt + span == w->num_pkts;
	struct pane_bth_fields bth = {
		.dqpn = qp->attr.dest_qp_num,
		.psn = pane_psn_add(w->first_psn, sq->cur_pkt),
		.solicited = last && (w->flags & PANE_WR_SOLICITED),
	};
	int err;

	if (!sq->cur_pkt)
		pane_swqe_sgl(&sq->sgl, qp, w);
	bth.ack_req = pane_qp_is_reliable(qp) &&
		      (pane_wr_reads(w) || req_wants_ack(qp, bth.psn, last));
	err = req_build(qp, w, pane_qp_av(qp), &bth);
	if (err)
		return err;
	if (pane_wr_reads(w)) {
		sq->owed = min(sq->owed + span, PANE_PSN_MASK);
		sq->rd_out += !w->in_flight;
		w->in_flight = true;
	}
	sq->since_ack = bth.ack_req ? 0 : sq->since_ack + 1;
	sq->cur_pkt += span;
	if (bth.psn == sq->una)
		sq->progress = jiffies;
	if (pane_psn_before(sq->sent, pane_psn_add(bth.psn, span)))
		sq->sent = pane_psn_add(bth.psn, span);
	if (pane_qp_is_reliable(qp))
		pane_rexmit_arm(qp);
	else
		req_sent_unreliable(qp, w);
	return 0;
}

/*
 * The route of a datagram. Its packet holds a reference: the handle may be
 * gone when it is sent. RoCE v1 has no routes.
 * Return: false if it can go nowhere
 */
static bool req_datagram_route(struct pane_qp *qp, struct pane_av *av,
			       struct dst_entry **dst)
{
	struct net *net = rcu_dereference(qp->dev->net);

	*dst = NULL;
	if (av->net == RDMA_NETWORK_ROCE_V1)
		return true;
	if (net)
		*dst = pane_av_route_get(av, net);
	return *dst;
}

/* A datagram is done when it is sent, whatever becomes of it */
static int req_send_datagram(struct pane_qp *qp, struct pane_swqe *w)
{
	struct pane_bth_fields bth = {
		.dqpn = w->ud.qpn,
		.psn = w->first_psn,
		.solicited = w->flags & PANE_WR_SOLICITED,
	};
	struct pane_av *av = pane_ah_find(qp, w->ud.ah);
	struct dst_entry *dst;
	int err;

	if (!av) {
		req_fail(w, IB_WC_LOC_QP_OP_ERR, PANE_VERR_WQE_AH);
		return 0;
	}
	if (req_datagram_route(qp, av, &dst)) {
		pane_swqe_sgl(&qp->sq.sgl, qp, w);
		err = req_build(qp, w, av, &bth);
		if (err) {
			dst_release(dst);
			return err;
		}
		if (dst)
			skb_dst_set(skb_peek_tail(&qp->tx_req.skbs), dst);
	} else {
		pane_qp_count(qp, send_no_route);
	}
	w->state = PANE_SWQE_DONE;
	return 0;
}

/* ---- the queue ------------------------------------------------------- */

/* Must a request that was not begun wait for what is on its way? */
static bool req_must_wait(const struct pane_qp *qp, const struct pane_swqe *w)
{
	const struct pane_sq *sq = &qp->sq;

	if (qp->state == IB_QPS_SQD)
		return true;
	if ((w->flags & PANE_WR_FENCE) && sq->rd_out)
		return true;
	return pane_wr_reads(w) && sq->rd_out &&
	       sq->rd_out >= qp->attr.max_rd_atomic;
}

static void req_begin(struct pane_qp *qp, struct pane_swqe *w)
{
	struct pane_sq *sq = &qp->sq;

	w->first_psn = sq->psn;
	w->num_pkts = pane_wr_reads(w) &&
		      pane_wr_info(w)->class != PANE_WRC_READ ? 1 :
		      pane_psn_count(w->length, qp->mtu_shift);
	w->state = PANE_SWQE_SENT;
	sq->psn = pane_psn_add(sq->psn, w->num_pkts);
	sq->cur_pkt = 0;
	if (pane_wr_reads(w) && !qp->attr.max_rd_atomic)
		req_fail(w, IB_WC_LOC_QP_OP_ERR, PANE_VERR_WQE_OPCODE);
}

/* Execute a local operation */
static void req_local(struct pane_qp *qp, struct pane_swqe *w)
{
	enum ib_wc_status status = pane_wr_info(w)->issue(qp, w);

	if (status)
		req_fail(w, status, w->vendor_err);
	else
		w->state = PANE_SWQE_DONE;
}

/* Has a request on the wire to wait before its next packet? */
static bool req_blocked(const struct pane_qp *qp, const struct pane_swqe *w)
{
	const struct pane_sq *sq = &qp->sq;
	u32 next = pane_psn_add(w->first_psn, sq->cur_pkt);

	if (sq->wait)
		return true;
	if (!pane_qp_is_reliable(qp))
		return false;
	/* the second request of a READ, when the first is answered */
	if (w->in_flight && next != sq->una)
		return true;
	return pane_psn_diff(next, sq->una) >= PANE_REQ_WINDOW;
}

static int req_send(struct pane_qp *qp, struct pane_swqe *w)
{
	return pane_qp_is_datagram(qp) ? req_send_datagram(qp, w) :
					 req_send_connected(qp, w);
}

/*
 * One step on request @w, which is the current one.
 * Return: false if it has to wait
 */
static bool req_step(struct pane_qp *qp, struct pane_swqe *w)
{
	struct pane_sq *sq = &qp->sq;
	int err;

	if (w->state == PANE_SWQE_POSTED) {
		if (req_must_wait(qp, w) || sq->wait)
			return false;
		if (pane_wr_is_local(w))
			req_local(qp, w);
		else
			req_begin(qp, w);
	}
	if (w->state == PANE_SWQE_SENT) {
		if (req_blocked(qp, w))
			return false;
		err = req_send(qp, w);
		if (err == -EFAULT) {
			req_fail(w, IB_WC_LOC_PROT_ERR, PANE_VERR_LKEY);
		} else if (err == -EAGAIN) {
			pane_rexmit_pause(qp, PANE_SQ_WAIT_PAGES,
					  PANE_ODP_WAIT);
			return false;
		} else if (err) {
			pane_rexmit_pause(qp, PANE_SQ_WAIT_TX, 1);
			return false;
		}
	}
	if (w->state == PANE_SWQE_FAILED)
		return false;
	if (w->state == PANE_SWQE_DONE || sq->cur_pkt == w->num_pkts) {
		sq->cur++;
		sq->cur_pkt = 0;
	}
	return true;
}

/* Work on the send queue until it is empty, blocked, or others are due */
static void req_work(struct pane_qp *qp)
{
	struct pane_sq *sq = &qp->sq;
	/* one to see if there is room again */
	u32 budget = qp->tx_req.refusals ? 1 : REQ_BUDGET;

	do {
		while (sq->cur != sq->prod) {
			if (!budget) {
				qp->more = true;
				return;
			}
			if (skb_queue_len(&qp->tx_req.skbs) >= REQ_TX_MAX) {
				/* who sends them brings us back */
				qp->tx_req.full = true;
				return;
			}
			budget--;
			if (!req_step(qp, pane_swqe(sq, sq->cur)))
				return;
		}
	} while (pane_wr_fetch(qp));
}

/*
 * Does the queue wait for something that will bring us back to it, so that
 * user space need not?
 */
static bool req_waits(const struct pane_qp *qp)
{
	return pane_qp_sends(qp) && (qp->sq.cur != qp->sq.prod || qp->more ||
				     qp->ring.attended);
}

/* PSN of the current request, if it is one that no answer will get going */
static bool req_stuck(const struct pane_qp *qp, u32 *psn)
{
	const struct pane_sq *sq = &qp->sq;
	const struct pane_swqe *w;

	if (sq->cur == sq->prod)
		return false;
	w = pane_swqe(sq, sq->cur);
	*psn = w->state == PANE_SWQE_FAILED && !pane_wr_is_local(w) ?
	       w->first_psn : sq->psn;
	return w->state == PANE_SWQE_FAILED ||
	       (w->state == PANE_SWQE_POSTED && qp->state == IB_QPS_SQD);
}

/*
 * The packet before the current request left it to that one to ask for an ACK,
 * which it cannot do: send the packet again, with the question. True if so.
 */
static bool req_ask_again(struct pane_qp *qp)
{
	struct pane_sq *sq = &qp->sq;
	u32 psn;

	if (!pane_qp_is_reliable(qp) || !sq->since_ack || sq->wait ||
	    !req_stuck(qp, &psn) || !pane_psn_before(sq->una, psn))
		return false;
	pane_rexmit_rewind(qp, pane_psn_add(psn, -1));
	return true;
}

static void req_turn(struct pane_qp *qp)
{
	if (qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE) {
		pane_req_flush(qp);
		return;
	}
	pane_wr_fetch(qp);
	req_work(qp);
	if (req_ask_again(qp))
		req_work(qp);
	pane_req_retire(qp);
}

/**
 * pane_req_kick - work on the send queue
 * @qp: the QP, entered
 *
 * Before user space is told to ring again the ring is looked at once more: the
 * poster does the two things in the reverse order, so one of us notices.
 *
 * Sets qp->more if there is more to do at once.
 */
void pane_req_kick(struct pane_qp *qp)
{
	unsigned int turns;

	if (!pane_qp_has_sq(qp) ||
	    (!pane_qp_sends(qp) && qp->state != IB_QPS_ERR &&
	     qp->state != IB_QPS_SQE))
		return;

	pane_req_doorbell(qp, false);
	for (turns = REQ_TURNS; turns; turns--) {
		req_turn(qp);
		if (req_waits(qp))
			return;
		pane_req_doorbell(qp, true);
		/* the flag first, then the look */
		smp_mb();
		if (qp->more || !pane_wr_fetch(qp))
			return;
	}
	qp->more = true;
}
