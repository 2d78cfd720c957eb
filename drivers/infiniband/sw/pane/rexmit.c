// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Going back, and time, of a requester.
 *
 * rexmit_timer runs while packets are without an answer. It is not moved with
 * each answer: sq.progress says when the last one came, and a timer that fires
 * too early starts again for the rest. When it is really over, everything from
 * the oldest unanswered packet on is sent again; after retry_cnt times of that
 * without an answer the QP fails.
 *
 * wait_timer ends a pause: after an RNR NAK, when the network stack had no
 * room, when there was no memory for a packet, and when pages of an on-demand
 * region did not come. It also takes up what the responder interrupted for one
 * of the latter three.
 */
#include <linux/jiffies.h>
#include <linux/timer.h>

#include "ack.h"
#include "odp.h"
#include "pane.h"
#include "psn.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "wr.h"

/* ---- going back ------------------------------------------------------ */

/* What is sent again does not count as outstanding READs and atomics */
static void rexmit_forget_reads(struct pane_sq *sq, u32 from)
{
	u32 i;

	for (i = from; i != sq->prod; i++) {
		struct pane_swqe *w = pane_swqe(sq, i);

		if (w->in_flight) {
			w->in_flight = false;
			sq->rd_out--;
		}
		if (i == sq->cur)
			break;
	}
}

/**
 * pane_rexmit_rewind - send from @psn on again
 * @qp: the QP, entered
 * @psn: of a packet that was sent and not answered; else nothing happens
 */
void pane_rexmit_rewind(struct pane_qp *qp, u32 psn)
{
	struct pane_sq *sq = &qp->sq;
	u32 i;

	for (i = sq->cons; i != sq->prod; i++) {
		struct pane_swqe *w = pane_swqe(sq, i);
		s32 pkt;

		if (w->state == PANE_SWQE_POSTED)
			return;
		if (pane_wr_is_local(w))
			continue;
		pkt = pane_psn_diff(psn, w->first_psn);
		if (pkt < 0)
			return;
		if (pkt < w->num_pkts) {
			rexmit_forget_reads(sq, i);
			sq->cur = i;
			sq->cur_pkt = pkt;
			pane_swqe_sgl(&sq->sgl, qp, w);
			pane_sgl_seek(&sq->sgl, pkt << qp->mtu_shift);
			/* what was lost may be the answer: ask at once */
			sq->since_ack = PANE_REQ_WINDOW;
			return;
		}
	}
}

/*
 * Jiffies until it is worth while to try again, what the network stack had no
 * room for: more each time. Many QPs that try all the time would leave it no
 * time to make room.
 */
unsigned long pane_rexmit_delay(const struct pane_txq *txq)
{
	return min(1UL << txq->refusals, max(HZ / 8, 1UL));
}

/* The network stack has no room: try again from @psn on, a little later */
void pane_rexmit_refused(struct pane_qp *qp, u32 psn)
{
	/* what is not acknowledged is not sent again */
	if (!pane_qp_sends(qp) || pane_psn_before(psn, qp->sq.una))
		return;
	/* somebody may have gone back farther meanwhile */
	if (pane_psn_before(psn, pane_req_next_psn(qp)))
		pane_rexmit_rewind(qp, psn);
	if (!qp->sq.wait)
		pane_rexmit_pause(qp, PANE_SQ_WAIT_TX,
				  pane_rexmit_delay(&qp->tx_req));
}

/* ---- time ------------------------------------------------------------ */

/* Is the oldest packet without an answer? */
static bool rexmit_outstanding(const struct pane_qp *qp)
{
	return pane_psn_before(qp->sq.una, qp->sq.sent);
}

/* A packet that wants an answer was sent */
void pane_rexmit_arm(struct pane_qp *qp)
{
	if (qp->ack_timeout && !timer_pending(&qp->rexmit_timer))
		mod_timer(&qp->rexmit_timer, jiffies + qp->ack_timeout);
}

/* Come back in @delay jiffies for the answer to a READ */
void pane_rexmit_wait(struct pane_qp *qp, unsigned long delay)
{
	timer_reduce(&qp->wait_timer, jiffies + delay);
}

/* Pause the requester for @delay jiffies */
void pane_rexmit_pause(struct pane_qp *qp, enum pane_sq_wait why,
		       unsigned long delay)
{
	qp->sq.wait = why;
	qp->sq.wait_end = jiffies + delay;
	timer_reduce(&qp->wait_timer, qp->sq.wait_end);
}

/* Send from @psn on again, if patience is left; false if not: QP in error */
static bool rexmit_retry(struct pane_qp *qp, u32 psn)
{
	struct pane_sq *sq = &qp->sq;

	if (!sq->retries) {
		pane_qp_count(qp, retry_exceeded_err);
		pane_ack_fail(qp, IB_WC_RETRY_EXC_ERR);
		return false;
	}
	sq->retries--;
	pane_qp_count(qp, retransmits);
	pane_rexmit_rewind(qp, psn);
	sq->progress = jiffies;
	return true;
}

/**
 * pane_rexmit_go_back - the peer misses the packet @psn, or its answer is lost
 * @qp: the QP, entered
 * @psn: oldest packet that has to be sent again
 *
 * Once until there is progress: what was on its way when we went back brings
 * more such hints. If the second try is lost too the timer notices. Nor is it
 * the peer's fault that responses are missed while there are no pages for them.
 */
void pane_rexmit_go_back(struct pane_qp *qp, u32 psn)
{
	if (qp->sq.went_back || qp->sq.wait == PANE_SQ_WAIT_PAGES)
		return;
	if (rexmit_retry(qp, psn))
		qp->sq.went_back = true;
}

static void rexmit_expired(struct pane_qp *qp)
{
	struct pane_sq *sq = &qp->sq;

	if (!pane_qp_sends(qp) || !rexmit_outstanding(qp) || !qp->ack_timeout)
		return;
	/* while we wait ourselves the peer owes us nothing */
	if (sq->wait)
		sq->progress = jiffies;
	if (time_before(jiffies, sq->progress + qp->ack_timeout)) {
		mod_timer(&qp->rexmit_timer, sq->progress + qp->ack_timeout);
		return;
	}
	pane_qp_count(qp, ack_timeouts);
	if (rexmit_retry(qp, sq->una)) {
		mod_timer(&qp->rexmit_timer, jiffies + qp->ack_timeout);
		pane_req_kick(qp);
	}
}

void pane_rexmit_timeout(struct timer_list *t)
{
	struct pane_qp *qp = timer_container_of(qp, t, rexmit_timer);

	pane_qp_enter(qp);
	rexmit_expired(qp);
	pane_qp_leave(qp);
}

/* A response came and there are no pages for it: ask again when there are */
void pane_rexmit_absent(struct pane_qp *qp, u32 psn)
{
	pane_rexmit_rewind(qp, psn);
	qp->sq.resp_page = qp->absent;
	if (!qp->sq.wait)
		pane_rexmit_pause(qp, PANE_SQ_WAIT_PAGES, PANE_ODP_WAIT);
}

static void rexmit_responder_goes_on(struct pane_qp *qp)
{
	qp->resp.reading.paused = false;
	qp->resp.absent = false;
	pane_resp_continue(qp);
}

/**
 * pane_rexmit_pages_came - go on with what waits for pages
 * @qp: the QP, entered; qp->refused says if there are none
 */
void pane_rexmit_pages_came(struct pane_qp *qp)
{
	struct pane_sq *sq = &qp->sq;

	if (sq->wait == PANE_SQ_WAIT_PAGES) {
		sq->wait = PANE_SQ_RUN;
		if (qp->refused &&
		    pane_odp_page_same(qp->refused, &sq->resp_page))
			pane_ack_no_place(qp);
		memset(&sq->resp_page, 0, sizeof(sq->resp_page));
		pane_req_kick(qp);
	}
	rexmit_responder_goes_on(qp);
}

void pane_rexmit_wait_over(struct timer_list *t)
{
	struct pane_qp *qp = timer_container_of(qp, t, wait_timer);

	pane_qp_enter(qp);
	/* the timer is for both, and fires for who wants it first */
	if (qp->sq.wait && time_before(jiffies, qp->sq.wait_end)) {
		timer_reduce(&qp->wait_timer, qp->sq.wait_end);
	} else {
		qp->sq.wait = PANE_SQ_RUN;
		pane_req_kick(qp);
	}
	rexmit_responder_goes_on(qp);
	pane_qp_leave(qp);
}
